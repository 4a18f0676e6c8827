//! Calls on people's machines, with a node that is driven by hand: what a call goes through, who decides, and what nobody can
//! do twice or too late.

mod approvals;
mod cards;
mod deadlines;
mod knowing;
mod lives;
mod nodes_word;
mod rights;
mod settings;
mod streams;
mod turns;

use serde_json::{Value, json};
use testkit::{Answer, HandNode, World};

/// A project with a node on somebody's machine.
pub(super) struct Bench<'w> {
    pub(super) world: &'w World,
    pub(super) owner: String,
    pub(super) node: HandNode<'w>,
}

impl<'w> Bench<'w> {
    pub(super) async fn new(world: &'w World) -> Self {
        let owner = world.owner().await;
        world.project(&owner, "garden").await;
        let node = world.hand_node(&owner, "laptop", "garden").await;
        Self { world, owner, node }
    }

    pub(super) async fn execute(&self, tool: &str, params: Value) -> Answer {
        let body = json!({"agent": "agent_coder", "tool": tool, "params": params});
        self.world.post("/my/projects/garden/tools/execute", &body).by(&self.owner).send().await
    }

    /// A write that waits for its person, with a preview of the node.
    pub(super) async fn waiting_write(&self, path: &str) -> Value {
        let call = self.execute("tool_write_file", json!({"path": path, "content": "hello\n"})).await.ok();
        assert_eq!(call["status"], "proposed", "{call}");
        let preview = json!({"exists": false, "diff": "+hello\n"});
        let call = self.node.preview(&call, &preview).await.ok();
        assert_eq!(call["status"], "waiting_approval", "{call}");
        call
    }

    pub(super) async fn call(&self, call: &Value) -> Value {
        let path = format!("/my/projects/garden/tools/{}", call["id"].as_str().unwrap());
        self.world.get(&path).by(&self.owner).send().await.ok()
    }

    pub(super) async fn answer(&self, by: &str, call: &Value, decision: &str, body: &Value) -> Answer {
        let path = format!("/my/projects/garden/approvals/{}/{decision}", call["approval_id"].as_str().unwrap());
        self.world.post(&path, body).by(by).send().await
    }

    pub(super) async fn approve(&self, call: &Value) -> Value {
        self.answer(&self.owner, call, "approve", &json!({"digest": call["digest"]})).await.ok()
    }

    pub(super) async fn actions(&self) -> Vec<String> {
        let path = "/admin/audit?workspace=personal-usr_owner&limit=500";
        let rows = self.world.get(path).by(&self.owner).send().await.ok();
        let actions = rows["items"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap().to_owned());
        actions.filter(|action| action.starts_with("tool_call.")).collect()
    }
}
