//! `longhouse mcp` as agents start it: lines in, lines out, with and without a server.

use super::binary::{LONGHOUSE, Server, command, ok};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub(super) const NEW: &str = "2026-07-28";
pub(super) const OLD: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const PATIENCE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(400);
const KEY: &str = "longhouse://sessions/plans/context/k";

pub(super) struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    version: &'static str,
    next_id: u64,
    /// Notifications that came before an answer.
    news: Vec<Value>,
}

impl Agent {
    fn start(mut command: Command, version: &'static str) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let (sender, output) = channel();
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        Self { child, input, output, version, next_id: 0, news: Vec::new() }
    }

    /// On this machine, in the session `plans`.
    fn local(data_dir: &Path, participant: &str, version: &'static str) -> Self {
        let mut command = command(data_dir);
        command.args(["mcp", "--session", "plans", "--participant", participant]);
        Self::start(command, version).greeted()
    }

    /// On this machine, as an agent.
    pub(super) fn local_agent(data_dir: &Path, agent: &str, version: &'static str) -> Self {
        let mut command = command(data_dir);
        command.args(["mcp", "--agent", agent]);
        Self::start(command, version).greeted()
    }

    /// From another machine, with a token.
    pub(super) fn remote(url: &str, token: &str, version: &'static str) -> Self {
        let mut command = Command::new(LONGHOUSE);
        command.args(["mcp", "--server", url]).env("LONGHOUSE_TOKEN", token);
        Self::start(command, version).greeted()
    }

    fn greeted(mut self) -> Self {
        if self.version == NEW {
            self.request("server/discover", json!({}));
            return self;
        }
        let hello =
            json!({"protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert_eq!(self.request("initialize", hello)["result"]["protocolVersion"], self.version);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        self
    }

    pub(super) fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("open"), "{line}").expect("it reads");
    }

