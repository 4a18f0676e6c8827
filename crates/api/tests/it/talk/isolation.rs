//! Who may talk to whom, and that nobody hears of anybody else.

use super::{Talk, items, quiet, until};
use domain::rules::{Declaration, HouseRules};
use serde_json::{Value, json};
use testkit::{Answer, ImitatedProvider, ModelRequest, Turn, World};

/// Two people, each with a project of the same name with agents of the same names, and a workspace of both.
struct Street {
    world: World,
    provider: ImitatedProvider,
    ann: String,
    bob: String,
    eve: String,
}

impl Street {
    async fn new() -> Self {
        let provider = ImitatedProvider::start().await;
        let world = World::patiently_served_by(&provider).await;
        let (ann, bob, eve) = (world.member("ann").await, world.member("bob").await, world.member("eve").await);
        world.workspace("team", &["ann", "bob"]).await;
        let street = Self { world, provider, ann, bob, eve };
        for token in [&street.ann, &street.bob] {
            street.world.project(token, "house").await;
            let body = json!({"id": "own", "project": "house"});
            street.world.post("/sessions", &body).by(token).send().await.ok();
        }
        let garden = json!({"name": "garden", "workspace": "team"});
        street.world.post("/my/projects", &garden).by(&street.ann).send().await.ok();
        let plans = json!({"id": "plans", "project": "garden"});
        street.world.post("/sessions", &plans).by(&street.ann).send().await.ok();
        street
    }

    async fn say(&self, token: &str, session: &str, content: &str) -> Answer {
        let body = json!({"content": content, "target_agent": "agent_coder", "wait_s": 30});
        self.world.post(&format!("/sessions/{session}/messages"), &body).by(token).send().await
    }

    async fn leave(&self, token: &str, session: &str, content: &str) -> String {
        let body = json!({"content": content, "target_agent": "agent_coder"});
        let sent = self.world.post(&format!("/sessions/{session}/messages"), &body).by(token).send().await.ok();
        sent["task_id"].as_str().unwrap().to_owned()
    }

    async fn garden_task(&self, task: &str) -> Value {
        self.world.get(&format!("/my/projects/garden/tasks/{task}")).by(&self.ann).send().await.ok()
    }

    async fn ended(&self, task: &str) -> Value {
        let ask = self.world.get("/sessions/plans/events").by(&self.ann).header("last-event-id", "0");
        let mut events = ask.stream().await;
        until(&mut events, |event| event.data["task"] == *task && super::ENDS.contains(&event.kind.as_str())).await;
        self.garden_task(task).await
    }
}

fn has(request: &ModelRequest, canary: &str) -> bool {
    request.body.to_string().contains(canary)
}

#[tokio::test]
async fn nothing_of_one_person_reaches_the_model_or_the_eyes_of_another() {
    let street = Street::new().await;
    for (token, name) in [(&street.ann, "ANN"), (&street.bob, "BOB")] {
        let prompt = json!({"system_prompt": format!("{name}-PROMPT")});
        street.world.patch("/my/projects/house/agents/agent_coder", &prompt).by(token).send().await.ok();
        street.world.write(token, "own", "note", &format!("{name}-NOTE")).await;
        let item = json!({"key": "item", "value": format!("{name}-ITEM")});
        street.world.tool(token, "house/agent_coder", "workspace_write", &item).send().await.ok();
    }
    for (token, name, other) in [(&street.ann, "ANN", "BOB"), (&street.bob, "BOB", "ANN")] {
        street.provider.script(vec![
            Turn::call("workspace_list", json!({})),
            Turn::call("workspace_read", json!({"key": "item"})),
            Turn::call("shared_context", json!({"action": "read", "key": "note"})),
            Turn::say(&format!("{name}-ANSWER")),
        ]);
        let asked = street.provider.requests().len();
        let sent = street.say(token, "own", &format!("{name}-QUESTION")).await.ok();
        assert_eq!(sent["reply"]["content"], format!("{name}-ANSWER"));
        let requests = &street.provider.requests()[asked..];
        assert!(requests.iter().all(|request| has(request, &format!("{name}-PROMPT"))));
        let last = requests.last().unwrap();
        for seen in ["ITEM", "NOTE", "QUESTION"] {
            assert!(has(last, &format!("{name}-{seen}")), "{seen}: {}", last.body);
        }
        assert!(requests.iter().all(|request| !has(request, &format!("{other}-"))), "{other} in what {name} asked");
    }
    for (token, other) in [(&street.ann, "BOB-"), (&street.bob, "ANN-")] {
        for path in ["/sessions/own/messages", "/my/projects/house/tasks", "/my/projects/house/worker-space"] {
            let seen = street.world.get(path).by(token).send().await;
            assert!(seen.status == 200 && !seen.text.contains(other), "{path}: {}", seen.text);
        }
        let tasks = items(street.world.get("/my/projects/house/tasks").by(token).send().await);
        assert_eq!(tasks.len(), 1);
    }
    let of_ann = items(street.world.get("/my/projects/house/tasks").by(&street.ann).send().await)[0].clone();
    let id = of_ann["id"].as_str().unwrap();
    let project = of_ann["project"].as_str().unwrap();
    for project in ["house", project] {
        let path = format!("/my/projects/{project}/tasks/{id}");
        assert_eq!(street.world.get(&path).by(&street.bob).send().await.status, 404);
        let cancel = street.world.post(&format!("{path}/cancel"), &json!({})).by(&street.bob).send().await;
        assert_eq!(cancel.status, 404, "{}", cancel.text);
    }
}

