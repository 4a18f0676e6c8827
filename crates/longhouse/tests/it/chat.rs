//! Talking to an agent by command line, through pipes: what is said, shown, stopped and cut off.

use super::binary::{Server, command, fed, ok, refused_with, run};
use super::terminals::{AtTerminal, Heard};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use testkit::{Fault, ImitatedProvider, ModelRequest, Turn};
use tokio::runtime::Runtime;

/// A served house whose models are imitated.
struct Scene {
    folder: TempDir,
    provider: ImitatedProvider,
    server: Option<Server>,
    runtime: Runtime,
}

impl Scene {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let provider = runtime.block_on(ImitatedProvider::start());
        let folder = tempfile::tempdir().unwrap();
        let environment =
            [("LONGHOUSE_OPENAI_BASE_URL", provider.openai_url()), ("OPENAI_API_KEY", "sk-test".to_owned())];
        let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
        let server = Some(Server::start_in(folder.path(), &environment));
        Self { folder, provider, server, runtime }
    }

    fn house(&self) -> &Path {
        self.folder.path()
    }

    fn until_asked(&self, count: usize) {
        self.runtime.block_on(self.provider.until_asked(count));
    }

    fn tasks(&self) -> Value {
        serde_json::from_str(&ok(self.house(), &["tasks", "list", "--json"])).unwrap()
    }

    fn pipe(&self, args: &[&str], input: &str) -> Output {
        fed(self.house(), &[&["chat"], args].concat(), input.as_bytes())
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A chat in the middle of which the test looks at what it has shown so far.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    out: Heard<ChildStdout>,
    err: Heard<ChildStderr>,
}

