//! Messages of channels: the right workspace, as the right person, once; and nobody else's.

mod asking;
mod asking_again;
mod asking_in_groups;
mod delivering;
mod hostile;
mod once;
mod pairing;
mod places;
mod pressing;
mod recorder;
mod telling;

use domain::ids::{UserId, WorkspaceId};
use domain::money::Micros;
use domain::roles::Role;
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace};
use domain::workspaces::{Binding, Budget, ChannelPlace, Identity, Reply, WorkspaceSettings};
use serde_json::{Value, json};
use testkit::{Answer, Ask, ImitatedProvider, World};

/// The seed's example: two workspaces, three places, two people, over the http channel and with places of telegram.
pub(super) struct Gate {
    pub(super) world: World,
    pub(super) provider: ImitatedProvider,
    pub(super) bot: String,
    pub(super) admin: String,
}

fn place(channel: &str, chat: &str) -> ChannelPlace {
    ChannelPlace { channel: channel.to_owned(), chat_id: Some(chat.to_owned()), guild_id: None, channel_id: None }
}

fn user(role: Role, identities: &[(&str, &str)]) -> DeclaredUser {
    let identity = |(channel, id): &(&str, &str)| Identity { channel: (*channel).to_owned(), id: (*id).to_owned() };
    DeclaredUser { role, identities: identities.iter().map(identity).collect() }
}

fn workspace(members: &[&str], model: &str, places: &[ChannelPlace]) -> DeclaredWorkspace {
    let binding = |place: &ChannelPlace| Binding { place: place.clone(), reply: None };
    let budget = Budget { daily: Some(Micros(50_000_000)), ..Budget::default() };
    DeclaredWorkspace {
        members: members.iter().map(|name| UserId::parse(name).unwrap()).collect(),
        bindings: places.iter().map(binding).collect(),
        settings: WorkspaceSettings {
            model: Some(model.to_owned()),
            budget: Some(budget),
            description: Some("declared".to_owned()),
            ..WorkspaceSettings::default()
        },
    }
}

pub(super) fn declaration() -> Declaration {
    let mut declaration = Declaration::default();
    let named = |name: &str| UserId::parse(name).unwrap();
    let sean = user(Role::Admin, &[("http", "sean"), ("telegram", "1111")]);
    declaration.users.insert(named("sean"), sean);
    declaration.users.insert(named("wife"), user(Role::Member, &[("http", "wife"), ("telegram", "3333")]));
    let lab = [place("http", "lab"), place("http", "lab-alerts"), place("telegram", "-100")];
    let homelab = workspace(&["sean"], "gpt-4", &lab);
    declaration.workspaces.insert(WorkspaceId::parse("homelab").unwrap(), homelab);
    let family = workspace(&["sean", "wife"], "claude-3-5-sonnet-latest", &[place("http", "family")]);
    declaration.workspaces.insert(WorkspaceId::parse("family").unwrap(), family);
    declaration
}

impl Gate {
    pub(super) async fn new() -> Self {
        Self::declared(declaration()).await
    }

    pub(super) async fn declared(declaration: Declaration) -> Self {
        let provider = ImitatedProvider::start().await;
        let world = World::patiently_served_by(&provider).await;
        world.declare(declaration).await;
        let admin = world.owner().await;
        let bot = world.post("/my/tokens", &json!({"channel": "http"})).locally().send().await.ok();
        let bot = bot["token"].as_str().unwrap().to_owned();
        Self { world, provider, bot, admin }
    }

    pub(super) fn posting(&self, body: &Value) -> Ask {
        self.world.post("/channels/http/messages", body).by(&self.bot)
    }

    /// Somebody writes in a group and the answer is waited for.
    pub(super) async fn write(&self, chat: &str, sender: &str, id: &str, text: &str) -> Value {
        self.posting(&message(chat, "group", sender, id, text)).send().await.ok()
    }

    /// The same in a direct chat.
    pub(super) async fn whisper(&self, chat: &str, sender: &str, id: &str, text: &str) -> Value {
        self.posting(&message(chat, "direct", sender, id, text)).send().await.ok()
    }

    pub(super) async fn route(&self, body: &Value) -> Answer {
        self.world.post("/gateway/route", body).by(&self.admin).send().await
    }

    pub(super) async fn token_of(&self, user: &str) -> String {
        let issued = self.world.post("/my/tokens", &json!({"user": user})).locally().send().await.ok();
        issued["token"].as_str().unwrap().to_owned()
    }

    pub(super) async fn audit(&self, workspace: &str, action: &str) -> Vec<Value> {
        let path = format!("/admin/audit?limit=500&workspace={workspace}");
        let rows = self.world.get(&path).by(&self.admin).send().await.ok();
        let rows = rows["items"].as_array().unwrap().clone();
        rows.into_iter().filter(|row| row["action"] == action).collect()
    }
}

pub(super) fn message(chat: &str, kind: &str, sender: &str, id: &str, text: &str) -> Value {
    json!({"chat_id": chat, "chat_type": kind, "sender_id": sender, "message_id": id, "text": text, "wait_s": 30})
}

pub(super) fn reason(answer: &Value) -> (&str, &str) {
    (answer["decision"].as_str().unwrap(), answer["reason_code"].as_str().unwrap_or(""))
}

/// What a binding of the file says about groups.
pub(super) fn with_reply(mut declaration: Declaration, workspace: &str, reply: Reply) -> Declaration {
    let declared = declaration.workspaces.get_mut(&WorkspaceId::parse(workspace).unwrap()).unwrap();
    declared.bindings.iter_mut().for_each(|binding| binding.reply = Some(reply));
    declaration
}
