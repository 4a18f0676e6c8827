//! A real node, a real server and the files of a folder: what an agent does there, and kill -9 of either side at any moment.
//! What was done is counted by the file itself.

use super::binary::{LONGHOUSE, Server, ok};
use super::door::Door;
use super::records::times;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testkit::{ImitatedProvider, Random, Turn};

/// A house and a machine beside it.
pub(super) struct Scene {
    pub(super) folder: TempDir,
    address: String,
    environment: Vec<(String, String)>,
    token: String,
}

pub(super) struct Node(pub(super) Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Scene {
    /// The house with a project, at an address that it keeps.
    pub(super) fn new(provider: Option<&ImitatedProvider>) -> (Self, Server) {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let environment = provider.map_or(Vec::new(), |provider| {
            vec![
                ("OPENAI_API_KEY".to_owned(), "sk-test".to_owned()),
                ("LONGHOUSE_OPENAI_BASE_URL".to_owned(), provider.openai_url()),
            ]
        });
        let mut scene = Self { folder, address, environment, token: String::new() };
        std::fs::create_dir(scene.root()).unwrap();
        let server = scene.serve();
        scene.token = server.token();
        std::fs::write(scene.folder.path().join("token"), &scene.token).unwrap();
        let project = json!({"name": "alpha"});
        assert_eq!(server.post(&scene.token, "/my/projects", &project).unwrap().0, 201);
        let session = json!({"id": "s", "project": "alpha"});
        assert_eq!(server.post(&scene.token, "/sessions", &session).unwrap().0, 201);
        (scene, server)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(super) fn serve(&self) -> Server {
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Server::start_at(&self.folder.path().join("data"), &self.address, &environment)
    }

    pub(super) fn door(&self) -> Door {
        self.door_of(&self.token)
    }

    pub(super) fn door_of(&self, token: &str) -> Door {
        Door::new(&format!("http://{}", self.address), token)
    }

    /// The command of a node, without a person's token.
    pub(super) fn node(&self, options: &[&str]) -> Command {
        let mut command = Command::new(LONGHOUSE);
        command.env_remove("LONGHOUSE_TOKEN").args([
            "connect",
            "--server",
            &format!("http://{}", self.address),
            "--project",
            "alpha",
            "--name",
            "desk",
        ]);
        command.arg("--root").arg(self.root()).arg("--state-dir").arg(self.folder.path().join("state")).args(options);
        command
    }

    /// The same with one.
    pub(super) fn signed_node(&self, options: &[&str]) -> Command {
        let mut command = self.node(options);
        command.arg("--token-file").arg(self.folder.path().join("token"));
        command
    }

    pub(super) fn connect(&self, options: &[&str]) -> Node {
        self.connect_with(options, Stdio::null())
    }

    fn connect_with(&self, options: &[&str], stdin: Stdio) -> Node {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.path().join("node.log")).unwrap();
        Node(self.signed_node(options).stdin(stdin).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// What the node has said.
    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("node.log")).unwrap_or_default()
    }

    /// What there is to see when something does not come.
    fn report(&self) -> String {
        let said = self.said();
        let last: Vec<&str> = said.lines().rev().take(20).collect();
        let calls = self.door().get("/my/projects/alpha/tools?limit=1").unwrap_or_default();
        format!("{}\n{calls}", last.into_iter().rev().collect::<Vec<_>>().join("\n"))
    }

    pub(super) fn is_online(&self) -> bool {
        self.door().get("/nodes").is_ok_and(|nodes| nodes["items"][0]["online"] == true)
    }

    pub(super) fn execute(&self, tool: &str, params: &Value, wait_s: u64) -> Option<Value> {
        let body = json!({"agent": "agent_coder", "tool": tool, "params": params, "wait_s": wait_s, "session": "s"});
        self.door().post("/my/projects/alpha/tools/execute", &body).ok().map(|(_, call)| call)
    }

    pub(super) fn call(&self, id: &str) -> Option<Value> {
        self.door().get(&format!("/my/projects/alpha/tools/{id}")).ok()
    }

    /// Says yes to all that waits.
    pub(super) fn approve_all(&self) {
        let Ok(waiting) = self.door().get("/my/approvals?status=pending") else { return };
        let ids: Vec<&Value> = waiting["items"].as_array().into_iter().flatten().map(|asked| &asked["id"]).collect();
        if !ids.is_empty() {
            let _ = self.door().post("/my/approvals/decide", &json!({"ids": ids, "decision": "approve"}));
        }
    }
}

/// Waits until it is so.
#[track_caller]
pub(super) fn until(what: &str, scene: &Scene, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within a minute: {what}\n{}", scene.report());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn has_ended(status: &str) -> bool {
    domain::tool_calls::CallStatus::parse(status).is_some_and(domain::tool_calls::CallStatus::has_ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_writes_a_file_after_its_person_agreed_although_the_server_was_killed_in_between() {
    let provider = ImitatedProvider::start().await;
    let append = json!({"path": "notes/today.md", "content": "hello\n", "mode": "append", "create_dirs": true});
    provider.script(vec![Turn::say("I write.").and_call("tool_write_file", append), Turn::say("It is written.")]);
    let story = move || {
        let (scene, server) = Scene::new(Some(&provider));
        let node = scene.connect(&[]);
        until("the node is there", &scene, || scene.is_online());
        let message = json!({"content": "write it down", "target_agent": "agent_coder"});
        let (status, sent) = scene.door().post("/sessions/s/messages", &message).unwrap();
        assert_eq!(status, 202, "{sent}");
        let pending = || scene.door().get("/my/approvals?status=pending").map(|list| list["items"][0].clone());
        until("somebody is asked", &scene, || pending().is_ok_and(|asked| asked["previewed"] == true));
        let asked = pending().unwrap();
        assert_eq!((&asked["risk"]["level"], &asked["on_behalf_of"]), (&json!("MEDIUM"), &json!("usr_owner")));
        assert!(asked["diff"].as_str().unwrap().contains("+hello"), "{asked}");
        let task = format!("/my/projects/alpha/tasks/{}", sent["task_id"].as_str().unwrap());
        let is = |status: &str| scene.door().get(&task).is_ok_and(|task| task["status"] == status);
        server.kill();
        let server = scene.serve();
        assert_eq!(pending().unwrap()["id"], asked["id"], "the same question");
        assert!(!scene.root().join("notes/today.md").exists());
        scene.approve_all();
        until("the turn goes on", &scene, || is("completed"));
        assert_eq!(lines(&scene.root().join("notes/today.md")), ["hello"]);
        let history = scene.door().get("/sessions/s/messages").unwrap();
        assert_eq!(history["items"].as_array().unwrap().last().unwrap()["content"], "It is written.");
        assert_eq!(provider.requests().len(), 2);
        drop(node);
        assert_eq!(server.terminate(), Some(0));
    };
    tokio::task::spawn_blocking(story).await.unwrap();
}

#[test]
fn what_a_node_was_told_not_to_do_it_does_not_whoever_agrees() {
    let (scene, server) = Scene::new(None);
    let node = scene.connect(&["--read-only"]);
    until("the node is there", &scene, || scene.is_online());
    std::fs::write(scene.root().join("a"), "old").unwrap();
    let read = scene.execute("tool_read_file", &json!({"path": "a"}), 20).unwrap();
    assert_eq!((&read["status"], &read["result"]["content"]), (&json!("completed"), &json!("old")));
    for (tool, params) in [
        ("tool_write_file", json!({"path": "a", "content": "new"})),
        ("tool_edit_file", json!({"path": "a", "old": "old", "new": "new"})),
        ("tool_delete_file", json!({"path": "a"})),
        ("tool_execute_command", json!({"program": "touch", "args": ["b"]})),
    ] {
        let call = scene.execute(tool, &params, 0).unwrap();
        let id = call["id"].as_str().unwrap().to_owned();
        until("nobody is asked", &scene, || scene.call(&id).is_some_and(|call| call["status"] == "denied"));
        assert_eq!(scene.call(&id).unwrap()["approval_id"], json!(null), "{tool}");
        assert!(scene.call(&id).unwrap()["reason"]["message"].as_str().unwrap().contains("--read-only"), "{tool}");
    }
    assert_eq!(std::fs::read_to_string(scene.root().join("a")).unwrap(), "old");
    assert!(!scene.root().join("b").exists());
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}

/// Whether the script can connect to the port that it is given.
const CONNECT: &str = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or die; \
                       connect($s, pack_sockaddr_in($ARGV[0], inet_aton('127.0.0.1'))) or die; print 'connected'";

#[test]
fn a_command_reaches_the_network_where_the_workspace_and_the_machine_both_allow_it() {
    let (scene, server) = Scene::new(None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let allow = |tools: &[&str]| {
        let tools = tools.iter().flat_map(|tool| ["--allow", tool]);
        let words: Vec<&str> = ["workspace", "update", "personal-usr_owner"].into_iter().chain(tools).collect();
        ok(&scene.folder.path().join("data"), &words);
    };
    let connect = || {
        let params = json!({"program": "perl", "args": ["-e", CONNECT, port]});
        let call = scene.execute("tool_execute_command", &params, 0).unwrap();
        let id = call["id"].as_str().unwrap().to_owned();
        until("it has ended", &scene, || {
            scene.approve_all();
            scene.call(&id).is_some_and(|call| call["status"] == "completed")
        });
        let call = scene.call(&id).unwrap();
        (call["network"] == true, call["result"]["stdout"] == "connected")
    };
    for (options, tools, expected) in [
        (&[][..], &["exec.sandboxed", "exec.network"][..], false),
        (&["--allow-network"][..], &["exec.sandboxed"][..], false),
        (&["--allow-network"][..], &["exec.sandboxed", "exec.network"][..], true),
    ] {
        allow(tools);
        let greeted = "works for usr_owner";
        let before = scene.said().matches(greeted).count();
        let node = scene.connect(options);
        until("the node is there", &scene, || scene.said().matches(greeted).count() > before && scene.is_online());
        assert_eq!(connect(), (expected, expected), "{options:?} {tools:?}\n{}", scene.report());
        drop(node);
    }
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn at_its_start_a_node_says_what_may_happen_here() {
    let (scene, server) = Scene::new(None);
    for (options, told) in [
        (&["--read-only"][..], "read only: nothing is changed or run here"),
        (&["--no-exec"], "no commands: none is run here"),
        (&[], "they write in the folder only, no network"),
        (&[], "256 processes"),
    ] {
        let node = scene.connect(options);
        until(told, &scene, || scene.said().contains(told));
        drop(node);
    }
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_folder_that_would_be_refused_is_refused_before_the_machine_is_on_anybodys_list() {
    let (scene, server) = Scene::new(None);
    let (root, outside) = (scene.root(), scene.folder.path().join("state"));
    std::fs::write(root.join("file"), "").unwrap();
    std::fs::create_dir(root.join("old-state")).unwrap();
    let whole_machine = Path::new("/").to_owned();
    for (root, state, expected) in [
        (whole_machine, outside.clone(), "the root is the whole machine"),
        (root.join("missing"), outside.clone(), "there is no folder"),
        (root.join("file"), outside, "opening the root"),
        (root.clone(), root.join("old-state"), "the state directory lies inside the root"),
        (root.clone(), root.join("new/state"), "the state directory lies inside the root"),
    ] {
        let mut command = Command::new(LONGHOUSE);
        command.args(["connect", "--server", &format!("http://{}", scene.address), "--project", "alpha"]);
        command.arg("--token-file").arg(scene.folder.path().join("token"));
        let refused = command.arg("--root").arg(&root).arg("--state-dir").arg(&state).output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(expected), "{root:?} {state:?}: {told}");
        assert_eq!(scene.door().get("/nodes").unwrap()["items"], json!([]), "{root:?} {state:?}");
    }
    assert!(!root.join("new").exists());
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_node_is_not_started_with_the_token_name_or_project_of_another() {
    let (scene, server) = Scene::new(None);
    let node = scene.connect(&[]);
    let greeted = "desk works for usr_owner in project alpha (prj_";
    until("the node says for whom it works", &scene, || scene.said().contains(greeted) && scene.is_online());
    drop(node);
    server.cli(&["user", "add", "bob"]);
    let bobs = scene.folder.path().join("token of bob");
    std::fs::write(&bobs, server.cli(&["token", "create", "--user", "bob"])).unwrap();
    let other_project = json!({"name": "beta"});
    assert_eq!(server.post(&scene.token, "/my/projects", &other_project).unwrap().0, 201);
    let own = scene.folder.path().join("token");
    for (token, project, name, expected) in [
        (&bobs, "alpha", "desk", "take another --state-dir for usr_bob"),
        (&own, "beta", "desk", "take another --state-dir for project beta"),
        (&own, "alpha", "other", "take another --state-dir for the name other"),
    ] {
        let mut command = Command::new(LONGHOUSE);
        command.args(["connect", "--server", &format!("http://{}", scene.address), "--project", project]);
        command.args(["--name", name, "--token-file"]).arg(token).arg("--root").arg(scene.root());
        let refused = command.arg("--state-dir").arg(scene.folder.path().join("state")).output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(expected) && told.contains("usr_owner"), "{told}");
    }
    assert_eq!(scene.door().get("/nodes").unwrap()["items"].as_array().unwrap().len(), 1);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn beside_its_server_a_node_finds_the_address_by_itself() {
    let (scene, server) = Scene::new(None);
    let mut command = Command::new(LONGHOUSE);
    command.env_remove("LONGHOUSE_SERVER").args(["connect", "--project", "alpha"]);
    command.arg("--data-dir").arg(scene.folder.path().join("data"));
    command.arg("--token-file").arg(scene.folder.path().join("token"));
    command.arg("--root").arg(scene.root()).arg("--state-dir").arg(scene.folder.path().join("state"));
    let node = Node(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the node is there", &scene, || scene.is_online());
    drop(node);
    let health = scene.door().get("/health").unwrap();
    assert_eq!(health.get("address"), None, "over the network nobody is told: {health}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn with_ask_locally_only_a_yes_at_the_machine_is_one_whoever_else_agrees() {
    let (scene, server) = Scene::new(None);
    let mut node = scene.connect_with(&["--ask-locally"], Stdio::piped());
    until("the node is there", &scene, || scene.is_online());
    let mut input = node.0.stdin.take().unwrap();
    let long = "y ".repeat(1_000_000);
    let answers = ["", "garbage \u{1b}[A\0", "no yes no", &long, "\u{ff59}", "yes", "n"];
    let file = scene.root().join("a");
    // The machine reads no further than to the answer that it needs.
    let lines: Vec<String> = answers.iter().map(|answer| format!("{answer}\n")).collect();
    let typing = std::thread::spawn(move || {
        lines.iter().try_for_each(|line| input.write_all(line.as_bytes())).unwrap();
        // Its end is the end of the input.
    });
    let write = |answer: &str| {
        let call = scene.execute("tool_write_file", &json!({"path": "a", "content": "x"}), 0).unwrap();
        let id = call["id"].as_str().unwrap().to_owned();
        until(answer, &scene, || {
            scene.approve_all();
            scene.call(&id).is_some_and(|call| call["status"].as_str().is_some_and(has_ended))
        });
        scene.call(&id).unwrap()["status"].as_str().unwrap().to_owned()
    };
    for answer in answers {
        let expected = if answer == "yes" { "completed" } else { "refused" };
        let shown: String = answer.chars().take(20).collect();
        assert_eq!(write(&shown), expected, "{shown:?}");
        assert_eq!(file.exists(), expected == "completed", "{shown:?}");
        let _ = std::fs::remove_file(&file);
    }
    typing.join().unwrap();
    assert_eq!((write("nobody is there"), file.exists()), ("refused".to_owned(), false));
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn what_a_call_replaced_can_be_put_back_while_the_node_runs_and_when_it_does_not() {
    let (scene, server) = Scene::new(None);
    let node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    let file = scene.root().join("a");
    std::fs::write(&file, "mine").unwrap();
    let state = scene.folder.path().join("state");
    let undo = |call: &str| {
        let mut command = Command::new(LONGHOUSE);
        command.args(["undo", call, "--state-dir"]).arg(&state).stdin(Stdio::null()).output().unwrap()
    };
    let write = |content: &str| {
        let call = scene.execute("tool_write_file", &json!({"path": "a", "content": content}), 0).unwrap();
        let id = call["id"].as_str().unwrap().to_owned();
        until("it is written", &scene, || {
            scene.approve_all();
            scene.call(&id).is_some_and(|call| call["status"] == "completed")
        });
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
        id
    };
    let first = write("of an agent");
    let undone = undo(&first);
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(!undo(&first).status.success(), "it is not kept twice");
    let second = write("of an agent again");
    std::fs::write(&file, "mine again").unwrap();
    let refused = undo(&second);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("changed since"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine again");
    let third = write("once more");
    drop(node);
    assert!(undo(&third).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine again");
    assert!(!undo("../../a").status.success());
    let elsewhere = String::from_utf8_lossy(&undo("call_elsewhere").stderr).into_owned();
    assert!(elsewhere.contains("or its node has another --state-dir"), "{elsewhere}");
    let mut command = Command::new(LONGHOUSE);
    let usual = command.args(["undo", &third]).env("XDG_STATE_HOME", scene.folder.path()).output().unwrap();
    let usual = String::from_utf8_lossy(&usual.stderr).into_owned();
    assert!(usual.contains("started with --state-dir, which `undo` then needs"), "{usual}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_chat_that_waits_says_how_to_answer() {
    let (scene, server) = Scene::new(None);
    let node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    let data = scene.folder.path().join("data");
    let log = scene.folder.path().join("chat.log");
    let mut chat = Command::new(LONGHOUSE);
    chat.args(["chat", "-p", "alpha", r#"call tool_write_file {"path": "new.md", "content": "hello"}"#, "--data-dir"]);
    chat.arg(&data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let mut chat = Node(chat.spawn().unwrap());
    let answer = || {
        let said = std::fs::read_to_string(&log).unwrap();
        let (_, command) = said.split_once("your decision: `longhouse ")?;
        command.split_once('`').map(|(command, _)| command.to_owned())
    };
    until("it says how", &scene, || answer().is_some());
    ok(&data, &answer().unwrap().split(' ').collect::<Vec<_>>());
    assert!(chat.0.wait().unwrap().success());
    assert_eq!(lines(&scene.root().join("new.md")), ["hello"]);
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn nothing_outside_the_folder_is_reached() {
    let (scene, server) = Scene::new(None);
    let node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    let secret = scene.folder.path().join("secret");
    std::fs::write(&secret, "canary").unwrap();
    std::os::unix::fs::symlink(&secret, scene.root().join("link")).unwrap();
    std::os::unix::fs::symlink("..", scene.root().join("up")).unwrap();
    for path in ["link", "up/secret", "/etc/passwd", secret.to_str().unwrap()] {
        let read = scene.execute("tool_read_file", &json!({"path": path}), 20).unwrap();
        assert_eq!(read["result"]["success"], false, "{path}: {read}");
        assert!(!read.to_string().contains("canary"), "{path}");
    }
    let climbs = scene.execute("tool_read_file", &json!({"path": "../secret"}), 20).unwrap();
    assert_eq!(climbs["status"], "invalid");
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_link_does_not_make_a_protected_file_harmless() {
    let (scene, server) = Scene::new(None);
    let node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    std::fs::write(scene.root().join(".env"), "canary").unwrap();
    std::fs::create_dir_all(scene.root().join(".git/hooks")).unwrap();
    for (target, name) in [(".env", "notes.md"), (".git/hooks", "src")] {
        std::os::unix::fs::symlink(target, scene.root().join(name)).unwrap();
    }
    let read = scene.execute("tool_read_file", &json!({"path": "notes.md"}), 20).unwrap();
    assert_eq!(read["result"]["error"]["code"], "HIDDEN_SECRET", "{read}");
    let by_name = scene.execute("tool_read_file", &json!({"path": ".env"}), 0).unwrap();
    assert_eq!(by_name["risk"]["level"], "HIGH", "its person is asked");
    let hook = scene.execute("tool_write_file", &json!({"path": "src/pre-commit", "content": "x"}), 0).unwrap();
    let id = hook["id"].as_str().unwrap().to_owned();
    until("it is judged", &scene, || scene.call(&id).is_some_and(|call| call["status"] == "waiting_approval"));
    let judged = scene.call(&id).unwrap();
    let path = &judged["preview"]["path"];
    assert_eq!((path, &judged["risk"]["level"]), (&json!(".git/hooks/pre-commit"), &json!("HIGH")), "{judged}");
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}

/// Which side is killed, when: after so many milliseconds.
fn kill_one(scene: &Scene, chance: &mut Random, server: Server, node: Node) -> (Server, Node) {
    std::thread::sleep(Duration::from_millis(chance.below(60)));
    match chance.below(3) {
        0 => {
            server.kill();
            std::thread::sleep(Duration::from_millis(chance.below(40)));
            (scene.serve(), node)
        }
        1 => {
            drop(node);
            (server, scene.connect(&[]))
        }
        _ => {
            server.kill();
            drop(node);
            (scene.serve(), scene.connect(&[]))
        }
    }
}

#[test]
fn whoever_is_killed_and_when_a_call_is_made_once_at_most_and_its_end_is_true() {
    let (scene, mut server) = Scene::new(None);
    let mut node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    let mut chance = Random::new(7);
    let file = scene.root().join("log");
    let mut made: Vec<(String, String)> = Vec::new();
    for round in 0..times(50, 500) {
        let line = format!("line-{round}.");
        let params = json!({"path": "log", "content": format!("{line}\n"), "mode": "append"});
        let Some(call) = scene.execute("tool_write_file", &params, 0) else { continue };
        let Some(id) = call["id"].as_str() else { panic!("{call}") };
        made.push((id.to_owned(), line));
        if chance.below(2) == 0 {
            (server, node) = kill_one(&scene, &mut chance, server, node);
        }
        until("somebody can be asked", &scene, || {
            scene.call(id).is_some_and(|call| call["status"] != "proposed" && call["status"] != "validated")
        });
        scene.approve_all();
        (server, node) = kill_one(&scene, &mut chance, server, node);
        // Late enough that some are cut off in the middle, early enough that all are seen to end.
        until("it ends", &scene, || {
            scene.approve_all();
            scene.call(id).is_some_and(|call| call["status"].as_str().is_some_and(has_ended))
        });
    }
    let written = lines(&file);
    let mut completed = 0;
    for (id, line) in &made {
        let call = scene.call(id).unwrap();
        let times = written.iter().filter(|written| *written == line).count();
        let status = call["status"].as_str().unwrap();
        match status {
            "completed" if call["result"]["success"] == true => {
                completed += 1;
                assert_eq!(times, 1, "{call}");
            }
            "unknown" => assert!(times <= 1, "{call}"),
            _ => assert_eq!(times, 0, "{status} {call}"),
        }
        assert_eq!(call["consumed"], true, "{call}");
    }
    println!("{} calls, {completed} completed", made.len());
    assert!(completed > 0 && made.len() > 5, "{completed} of {}", made.len());
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}
