//! An agent that speaks MCP, beside its person and a machine that is driven by hand.

use super::clients::{Client, News};
use crate::it::tool_calls::Bench;
use axum::http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::World;

const PATIENCE: Duration = Duration::from_secs(10);
pub(super) const PROGRESS: &str = "progress-7";

pub(super) struct Desk<'w> {
    pub(super) bench: Bench<'w>,
    pub(super) client: Client<'w>,
    /// The id of the agent's token.
    pub(super) token: String,
}

/// What a tool came to, as a model sees it.
pub(super) struct Told {
    pub(super) content: Value,
    pub(super) is_error: bool,
}

impl Told {
    pub(super) fn of(result: &Value) -> Self {
        let content = result["structuredContent"].clone();
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text, content, "both forms say the same");
        Self { content, is_error: result["isError"] == true }
    }

    /// It has to stand like this, and be no error.
    pub(super) fn is(&self, status: &str) {
        assert_eq!((&self.content["status"], self.is_error), (&json!(status), false), "{}", self.content);
    }

    /// It has to be over like this, for this reason.
    pub(super) fn failed(&self, status: &str, code: &str) {
        let seen = (&self.content["status"], &self.content["reason"]["code"], self.is_error);
        assert_eq!(seen, (&json!(status), &json!(code), true), "{}", self.content);
    }

    /// It has to be refused before there was a call.
    pub(super) fn refused(&self, code: &str) {
        assert_eq!((&self.content["error"]["code"], self.is_error), (&json!(code), true), "{}", self.content);
        assert!(self.content.get("call_id").is_none());
    }
}

impl<'w> Desk<'w> {
    pub(super) async fn new(world: &'w World, version: &'static str) -> Self {
        Self::beside(Bench::new(world).await, version).await
    }

    /// The agent `agent_coder` of whoever owns the bench.
    pub(super) async fn beside(bench: Bench<'w>, version: &'static str) -> Self {
        let agent = agent_of(&bench, 0).await;
        let issued = bench.world.post("/my/tokens", &json!({"agent": agent})).by(&bench.owner).send().await.ok();
        let text = |field: &str| issued[field].as_str().expect("text").to_owned();
        let client = Client::new(bench.world, &text("token"), version).await;
        Self { bench, client, token: text("id") }
    }

    /// Uses a tool and takes the answer that comes.
    pub(super) async fn uses(&mut self, tool: &str, arguments: Value) -> Told {
        Told::of(&self.client.result("tools/call", json!({"name": tool, "arguments": arguments})).await)
    }

    pub(super) async fn status_of(&mut self, call: &Value) -> Told {
        self.uses("tool_call_status", json!({"call_id": call["call_id"]})).await
    }

    /// Uses a tool and hears what is said meanwhile.
    pub(super) async fn follows(&mut self, tool: &str, arguments: Value, id: u64) -> News {
        let meta = json!({"progressToken": PROGRESS});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let message = self.client.message("tools/call", params, id);
        News::of(self.client.ask(Method::POST, Some(&message))).await
    }

    /// A write that waits for its person, with what is said about it; gives the call, too.
    pub(super) async fn follows_a_waiting_write(&mut self, path: &str, id: u64) -> (News, Value) {
        let mut news = self.follows("tool_write_file", json!({"path": path, "content": "hello\n"}), id).await;
        let (count, said) = progress(&news.next().await.expect("a word"));
        assert!(count > 0.0 && said.starts_with("proposed: call_"), "{said}");
        let call = self.asked_for().await;
        let waiting = self.bench.node.preview(&call, &json!({"exists": false, "diff": "+hello\n"})).await.ok();
        let (later, said) = progress(&news.next().await.expect("a word"));
        let approval = waiting["approval_id"].as_str().expect("an approval");
        assert!(later > count && said.starts_with("waiting_approval: ") && said.contains(approval), "{said}");
        (news, waiting)
    }

    /// The next call that the machine hears of.
    pub(super) async fn asked_for(&self) -> Value {
        asked_for(&self.bench).await
    }

    /// The machine does what it was told.
    pub(super) async fn does(&self, call: &Value, result: &Value) {
        does(&self.bench, call, result).await;
    }

    /// The call as its person sees it, once it has ended.
    pub(super) async fn ended(&self, call: &Value) -> Value {
        let ended = async {
            loop {
                let seen = self.bench.call(call).await;
                if seen["ended_at"].is_string() {
                    return seen;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("it ends")
    }
}

pub(super) async fn asked_for(bench: &Bench<'_>) -> Value {
    let heard = async {
        loop {
            if let Some(call) = bench.node.open().await.into_iter().next() {
                return call;
            }
            // Whoever asks is in the same task, and has to get on.
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("the machine hears of a call")
}

pub(super) async fn does(bench: &Bench<'_>, call: &Value, result: &Value) {
    bench.node.accept(call).await.ok();
    bench.node.result(call, result).await.ok();
}

/// The id of an agent of the project.
pub(super) async fn agent_of(bench: &Bench<'_>, number: usize) -> Value {
    let project = bench.world.get("/my/projects/garden").by(&bench.owner).send().await.ok();
    project["agents"][number]["id"].clone()
}

/// How far it is, and what is said about that.
pub(super) fn progress(message: &Value) -> (f64, String) {
    assert_eq!(message["method"], "notifications/progress", "{message}");
    assert_eq!(message["params"]["progressToken"], PROGRESS);
    let said = message["params"]["message"].as_str().expect("a message").to_owned();
    (message["params"]["progress"].as_f64().expect("a number"), said)
}

/// The answer at the end of what is said.
pub(super) async fn answer(news: &mut News) -> Told {
    loop {
        let message = news.next().await.expect("an answer");
        if message.get("result").is_some() {
            return Told::of(&message["result"]);
        }
        progress(&message);
    }
}
