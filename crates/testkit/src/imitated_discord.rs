//! An imitation of Discord: the gateway with its sessions, heartbeats and resumes, and the REST API with its limits.

mod connections;
mod gateway;
mod rest;

use crate::imitated_api::{ApiFault, ApiRequest, ImitatedApi, PATIENCE};
use gateway::{Gateway, Order};
use rest::House;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Ends with the value.
pub struct ImitatedDiscord {
    api: ImitatedApi,
    gateway: Arc<Gateway>,
    gateway_address: SocketAddr,
    house: Arc<House>,
    listening: JoinHandle<()>,
}

impl ImitatedDiscord {
    pub const TOKEN: &'static str = "NDI.imitated.token-of_a-bot";
    pub const BOT: &'static str = "42";

    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let gateway_address = listener.local_addr().expect("an address");
        let gateway = Arc::new(Gateway::new(format!("ws://{gateway_address}")));
        let house = Arc::new(House::new(format!("ws://{gateway_address}")));
        let api = ImitatedApi::start(house.clone()).await;
        let listening = tokio::spawn(connections::listen(listener, gateway.clone()));
        Self { api, gateway, gateway_address, house, listening }
    }

    pub fn api_base(&self) -> String {
        format!("http://{}/api/v10", self.api.address)
    }

    pub fn gateway_url(&self) -> String {
        format!("ws://{}", self.gateway_address)
    }

    /// Somebody writes in a channel of a guild, or without a guild directly.
    pub fn say(&self, sender: &str, guild: Option<&str>, channel: &str, text: &str) -> String {
        let id = self.house.next_id();
        self.dispatch("MESSAGE_CREATE", &Self::message(&id, sender, guild, channel, text));
        id
    }

    /// A message of a person, as it stands in an event.
    pub fn message(id: &str, sender: &str, guild: Option<&str>, channel: &str, text: &str) -> Value {
        let author = json!({ "id": sender, "username": "somebody", "discriminator": "0", "avatar": null });
        let mut message = json!({
            "id": id, "channel_id": channel, "author": author, "content": text, "type": 0, "mentions": [],
            "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null, "attachments": [], "embeds": [],
            "tts": false, "mention_everyone": false, "mention_roles": [], "pinned": false,
        });
        if let Some(guild) = guild {
            message["guild_id"] = guild.into();
        }
        message
    }

    /// Somebody presses a button of a message, in a guild or directly. The answer is waited for under this token.
    pub fn press(&self, sender: &str, place: (Option<&str>, &str), message: &str, data: &str, token: &str) -> String {
        let id = self.house.next_id();
        self.house.expect_answer(&id, token);
        let (guild, channel) = place;
        let mut event = json!({
            "id": id, "application_id": Self::BOT, "type": 3, "token": token, "version": 1, "channel_id": channel,
            "data": { "custom_id": data, "component_type": 2 }, "message": { "id": message },
        });
        let user = json!({ "id": sender, "username": "somebody" });
        match guild {
            Some(guild) => (event["guild_id"], event["member"]) = (guild.into(), json!({ "user": user, "roles": [] })),
            None => event["user"] = user,
        }
        self.dispatch("INTERACTION_CREATE", &event);
        id
    }

    /// An event for the session that is, or for the next one.
    pub fn dispatch(&self, name: &str, event: &Value) {
        self.gateway.dispatch(name, event.to_string());
    }

    /// The same, in whatever form.
    pub fn dispatch_text(&self, name: &str, event: &str) {
        self.gateway.dispatch(name, event.to_owned());
    }

    /// Asks the bot to connect again, or tells it that its session is over, or cuts its connection.
    pub fn ask_to_reconnect(&self) {
        self.gateway.order(Order::Reconnect);
    }

    pub fn invalidate_session(&self, is_resumable: bool) {
        self.gateway.order(Order::Invalidate(is_resumable));
    }

    pub fn cut(&self) {
        self.gateway.order(Order::Cut);
    }

    pub fn close(&self, code: u16) {
        self.gateway.order(Order::Close(code));
    }

    /// Asks the bot for a heartbeat: once it comes, everything before was read.
    pub fn heartbeat_now(&self) {
        self.send_frame(r#"{"op":1,"d":null}"#);
    }

    /// Sends this text as a frame, whatever it is.
    pub fn send_frame(&self, text: &str) {
        self.gateway.order(Order::Frame(text.to_owned()));
    }

    /// From now on whoever introduces themselves is sent away with this code; none lets them in again.
    pub fn refuse_with(&self, code: Option<u16>) {
        self.gateway.settings().refusal = code;
    }

    /// From now on connections are closed before anything is said.
    pub fn hang_up_at_once(&self, is_on: bool) {
        self.gateway.settings().hangs_up = is_on;
    }

    /// From now on connections begin with this interval, and heartbeats are answered or not.
    pub fn heartbeats(&self, interval_ms: u64, is_answered: bool) {
        let mut settings = self.gateway.settings();
        settings.interval_ms = interval_ms;
        settings.is_mute = !is_answered;
    }

    /// All frames that bots sent, of all connections.
    pub fn frames(&self) -> Vec<Value> {
        self.gateway.frames.borrow().clone()
    }

    /// How many connections to the gateway there were.
    pub fn connections(&self) -> usize {
        *self.gateway.connections.borrow()
    }

    /// Waits for this many connections to the gateway.
    pub async fn until_connections(&self, count: usize) {
        let mut connections = self.gateway.connections.subscribe();
        let waiting = tokio::time::timeout(PATIENCE, connections.wait_for(|seen| *seen >= count)).await;
        assert!(waiting.is_ok_and(|found| found.is_ok()), "no {count} connections in good time");
    }

    /// Waits for this many frames with this code: 1 heartbeat, 2 introduction, 6 resumption.
    pub async fn until_frames(&self, code: u64, count: usize) {
        let mut frames = self.gateway.frames.subscribe();
        let is_so = |all: &Vec<Value>| all.iter().filter(|frame| frame["op"] == code).count() >= count;
        let waiting = tokio::time::timeout(PATIENCE, frames.wait_for(is_so)).await;
        assert!(waiting.is_ok_and(|found| found.is_ok()), "no {count} frames {code} in good time");
    }

    /// The bodies of the messages that were written, with `id` and `channel_id`, as they are after edits.
    pub fn messages(&self) -> Vec<Value> {
        self.house.messages()
    }

    /// Waits for this many messages.
    pub async fn until_sent(&self, count: usize) -> Vec<Value> {
        let mut written = self.house.written.subscribe();
        let waiting = tokio::time::timeout(PATIENCE, written.wait_for(|seen| *seen >= count)).await;
        assert!(waiting.is_ok_and(|found| found.is_ok()), "no {count} messages in good time");
        self.messages()
    }

    /// The next call whose path has these words goes wrong.
    pub fn fault(&self, words: &str, fault: ApiFault) {
        self.api.fault(words, fault, false);
    }

    /// Every call whose path has these words goes wrong, until it is healed.
    pub fn break_down(&self, words: &str, fault: ApiFault) {
        self.api.fault(words, fault, true);
    }

    pub fn heal(&self) {
        self.api.heal();
    }

    /// As Discord says it when it is asked too often.
    pub fn slow_down(seconds: f64) -> ApiFault {
        ApiFault::Status(
            429,
            json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": false }),
        )
    }

    /// From now on so many messages may be written in a channel before there is a pause of so many seconds.
    pub fn limit_messages(&self, count: usize, seconds: f64) {
        self.house.limit(count, seconds);
    }

    pub fn requests(&self) -> Vec<ApiRequest> {
        self.api.requests()
    }

    /// All calls whose path has these words.
    pub fn calls(&self, words: &str) -> Vec<ApiRequest> {
        self.requests().into_iter().filter(|request| request.path.contains(words)).collect()
    }

    pub async fn until_called(&self, words: &str, count: usize) {
        self.api.until(words, count).await;
    }
}

impl Drop for ImitatedDiscord {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
