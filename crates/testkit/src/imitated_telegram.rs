//! An imitation of Telegram's Bot API: updates that wait until they are confirmed, long polling, webhooks, and messages
//! that are checked as Telegram checks them.

mod calls;
mod markup;
mod webhooks;

use crate::imitated_api::{ApiFault, ApiRequest, ImitatedApi, PATIENCE};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Ends with the value.
pub struct ImitatedTelegram {
    api: ImitatedApi,
    house: Arc<House>,
    delivering: JoinHandle<()>,
}

/// A message as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct SentMessage {
    pub id: i64,
    pub chat_id: i64,
    /// Without its formatting.
    pub text: String,
    /// As it was last sent.
    pub body: Value,
}

pub(crate) struct House {
    bot: Mutex<Bot>,
    /// Goes up with every change.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct Bot {
    /// Waiting, as the JSON that is sent.
    updates: VecDeque<(i64, String)>,
    last_update: i64,
    last_message: i64,
    /// Who asked for updates last: nobody before them is answered any more.
    poller: u64,
    webhook: Option<Webhook>,
    messages: Vec<SentMessage>,
    open_presses: BTreeSet<String>,
}

#[derive(Debug, Clone)]
struct Webhook {
    url: String,
    secret: Option<String>,
}

impl ImitatedTelegram {
    pub const TOKEN: &'static str = "42:AAimitated-token_of-a-bot";
    pub const BOT: i64 = 42;
    pub const NAME: &'static str = "long_bot";

    pub async fn start() -> Self {
        let house = Arc::new(House { bot: Mutex::default(), changes: watch::Sender::new(0) });
        let api = ImitatedApi::start(house.clone()).await;
        let delivering = tokio::spawn(webhooks::deliver(house.clone()));
        Self { api, house, delivering }
    }

    pub fn api_base(&self) -> String {
        format!("http://{}", self.api.address)
    }

    /// Somebody writes in a chat: with the person's own number it is a direct one.
    pub fn say(&self, sender: i64, chat: i64, text: &str) -> i64 {
        self.tell(json!({ "message": self.message(sender, chat, text) }))
    }

    /// A message of a person, as it stands in an update.
    pub fn message(&self, sender: i64, chat: i64, text: &str) -> Value {
        let id = self.house.change(Bot::next_message);
        let kind = if sender == chat { "private" } else { "supergroup" };
        json!({
            "message_id": id, "date": 1_700_000_000, "text": text, "chat": { "id": chat, "type": kind },
            "from": { "id": sender, "is_bot": false, "first_name": "Somebody", "language_code": "en" },
        })
    }

    /// Somebody presses a button of a message. The answer is waited for under this id.
    pub fn press(&self, sender: i64, message: &SentMessage, data: &str, id: &str) -> i64 {
        self.house.change(|bot| bot.open_presses.insert(id.to_owned()));
        let kind = if sender == message.chat_id { "private" } else { "supergroup" };
        let pressed = json!({ "message_id": message.id, "date": 1, "chat": { "id": message.chat_id, "type": kind } });
        let from = json!({ "id": sender, "is_bot": false, "first_name": "Somebody" });
        self.tell(json!({ "callback_query": { "id": id, "from": from, "message": pressed, "data": data } }))
    }

    /// An update; it is given its number.
    pub fn tell(&self, update: Value) -> i64 {
        self.tell_text(|id| {
            let mut update = update;
            update["update_id"] = id.into();
            update.to_string()
        })
    }

    /// An update in whatever form.
    pub fn tell_text(&self, update: impl FnOnce(i64) -> String) -> i64 {
        self.house.change(|bot| {
            bot.last_update += 1;
            let id = bot.last_update;
            bot.updates.push_back((id, update(id)));
            id
        })
    }

    /// The numbers of the updates that are not confirmed.
    pub fn waiting(&self) -> Vec<i64> {
        self.house.bot().updates.iter().map(|(id, _)| *id).collect()
    }

    /// Waits until every update is confirmed.
    pub async fn until_confirmed(&self) {
        self.until("all updates confirmed", |bot| bot.updates.is_empty()).await;
    }

    pub fn messages(&self) -> Vec<SentMessage> {
        self.house.bot().messages.clone()
    }

    /// Waits for this many messages.
    pub async fn until_sent(&self, count: usize) -> Vec<SentMessage> {
        self.until("messages", |bot| bot.messages.len() >= count).await;
        self.messages()
    }

    /// Where updates are delivered to, if not asked for.
    pub fn webhook_url(&self) -> Option<String> {
        self.house.bot().webhook.as_ref().map(|webhook| webhook.url.clone())
    }

    /// The next call of this method goes wrong.
    pub fn fault(&self, method: &str, fault: ApiFault) {
        self.api.fault(&format!("/{method}"), fault, false);
    }

    /// Every call of this method goes wrong, until it is healed.
    pub fn break_down(&self, method: &str, fault: ApiFault) {
        self.api.fault(&format!("/{method}"), fault, true);
    }

    pub fn heal(&self) {
        self.api.heal();
    }

    /// As Telegram says it when it is asked too often.
    pub fn slow_down(seconds: u64) -> ApiFault {
        let description = format!("Too Many Requests: retry after {seconds}");
        let parameters = json!({ "retry_after": seconds });
        ApiFault::Status(429, calls::refusal(429, &description, Some(parameters)))
    }

    pub fn requests(&self) -> Vec<ApiRequest> {
        self.api.requests()
    }

    /// The bodies of all calls of a method.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let method = format!("/{method}");
        self.requests().into_iter().filter(|request| request.path.ends_with(&method)).map(|call| call.body).collect()
    }

    pub async fn until_called(&self, method: &str, count: usize) {
        self.api.until(&format!("/{method}"), count).await;
    }

    async fn until(&self, what: &str, is_so: impl Fn(&Bot) -> bool) {
        let mut changes = self.house.changes.subscribe();
        let waiting = tokio::time::timeout(PATIENCE, changes.wait_for(|_| is_so(&self.house.bot()))).await;
        assert!(waiting.is_ok_and(|found| found.is_ok()), "{what}: not in good time");
    }
}

impl Drop for ImitatedTelegram {
    fn drop(&mut self) {
        self.delivering.abort();
    }
}

impl House {
    fn bot(&self) -> MutexGuard<'_, Bot> {
        self.bot.lock().expect("the bot")
    }

    fn change<T>(&self, change: impl FnOnce(&mut Bot) -> T) -> T {
        let result = change(&mut self.bot());
        self.changes.send_modify(|number| *number += 1);
        result
    }
}

impl Bot {
    fn next_message(&mut self) -> i64 {
        self.last_message += 1;
        self.last_message
    }
}
