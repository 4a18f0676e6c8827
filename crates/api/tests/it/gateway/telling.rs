//! The scene of approvals in channels: an owner with an account, a machine, and a provider that keeps what it is told.

use super::super::tool_calls::Bench;
use super::recorder::Recorder;
use super::{declaration, place, user};
use domain::channels::{CallbackId, ChatType, DisplayName, InboundKind, InboundMessage, Marks};
use domain::ids::UserId;
use domain::roles::{Right, Role, RoleRules};
use domain::rules::Declaration;
use serde_json::{Value, json};
use service::gateway;
use std::sync::Arc;
use testkit::World;

/// The seed's people, and the owner with an account of telegram.
pub(super) fn declared_with_owner() -> Declaration {
    let mut declared = declaration();
    declared.users.insert(UserId::parse("owner").unwrap(), user(Role::Admin, &[("telegram", "5555"), ("http", "me")]));
    declared
}

/// Mary is a member of the house, with an account of telegram.
pub(super) fn declared_with_mary(telegram: &str) -> Declaration {
    let mut declared = declared_with_owner();
    declared.users.insert(UserId::parse("mary").unwrap(), user(Role::Member, &[("telegram", telegram)]));
    declared
}

/// Admins decide for others, too.
pub(super) fn with_deciders(mut declared: Declaration) -> Declaration {
    let deciders = RoleRules { rights: Some(vec![Right::Approve]), ..RoleRules::default() };
    declared.house.roles.insert("admin".into(), deciders);
    declared
}

pub(super) async fn house_with_owner() -> World {
    let world = World::new().await;
    world.declare(declared_with_owner()).await;
    world
}

/// Tells and concludes what is due.
pub(super) async fn ask(world: &World, outlet: &Recorder) -> usize {
    gateway::ask_people_once(&world.house, Arc::new(outlet.clone())).await.unwrap()
}

/// The same after the patience with people at a terminal is over.
pub(super) async fn ask_later(world: &World, outlet: &Recorder) -> usize {
    world.clock.advance_s(15);
    ask(world, outlet).await
}

pub(super) fn pressed(sender: &str, message_id: &str, data: String) -> InboundMessage {
    InboundMessage {
        account: "42".to_owned(),
        place: place("telegram", sender),
        thread_id: None,
        chat: ChatType::Direct,
        sender_id: Some(sender.to_owned()),
        display_name: DisplayName::new("owner"),
        message_id: message_id.to_owned(),
        update_id: None,
        text: String::new(),
        kind: InboundKind::Press { callback: CallbackId("c".to_owned()), data },
        marks: Marks::default(),
    }
}

/// The first words of somebody unknown, by which they can be let in.
pub(super) fn stranger(sender: &str) -> InboundMessage {
    let kind = InboundKind::Message(None);
    InboundMessage { kind, text: "hello".to_owned(), ..pressed(sender, "1", String::new()) }
}

/// What whoever presses is told.
pub(super) async fn press(world: &World, message: &InboundMessage) -> String {
    gateway::press(&world.house, message).await.unwrap()
}

pub(super) fn button(call: &Value, approves: bool) -> String {
    gateway::button(call["approval_id"].as_str().unwrap(), approves)
}

pub(super) fn labels(outlet: &Recorder) -> Vec<String> {
    outlet.last().0.buttons.into_iter().map(|button| button.label).collect()
}

impl Bench<'_> {
    /// A command that waits for its person.
    pub(super) async fn waiting_command(&self) -> Value {
        let call = self.execute("tool_execute_command", json!({"program": "ls", "args": []})).await.ok();
        let call = self.node.preview(&call, &json!({"program": "/usr/bin/ls"})).await.ok();
        assert_eq!(call["status"], "waiting_approval", "{call}");
        call
    }

    /// A write of a new file that waits, with what the node says of it.
    pub(super) async fn waiting_change(&self, path: &str, diff: &str) -> Value {
        let call = self.execute("tool_write_file", json!({"path": path, "content": "x"})).await.ok();
        let call = self.node.preview(&call, &json!({"exists": false, "diff": diff})).await.ok();
        assert_eq!(call["status"], "waiting_approval", "{call}");
        call
    }
}

/// A call of mary's on a machine of the workspace `den`.
pub(super) async fn on_a_shared_machine(world: &World, owner: &str, mary: &str) -> Value {
    world.workspace("den", &["owner", "mary"]).await;
    let settings = json!({"nodes": ["shed"], "tools": {"allow": ["filesystem.*"]}});
    world.patch("/admin/workspaces/den", &settings).by(owner).send().await.ok();
    world.post("/my/projects", &json!({"name": "shared", "workspace": "den"})).by(mary).send().await.ok();
    let node = world.hand_node_for(owner, "shed", "den").await;
    let params = json!({"path": "canary-of-mary.txt", "content": "x"});
    let body = json!({"agent": "agent_coder", "tool": "tool_write_file", "params": params});
    let call = world.post("/my/projects/shared/tools/execute", &body).by(mary).send().await.ok();
    let call = node.preview(&call, &json!({"exists": false, "diff": "+x"})).await.ok();
    assert_eq!(call["status"], "waiting_approval", "{call}");
    call
}
