//! A client of MCP in any version, down to the headers, so that it can also do what a good one would not.

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Ask, World};

pub(in crate::it) const NEW: &str = "2026-07-28";
pub(super) const OLD: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
pub(in crate::it) const ALL: [&str; 5] = [NEW, OLD[0], OLD[1], OLD[2], OLD[3]];

const PATIENCE: Duration = Duration::from_secs(10);
/// How long is long enough to say that nothing comes.
const SILENCE: Duration = Duration::from_millis(300);

pub(in crate::it) struct Client<'w> {
    pub(super) world: &'w World,
    pub(super) token: String,
    pub(super) version: &'static str,
    /// Old versions only.
    pub(super) session: Option<String>,
    next_id: u64,
}

/// An HTTP answer with the messages in it.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
    pub(super) messages: Vec<Value>,
}

pub(super) fn uri(session: &str, key: &str) -> String {
    format!("longhouse://sessions/{session}/context/{key}")
}

/// Any request to the door, with the headers that every client sends.
pub(super) fn ask(world: &World, method: Method, token: &str) -> Ask {
    world.ask(method, "/mcp").by(token).header("accept", "application/json, text/event-stream")
}

pub(super) async fn reply(ask: Ask) -> Reply {
    let (parts, body) = ask.raw().await.into_parts();
    let streams = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let bytes = tokio::time::timeout(PATIENCE, body.collect()).await.expect("an end").expect("a whole body").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let messages = if streams {
        // Every event is a message: old clients take one without data for a broken one.
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
    } else {
        serde_json::from_str(&text).into_iter().collect()
    };
    Reply { status: parts.status, headers: parts.headers, text, messages }
}

impl<'w> Client<'w> {
    /// A client that has said hello in the way of its version.
    pub(in crate::it) async fn new(world: &'w World, token: &str, version: &'static str) -> Self {
        let mut client = Self { world, token: token.to_owned(), version, session: None, next_id: 0 };
        if version == NEW {
            client.request("server/discover", json!({})).await;
            return client;
        }
        let hello =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let reply = client.post(&client.message("initialize", hello, 0)).await;
        assert_eq!(reply.messages[0]["result"]["protocolVersion"], version, "{}", reply.text);
        let id = reply.headers.get("mcp-session-id").expect("a session").to_str().expect("text");
        client.session = Some(id.to_owned());
        let told = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(told.status, 202);
        client
    }

    /// A participant of a session, with a token made by the owner of `owner`.
    pub(super) async fn joins(
        world: &'w World,
        owner: &str,
        session: &str,
        participant: &str,
        version: &'static str,
    ) -> Self {
        let token = world.participant(owner, session, participant).await;
        Self::new(world, &token, version).await
    }

