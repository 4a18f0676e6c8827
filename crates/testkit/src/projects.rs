//! Short words for projects, agents and their tools.

use crate::asks::Ask;
use crate::world::World;
use axum::http::Method;
use serde_json::{Value, json};

impl World {
    pub fn patch(&self, path: &str, body: &Value) -> Ask {
        self.ask(Method::PATCH, path).json(body)
    }

    /// A project in the personal workspace of the owner of `token`.
    pub async fn project(&self, token: &str, name: &str) -> Value {
        self.post("/my/projects", &json!({"name": name})).by(token).send().await.ok()
    }

    /// One more agent of a project.
    pub async fn agent(&self, token: &str, project: &str, choice: Value) -> Value {
        self.post(&format!("/my/projects/{project}/agents"), &choice).by(token).send().await.ok()
    }

    /// A token for an agent, made by whoever owns `token`: `{"agent": …, "session": …}`.
    pub async fn agent_token(&self, token: &str, wanted: Value) -> String {
        let issued = self.post("/my/tokens", &wanted).by(token).send().await.ok();
        issued["token"].as_str().expect("a token").to_owned()
    }

    /// Calls a tool on behalf of an agent: `project/agent`.
    pub fn tool(&self, token: &str, agent: &str, tool: &str, request: &Value) -> Ask {
        let (project, agent) = agent.split_once('/').expect("a project and an agent");
        self.post(&format!("/my/projects/{project}/agents/{agent}/tools/{tool}"), request).by(token)
    }
}
