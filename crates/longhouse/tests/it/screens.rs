//! The full screen of a node, in a real terminal with a real house: what is asked appears, and a key answers it.

use super::nodes::{Scene, until};
use super::terminals::AtTerminal;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const LEFT: &str = "\u{1b}[?1049l";

fn begin(scene: &Scene, wanted: &Command) -> AtTerminal {
    let mut node = AtTerminal::begin(wanted);
    until("the node is there", scene, || scene.is_online());
    node.until_seen("connected");
    node
}

fn write(scene: &Scene, content: &str) -> String {
    let call = scene.execute("tool_write_file", &json!({"path": "a", "content": content}), 0).unwrap();
    call["id"].as_str().unwrap().to_owned()
}

fn status(scene: &Scene, call: &str) -> Value {
    scene.call(call).map_or(Value::Null, |call| call["status"].clone())
}

#[test]
fn what_an_agent_wants_appears_on_the_screen_and_y_lets_it() {
    let (scene, server) = Scene::new(None);
    let mut node = begin(&scene, &scene.signed_node(&["--tui"]));
    node.until_seen("Waiting for you (0)");
    node.until_seen("no vetoes");
    let file = scene.root().join("a");
    let first = write(&scene, "hello\n");
    node.until_seen("Waiting for you (1)");
    node.until_seen("nothing is chosen");
    node.press("y");
    node.until_seen("choose first what to answer");
    node.press("j");
    node.until_seen("+hello");
    node.until_seen("MEDIUM");
    assert!(!file.exists());
    node.press("y");
    until("it is written", &scene, || file.exists());
    node.until_seen("write_file a (agent_coder for usr_owner): completed");
    node.until_seen("approved: write_file a");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello\n");
    until("the house knows", &scene, || status(&scene, &first) == "completed");

    // It replaces what the agent has not read, and it holds what a terminal would obey: HIGH twice over.
    let second = write(&scene, "\u{1b}]0;evil\u{7}\u{1b}[2Jgone");
    node.until_seen("  HIGH");
    node.press("j");
    node.until_seen("> HIGH");
    node.press("\r");
    node.until_seen("+\\u{001B}]0;evil\\u{0007}\\u{001B}[2Jgone");
    node.press("y");
    node.until_seen("HIGH: y once more agrees");
    node.press("n");
    node.until_seen("why not?");
    node.press("not like this\r");
    node.until_seen("rejected: write_file a");
    assert_eq!(status(&scene, &second), "rejected");
    let reason = scene.door().get("/my/approvals?status=rejected").unwrap()["items"][0]["reason"].clone();
    assert_eq!(reason, "not like this");

    let third = write(&scene, "again");
    node.until_seen("Waiting for you (1)");
    let asked = scene.call(&third).unwrap()["approval_id"].as_str().unwrap().to_owned();
    let body = json!({"reason": "elsewhere"});
    scene.door().post(&format!("/my/projects/alpha/approvals/{asked}/reject"), &body).unwrap();
    node.until_seen("tool_write_file a is rejected by usr_owner: elsewhere");
    node.until_seen("Waiting for you (0)");

    node.press("\tu");
    node.until_seen("a is gone again");
    assert!(!file.exists());
    node.press("q");
    assert!(node.wait().success());
    node.screen.until(LEFT);
    assert!(!node.screen.text.contains("evil\u{7}"), "nothing of it reached the terminal raw");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn with_ask_locally_the_question_is_on_the_screen_and_the_house_alone_lets_nothing() {
    let (scene, server) = Scene::new(None);
    let mut node = begin(&scene, &scene.signed_node(&["--tui", "--ask-locally"]));
    node.until_seen("asks here, too");
    drop(node);
    // Paired now; from here on without a person's token.
    let mut node = begin(&scene, &scene.node(&["--tui", "--ask-locally"]));
    node.until_seen("to answer here, give a token of yours");
    let file = scene.root().join("a");
    for (key, expected, seen) in [("n", "refused", "refused: write_file a"), ("y", "completed", "agreed: write_file a")]
    {
        let call = write(&scene, "hello");
        until("it is asked", &scene, || {
            scene.approve_all();
            status(&scene, &call) == "dispatched"
        });
        node.until_seen("Waiting for you (1)");
        node.press("j");
        node.until_seen("The house has agreed. This machine asks you, too");
        assert!(!file.exists());
        node.press(key);
        node.until_seen(seen);
        until("it ends", &scene, || status(&scene, &call) == expected);
        assert_eq!(file.exists(), key == "y");
        node.until_gone("The house has agreed");
    }
    let pid = node.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(node.wait().success());
    node.screen.until(LEFT);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn when_the_machine_is_removed_the_terminal_is_put_back_and_it_is_told_why() {
    let (scene, server) = Scene::new(None);
    let mut node = begin(&scene, &scene.signed_node(&["--tui", "--read-only"]));
    node.until_seen("read only");
    server.cli(&["nodes", "remove", "desk"]);
    assert_eq!(node.wait().code(), Some(1));
    node.screen.until("this machine was removed: pair it anew");
    let (before, after) = node.screen.text.split_once(LEFT).unwrap();
    assert!(before.contains("\u{1b}[?1049h") && after.contains("this machine was removed"), "after the screen");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn without_a_terminal_there_is_no_screen() {
    let (scene, server) = Scene::new(None);
    let output = scene.signed_node(&["--tui"]).stdin(Stdio::null()).output().unwrap();
    super::binary::refused_with(&output, 2, "--tui needs a terminal");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_house_that_goes_away_and_comes_back_is_shown_and_calls_go_on() {
    let (scene, server) = Scene::new(None);
    let mut node = begin(&scene, &scene.signed_node(&["--tui"]));
    std::fs::write(scene.root().join("a"), "x").unwrap();
    let read = || scene.execute("tool_read_file", &json!({"path": "a"}), 20).unwrap()["status"].clone();
    assert_eq!(read(), "completed");
    server.kill();
    node.until_seen("trying again");
    let server = scene.serve();
    node.until_seen("connected");
    until("the node is there", &scene, || scene.is_online());
    assert_eq!(read(), "completed");
    let call = write(&scene, "y");
    node.until_seen("Waiting for you (1)");
    node.press("\u{3}");
    assert!(node.wait().success());
    assert_eq!(status(&scene, &call), "waiting_approval", "what waits goes on waiting");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn without_the_screen_what_was_typed_before_the_question_is_no_answer() {
    let (scene, server) = Scene::new(None);
    let mut node = AtTerminal::begin(&scene.signed_node(&["--ask-locally"]));
    until("the node is there", &scene, || scene.is_online());
    node.press("y\ry\r");
    // Both lines are back on the screen: the terminal has them.
    node.screen.until_so("typed", |text| text.matches('y').count() >= 2);
    let call = write(&scene, "hello\n");
    until("it is asked", &scene, || {
        scene.approve_all();
        status(&scene, &call) == "dispatched"
    });
    node.until_seen("shall it be done here? [y/N]");
    node.press("n\r");
    until("it is refused", &scene, || status(&scene, &call) == "refused");
    assert!(!scene.root().join("a").exists());
    drop(node);
    assert_eq!(server.terminate(), Some(0));
}