    pub(super) fn line(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("only messages belong on standard output: {line}"))
    }

    pub(super) fn message(&mut self, method: &str, mut params: Value) -> String {
        self.next_id += 1;
        if self.version == NEW {
            let about = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
            meta.extend(about.as_object().cloned().expect("an object"));
            params["_meta"] = meta.into();
        }
        json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}).to_string()
    }

    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let message = self.message(method, params);
        self.send(&message);
        loop {
            let line = self.line();
            if line["id"] == self.next_id {
                return line;
            }
            assert!(line["method"].is_string(), "an answer to nothing: {line}");
            self.news.push(line);
        }
    }

    fn context(&mut self, arguments: &Value) -> Value {
        let answer = self.request("tools/call", json!({"name": "shared_context", "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    }

    fn write(&mut self, value: &str) -> Value {
        self.context(&json!({"action": "write", "key": "k", "value": value}))
    }

    fn read(&mut self) -> Value {
        self.context(&json!({"action": "read", "key": "k"}))["value"].clone()
    }

    fn subscribe(&mut self) {
        if self.version == NEW {
            let message =
                self.message("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": [KEY]}}));
            self.send(&message);
            assert_eq!(self.line()["method"], "notifications/subscriptions/acknowledged");
        } else {
            assert_eq!(self.request("resources/subscribe", json!({"uri": KEY}))["result"], json!({}));
        }
    }

    /// Waits until it hears that the key has changed.
    fn hears(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let line = if self.news.is_empty() { self.line() } else { self.news.remove(0) };
            if line["method"] == "notifications/resources/updated" {
                assert_eq!(line["params"]["uri"], KEY);
                return;
            }
        }
        panic!("no news");
    }

    fn is_silent(&mut self) {
        assert_eq!(self.news, Vec::<Value>::new());
        match self.output.recv_timeout(SILENCE) {
            Err(RecvTimeoutError::Timeout) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Ends the input; it must end by itself, in peace.
    pub(super) fn ends(mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                assert_eq!(status.code(), Some(0));
                return;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn house() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["session", "create", "plans"]);
    folder
}

/// Two agents of any two versions see each other.
fn tell_the_story(mut first: Agent, mut second: Agent) {
    first.subscribe();
    assert_eq!(second.write("one")["written_by"], "subagent:second");
    first.hears();
    assert_eq!(first.read(), "one");
    second.subscribe();
    assert_eq!(first.write("two")["written_by"], "subagent:first");
    second.hears();
    assert_eq!(second.read(), "two");
    let refused = first.context(&json!({"action": "write", "key": "k", "value": "x", "if_version": 7}));
    assert_eq!(refused["error"]["code"], "VERSION_CONFLICT");
    second.ends();
    first.write("three");
    first.ends();
}

#[test]
fn agents_share_a_session_with_and_without_a_server_and_from_far() {
    for (one, other) in [(NEW, OLD[0]), (OLD[1], NEW), (OLD[2], OLD[0]), (NEW, NEW)] {
        let folder = house();
        let data = folder.path();
        tell_the_story(Agent::local(data, "subagent:first", one), Agent::local(data, "subagent:second", other));
        let server = Server::start(data);
        tell_the_story(Agent::local(data, "subagent:first", one), Agent::local(data, "subagent:second", other));
        let token = |participant: &str| {
            server.cli(&["token", "create", "--user", "owner", "--session", "plans", "--participant", participant])
        };
        let (first, second) = (token("subagent:first"), token("subagent:second"));
        tell_the_story(Agent::remote(&server.url, &first, one), Agent::remote(&server.url, &second, other));
        assert_eq!(server.cli(&["context", "read", "-s", "plans", "k"]), "three");
    }
}

#[test]
fn without_a_server_the_first_lets_everybody_in_and_the_next_takes_its_place() {
    let folder = house();
    let data = folder.path();
    for version in [NEW, OLD[0]] {
        let mut first = Agent::local(data, "subagent:first", version);
        let mut second = Agent::local(data, "subagent:second", version);
        first.write("one");
        if version != NEW {
            second.subscribe();
        }
        assert_eq!(ok(data, &["context", "read", "-s", "plans", "k"]), "one", "and commands get in");
        first.ends();
        assert_eq!(second.read(), "one");
        if version != NEW {
            // It was made anew, and nobody knows what was missed.
            second.hears();
        }
        assert_eq!(ok(data, &["context", "read", "-s", "plans", "k"]), "one");
        second.ends();
    }
}

#[test]
fn a_key_that_expires_is_heard_of_where_no_server_runs() {
    let folder = house();
    let mut agent = Agent::local(folder.path(), "subagent:a", NEW);
    agent.subscribe();
    agent.context(&json!({"action": "write", "key": "k", "value": "x", "ttl_seconds": 1}));
    agent.hears();
    agent.hears();
    assert_eq!(agent.context(&json!({"action": "read", "key": "k"}))["error"]["code"], "KEY_NOT_FOUND");
    agent.ends();
}

#[test]
fn a_server_that_is_restarted_is_found_again() {
    let folder = house();
    let data = folder.path();
    let server = Server::start(data);
    let address = server.url.replace("http://", "");
    let token =
        server.cli(&["token", "create", "--user", "owner", "--session", "plans", "--participant", "subagent:far"]);
    let mut agents: Vec<Agent> =
        [NEW, OLD[0], OLD[2]].into_iter().map(|version| Agent::remote(&server.url, &token, version)).collect();
    for agent in &mut agents {
        if agent.version != NEW {
            agent.subscribe();
        }
    }
    server.terminate();
    let server = Server::start_with(data, &["--listen", &address]);
    for agent in &mut agents {
        assert_eq!(agent.write("after")["written_by"], "subagent:far", "{}", agent.version);
        if agent.version != NEW {
            agent.hears();
        }
    }
    server.terminate();
    // Each waits for a while, so they wait together.
    for agent in &mut agents {
        let message = agent.message("tools/list", json!({}));
        agent.send(&message);
    }
    for agent in agents {
        let told = agent.line()["error"].clone();
        assert!(told["message"].as_str().is_some_and(|text| text.contains("cannot be reached")), "{told}");
        agent.ends();
    }
}

#[test]
fn a_revoked_token_ends_the_news_and_every_call_says_so() {
    let folder = house();
    let server = Server::start(folder.path());
    for version in [NEW, OLD[0]] {
        let token = server.cli(&["token", "create", "--user", "owner", "--session", "plans"]);
        let mut agent = Agent::remote(&server.url, &token, version);
        agent.subscribe();
        let listed: Value = serde_json::from_str(&server.cli(&["token", "list", "--json"])).unwrap();
        for one in listed.as_array().expect("tokens") {
            server.cli(&["token", "revoke", one["id"].as_str().expect("an id")]);
        }
        if version == NEW {
            assert_eq!(agent.line()["result"]["resultType"], "complete", "the stream says that it is over");
        }
        server.cli(&["context", "write", "-s", "plans", "k", "secret"]);
        agent.is_silent();
        let told = agent.request("tools/list", json!({}))["error"].clone();
        assert_eq!(told["data"]["error"]["code"], "UNAUTHENTICATED", "{told}");
        agent.ends();
    }
}

#[test]
fn messages_keep_their_order_however_fast_they_come() {
    let folder = house();
    let _server = Server::start(folder.path());
    for version in [NEW, OLD[0]] {
        let mut agent = Agent::local(folder.path(), "subagent:a", version);
        let first = agent.next_id + 1;
        for number in 0..100 {
            let arguments = json!({"action": "write", "key": "k", "value": number.to_string()});
            let message = agent.message("tools/call", json!({"name": "shared_context", "arguments": arguments}));
            agent.send(&message);
        }
        let read =
            agent.message("tools/call", json!({"name": "shared_context", "arguments": {"action": "read", "key": "k"}}));
        agent.send(&read);
        let mut answered = Vec::new();
        while answered.len() < 101 {
            let line = agent.line();
            if let Some(id) = line["id"].as_u64() {
                answered.push(id);
                if id == first + 100 {
                    assert_eq!(line["result"]["structuredContent"]["value"], "99");
                }
            }
        }
        answered.sort_unstable();
        assert_eq!(answered, (first..=first + 100).collect::<Vec<_>>());
        agent.ends();
    }
}

#[test]
fn what_is_not_a_message_is_answered_and_the_next_one_works() {
    let folder = house();
    let mut agent = Agent::local(folder.path(), "subagent:a", NEW);
    let huge = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(3 * 1024 * 1024));
    for (line, code) in [("nonsense", -32700), ("[]", -32600), ("7", -32600), (huge.as_str(), -32600)] {
        agent.send(line);
        let told = agent.line();
        assert_eq!((&told["id"], &told["error"]["code"]), (&Value::Null, &json!(code)), "{told}");
    }
    agent.send("");
    agent.send(r#"{"jsonrpc":"2.0","id":"early","method":"tools/list"}"#);
    let told = agent.line();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!("early"), &json!(-32600)), "no initialize: {told}");
    assert_eq!(agent.request("no/such", json!({}))["error"]["code"], -32601);
    assert_eq!(agent.write("fine")["version"], 1);
    agent.ends();
}