#[tokio::test]
async fn a_private_agent_of_a_shared_project_works_on_the_items_of_whoever_asked() {
    let street = Street::new().await;
    for (token, name) in [(&street.ann, "ANN"), (&street.bob, "BOB")] {
        street.provider.script(vec![
            Turn::call("workspace_write", json!({"key": "mine", "value": format!("{name}-ITEM")})),
            Turn::say("Written."),
        ]);
        assert_eq!(street.say(token, "plans", "write it down").await.ok()["status"], "completed");
    }
    for (token, name) in [(&street.ann, "ANN"), (&street.bob, "BOB")] {
        let read = street.world.tool(token, "garden/agent_coder", "workspace_read", &json!({"key": "mine"}));
        let read = read.send().await.ok();
        assert_eq!(read["value"], format!("{name}-ITEM"), "{read}");
    }
    let both = items(street.world.get("/sessions/plans/messages").by(&street.bob).send().await);
    assert_eq!(both.len(), 6, "the session is of both");
    assert_eq!((&both[0]["on_behalf_of"], &both[3]["on_behalf_of"]), (&json!("usr_ann"), &json!("usr_bob")));
}

#[tokio::test]
async fn the_projects_creator_stops_what_a_member_began_no_other_member_does_and_a_stranger_does_not_know_of_it() {
    let street = Street::new().await;
    street.provider.block();
    let task = street.leave(&street.bob, "plans", "run").await;
    street.provider.until_in_flight(1).await;
    let path = format!("/my/projects/garden/tasks/{task}/cancel");
    let of_ann = street.leave(&street.ann, "plans", "run, too").await;
    let other = format!("/my/projects/garden/tasks/{of_ann}/cancel");
    street.world.post(&other, &json!({})).by(&street.bob).send().await.refused(403, "FORBIDDEN");
    street.world.post(&other, &json!({})).by(&street.ann).send().await.ok();
    street.world.post(&path, &json!({})).by(&street.eve).send().await.refused(404, "PROJECT_NOT_FOUND");
    street.say(&street.eve, "plans", "let me in").await.refused(404, "SESSION_NOT_FOUND");
    let history = street.world.get("/sessions/plans/messages").by(&street.eve).send().await;
    history.refused(404, "SESSION_NOT_FOUND");
    for path in ["/my/projects/garden/worker-space", "/my/projects/garden/tasks"] {
        street.world.get(path).by(&street.eve).send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    let cleanup = street.world.post("/my/projects/garden/worker-space/cleanup", &json!({}));
    cleanup.by(&street.eve).send().await.refused(404, "PROJECT_NOT_FOUND");
    let cancelled = street.world.post(&path, &json!({})).by(&street.ann).send().await.ok();
    assert_eq!(cancelled["error"]["message"], "cancelled by usr_ann");
    street.provider.until_hung_up(1).await;
}

#[tokio::test]
async fn the_tasks_of_somebody_who_has_left_do_not_go_on() {
    let street = Street::new().await;
    let one = json!({"concurrency_limit": 1});
    street.world.patch("/my/projects/garden/agents/agent_coder", &one).by(&street.ann).send().await.ok();
    street.provider.block();
    let step = Turn::call("workspace_write", json!({"key": "late", "value": "x"}));
    street.provider.script(vec![step, Turn::say("never said")]);
    let running = street.leave(&street.bob, "plans", "first").await;
    street.provider.until_in_flight(1).await;
    let queued = street.leave(&street.bob, "plans", "second").await;
    let of_ann = street.leave(&street.ann, "plans", "third").await;
    street.world.leave("team", "bob").await;
    street.provider.release();
    for task in [&running, &queued] {
        let task = street.ended(task).await;
        assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("FORBIDDEN")), "{task}");
    }
    assert_eq!(street.ended(&of_ann).await["status"], "completed");
    quiet(&street.world).await;
    assert!(street.provider.requests().iter().all(|request| request.last_user_text() != "second"), "it never ran");
    let first = street.provider.requests().iter().filter(|request| request.last_user_text() == "first").count();
    assert_eq!(first, 1, "it stops at its next step");
    let own = street.world.tool(&street.bob, "house/agent_coder", "workspace_list", &json!({})).send().await.ok();
    assert!(!own.to_string().contains("late"), "nothing is done for who has left: {own}");
    assert_eq!(testkit::miscounted_days(&street.world.house).await, []);
}

