//! Buttons: an answer where the person is, for what is not dangerous, by whoever may decide it.

use super::super::tool_calls::Bench;
use super::{declaration, place, user};
use domain::channels::{CallbackId, ChatType, DisplayName, InboundKind, InboundMessage, Marks};
use domain::ids::UserId;
use domain::roles::Role;
use serde_json::{Value, json};
use service::gateway;
use testkit::World;

fn pressed(sender: &str, data: String) -> InboundMessage {
    InboundMessage {
        account: "42".to_owned(),
        place: place("telegram", sender),
        thread_id: None,
        chat: ChatType::Direct,
        sender_id: Some(sender.to_owned()),
        display_name: DisplayName::new("owner"),
        message_id: "1".to_owned(),
        update_id: None,
        text: String::new(),
        kind: InboundKind::Press { callback: CallbackId("c".to_owned()), data },
        marks: Marks::default(),
    }
}

fn button(call: &Value, approves: bool) -> String {
    gateway::button(call["approval_id"].as_str().unwrap(), approves)
}

async fn house_with_owner() -> World {
    let world = World::new().await;
    let mut declared = declaration();
    declared.users.insert(UserId::parse("owner").unwrap(), user(Role::Admin, &[("telegram", "5555")]));
    world.declare(declared).await;
    world
}

#[tokio::test]
async fn a_button_answers_for_its_person_and_for_nobody_else() {
    let world = house_with_owner().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    assert!(button(&call, true).len() <= domain::channels::BUTTON_LONGEST);
    for stranger in ["3333", "666"] {
        let told = gateway::press(&world.house, &pressed(stranger, button(&call, true))).await.unwrap();
        assert_eq!(told, "This is not for you to decide.");
    }
    for odd in ["approve:", "approve:apr_1", "delete:all", "", "approve:../../x"] {
        gateway::press(&world.house, &pressed("5555", odd.to_owned())).await.unwrap();
    }
    assert_eq!(bench.call(&call).await["status"], "waiting_approval", "nothing has moved");
    let told = gateway::press(&world.house, &pressed("5555", button(&call, true))).await.unwrap();
    assert_eq!(told, "Approved.");
    assert_ne!(bench.call(&call).await["status"], "waiting_approval");
    let told = gateway::press(&world.house, &pressed("5555", button(&call, true))).await.unwrap();
    assert_ne!(told, "Approved.", "the first answer stands");
}

#[tokio::test]
async fn a_command_is_never_approved_by_a_button_but_can_be_rejected_by_one() {
    let world = house_with_owner().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_execute_command", json!({"program": "ls", "args": []})).await.ok();
    let call = bench.node.preview(&call, &json!({"program": "/usr/bin/ls"})).await.ok();
    assert_eq!(call["status"], "waiting_approval", "{call}");
    let told = gateway::press(&world.house, &pressed("5555", button(&call, true))).await.unwrap();
    assert!(told.contains("longhouse approvals"), "{told}");
    assert_eq!(bench.call(&call).await["status"], "waiting_approval");
    let told = gateway::press(&world.house, &pressed("5555", button(&call, false))).await.unwrap();
    assert_eq!((told.as_str(), &bench.call(&call).await["status"]), ("Rejected.", &json!("rejected")));
}