#[test]
fn a_subscription_that_is_cancelled_is_silent_from_then_on() {
    let folder = house();
    let mut agent = Agent::local(folder.path(), "subagent:a", NEW);
    agent.subscribe();
    let id = agent.next_id;
    agent.write("one");
    agent.hears();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    agent.send(&cancel.to_string());
    agent.write("two");
    agent.is_silent();
    agent.ends();
}

/// One line of a client that speaks the new protocol.
fn alone(id: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Says all this, then nothing more, and waits for the end.
fn said(mut command: Command, lines: &[String]) -> std::process::Output {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
    drop(input);
    child.wait_with_output().unwrap()
}

#[test]
fn questions_asked_before_the_input_ends_are_answered() {
    let folder = house();
    let mut command = command(folder.path());
    command.args(["mcp", "--session", "plans"]);
    let lines: Vec<_> = (0..5).map(|id| alone(id, "tools/list", json!({}))).collect();
    let output = said(command, &lines);
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 5);
}

#[test]
fn no_value_is_logged_however_much_is_asked_for() {
    let folder = house();
    let arguments = json!({"action": "write", "key": "k", "value": "CANARY"});
    let write = json!({"name": "shared_context", "arguments": arguments});
    let hello = json!({"protocolVersion": OLD[0], "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        alone(1, "tools/call", write.clone()),
        alone(2, "resources/read", json!({"uri": KEY})),
        json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": hello}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": write}).to_string(),
    ];
    for level in ["trace", "trace,rmcp=trace", "rmcp::service=trace,rmcp::transport=debug,debug"] {
        let mut command = command(folder.path());
        command.args(["mcp", "--session", "plans"]).env("LONGHOUSE_LOG", level);
        let output = said(command, &lines);
        assert_eq!(String::from_utf8_lossy(&output.stdout).matches("\"id\"").count(), 4);
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(!log.contains("CANARY"), "{level}: {log}");
    }
}

