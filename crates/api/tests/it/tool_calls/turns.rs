//! Turns that use a person's machine.

use super::Bench;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{HandNode, ImitatedProvider, Turn, World};

/// A talk with an agent that has a machine.
pub(super) struct Talk {
    pub(super) world: World,
    pub(super) provider: ImitatedProvider,
}

impl Talk {
    pub(super) async fn new() -> Self {
        let provider = ImitatedProvider::start().await;
        let world = World::served_by(&provider).await;
        Self { world, provider }
    }

    pub(super) async fn open_session(&self, bench: &Bench<'_>) {
        let session = json!({"id": "s", "project": "garden"});
        self.world.post("/sessions", &session).by(&bench.owner).send().await;
    }

    /// Sends a message, without waiting for what becomes of it.
    pub(super) async fn send(&self, bench: &Bench<'_>) -> Value {
        let world = &self.world;
        self.open_session(bench).await;
        let message = json!({"content": "please", "target_agent": "agent_coder"});
        world.post("/sessions/s/messages", &message).by(&bench.owner).send().await.ok()
    }

    async fn task(&self, owner: &str, sent: &Value) -> Value {
        let path = format!("/my/projects/garden/tasks/{}", sent["task_id"].as_str().unwrap());
        self.world.get(&path).by(owner).send().await.ok()
    }

