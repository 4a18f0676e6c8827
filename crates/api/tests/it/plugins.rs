//! Plugins that the test writes: who may use which of their tools, what a call goes through, and what nobody can do twice.

mod accepting;
mod calls;
mod turns;

use domain::capabilities::ToolSet;
use domain::ids::{UserId, WorkspaceId};
use domain::roles::Role;
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace, HouseRules};
use domain::workspaces::{ToolRules, WorkspaceSettings};
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::{Answer, ScriptedPlugins, World, object_schema};

/// A house with the plugin `dice`, three of whose tools are granted; `dice.drop` waits for a person.
pub(super) struct Casino<'w> {
    pub(super) world: &'w World,
    pub(super) plugins: Arc<ScriptedPlugins>,
    pub(super) owner: String,
}

pub(super) const CAPS: [&str; 3] = ["dice.roll", "dice.drop", "dice.cheat"];
pub(super) const ASKED: [&str; 1] = ["dice.drop"];

pub(super) fn tools() -> [(&'static str, &'static str, Value); 3] {
    let mut one = object_schema(&json!({"sides": {"type": "integer", "minimum": 1}}));
    one["additionalProperties"] = json!(false);
    [
        ("roll", "Throws a die.\u{200b}", one.clone()),
        ("drop", "Throws it away.", one.clone()),
        ("other.read", "Is granted to nobody.", one),
    ]
}

fn allowing(allow: &[&str], deny: &[&str]) -> WorkspaceSettings {
    let tools = Some(ToolRules { allow: ToolSet::of(allow), deny: ToolSet::of(deny) });
    WorkspaceSettings { tools, ..WorkspaceSettings::default() }
}

fn admin() -> DeclaredUser {
    DeclaredUser { role: Role::Admin, identities: Vec::new() }
}

impl<'w> Casino<'w> {
    pub(super) async fn new(world: &'w World) -> Self {
        let plugins = world.scripted_plugins();
        plugins.lists("dice", &CAPS, &ASKED, &tools());
        let casino = Self { world, plugins, owner: world.owner().await };
        casino.declare(&[("dice", &CAPS, &ASKED)]).await;
        casino.settle().await;
        world.project(&casino.owner, "garden").await;
        for workspace in ["bar", "nursery"] {
            let project = json!({"name": workspace, "workspace": workspace});
            world.post("/my/projects", &project).by(&casino.owner).send().await.ok();
        }
        casino
    }

    /// Everybody's own workspace allows `dice.*`; `bar` allows it and denies `dice.drop`; `nursery` allows nothing.
    pub(super) async fn declare(&self, plugins: &[(&str, &[&str], &[&str])]) {
        let owner = UserId::parse("owner").unwrap();
        let workspace = |settings| DeclaredWorkspace { members: vec![owner.clone()], settings, ..Default::default() };
        let house = HouseRules {
            plugins: World::declared(plugins),
            personal: allowing(&["dice.*", "other.*", "notes.*", "filesystem.*"], &[]),
            ..HouseRules::default()
        };
        let declaration = Declaration {
            users: [(owner.clone(), admin())].into(),
            workspaces: [
                (WorkspaceId::parse("bar").unwrap(), workspace(allowing(&["*"], &["dice.drop"]))),
                (WorkspaceId::parse("nursery").unwrap(), workspace(WorkspaceSettings::default())),
            ]
            .into(),
            house,
        };
        self.world.declare(declaration).await;
    }

    pub(super) async fn settle(&self) {
        service::plugins::settle(&self.world.house).await.expect("settled");
    }

    pub(super) async fn execute(&self, tool: &str, params: Value) -> Answer {
        let body = json!({"agent": "agent_coder", "tool": tool, "params": params, "wait_s": 10});
        self.world.post("/my/projects/garden/tools/execute", &body).by(&self.owner).send().await
    }

    /// Without waiting for its end.
    pub(super) async fn begin(&self, tool: &str, params: Value) -> Value {
        let body = json!({"agent": "agent_coder", "tool": tool, "params": params});
        self.world.post("/my/projects/garden/tools/execute", &body).by(&self.owner).send().await.ok()
    }

    pub(super) async fn call(&self, call: &Value) -> Value {
        let path = format!("/my/projects/garden/tools/{}", call["id"].as_str().unwrap());
        self.world.get(&path).by(&self.owner).send().await.ok()
    }

    /// The call once it has come to that.
    pub(super) async fn until(&self, call: &Value, status: &str) -> Value {
        for _ in 0..1_000 {
            let now = self.call(call).await;
            if now["status"] == status {
                return now;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("it did not become {status}: {}", self.call(call).await);
    }

    pub(super) async fn approve(&self, call: &Value) -> Answer {
        let path = format!("/my/projects/garden/approvals/{}/approve", call["approval_id"].as_str().unwrap());
        self.world.post(&path, &json!({"digest": call["digest"]})).by(&self.owner).send().await
    }

    pub(super) async fn looked_at(&self) -> Value {
        self.world.get("/admin/plugins").by(&self.owner).send().await.ok()["items"].clone()
    }

    pub(super) async fn accept(&self, tool: &str, fingerprint: &Value) -> Answer {
        let body = json!({"tool": tool, "fingerprint": fingerprint});
        self.world.post("/admin/plugins/dice/accept", &body).by(&self.owner).send().await
    }

    /// The names of plugins' tools that a workspace's members are offered.
    pub(super) async fn offered(&self, workspace: &str) -> Vec<String> {
        let project = if workspace == "personal" { "garden" } else { workspace };
        let path = format!("/my/projects/{project}/tools/available");
        let answer = self.world.get(&path).by(&self.owner).send().await.ok();
        let is_of_plugin = |tool: &&Value| tool["runs_on"] == "plugin";
        let tools = answer["items"].as_array().unwrap().iter().filter(is_of_plugin);
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}