#[test]
fn who_is_not_let_in_is_told_at_once_and_on_the_other_stream() {
    let folder = house();
    let server = Server::start(folder.path());
    let tried = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    let local = |args: &[&str]| tried(command(folder.path()).arg("mcp").args(args));
    assert!(local(&["--session", "nowhere"]).contains("SESSION_NOT_FOUND"));
    assert!(local(&["--session", "plans", "--participant", "user:usr_owner"]).contains("INVALID_REQUEST"));
    assert!(local(&["--user", "nobody"]).contains("USER_NOT_FOUND"));
    let remote = |args: &[&str], token: &str| {
        let mut command = Command::new(LONGHOUSE);
        tried(command.args(["mcp", "--server", &server.url]).args(args).env("LONGHOUSE_TOKEN", token))
    };
    assert!(remote(&[], "nonsense").contains("UNAUTHENTICATED"));
    assert!(remote(&["--participant", "orchestrator"], "nonsense").contains("the token says who you are"));
    let empty = tempfile::tempdir().unwrap();
    assert!(tried(command(empty.path()).arg("mcp")).contains("there is no Longhouse in"));
}

#[test]
fn who_began_beside_a_server_never_takes_its_place() {
    for version in [NEW, OLD[1]] {
        let folder = house();
        let data = folder.path();
        let server = Server::start(data);
        let mut agent = Agent::local(data, "subagent:a", version);
        agent.write("before");
        server.terminate();
        // It notices that nobody is there, and only says so.
        let told = agent.request("tools/list", json!({}));
        assert!(told["error"]["message"].is_string(), "{told}");
        let server = Server::start(data);
        assert_eq!(agent.read(), "before", "{version}");
        agent.ends();
        server.terminate();
    }
}

#[test]
fn a_token_says_who_acts_on_this_machine_too() {
    let folder = house();
    let data = folder.path();
    let token = ok(data, &["token", "create", "--user", "owner", "--session", "plans", "--participant", "subagent:t"]);
    ok(data, &["session", "create", "secret"]);
    ok(data, &["context", "write", "-s", "secret", "k", "CANARY"]);
    let with_token = |token: &str| {
        let mut command = command(data);
        command.arg("mcp").env("LONGHOUSE_TOKEN", token);
        command
    };
    let mut agent = Agent::start(with_token(&token), NEW).greeted();
    assert_eq!(agent.write("mine")["written_by"], "subagent:t");
    let elsewhere = agent.context(&json!({"action": "read", "key": "k", "session": "secret"}));
    assert_eq!(elsewhere["error"]["code"], "SESSION_NOT_FOUND", "nobody is taken for the operator: {elsewhere}");
    agent.ends();
    let refused = said(with_token("not-a-token"), &[]);
    assert!(!refused.status.success() && refused.stdout.is_empty());
    let mut missing = command(data);
    missing.args(["mcp", "--token-file", "/nowhere"]);
    assert!(!said(missing, &[]).status.success(), "a token that cannot be read is not passed over");
    let mut both = command(data);
    both.args(["mcp", "--session", "plans", "--token-file", "/nowhere"]);
    assert!(!said(both, &[]).status.success(), "nor is one beside other words for who acts");
}