    /// The task once it is in that state.
    pub(super) async fn until(&self, owner: &str, sent: &Value, status: &str) -> Value {
        for _ in 0..1_000 {
            let task = self.task(owner, sent).await;
            if task["status"] == status {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not become {status}: {}", self.task(owner, sent).await);
    }

    async fn history(&self, owner: &str) -> Vec<Value> {
        let history = self.world.get("/sessions/s/messages").by(owner).send().await.ok();
        history["items"].as_array().unwrap().clone()
    }
}

/// The next thing that a node has to look at.
pub(super) async fn next(bench: &Bench<'_>) -> Value {
    next_on(bench, &bench.node).await
}

async fn next_on(bench: &Bench<'_>, node: &HandNode<'_>) -> Value {
    for _ in 0..1_000 {
        if let Some(call) = node.open().await.pop() {
            return call;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let history = bench.world.get("/sessions/s/messages").by(&bench.owner).send().await.ok();
    panic!("there is nothing for the node to do: {history}");
}

pub(super) fn write() -> Turn {
    Turn::say("I write it down.").and_call("tool_write_file", json!({"path": "notes.md", "content": "hello\n"}))
}

#[tokio::test]
async fn a_turn_that_wants_to_write_waits_for_its_person_and_goes_on_with_the_result() {
    let talk = Talk::new().await;
    let bench = Bench::new(&talk.world).await;
    talk.provider.script(vec![write(), Turn::say("It is written.")]);
    let sent = talk.send(&bench).await;
    let call = next(&bench).await;
    assert_eq!((&call["status"], &call["task"]), (&json!("proposed"), &sent["task_id"]));
    let call = bench.node.preview(&call, &json!({"exists": false, "diff": "+hello\n"})).await.ok();
    talk.until(&bench.owner, &sent, "waiting").await;
    bench.approve(&call).await;
    let call = bench.node.get(&call).await.ok();
    bench.node.accept(&call).await.ok();
    assert_eq!(talk.task(&bench.owner, &sent).await["status"], "waiting");
    bench.node.result(&call, &json!({"success": true, "sha256": "abc"})).await.ok();
    talk.until(&bench.owner, &sent, "completed").await;
    let ended = bench.call(&call).await;
    assert_eq!((&ended["status"], &ended["consumed"]), (&json!("completed"), &json!(true)));
    let history = talk.history(&bench.owner).await;
    assert_eq!(history.last().unwrap()["content"], "It is written.");
    assert_eq!(talk.provider.requests().len(), 2, "the model is asked once before and once after");
    let told = format!("{:?}", talk.provider.requests()[1]);
    assert!(told.contains("sha256"), "{told}");
    let consumed = bench.actions().await.into_iter().filter(|action| action == "tool_call.consume").count();
    assert_eq!(consumed, 1);
}

#[tokio::test]
async fn a_read_that_needs_nobody_is_waited_for_in_the_turn() {
    let talk = Talk::new().await;
    let bench = Bench::new(&talk.world).await;
    let read = Turn::say("I look.").and_call("tool_read_file", json!({"path": "notes.md"}));
    talk.provider.script(vec![read, Turn::say("It says hello.")]);
    let sent = talk.send(&bench).await;
    let call = next(&bench).await;
    bench.node.accept(&call).await.ok();
    bench.node.result(&call, &json!({"success": true, "content": "hello"})).await.ok();
    talk.until(&bench.owner, &sent, "completed").await;
    assert_eq!(bench.call(&call).await["consumed"], true);
}

#[tokio::test]
async fn a_no_is_told_to_the_model() {
    let talk = Talk::new().await;
    let bench = Bench::new(&talk.world).await;
    talk.provider.script(vec![write(), Turn::say("Then not.")]);
    let sent = talk.send(&bench).await;
    let call = next(&bench).await;
    let call = bench.node.preview(&call, &json!({"exists": false})).await.ok();
    bench.answer(&bench.owner, &call, "reject", &json!({"reason": "leave that file alone"})).await.ok();
    talk.until(&bench.owner, &sent, "completed").await;
    let told = format!("{:?}", talk.provider.requests()[1]);
    assert!(told.contains("leave that file alone") && told.contains("rejected"), "{told}");
    assert_eq!(bench.call(&call).await["consumed"], true);
}

#[tokio::test]
async fn a_turn_that_is_cancelled_takes_its_call_and_its_question_along() {
    let talk = Talk::new().await;
    let bench = Bench::new(&talk.world).await;
    talk.provider.script(vec![write()]);
    let sent = talk.send(&bench).await;
    let call = next(&bench).await;
    let call = bench.node.preview(&call, &json!({"exists": false})).await.ok();
    talk.until(&bench.owner, &sent, "waiting").await;
    let path = format!("/my/projects/garden/tasks/{}/cancel", sent["task_id"].as_str().unwrap());
    talk.world.post(&path, &json!({})).by(&bench.owner).send().await.ok();
    let ended = bench.call(&call).await;
    assert_eq!((&ended["status"], &ended["consumed"]), (&json!("cancelled"), &json!(true)));
    bench.answer(&bench.owner, &call, "approve", &json!({})).await.refused(409, "ALREADY_DECIDED");
    assert!(bench.node.open().await.is_empty());
}

/// What a node does after the house has come back, by its token alone.
async fn make(world: &World, token: &str, project: &str) {
    let of_node = format!("/my/projects/{project}/tools");
    let open = world.get(&of_node).by(token).send().await.ok()["items"][0].clone();
    let id = open["id"].as_str().unwrap();
    let accept = json!({"attempt": open["attempt"], "digest": open["digest"]});
    world.post(&format!("{of_node}/{id}/accept"), &accept).by(token).send().await.ok();
    let result = json!({"attempt": open["attempt"], "result": {"success": true}});
    world.post(&format!("{of_node}/{id}/result"), &result).by(token).send().await.ok();
}

#[tokio::test]
async fn a_turn_that_is_cut_off_while_its_call_is_under_way_goes_on_with_what_comes_of_it() {
    let talk = Talk::new().await;
    let read = Turn::say("I look.").and_call("tool_read_file", json!({"path": "notes.md"}));
    talk.provider.script(vec![read, Turn::say("It says hello.")]);
    let (sent, token, project) = {
        let bench = Bench::new(&talk.world).await;
        let sent = talk.send(&bench).await;
        next(&bench).await;
        assert_eq!(talk.task(&bench.owner, &sent).await["status"], "running");
        let project = bench.node.node["project"].as_str().unwrap().to_owned();
        (sent, bench.node.token.clone(), project)
    };
    let Talk { world, provider } = talk;
    let talk = Talk { world: world.reopened().await, provider };
    let (world, owner) = (&talk.world, talk.world.owner().await);
    assert_eq!(talk.task(&owner, &sent).await["status"], "waiting");
    make(world, &token, &project).await;
    talk.until(&owner, &sent, "completed").await;
    assert_eq!(talk.history(&owner).await.last().unwrap()["content"], "It says hello.");
    assert_eq!(talk.provider.requests().len(), 2, "the model is asked once before and once after");
}

#[tokio::test]
async fn what_waits_when_the_house_stops_goes_on_when_it_is_back() {
    let talk = Talk::new().await;
    talk.provider.script(vec![write(), Turn::say("It is written.")]);
    let (sent, call, token, project) = {
        let bench = Bench::new(&talk.world).await;
        let sent = talk.send(&bench).await;
        let call = next(&bench).await;
        let call = bench.node.preview(&call, &json!({"exists": false})).await.ok();
        talk.until(&bench.owner, &sent, "waiting").await;
        let project = bench.node.node["project"].as_str().unwrap().to_owned();
        (sent, call, bench.node.token.clone(), project)
    };
    let Talk { world, provider } = talk;
    let talk = Talk { world: world.reopened().await, provider };
    let (world, owner) = (&talk.world, talk.world.owner().await);
    let path = format!("/my/projects/garden/approvals/{}/approve", call["approval_id"].as_str().unwrap());
    world.post(&path, &json!({"digest": call["digest"]})).by(&owner).send().await.ok();
    make(world, &token, &project).await;
    talk.until(&owner, &sent, "completed").await;
    assert_eq!(talk.history(&owner).await.last().unwrap()["content"], "It is written.");
    assert_eq!(talk.provider.requests().len(), 2);
}

#[tokio::test]
async fn where_several_machines_serve_the_model_says_which_one() {
    let talk = Talk::new().await;
    let bench = Bench::new(&talk.world).await;
    let desk = talk.world.hand_node(&bench.owner, "desk", "garden").await;
    let read = |params: Value| Turn::say("I look.").and_call("tool_read_file", params);
    let (unnamed, named) = (json!({"path": "a"}), json!({"path": "a", "node": "desk"}));
    talk.provider.script(vec![read(unnamed), read(named), Turn::say("There.")]);
    let sent = talk.send(&bench).await;
    let call = next_on(&bench, &desk).await;
    assert!(bench.node.open().await.is_empty(), "nobody has to guess");
    assert_eq!(call["params"], json!({"path": "a"}), "the machine is no argument of the tool");
    desk.accept(&call).await.ok();
    desk.result(&call, &json!({"success": true, "content": "x"})).await.ok();
    talk.until(&bench.owner, &sent, "completed").await;
    let told = format!("{:?}", talk.provider.requests()[1]);
    assert!(told.contains("NODE_AMBIGUOUS") && told.contains("laptop, desk") | told.contains("desk, laptop"), "{told}");
}
