//! A project in a workspace of two, with private and shared agents: the scene of most stories about items.

use serde_json::{Value, json};
use testkit::{Answer, World};

/// Ann made the project `garden` in the workspace `team`; bea is a member of it, cy is not. `agent_coder` and
/// `agent_writer` are private agents; `board` is shared within the workspace, `wall` with everyone.
pub(super) struct Workshop {
    pub(super) world: World,
    pub(super) ann: String,
    pub(super) bea: String,
    pub(super) cy: String,
    pub(super) project: Value,
}

impl Workshop {
    pub(super) async fn new() -> Self {
        let world = World::new().await;
        let (ann, bea, cy) = (world.member("ann").await, world.member("bea").await, world.member("cy").await);
        world.workspace("team", &["ann", "bea"]).await;
        let garden = json!({"name": "garden", "workspace": "team"});
        world.post("/my/projects", &garden).by(&ann).send().await.ok();
        world.agent(&ann, "garden", json!({"name": "board", "visibility": "shared"})).await;
        let wall = json!({"name": "wall", "visibility": "shared", "audience": "everyone"});
        world.agent(&ann, "garden", wall).await;
        let project = world.get("/my/projects/garden").by(&ann).send().await.ok();
        Self { world, ann, bea, cy, project }
    }

    /// The id of an agent of the garden.
    pub(super) fn id(&self, agent: &str) -> &str {
        let agents = self.project["agents"].as_array().expect("agents");
        let found = agents.iter().find(|found| found["name"] == agent).expect("an agent of that name");
        found["id"].as_str().expect("an id")
    }

    /// A token for an agent of the garden on behalf of whoever owns `token`.
    pub(super) async fn token(&self, token: &str, agent: &str) -> String {
        self.world.agent_token(token, json!({"agent": self.id(agent)})).await
    }

    pub(super) async fn try_as(&self, token: &str, agent: &str, tool: &str, request: Value) -> Answer {
        self.world.tool(token, &format!("garden/{agent}"), tool, &request).send().await
    }

    pub(super) async fn as_(&self, token: &str, agent: &str, tool: &str, request: Value) -> Value {
        self.try_as(token, agent, tool, request).await.ok()
    }

    pub(super) async fn write(&self, token: &str, agent: &str, key: &str, value: &str) -> Value {
        self.as_(token, agent, "workspace_write", json!({"key": key, "value": value})).await
    }

    pub(super) async fn read(&self, token: &str, agent: &str, key: &str) -> Value {
        self.as_(token, agent, "workspace_read", json!({"key": key})).await
    }

    pub(super) async fn lacks(&self, token: &str, agent: &str, key: &str) {
        self.try_as(token, agent, "workspace_read", json!({"key": key})).await.refused(404, "ITEM_NOT_FOUND");
    }

    pub(super) async fn delete(&self, token: &str, agent: &str, key: &str) -> Value {
        self.as_(token, agent, "workspace_delete", json!({"key": key})).await
    }

    pub(super) async fn items(&self, token: &str, agent: &str) -> Vec<Value> {
        let listing = self.as_(token, agent, "workspace_list", json!({})).await;
        listing["items"].as_array().expect("items").clone()
    }

    pub(super) async fn keys(&self, token: &str, agent: &str) -> Vec<String> {
        super::room::names(&json!(self.items(token, agent).await))
    }

    /// Publishes by `agent_coder`.
    pub(super) async fn try_publish(&self, token: &str, request: Value) -> Answer {
        self.try_as(token, "agent_coder", "workspace_publish", request).await
    }

    /// Publishes one key under its own name by `agent_coder`.
    pub(super) async fn publish(&self, token: &str, key: &str, target: &str) -> Value {
        self.try_publish(token, json!({"key": key, "target_agent_id": self.id(target)})).await.ok()
    }

    pub(super) async fn publications(&self, token: &str) -> Vec<Value> {
        let listed = self.world.get("/my/publications").by(token).send().await.ok();
        listed["items"].as_array().expect("publications").clone()
    }

    pub(super) async fn recall(&self, token: &str, publication: &Value) -> Answer {
        let id = publication["publication_id"].as_str().expect("a publication");
        self.world.delete(&format!("/my/publications/{id}")).by(token).send().await
    }

    pub(super) async fn change_agent(&self, token: &str, agent: &str, change: Value) -> Answer {
        self.world.patch(&format!("/my/projects/garden/agents/{agent}"), &change).by(token).send().await
    }
}

/// Every audit row whose action begins so, workspace by workspace, oldest first.
pub(super) async fn audit(world: &World, beginning: &str) -> Vec<Value> {
    let rows = world.get("/admin/audit?limit=500").by(&world.owner().await).send().await.ok();
    assert_eq!(rows["next_cursor"], Value::Null, "one page holds it all");
    let rows = rows["items"].as_array().expect("rows").clone();
    rows.into_iter().filter(|row| row["action"].as_str().expect("an action").starts_with(beginning)).collect()
}

/// Everything a list route has, page by page.
pub(super) async fn pages(world: &World, token: &str, path: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("{path}?limit={limit}{cursor}")).by(token).send().await.ok();
        let items = page["items"].as_array().expect("items").clone();
        assert!(items.len() <= limit);
        all.extend(items);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// The named text field of each.
pub(super) fn texts(list: &[Value], field: &str) -> Vec<String> {
    list.iter().map(|item| item[field].as_str().expect("text").to_owned()).collect()
}
