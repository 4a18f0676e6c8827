//! A node as the house sees one, driven by hand: it says what a test has it say.

use crate::World;
use crate::answers::Answer;
use serde_json::{Value, json};

/// A key that a node may have made for itself.
pub const NODE_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// SHA-256 of the key.
pub const NODE_KEY_HASH: &str = "2a8abfa8cb9906290437854193ca6bca41d4d4e26d1d454bd66a35158095e737";

pub struct HandNode<'w> {
    world: &'w World,
    pub token: String,
    pub node: Value,
    project: String,
}

impl World {
    /// A node that its person's token let in, and that has been heard of.
    pub async fn hand_node(&self, owner: &str, name: &str, project: &str) -> HandNode<'_> {
        self.let_in(owner, json!({"name": name, "project": project})).await
    }

    /// One that serves the members of a workspace.
    pub async fn hand_node_for(&self, admin: &str, name: &str, workspace: &str) -> HandNode<'_> {
        self.let_in(admin, json!({"name": name, "workspace": workspace})).await
    }

    async fn let_in(&self, owner: &str, mut body: Value) -> HandNode<'_> {
        body["root_label"] = json!("work");
        body["key_hash"] = json!(NODE_KEY_HASH);
        let node = self.post("/nodes/pair", &body).by(owner).send().await.ok()["node"].clone();
        let signed_in = self.post("/nodes/pair", &json!({"node": node["id"], "key": NODE_KEY})).send().await.ok();
        let token = signed_in["token"].as_str().unwrap_or_default().to_owned();
        // Of one that serves a workspace, every project is.
        let project = node["project"].as_str().unwrap_or("prj_any").to_owned();
        let node = HandNode { world: self, token, node, project };
        node.open().await;
        node
    }
}

impl HandNode<'_> {
    /// What there is for it to look at; by asking it is there.
    pub async fn open(&self) -> Vec<Value> {
        let path = format!("/my/projects/{}/tools", self.project);
        let list = self.world.get(&path).by(&self.token).send().await.ok();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    pub async fn get(&self, call: &Value) -> Answer {
        let path = format!("/my/projects/{}/tools/{}", self.project, text(&call["id"]));
        self.world.get(&path).by(&self.token).send().await
    }

    pub async fn say(&self, call: &Value, what: &str, body: &Value) -> Answer {
        let path = format!("/my/projects/{}/tools/{}/{what}", text(&call["project"]), text(&call["id"]));
        self.world.post(&path, body).by(&self.token).send().await
    }

    pub async fn preview(&self, call: &Value, preview: &Value) -> Answer {
        self.say(call, "preview", preview).await
    }

    pub async fn accept(&self, call: &Value) -> Answer {
        self.say(call, "accept", &json!({"attempt": call["attempt"], "digest": call["digest"]})).await
    }

    pub async fn result(&self, call: &Value, result: &Value) -> Answer {
        self.say(call, "result", &json!({"attempt": call["attempt"], "result": result})).await
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
