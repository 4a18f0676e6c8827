//! Turns that began in a channel: their person is told at once, alone; a group hears that there is something, and nothing of it.

use super::delivering::heard;
use super::recorder::Recorder;
use super::telling::{ask, labels, press, pressed};
use super::{Gate, declaration, place};
use domain::capabilities::ToolSet;
use domain::channels::{ChatType, InboundMessage};
use domain::ids::WorkspaceId;
use domain::rules::Declaration;
use domain::workspaces::{Binding, ToolRules};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{HandNode, Turn};

const TOLD: &str = "This needs your approval: I wrote to you directly.";

/// The lab has a machine, and Sean's own chat belongs to it, too.
fn lab_with_a_machine() -> Declaration {
    let mut declared = declaration();
    let lab = declared.workspaces.get_mut(&WorkspaceId::parse("homelab").unwrap()).unwrap();
    lab.settings.tools = Some(ToolRules { allow: ToolSet::of(&["filesystem.*"]), ..ToolRules::default() });
    lab.settings.nodes = Some(vec!["shed".to_owned()]);
    lab.bindings.push(Binding { place: place("telegram", "1111"), reply: None });
    declared
}

/// A message whose turn wants to write; the call once it waits.
async fn wanting_to_write(gate: &Gate, node: &HandNode<'_>, message: InboundMessage) -> Value {
    let write = Turn::say("I write.").and_call("tool_write_file", json!({"path": "canary.md", "content": "x"}));
    gate.provider.script(vec![write, Turn::say("It is done.")]);
    gate.hear(message).await.taken.expect("taken");
    for _ in 0..1_000 {
        if let Some(call) = node.open().await.pop() {
            return node.preview(&call, &json!({"exists": false, "diff": "+x"})).await.ok();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no call came");
}

#[tokio::test]
async fn who_asked_in_a_group_is_told_at_once_and_alone_and_the_group_only_that_there_is_something() {
    let (gate, outlet) = (Gate::declared(lab_with_a_machine()).await, Recorder::default());
    let node = gate.world.hand_node_for(&gate.token_of("sean").await, "shed", "homelab").await;
    let call = wanting_to_write(&gate, &node, heard("1", "please")).await;
    assert_eq!(ask(&gate.world, &outlet).await, 2, "without patience");
    let said = outlet.said.lock().unwrap().clone();
    assert_eq!((said[0].place.as_key().as_str(), said[0].buttons.len()), ("telegram:1111", 2));
    assert!(said[0].text.contains("canary.md") && said[0].text.contains("`homelab`"), "{}", said[0].text);
    let line = &said[1];
    assert_eq!((line.place.as_key().as_str(), line.text.as_str()), ("telegram:-100", TOLD));
    assert_eq!((line.thread_id.as_deref(), line.reply_to.as_deref()), (Some("7"), Some("1")));
    assert!(line.buttons.is_empty());
    assert_eq!(ask(&gate.world, &outlet).await, 0, "each once");
    // The approval is of the lab, while the chat with Sean could lead anywhere.
    let yes = said[0].buttons[0].data.clone();
    let in_group =
        InboundMessage { place: place("telegram", "-100"), chat: ChatType::Group, ..pressed("1111", "1", yes.clone()) };
    assert!(press(&gate.world, &in_group).await.starts_with("Not here"));
    assert_eq!(press(&gate.world, &pressed("1111", "1", yes)).await, "Approved.");
    let call = node.open().await.into_iter().find(|open| open["id"] == call["id"]).expect("dispatched");
    node.accept(&call).await.ok();
    node.result(&call, &json!({"success": true, "sha256": "abc"})).await.ok();
    for _ in 0..1_000 {
        if gate.deliver(&outlet).await == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(outlet.texts().last().map(String::as_str), Some("It is done."));
    assert_eq!(ask(&gate.world, &outlet).await, 1);
    assert!(outlet.endings()[0].starts_with("Approved by you."), "{:?}", outlet.endings());
}

#[tokio::test]
async fn a_group_is_told_what_to_do_if_its_person_cannot_be_written_to() {
    let (gate, outlet) = (Gate::declared(lab_with_a_machine()).await, Recorder::default());
    let node = gate.world.hand_node_for(&gate.token_of("sean").await, "shed", "homelab").await;
    wanting_to_write(&gate, &node, heard("1", "please")).await;
    outlet.failing(1, false);
    assert_eq!(ask(&gate.world, &outlet).await, 1);
    let (line, _) = outlet.last();
    assert_eq!(line.place.as_key(), "telegram:-100");
    assert!(line.text.starts_with("This needs your approval, and I could not write to you"), "{}", line.text);
    assert!(!line.text.contains("canary"), "{}", line.text);
    let world = gate.world.reopened().await;
    assert_eq!(ask(&world, &outlet).await, 0, "once");
}

#[tokio::test]
async fn a_group_that_leads_there_no_more_hears_nothing() {
    let (gate, outlet) = (Gate::declared(lab_with_a_machine()).await, Recorder::default());
    let node = gate.world.hand_node_for(&gate.token_of("sean").await, "shed", "homelab").await;
    wanting_to_write(&gate, &node, heard("1", "please")).await;
    let mut unbound = lab_with_a_machine();
    unbound.workspaces.get_mut(&WorkspaceId::parse("homelab").unwrap()).unwrap().bindings.clear();
    gate.world.declare(unbound).await;
    assert_eq!(ask(&gate.world, &outlet).await, 1);
    assert_eq!(outlet.last().0.place.as_key(), "telegram:1111");
}

#[tokio::test]
async fn who_asked_in_a_direct_chat_is_told_there_and_nowhere_else() {
    let (gate, outlet) = (Gate::declared(lab_with_a_machine()).await, Recorder::default());
    let node = gate.world.hand_node_for(&gate.token_of("sean").await, "shed", "homelab").await;
    let direct = InboundMessage { place: place("telegram", "1111"), chat: ChatType::Direct, ..heard("1", "please") };
    wanting_to_write(&gate, &node, direct).await;
    assert_eq!(ask(&gate.world, &outlet).await, 1);
    assert_eq!((outlet.last().0.place.as_key().as_str(), labels(&outlet).len()), ("telegram:1111", 2));
    gate.world.clock.advance_s(20);
    assert_eq!(ask(&gate.world, &outlet).await, 0);
}