impl Talk {
    fn begin(house: &Path, args: &[&str]) -> Self {
        let mut command = command(house);
        command.arg("chat").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (out, err) = (Heard::of(child.stdout.take().unwrap()), Heard::of(child.stderr.take().unwrap()));
        Self { input: child.stdin.take(), child, out, err }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The end of the input, and of the chat.
    fn end(mut self) -> (ExitStatus, String, String) {
        drop(self.input.take());
        let (out, err) = (self.out.rest().to_owned(), self.err.rest().to_owned());
        (self.child.wait().unwrap(), out, err)
    }
}

#[test]
fn each_line_is_a_message_of_one_session_and_answers_alone_are_on_standard_output() {
    let scene = Scene::new();
    let output = scene.pipe(&[], "hello\n\n  and again\n");
    assert_eq!((out(&output).as_str(), output.status.code()), ("You said: hello\nYou said: and again\n", Some(0)));
    let notes = err(&output);
    assert!(
        notes.contains("agent_coder, session ses_") && notes.contains("gpt-4, 100 tokens in, 20 out, $"),
        "{notes}"
    );
    assert!(!notes.contains("demo"), "{notes}");
    let asked = scene.provider.requests();
    assert_eq!(asked[1].messages().iter().filter(|message| message["role"] == "user").count(), 2, "it remembers");

    let session = notes.split("session ").nth(1).unwrap().split_whitespace().next().unwrap();
    let again = run(scene.house(), &["chat", "-s", session, "how", "are", "you?"]);
    assert_eq!((out(&again).as_str(), again.status.code()), ("You said: how are you?\n", Some(0)));
    assert_eq!(scene.provider.requests()[2].messages().iter().filter(|said| said["role"] == "user").count(), 3);
    let elsewhere = run(scene.house(), &["chat", "-s", session, "-p", "nowhere", "hello"]);
    refused_with(&elsewhere, 1, "not one of the project nowhere");
    let whole = scene.pipe(&["-"], "one\ntwo\n");
    assert_eq!(out(&whole), "You said: one\ntwo\n", "{}", err(&whole));
}

#[test]
fn an_answer_is_shown_while_it_is_written() {
    let scene = Scene::new();
    let text = "The beginning of an answer. ".repeat(8);
    // Silent in the middle of the words, for ever.
    scene.provider.script(vec![Turn::say(&text).with(Fault::HangAfter(1_200))]);
    let mut talk = Talk::begin(scene.house(), &[]);
    talk.say("go on");
    talk.out.until("The beginning of an");
    assert_eq!(scene.provider.in_flight(), 1, "and it is not over");
    assert_eq!(scene.tasks()[0]["status"], "running");

    talk.say("/stop");
    talk.err.until("stopped");
    assert_eq!(scene.tasks()[0]["status"], "cancelled");
    scene.runtime.block_on(scene.provider.until_hung_up(1));
    talk.say("and now?");
    let (status, out, err) = talk.end();
    assert!(out.ends_with("You said: and now?\n") && status.success(), "{out}\n{err}");
    assert_eq!(out.matches("The beginning of an answer. The").count(), 1, "{out}");
}

#[test]
fn lines_that_come_meanwhile_wait_for_their_turn() {
    let scene = Scene::new();
    scene.provider.block();
    let mut talk = Talk::begin(scene.house(), &[]);
    for line in ["one", "two", "/agent agent_writer", "three", "/quit", "four"] {
        talk.say(line);
    }
    scene.until_asked(1);
    scene.provider.release();
    let (status, out, err) = talk.end();
    assert_eq!(out, "You said: one\nYou said: two\nYou said: three\n", "{err}");
    assert!(status.success());
    let agents: Vec<Value> = scene.tasks().as_array().unwrap().iter().map(|task| task["agent"].clone()).collect();
    assert_eq!(agents, ["agent_writer", "agent_coder", "agent_coder"], "the newest first");
}

#[test]
fn calls_of_tools_are_told_beside_the_answer() {
    let scene = Scene::new();
    let arguments = json!({"key": "notes", "value": "long ".repeat(100)});
    scene.provider.script(vec![
        Turn::say("Let me write it down.").and_call("workspace_write", arguments),
        Turn::call("workspace_read", json!({"key": "nothing"})),
        Turn::say("Written."),
    ]);
    let output = run(scene.house(), &["chat", "remember", "this"]);
    assert_eq!(out(&output), "Let me write it down.\nWritten.\n");
    let notes = err(&output);
    let tools: Vec<&str> = notes.lines().filter(|line| line.contains("tool  ")).collect();
    assert!(tools[0].contains("workspace_write {\"key\":\"notes\"") && tools[0].ends_with('…'), "{notes}");
    assert!(tools[0].chars().count() < 110 && tools[1].ends_with("(refused)"), "{notes}");
    assert!(notes.contains("300 tokens in, 60 out"), "the figures are of all steps: {notes}");
}

#[test]
fn a_message_without_an_answer_is_a_sentence_and_exit_code_1_and_the_rest_is_said_all_the_same() {
    let scene = Scene::new();
    scene.provider.matching(|request| request.last_user_text() == "fail", Turn::fault(Fault::Status(401, None)));
    let output = scene.pipe(&[], "fail\nwork\n");
    assert_eq!((out(&output).as_str(), output.status.code()), ("You said: work\n", Some(1)), "{}", err(&output));
    assert!(err(&output).contains("(PROVIDER_REFUSED)"), "{}", err(&output));
    assert!(!err(&output).contains("sk-test"));

    // More than a day's money, at the door.
    ok(scene.house(), &["project", "create", "alpha"]);
    ok(scene.house(), &["agent", "create", "-p", "alpha", "dear", "--model", "gpt-4", "--max-tokens", "1000000"]);
    let output = run(scene.house(), &["chat", "-p", "alpha", "-a", "dear", "hello"]);
    refused_with(&output, 1, "(BUDGET_EXCEEDED)");

    refused_with(&run(scene.house(), &["chat", "-a", "nobody", "hello"]), 1, "agent_coder, agent_analyzer");
    let output = scene.pipe(&[], "/agent nobody\nfor nobody else\n");
    refused_with(&output, 1, "there is no agent nobody");
    refused_with(&scene.pipe(&[], "/quitt\n"), 1, "/help lists");
}

#[test]
fn what_a_model_writes_cannot_act_on_the_terminal() {
    let scene = Scene::new();
    let hostile = "red \u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J back\rfront \u{202e}olleh\u{8}";
    let call = Turn::say(hostile).and_call("workspace_read", json!({"key": "\u{1b}[2J"}));
    scene.provider.script(vec![call, Turn::say(hostile), Turn::say(hostile)]);
    let output = run(scene.house(), &["chat", "hello"]);
    let acts = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
    assert!(!acts(&out(&output)) && !acts(&err(&output)), "{:?}\n{:?}", out(&output), err(&output));
    assert!(out(&output).contains("red \\u{1b}[31m"), "{}", out(&output));
    let output = run(scene.house(), &["chat", "--json", "hello"]);
    assert!(!acts(&out(&output)), "{:?}", out(&output));
    let turn: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(turn["reply"]["content"], hostile, "programs get what was said");
}

#[test]
fn json_is_one_object_for_each_turn() {
    let scene = Scene::new();
    scene.provider.matching(|request| request.last_user_text() == "fail", Turn::fault(Fault::Status(401, None)));
    scene.provider.matching(|request| request.last_user_text() == "cut", Turn::say("half").cut_short());
    let output = scene.pipe(&["--json"], "hello\nfail\ncut\n");
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(1), ""));
    let turns: Vec<Value> = out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [hello, fail, cut] = turns.as_slice() else { panic!("{turns:?}") };
    assert_eq!((&hello["status"], &hello["error"]), (&json!("completed"), &Value::Null));
    let reply = &hello["reply"];
    assert_eq!((&reply["content"], &reply["agent"]), (&json!("You said: hello"), &json!("agent_coder")));
    assert_eq!((&reply["model"], &reply["usage"]["input_tokens"]), (&json!("gpt-4"), &json!(100)));
    assert!(reply["usage"]["cost_usd"].as_f64().unwrap() > 0.0);
    assert!(hello["session"].as_str().unwrap().starts_with("ses_") && hello["session"] == fail["session"]);
    assert_eq!((&fail["status"], &fail["reply"]), (&json!("failed"), &Value::Null));
    assert!(fail["error"]["code"].is_string() && fail["error"]["message"].is_string(), "{fail}");
    let ids = [hello, fail, cut].map(|turn| turn["task_id"].clone());
    let listed: Vec<Value> = scene.tasks().as_array().unwrap().iter().rev().map(|task| task["id"].clone()).collect();
    assert_eq!(ids.as_slice(), listed);
    assert_eq!(cut["reply"]["truncated"], true);
}

