//! The calls of the REST API that the house uses, with what Discord refuses.

use super::ImitatedDiscord;
use crate::imitated_api::{Answering, ApiRequest, Reply};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

const CONTENT_LONGEST: usize = 2000;

pub(super) struct House {
    gateway_url: String,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    last_id: u64,
    messages: Vec<Value>,
    /// Interactions that wait for an answer, as `id/token`.
    open_presses: BTreeSet<String>,
    /// Direct chats by person.
    direct: BTreeMap<String, String>,
    limit: Option<Limit>,
}

struct Limit {
    count: usize,
    seconds: f64,
    begun: Instant,
    used: usize,
}

type Done = Result<(u16, Value), (u16, Value)>;

impl House {
    pub(super) fn new(gateway_url: String) -> Self {
        Self { gateway_url, rows: Mutex::new(Rows { last_id: 1_000, ..Rows::default() }) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("the rows")
    }

    pub(super) fn next_id(&self) -> String {
        self.rows().next_id()
    }

    pub(super) fn expect_answer(&self, id: &str, token: &str) {
        self.rows().open_presses.insert(format!("{id}/{token}"));
    }

    pub(super) fn messages(&self) -> Vec<Value> {
        self.rows().messages.clone()
    }

    pub(super) fn limit(&self, count: usize, seconds: f64) {
        self.rows().limit = Some(Limit { count, seconds, begun: Instant::now(), used: 0 });
    }
}

impl Answering for House {
    async fn answer(&self, request: &ApiRequest) -> Reply {
        let mut rows = self.rows();
        let expected = format!("Bot {}", ImitatedDiscord::TOKEN);
        let path = request.path.strip_prefix("/api/v10/").unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let is_known = request.headers.get("authorization") == Some(&expected);
        let mut headers = Vec::new();
        let done = match (request.method.as_str(), parts.as_slice()) {
            // Whoever has the token of the interaction may answer it.
            ("POST", ["interactions", id, token, "callback"]) => rows.answer_press(id, token, &request.body),
            _ if !is_known => Err((401, json!({ "message": "401: Unauthorized", "code": 0 }))),
            ("GET", ["users", "@me"]) => {
                Ok((200, json!({ "id": ImitatedDiscord::BOT, "username": "long", "bot": true })))
            }
            ("GET", ["gateway", "bot"]) => Ok((200, self.gateway())),
            ("POST", ["channels", channel, "messages"]) => match rows.count(&mut headers) {
                Ok(()) => rows.write(channel, &request.body),
                Err(refused) => Err(refused),
            },
            ("PATCH", ["channels", channel, "messages", id]) => rows.edit(channel, id, &request.body),
            ("POST", ["channels", _, "typing"]) => Ok((204, Value::Null)),
            ("POST", ["users", "@me", "channels"]) => rows.open_direct(&request.body),
            _ => Err((404, json!({ "message": "404: Not Found", "code": 0 }))),
        };
        let (Ok((status, body)) | Err((status, body))) = done;
        (status, headers, if body.is_null() { String::new() } else { body.to_string() })
    }
}

impl House {
    fn gateway(&self) -> Value {
        let limit = json!({ "total": 1000, "remaining": 999, "reset_after": 14_400_000, "max_concurrency": 1 });
        json!({ "url": self.gateway_url, "shards": 1, "session_start_limit": limit })
    }
}

fn invalid(why: &str) -> (u16, Value) {
    let errors = json!({ "content": { "_errors": [{ "code": "INVALID", "message": why }] } });
    (400, json!({ "message": "Invalid Form Body", "code": 50035, "errors": errors }))
}

impl Rows {
    fn next_id(&mut self) -> String {
        self.last_id += 1;
        self.last_id.to_string()
    }

    /// Says in headers how many more may be written, and refuses what is too many.
    fn count(&mut self, headers: &mut Vec<(&'static str, String)>) -> Result<(), (u16, Value)> {
        let Some(limit) = &mut self.limit else { return Ok(()) };
        if limit.begun.elapsed().as_secs_f64() >= limit.seconds {
            (limit.begun, limit.used) = (Instant::now(), 0);
        }
        let left = limit.seconds - limit.begun.elapsed().as_secs_f64();
        if limit.used == limit.count {
            return Err((
                429,
                json!({ "message": "You are being rate limited.", "retry_after": left, "global": false }),
            ));
        }
        limit.used += 1;
        headers.push(("x-ratelimit-remaining", (limit.count - limit.used).to_string()));
        // Rounded up: whoever waits for so long is not too early.
        headers.push(("x-ratelimit-reset-after", format!("{:.3}", left + 0.001)));
        Ok(())
    }

    fn write(&mut self, channel: &str, body: &Value) -> Done {
        check(body)?;
        let is_same = |message: &&Value| message["channel_id"] == channel && message["nonce"] == body["nonce"];
        if body["enforce_nonce"] == true
            && let Some(message) = self.messages.iter().find(is_same)
        {
            return Ok((200, message.clone()));
        }
        let mut message = body.clone();
        message["id"] = self.next_id().into();
        message["channel_id"] = channel.into();
        self.messages.push(message.clone());
        Ok((200, message))
    }

    fn edit(&mut self, channel: &str, id: &str, body: &Value) -> Done {
        let is_meant = |message: &&mut Value| message["channel_id"] == channel && message["id"] == id;
        let unknown = (404, json!({ "message": "Unknown Message", "code": 10008 }));
        let message = self.messages.iter_mut().find(is_meant).ok_or(unknown)?;
        for (name, value) in body.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        check(message)?;
        Ok((200, message.clone()))
    }

    fn open_direct(&mut self, body: &Value) -> Done {
        let person = body["recipient_id"].as_str().ok_or_else(|| invalid("recipient_id"))?;
        let fresh = self.next_id();
        let id = self.direct.entry(person.to_owned()).or_insert(fresh);
        Ok((200, json!({ "id": id, "type": 1, "recipients": [{ "id": person }] })))
    }

    fn answer_press(&mut self, id: &str, token: &str, body: &Value) -> Done {
        if !self.open_presses.remove(&format!("{id}/{token}")) {
            return Err((404, json!({ "message": "Unknown interaction", "code": 10062 })));
        }
        match body["type"].as_u64() {
            Some(4) => check(&body["data"]).map(|()| (204, Value::Null)),
            Some(6) => Ok((204, Value::Null)),
            _ => Err(invalid("type")),
        }
    }
}

/// What a message must have.
fn check(body: &Value) -> Result<(), (u16, Value)> {
    let content = body["content"].as_str().unwrap_or_default();
    if content.trim().is_empty() {
        return Err((400, json!({ "message": "Cannot send an empty message", "code": 50006 })));
    }
    if content.chars().count() > CONTENT_LONGEST {
        return Err(invalid("Must be 2000 or fewer in length."));
    }
    let rows = body["components"].as_array().into_iter().flatten();
    let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    let is_odd = |button: &Value| {
        let length = button["custom_id"].as_str().map_or(0, |id| id.chars().count());
        !(1..=100).contains(&length) || button["label"].as_str().is_none_or(|label| label.chars().count() > 80)
    };
    if buttons.any(is_odd) { Err(invalid("components")) } else { Ok(()) }
}