    pub(super) fn message(&self, method: &str, mut params: Value, id: u64) -> Value {
        if self.version == NEW {
            let mut meta = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let given = params["_meta"].as_object().cloned().unwrap_or_default();
            meta.as_object_mut().expect("an object").extend(given);
            params["_meta"] = meta;
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    /// A request with the headers of this client's version.
    pub(super) fn ask(&self, method: Method, message: Option<&Value>) -> Ask {
        let mut ask = ask(self.world, method, &self.token);
        if let Some(id) = &self.session {
            ask = ask.header("mcp-session-id", id);
        }
        let says_hello = message.is_some_and(|message| message["method"] == "initialize");
        if !says_hello {
            ask = ask.header("mcp-protocol-version", self.version);
        }
        let Some(message) = message else { return ask };
        if self.version == NEW {
            ask = ask.header("mcp-method", message["method"].as_str().unwrap_or("none"));
            let name = ["name", "uri", "taskId"].into_iter().find_map(|field| message["params"][field].as_str());
            ask = name.into_iter().fold(ask, |ask, name| ask.header("mcp-name", name));
        }
        ask.json(message)
    }

    pub(super) async fn post(&self, message: &Value) -> Reply {
        reply(self.ask(Method::POST, Some(message))).await
    }

    /// Asks, and gives the whole answer.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let reply = self.post(&self.message(method, params, self.next_id)).await;
        let answer = reply.messages.last().unwrap_or_else(|| panic!("{} {}", reply.status, reply.text)).clone();
        assert_eq!(answer["id"], self.next_id, "{answer}");
        answer
    }

    /// Asks, and gives the result there must be.
    pub(in crate::it) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Asks for what must be refused; gives the error.
    pub(super) async fn error(&mut self, method: &str, params: Value) -> Value {
        let asked = params["uri"].clone();
        let answer = self.request(method, params).await;
        assert!(answer["result"].is_null(), "{answer}");
        let mut error = answer["error"].clone();
        // What was asked for is said again, and is no news.
        let said = error["data"].as_object_mut().and_then(|data| data.remove("uri"));
        assert!(method != "resources/read" || said == Some(asked), "{error}");
        error
    }

    /// Uses `shared_context`. Gives what a model sees; success and failure are told apart by `error`.
    pub(super) async fn context(&mut self, arguments: Value) -> Value {
        self.tool("shared_context", arguments).await
    }

    /// Uses any tool.
    pub(in crate::it) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.result("tools/call", json!({"name": name, "arguments": arguments})).await;
        let structured = result["structuredContent"].clone();
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text, structured, "both forms say the same");
        assert_eq!(result["isError"] == true, structured.get("error").is_some(), "{result}");
        structured
    }

    pub(super) async fn write(&mut self, key: &str, value: &str) -> Value {
        self.context(json!({"action": "write", "key": key, "value": value})).await
    }

    /// Opens an old session's stream.
    pub(super) async fn stream(&self) -> News {
        News::of(self.ask(Method::GET, None)).await
    }

    /// Subscribes in the way of this client's version; news come from what is given back.
    pub(super) async fn subscribe(&mut self, uris: &[String]) -> News {
        if self.version == NEW {
            return self.listen(json!({"resourceSubscriptions": uris})).await.0;
        }
        for uri in uris {
            self.result("resources/subscribe", json!({"uri": uri})).await;
        }
        self.stream().await
    }

    /// The new way to subscribe; also gives what was acknowledged.
    pub(super) async fn listen(&mut self, notifications: Value) -> (News, Value) {
        self.next_id += 1;
        let message = self.message("subscriptions/listen", json!({"notifications": notifications}), self.next_id);
        let mut news = News::of(self.ask(Method::POST, Some(&message))).await;
        let acknowledged = news.next().await.expect("an acknowledgment");
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
        (news, acknowledged["params"]["notifications"].clone())
    }
}

/// Messages from a stream.
pub(super) struct News {
    body: Body,
    pending: String,
}

impl News {
    pub(super) async fn of(ask: Ask) -> Self {
        let response = ask.raw().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), pending: String::new() }
    }

    /// The next message; `None` when the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.pending.find("\n\n") {
                let block: String = self.pending.drain(..end + 2).collect();
                let data = block.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or("");
                match serde_json::from_str(data) {
                    Ok(message) => return Some(message),
                    Err(_) => continue,
                }
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("news within ten seconds")?;
            let bytes = frame.expect("a whole stream").into_data().expect("data");
            self.pending.push_str(std::str::from_utf8(&bytes).expect("text"));
        }
    }

    /// The address that the next news are about; other kinds of news must not come.
    pub(super) async fn updated(&mut self) -> String {
        let news = self.next().await.expect("the stream goes on");
        assert_eq!(news["method"], "notifications/resources/updated", "{news}");
        news["params"]["uri"].as_str().expect("an address").to_owned()
    }

    /// Nothing comes for a while.
    pub(super) async fn is_silent(&mut self) {
        if let Ok(news) = tokio::time::timeout(SILENCE, self.next()).await {
            panic!("{news:?}");
        }
    }

    /// The stream ends, maybe after a last word that it is complete.
    pub(super) async fn ends(&mut self) {
        while let Some(message) = self.next().await {
            assert!(message.get("method").is_none(), "{message}");
        }
    }
}