#[test]
fn from_another_machine_a_token_is_enough() {
    let scene = Scene::new();
    let server = scene.server.as_ref().unwrap();
    let token = scene.folder.path().join("token");
    std::fs::write(&token, server.token()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let output =
        run(elsewhere.path(), &["--server", &server.url, "--token-file", token.to_str().unwrap(), "chat", "hi"]);
    assert_eq!((out(&output).as_str(), output.status.code()), ("You said: hi\n", Some(0)), "{}", err(&output));
}

#[test]
fn without_a_server_the_answer_is_made_here_and_says_that_it_is_the_demos() {
    let folder = tempfile::tempdir().unwrap();
    let output = fed(folder.path(), &["chat"], b"hello\nagain\n");
    assert!(output.status.success() && out(&output).matches("built-in demo model").count() == 2, "{}", out(&output));
    assert_eq!(err(&output).matches("to connect one").count(), 1, "once: {}", err(&output));
    assert!(!err(&output).contains("panicked"), "nor does whoever keeps house: {}", err(&output));
    let tasks: Value = serde_json::from_str(&ok(folder.path(), &["tasks", "list", "--json"])).unwrap();
    assert!(tasks.as_array().unwrap().iter().all(|task| task["status"] == "completed"), "{tasks}");
    assert_eq!(tasks.as_array().unwrap().len(), 2);

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let provider = runtime.block_on(ImitatedProvider::start());
    provider.block();
    let mut talk = {
        let mut command = command(folder.path());
        command.args(["chat", "to a model"]).env("LONGHOUSE_OPENAI_BASE_URL", provider.openai_url());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (Heard::of(child.stdout.take().unwrap()), Heard::of(child.stderr.take().unwrap()));
        Talk { input: None, child, out, err }
    };
    runtime.block_on(provider.until_asked(1));
    let running = ok(folder.path(), &["tasks", "list", "--status", "running"]);
    assert!(running.contains("agent_coder"), "others are let in meanwhile: {running}");
    provider.release();
    talk.out.until("You said: to a model\n");
    assert!(talk.end().0.success());
}

#[test]
fn a_server_that_dies_in_the_middle_ends_the_chat_with_a_word() {
    let mut scene = Scene::new();
    scene.provider.block();
    let mut talk = Talk::begin(scene.house(), &[]);
    talk.say("hello");
    talk.say("are you there?");
    scene.until_asked(1);
    scene.server.take().unwrap().kill();
    talk.err.until("the server has gone");
    let (status, out, err) = talk.end();
    assert_eq!((status.code(), out.as_str()), (Some(1), ""), "{err}");
    assert_eq!(err.matches("the server has gone").count(), 1, "{err}");
}

#[test]
fn a_server_that_comes_back_tells_what_became_of_the_message() {
    let mut scene = Scene::new();
    scene.provider.block();
    let mut talk = Talk::begin(scene.house(), &[]);
    talk.say("hello");
    scene.until_asked(1);
    scene.server.take().unwrap().kill();
    let url = scene.provider.openai_url();
    scene.server = Some(Server::start_in(scene.house(), &[("LONGHOUSE_OPENAI_BASE_URL", &url)]));
    talk.err.until("(INTERRUPTED)");
    scene.provider.release();
    talk.say("again");
    talk.out.until("You said: again");
    assert_eq!(talk.end().0.code(), Some(1));
}

/// A way to a server that can be cut in the middle.
struct Wire {
    address: SocketAddr,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, target) = (listener.local_addr().unwrap(), server.url.trim_start_matches("http://").to_owned());
        let ends: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let open = ends.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(&target) else { return };
                let pairs = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
                for (mut from, mut to) in pairs {
                    open.lock().unwrap().push(from.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        Self { address, ends }
    }

    /// Who is connected now is not any more.
    fn cut(&self) {
        self.ends.lock().unwrap().drain(..).for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }
}

#[test]
fn a_stream_that_is_cut_is_found_again_and_the_answer_is_whole() {
    let scene = Scene::new();
    let text = "A long answer of many words. ".repeat(8);
    scene.provider.script(vec![
        // The first step is seen in part, the second is made while nobody listens, or nearly so.
        Turn::say(&text).and_call("workspace_list", json!({})),
        Turn::say("The end."),
    ]);
    let server = scene.server.as_ref().unwrap();
    let wire = Wire::to(server);
    let token = scene.house().join("token");
    std::fs::write(&token, server.token()).unwrap();
    scene.provider.block();
    let elsewhere = tempfile::tempdir().unwrap();
    let url = format!("http://{}", wire.address);
    let talk = Talk::begin(elsewhere.path(), &["--server", &url, "--token-file", token.to_str().unwrap(), "hello"]);
    scene.until_asked(1);
    wire.cut();
    scene.provider.release();
    let (status, out, err) = talk.end();
    assert_eq!((status.code(), out), (Some(0), format!("{text}\nThe end.\n")), "{err}");
    assert!(err.contains("tool  workspace_list {}") && err.contains("200 tokens in"), "{err}");
}

#[test]
fn a_signal_stops_the_answer_and_the_chat() {
    let scene = Scene::new();
    scene.provider.block();
    let talk = Talk::begin(scene.house(), &["hello"]);
    scene.until_asked(1);
    let pid = talk.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let (status, out, err) = talk.end();
    assert_eq!((status.code(), out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("stopped"), "{err}");
    assert_eq!(scene.tasks()[0]["status"], "cancelled");
}

#[test]
fn at_a_terminal_keys_stop_the_answer_and_then_the_chat() {
    let scene = Scene::new();
    let hanging = Turn::say(&"The beginning. ".repeat(20)).with(Fault::HangAfter(1_200));
    scene.provider.script(vec![hanging.clone(), hanging, Turn::fault(Fault::Status(401, None))]);
    let mut wanted = command(scene.house());
    let mut talk = AtTerminal::begin(wanted.arg("chat"));
    talk.screen.until("/help lists what you can do");
    talk.press("hello\n");
    talk.screen.until("The beginning.");
    talk.press("\u{3}");
    talk.screen.until("stopped");
    assert_eq!(scene.tasks()[0]["status"], "cancelled");

    talk.press("once more\n");
    scene.until_asked(2);
    talk.press("/stop\n");
    scene.runtime.block_on(scene.provider.until_hung_up(2));
    talk.press("fail\n");
    talk.screen.until("(PROVIDER_REFUSED)");
    talk.press("/agent agent_writer\nand you?\n");
    talk.screen.until("agent_writer answers from now on");
    talk.screen.until("You said: and you?");
    talk.screen.until("\u{1b}[2m  gpt-4, 100 tokens in, 20 out");
    talk.press("\u{4}");
    talk.screen.until("to go on with this: longhouse chat -s ses_");
    assert!(talk.wait().success());
}

#[test]
fn tasks_and_the_worker_space_are_looked_at_and_ended() {
    let scene = Scene::new();
    let cli = |args: &[&str]| ok(scene.house(), args);
    refused_with(&run(scene.house(), &["tasks", "list"]), 1, "PROJECT_NOT_FOUND");
    scene.provider.block();
    let talk = Talk::begin(scene.house(), &["hello"]);
    scene.until_asked(1);
    let id = scene.tasks()[0]["id"].as_str().unwrap().to_owned();
    assert!(cli(&["tasks", "show", &id]).contains("status        running"));
    assert!(cli(&["worker-space", "show"]).contains("running_tasks    1"));
    assert!(cli(&["tasks", "cancel", &id]).contains("status        cancelled"));
    refused_with(&run(scene.house(), &["tasks", "cancel", &id]), 1, "TASK_ENDED");
    let (status, _, err) = talk.end();
    assert_eq!(status.code(), Some(1), "somebody else ended it: {err}");
    assert!(cli(&["tasks", "list", "--status", "cancelled"]).contains(&id));
    assert_eq!(cli(&["tasks", "list", "--status", "running"]), "none");
    assert!(cli(&["worker-space", "cleanup"]).starts_with("status          stopped"));
    refused_with(&run(scene.house(), &["tasks", "list", "--last", "0"]), 2, "");
}

#[test]
fn who_says_nothing_leaves_nothing_behind() {
    let scene = Scene::new();
    let output = scene.pipe(&[], "/new\n\n/help\n");
    assert!(output.status.success() && out(&output).is_empty(), "{}", err(&output));
    assert_eq!(ok(scene.house(), &["session", "list"]), "none");
    assert!(scene.provider.requests().iter().map(ModelRequest::model).next().is_none());
}

#[test]
fn the_greeting_tells_who_answers_and_how_to_talk() {
    let scene = Scene::new();
    let greeting = &scene.server.as_ref().unwrap().greeting;
    assert!(greeting.contains("model    openai\n") && greeting.contains("talk     longhouse chat"), "{greeting}");
    let folder = tempfile::tempdir().unwrap();
    let greeting = Server::start(folder.path()).greeting.clone();
    assert!(greeting.contains("model    demo (set OPENAI_API_KEY, ANTHROPIC_API_KEY or"), "{greeting}");
}