#[tokio::test]
async fn who_has_left_does_not_hear_the_answer_with_an_old_key() {
    let street = Street::new().await;
    street.provider.block();
    street.provider.script(vec![Turn::say("THE-ANSWER")]);
    let body = json!({"content": "x", "target_agent": "agent_coder", "wait_s": 0.05, "idempotency_key": "k"});
    let say = || street.world.post("/sessions/plans/messages", &body).by(&street.bob).send();
    assert_eq!(say().await.status, 202);
    street.provider.until_in_flight(1).await;
    street.world.leave("team", "bob").await;
    street.provider.release();
    quiet(&street.world).await;
    let again = say().await;
    assert!(!again.text.contains("THE-ANSWER"), "{}", again.text);
    again.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn agents_may_talk_to_each_other_until_a_person_has_to_speak() {
    let talk = Talk::new().await.with_room().await;
    let path = format!("/my/projects/{}/agents/agent_writer", talk.project);
    let writer = talk.world.get(&path).by(&talk.owner).send().await.ok();
    let wanted = json!({"agent": writer["id"], "session": "s"});
    let agent = talk.world.agent_token(&talk.owner, wanted).await;
    let body = json!({"content": "and you?", "target_agent": "agent_coder", "wait_s": 30});
    let say = || talk.world.post("/sessions/s/messages", &body).by(&agent).send();
    talk.ask("begin").await;
    let mut accepted = 0;
    let details = loop {
        let answer = say().await;
        if answer.status != 200 {
            break answer.refused(409, "HOP_LIMIT");
        }
        accepted += 1;
        assert!(accepted < 100, "an endless exchange");
    };
    assert_eq!((accepted, &details["hops"]), (16, &json!(17)));
    talk.ask("go on").await;
    assert_eq!(say().await.status, 200, "a person has spoken");
    // No more than four at once are waited for.
    talk.provider.block();
    let short = json!({"content": "and you?", "target_agent": "agent_coder"});
    for _ in 0..4 {
        assert_eq!(talk.world.post("/sessions/s/messages", &short).by(&agent).send().await.status, 202);
    }
    talk.world.post("/sessions/s/messages", &short).by(&agent).send().await.refused(409, "HOP_LIMIT");
    talk.session("other").await;
    talk.world.post("/sessions/other/messages", &short).by(&agent).send().await.refused(404, "SESSION_NOT_FOUND");
    let history = talk.world.get("/sessions/s/messages").by(&agent).send().await;
    assert_eq!(history.status, 200);
    assert_eq!(talk.world.get(&format!("/my/projects/{}/tasks", talk.project)).by(&agent).send().await.status, 403);
}

#[tokio::test]
async fn a_participant_of_the_shared_context_alone_has_no_part_in_the_talk() {
    let talk = Talk::new().await;
    let participant = talk.world.participant(&talk.owner, "s", "subagent:helper:1").await;
    let body = json!({"content": "x", "target_agent": "agent_coder"});
    let sent = talk.world.post("/sessions/s/messages", &body).by(&participant).send().await;
    assert_eq!(sent.status, 403, "{}", sent.text);
    assert_eq!(talk.world.get("/sessions/s/messages").by(&participant).send().await.status, 403);
    assert_eq!(talk.world.get(&talk.task_path("x")).by(&participant).send().await.status, 403);
    assert_eq!(talk.history().await.len(), 0);
    // Rules that change in the middle of it all change nothing of that.
    talk.world.declare(Declaration { house: HouseRules::default(), ..Declaration::default() }).await;
    assert_eq!(talk.world.get("/sessions/s/messages").by(&participant).send().await.status, 403);
}

#[tokio::test]
async fn what_a_private_agent_read_for_one_person_is_not_told_to_another_in_the_same_session() {
    let street = Street::new().await;
    let item = json!({"key": "item", "value": "ANN-ITEM"});
    street.world.tool(&street.ann, "garden/agent_coder", "workspace_write", &item).send().await.ok();
    street.provider.script(vec![Turn::call("workspace_read", json!({"key": "item"})), Turn::say("I have read it.")]);
    assert_eq!(street.say(&street.ann, "plans", "Read my item").await.ok()["status"], "completed");
    let asked = street.provider.requests().len();
    assert_eq!(street.say(&street.bob, "plans", "What did you read?").await.ok()["status"], "completed");
    let told = &street.provider.requests()[asked];
    assert!(has(told, "I have read it.") && !has(told, "ANN-ITEM"), "{}", told.body);
    let history = |token: &str| street.world.get("/sessions/plans/messages").by(token).send();
    assert!(history(&street.ann).await.text.contains("ANN-ITEM"), "who asked sees what came of it");
    let seen = history(&street.bob).await;
    assert!(seen.text.contains("workspace_read") && !seen.text.contains("ANN-ITEM"), "{}", seen.text);
    let agents = street.world.get("/my/projects/garden/agents").by(&street.ann).send().await.ok();
    let own = street.world.agent_token(&street.ann, json!({"agent": agents["items"][1]["id"]})).await;
    assert!(!history(&own).await.text.contains("ANN-ITEM"), "another agent of hers neither");
}

#[tokio::test]
async fn a_key_that_a_list_hides_is_not_shown_by_the_history() {
    let street = Street::new().await;
    let hidden = json!({"id": "hidden", "project": "garden", "config": {"acl": true}});
    street.world.post("/sessions", &hidden).by(&street.ann).send().await.ok();
    let write =
        json!({"action": "write", "key": "plan", "value": "HIDDEN-PLAN", "readable_by": ["subagent:agent_coder:1"]});
    street.provider.script(vec![Turn::call("shared_context", write), Turn::say("Done.")]);
    assert_eq!(street.say(&street.bob, "hidden", "Keep a plan").await.ok()["status"], "completed");
    let seen = street.world.get("/sessions/hidden/messages").by(&street.bob).send().await;
    assert!(seen.text.contains("Done.") && !seen.text.contains("HIDDEN-PLAN"), "{}", seen.text);
}

#[tokio::test]
async fn others_hear_that_a_tool_was_used_on_a_machine_and_not_which() {
    let street = Street::new().await;
    let tools = json!({"tools": {"allow": ["filesystem.*"]}});
    let owner = street.world.owner().await;
    street.world.patch("/admin/workspaces/team", &tools).by(&owner).send().await.ok();
    // Nobody is there to do it: the wish itself is what is told of.
    street
        .provider
        .script(vec![Turn::call("tool_read_file", json!({"path": "diary"})), Turn::say("There is no machine.")]);
    street.say(&street.ann, "plans", "read my diary").await.ok();
    let used = async |token: &str| {
        let listed = items(street.world.get("/sessions/plans/messages").by(token).send().await);
        let calls = listed.iter().flat_map(|message| message["tool_calls"].as_array().cloned().unwrap_or_default());
        calls.map(|call| call["tool"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(used(&street.ann).await, ["tool_read_file"]);
    assert_eq!(used(&street.bob).await, ["node_tool"]);
    let ask = street.world.get("/sessions/plans/events").by(&street.bob).header("last-event-id", "0");
    let mut events = ask.stream().await;
    let seen = until(&mut events, |event| !event.data["tools"].is_null()).await;
    assert_eq!(seen.last().unwrap().data["tools"], json!(["node_tool"]));
}
