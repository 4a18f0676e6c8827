//! The table of a call's states and a server that is killed: in each state, and during each request that moves a call. The node is
//! driven by hand, so that every state is reached and held. What happened is counted by the audit.

use super::binary::Server;
use super::door::{Door, Gone};
use super::nodes::{Scene, until};
use super::records::times;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ImitatedProvider, NODE_KEY, NODE_KEY_HASH, Random, Turn};

type Answer = Result<(u16, Value), Gone>;

struct Table {
    scene: Scene,
    server: Option<Server>,
    node: Door,
    project: String,
}

/// A request that moves a call.
struct Request {
    by_node: bool,
    path: String,
    body: Value,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Table {
    /// With a node that was let in and has never been heard of.
    fn with_node_away(provider: Option<&ImitatedProvider>) -> Self {
        let (scene, server) = Scene::new(provider);
        let asked = json!({"name": "desk", "project": "alpha", "root_label": "work", "key_hash": NODE_KEY_HASH});
        let (status, paired) = scene.door().post("/nodes/pair", &asked).unwrap();
        assert_eq!(status, 201, "{paired}");
        let key = json!({"node": paired["node"]["id"], "key": NODE_KEY});
        let (status, signed_in) = scene.door().post("/nodes/pair", &key).unwrap();
        assert_eq!(status, 200, "{signed_in}");
        let node = scene.door_of(text(&signed_in["token"]));
        Self { scene, server: Some(server), node, project: text(&paired["node"]["project"]).to_owned() }
    }

    fn new(provider: Option<&ImitatedProvider>) -> Self {
        let table = Self::with_node_away(provider);
        table.open();
        table
    }

    fn kill(&mut self) {
        self.server.take().expect("a server").kill();
    }

    fn serve(&mut self) {
        self.server = Some(self.scene.serve());
    }

    /// What the node has to look at; by asking it is there.
    fn open(&self) -> Vec<Value> {
        let list = self.node.get(&format!("/my/projects/{}/tools", self.project)).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// As its node is told of it: not how the node itself is called.
    fn call(&self, id: &str) -> Value {
        let mut call = self.scene.call(id).expect("a server");
        let fields = call.as_object_mut().expect("an object");
        fields.retain(|name, _| !["node_name", "root_label"].contains(&name.as_str()));
        call
    }

    /// The question that a person was asked about a call, if they were.
    fn approval(&self, call: &Value) -> Option<Value> {
        let id = call["approval_id"].as_str()?;
        Some(self.scene.door().get(&format!("/my/approvals/{id}")).expect("a server"))
    }

    fn request(&self, call: &Value, word: &str) -> Request {
        let (id, attempt, digest) = (text(&call["id"]), &call["attempt"], &call["digest"]);
        let of_node = |what: &str, body: Value| {
            let path = format!("/my/projects/{}/tools/{id}/{what}", self.project);
            Request { by_node: true, path, body }
        };
        let answer = |what: &str, body: Value| {
            let path = format!("/my/projects/alpha/approvals/{}/{what}", text(&call["approval_id"]));
            Request { by_node: false, path, body }
        };
        match word {
            "preview" => of_node("preview", json!({"exists": false, "path": "log", "diff": "+x\n"})),
            "approve" => answer("approve", json!({"digest": digest})),
            "reject" => answer("reject", json!({"reason": "not now"})),
            "accept" => of_node("accept", json!({"attempt": attempt, "digest": digest})),
            "start" => of_node("accept", json!({"attempt": attempt, "digest": digest, "started": true})),
            "complete" => of_node("result", json!({"attempt": attempt, "result": {"success": true, "size": 2}})),
            "fail" => of_node("result", json!({"attempt": attempt, "status": "failed", "result": {"success": false}})),
            "unknown" => of_node("result", json!({"attempt": attempt, "status": "unknown"})),
            "refuse" => {
                let reason = json!({"code": "FORBIDDEN", "message": "read only"});
                of_node("result", json!({"attempt": attempt, "status": "refused", "reason": reason}))
            }
            other => panic!("{other}"),
        }
    }

    fn send(&self, request: &Request) -> Answer {
        let owner = self.scene.door();
        let door = if request.by_node { &self.node } else { &owner };
        if request.body.is_null() {
            return door.get(&request.path).map(|answer| (200, answer));
        }
        door.post(&request.path, &request.body)
    }

    fn propose(&self) -> Value {
        let params = json!({"path": "log", "content": "x\n", "mode": "append"});
        let proposed = self.scene.execute("tool_write_file", &params, 0).expect("a server");
        self.call(text(&proposed["id"]))
    }

    /// One step on the way to `completed`.
    fn go_on(&self, call: &Value) -> Value {
        let word = match text(&call["status"]) {
            "proposed" => "preview",
            "waiting_approval" => "approve",
            "dispatched" => "accept",
            "accepted" => "start",
            "running" => "complete",
            "approved" => {
                self.open();
                return self.call(text(&call["id"]));
            }
            other => panic!("{other}: {call}"),
        };
        let (status, answer) = self.send(&self.request(call, word)).unwrap();
        // A preview may come too late: time has judged.
        assert!(status == 200 || word == "preview" && status == 409, "{word}: {status} {answer}");
        self.call(text(&call["id"]))
    }

    fn go_to(&self, mut call: Value, status: &str) -> Value {
        while call["status"] != status {
            call = self.go_on(&call);
        }
        call
    }

    /// What the audit has of a call, in its order.
    fn actions(&self, id: &str) -> Vec<String> {
        let server = self.server.as_ref().expect("a server");
        let rows: Value = serde_json::from_str(&server.cli(&["--json", "audit", "--last", "100000"])).unwrap();
        let rows = rows.as_array().unwrap().iter().filter(|row| row["detail"]["call"] == id);
        rows.map(|row| text(&row["action"]).trim_start_matches("tool_call.").to_owned()).collect()
    }

    /// It ended as expected, and every step was taken once.
    #[track_caller]
    fn ended_once(&self, id: &str, steps: &str) {
        let call = self.call(id);
        assert_eq!(self.actions(id).join(" "), steps, "{call}");
        assert_eq!((&call["consumed"], call["ended_at"].is_string()), (&json!(true), true), "{call}");
        assert!(self.open().iter().all(|open| open["id"] != call["id"]), "nobody is to do it any more");
    }
}

const TO_DISPATCHED: &str = "propose validate wait approve dispatch";
const TO_COMPLETED: &str = "propose validate wait approve dispatch accept run complete";

/// Kills the server while a call is in this state, and carries it on to its end.
fn survives(table: &mut Table, state: &str) {
    let call = table.go_to(table.propose(), state);
    let (id, asked) = (text(&call["id"]).to_owned(), table.approval(&call));
    table.kill();
    table.serve();
    let found = table.call(&id);
    if state == "proposed" && found["status"] == "waiting_approval" {
        assert!(found["preview"].is_null(), "time has judged it: {found}");
    } else {
        assert_eq!(found, call, "{state}");
        assert_eq!(table.approval(&found), asked, "{state}");
    }
    if state == "completed" {
        // Its node never heard that the result was taken: it tells it again. Another one is not taken.
        let (status, answer) = table.send(&table.request(&found, "complete")).unwrap();
        assert_eq!((status, &answer), (200, &call));
        assert_eq!(table.send(&table.request(&found, "unknown")).unwrap().0, 409);
    }
    let done = table.go_to(found, "completed");
    assert_eq!((&done["result"]["size"], &done["attempt"]), (&json!(2), &json!(1)), "{state}");
    if let Some(asked) = asked {
        let decided = table.approval(&done).unwrap();
        for same in ["id", "digest", "requested_at", "expires_at"] {
            assert_eq!(decided[same], asked[same], "{state}: {same}");
        }
    }
    table.ended_once(&id, TO_COMPLETED);
}

#[test]
fn a_call_is_in_the_state_in_which_a_kill_of_the_server_found_it_and_ends_once() {
    let mut table = Table::with_node_away(None);
    // First, while nobody has heard of the node.
    for state in ["waiting_approval", "approved"] {
        let call = table.go_to(table.propose(), state);
        assert!(call["preview"].is_null() && call["attempt"] == 0, "{call}");
        let id = text(&call["id"]).to_owned();
        table.kill();
        table.serve();
        assert_eq!(table.call(&id), call, "{state}");
        if state == "approved" {
            table.go_to(call, "completed");
            table.ended_once(&id, TO_COMPLETED);
        }
    }
    for state in ["proposed", "waiting_approval", "dispatched", "accepted", "running", "completed"] {
        survives(&mut table, state);
    }
    let server = table.server.take().unwrap();
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
    assert_eq!(server.terminate(), Some(0));
}

/// A word that moves a call, from where, to where, whether a repetition gets the same answer, and the audit of a call that ends with it or
/// goes on to be completed.
const MOVES: [(&str, &str, &str, bool, &str); 9] = [
    ("preview", "proposed", "waiting_approval", false, TO_COMPLETED),
    ("approve", "waiting_approval", "dispatched", false, TO_COMPLETED),
    ("reject", "waiting_approval", "rejected", false, "propose validate wait reject"),
    ("accept", "dispatched", "accepted", true, TO_COMPLETED),
    ("refuse", "dispatched", "refused", true, "propose validate wait approve dispatch refuse"),
    ("start", "accepted", "running", true, TO_COMPLETED),
    ("complete", "running", "completed", true, TO_COMPLETED),
    ("fail", "accepted", "failed", true, "propose validate wait approve dispatch accept run fail"),
    ("unknown", "accepted", "unknown", true, "propose validate wait approve dispatch accept run unknown"),
];

/// Sends a request and kills the server after so many microseconds; gives what was answered before that.
fn cut_off(table: &mut Table, request: &Request, after: Option<Duration>) -> Answer {
    let server = table.server.take().expect("a server");
    let answered = std::thread::scope(|scope| {
        let sent = scope.spawn(|| table.send(request));
        if let Some(after) = after {
            std::thread::sleep(after);
            server.kill();
            return sent.join().unwrap();
        }
        let answered = sent.join().unwrap();
        server.kill();
        answered
    });
    table.serve();
    answered
}

/// Whether the move was made before the kill.
fn is_whole(table: &mut Table, row: usize, after: Option<Duration>) -> bool {
    let (word, from, to, repeats, steps) = MOVES[row];
    let call = table.go_to(table.propose(), from);
    let id = text(&call["id"]).to_owned();
    let request = table.request(&call, word);
    let answered = cut_off(table, &request, after);
    let found = table.call(&id);
    let is_moved = found["status"] == to;
    assert!(is_moved || found == call, "{word}: neither old nor new: {found}");
    if let Ok((status, answer)) = &answered {
        assert_eq!((*status, is_moved), (200, true), "{word}: {answer}");
    }
    let (status, again) = table.send(&request).unwrap();
    let (second_status, second) = table.send(&request).unwrap();
    if repeats {
        assert_eq!((status, second_status, &again), (200, 200, &second), "{word}: {again}");
        assert!(answered.is_err() || answered.unwrap().1 == again, "{word}: another answer than the first");
        assert!(!is_moved || again == found, "{word}: a repetition moved it");
    } else {
        // The first of the two may be the one that counts; time may have been faster than a preview.
        assert_eq!(second_status, 409, "{word}: {second}");
        assert!(status == if is_moved { 409 } else { 200 } || word == "preview", "{word}: {status} {again}");
    }
    let ended = table.call(&id);
    assert!(ended["status"] == to, "{word}: {ended}");
    if steps == TO_COMPLETED {
        table.go_to(ended, "completed");
    }
    table.ended_once(&id, steps);
    is_moved
}

#[test]
fn a_server_that_is_killed_during_a_request_has_heard_it_or_not_and_the_same_request_again_is_answered_truly() {
    let mut table = Table::new(None);
    let mut chance = Random::new(11);
    let (mut old, mut new) = (0, 0);
    for row in 0..MOVES.len() {
        let random: Vec<u64> = (0..times(3, 40)).map(|_| chance.below(6_000)).collect();
        let moments = random.into_iter().chain([0]).map(|after| Some(Duration::from_micros(after)));
        // At last, one that is killed when the answer is there: what was answered holds.
        for after in moments.chain([None]) {
            let count = if is_whole(&mut table, row, after) { &mut new } else { &mut old };
            *count += 1;
        }
    }
    println!("{old} before they were heard, {new} after");
    assert!(new >= MOVES.len(), "{new}");
    let server = table.server.take().unwrap();
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_server_that_is_killed_while_a_node_comes_back_has_sent_out_what_waited_for_it_or_sends_it_then() {
    for after in [Some(0), Some(1_000), Some(3_000), None] {
        let mut table = Table::with_node_away(None);
        let call = table.go_to(table.propose(), "approved");
        let path = format!("/my/projects/{}/tools", table.project);
        let look = Request { by_node: true, path, body: Value::Null };
        let answered = cut_off(&mut table, &look, after.map(Duration::from_micros));
        let found = table.call(text(&call["id"]));
        assert!(found["status"] == "dispatched" || found == call && answered.is_err(), "{after:?}: {found}");
        table.go_to(found, "completed");
        table.ended_once(text(&call["id"]), TO_COMPLETED);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_for_a_call_goes_on_once_although_the_server_dies_in_every_state_of_it() {
    let provider = ImitatedProvider::start().await;
    let append = json!({"path": "log", "content": "x\n", "mode": "append"});
    provider.script(vec![Turn::say("I write.").and_call("tool_write_file", append), Turn::say("It is written.")]);
    let story = move || {
        let mut table = Table::new(Some(&provider));
        let message = json!({"content": "write it down", "target_agent": "agent_coder"});
        let (status, sent) = table.scene.door().post("/sessions/s/messages", &message).unwrap();
        assert_eq!(status, 202, "{sent}");
        let newest =
            |table: &Table| table.scene.door().get("/my/projects/alpha/tools?limit=1").unwrap()["items"][0].clone();
        until("the turn asks", &table.scene, || newest(&table)["status"].is_string());
        let mut call = newest(&table);
        let id = text(&call["id"]).to_owned();
        for state in ["waiting_approval", "dispatched", "accepted", "running"] {
            call = table.go_to(call, state);
            table.kill();
            table.serve();
            assert_eq!(table.call(&id), call, "{state}");
            assert_eq!(call["consumed"], false, "{state}");
        }
        table.go_to(call, "completed");
        let task = format!("/my/projects/alpha/tasks/{}", text(&sent["task_id"]));
        let is_done = || table.scene.door().get(&task).is_ok_and(|task| task["status"] == "completed");
        until("the turn goes on", &table.scene, is_done);
        table.ended_once(&id, &format!("{TO_DISPATCHED} accept run complete consume"));
        assert_eq!(provider.requests().len(), 2, "the model was asked twice");
        let history = table.scene.door().get("/sessions/s/messages").unwrap();
        assert_eq!(history["items"].as_array().unwrap().last().unwrap()["content"], "It is written.");
        assert_eq!(table.server.take().unwrap().terminate(), Some(0));
    };
    tokio::task::spawn_blocking(story).await.unwrap();
}
