//! The methods of the Bot API that the house uses, with what Telegram refuses.

use super::{Bot, House, ImitatedTelegram, SentMessage, Webhook, markup};
use crate::imitated_api::{Answering, ApiRequest, Reply};
use serde_json::{Value, json};
use std::time::Duration;

const TEXT_LONGEST: usize = 4096;
const BUTTON_LONGEST: usize = 64;

/// What a method comes to: its result as JSON, or what is refused and why.
type Done = Result<String, (u16, String)>;

impl Answering for House {
    async fn answer(&self, request: &ApiRequest) -> Reply {
        let known = format!("/bot{}/", ImitatedTelegram::TOKEN);
        let Some(method) = request.path.strip_prefix(&known) else {
            return reply(Err((401, "Unauthorized".to_owned())));
        };
        let body = &request.body;
        let done = match method {
            "getMe" => Ok(json!({
                "id": ImitatedTelegram::BOT, "is_bot": true, "first_name": "Long", "username": ImitatedTelegram::NAME,
            })
            .to_string()),
            "getUpdates" => self.get_updates(body).await,
            "setWebhook" => self.change(|bot| bot.set_webhook(body)),
            "deleteWebhook" => self.change(|bot| {
                bot.webhook = None;
                Ok("true".to_owned())
            }),
            "sendMessage" => self.change(|bot| bot.send(body)),
            "editMessageText" | "editMessageReplyMarkup" => self.change(|bot| bot.edit(body)),
            "answerCallbackQuery" => self.change(|bot| bot.answer_press(body)),
            "sendChatAction" => Ok("true".to_owned()),
            _ => Err((404, "Not Found".to_owned())),
        };
        reply(done)
    }
}

fn reply(done: Done) -> Reply {
    match done {
        Ok(result) => (200, Vec::new(), format!("{{\"ok\":true,\"result\":{result}}}")),
        Err((status, description)) => (status, Vec::new(), refusal(status, &description, None).to_string()),
    }
}

pub(super) fn refusal(status: u16, description: &str, parameters: Option<Value>) -> Value {
    let mut body = json!({ "ok": false, "error_code": status, "description": description });
    if let Some(parameters) = parameters {
        body["parameters"] = parameters;
    }
    body
}

fn bad(description: &str) -> (u16, String) {
    (400, format!("Bad Request: {description}"))
}

impl House {
    /// Everything before `offset` is confirmed; what remains is answered with at once, else the next within `timeout`.
    async fn get_updates(&self, body: &Value) -> Done {
        let mine = self.change(|bot| {
            if let Some(offset) = body["offset"].as_i64() {
                bot.updates.retain(|(id, _)| *id >= offset);
            }
            bot.poller += 1;
            bot.poller
        });
        let mut changes = self.changes.subscribe();
        let is_over = |bot: &Bot| !bot.updates.is_empty() || bot.poller != mine || bot.webhook.is_some();
        let within = Duration::from_secs(body["timeout"].as_u64().unwrap_or(0));
        // Nothing within the time is an answer too.
        let _ = tokio::time::timeout(within, changes.wait_for(|_| is_over(&self.bot()))).await;
        let bot = self.bot();
        if bot.webhook.is_some() {
            return Err((409, "Conflict: can't use getUpdates method while webhook is active".to_owned()));
        }
        if bot.poller != mine {
            let description = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is \
                               running";
            return Err((409, description.to_owned()));
        }
        let most = body["limit"].as_u64().unwrap_or(100) as usize;
        let updates: Vec<&str> = bot.updates.iter().take(most).map(|(_, text)| text.as_str()).collect();
        Ok(format!("[{}]", updates.join(",")))
    }
}

impl Bot {
    fn set_webhook(&mut self, body: &Value) -> Done {
        let url = body["url"].as_str().filter(|url| !url.is_empty()).ok_or_else(|| bad("bad webhook"))?;
        let secret = body["secret_token"].as_str().map(str::to_owned);
        self.webhook = Some(Webhook { url: url.to_owned(), secret });
        Ok("true".to_owned())
    }

    fn send(&mut self, body: &Value) -> Done {
        let chat_id = body["chat_id"].as_i64().ok_or_else(|| bad("chat not found"))?;
        let text = shown(body)?;
        check_buttons(body)?;
        let id = self.next_message();
        self.messages.push(SentMessage { id, chat_id, text: text.clone(), body: body.clone() });
        Ok(json!({ "message_id": id, "date": 1, "chat": { "id": chat_id }, "text": text }).to_string())
    }

    fn edit(&mut self, body: &Value) -> Done {
        let (chat, id) = (body["chat_id"].as_i64(), body["message_id"].as_i64());
        let is_meant = |message: &&mut SentMessage| Some(message.chat_id) == chat && Some(message.id) == id;
        let message = self.messages.iter_mut().find(is_meant).ok_or_else(|| bad("message to edit not found"))?;
        let text = if body["text"].is_null() { message.text.clone() } else { shown(body)? };
        let buttons = |body: &Value| body["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
        if text == message.text && buttons(body) == buttons(&message.body) {
            return Err(bad("message is not modified: specified new message content and reply markup are the same"));
        }
        message.text = text;
        message.body = body.clone();
        Ok(json!({ "message_id": message.id, "chat": { "id": message.chat_id }, "text": message.text }).to_string())
    }

    fn answer_press(&mut self, body: &Value) -> Done {
        let id = body["callback_query_id"].as_str().unwrap_or_default();
        if !self.open_presses.remove(id) {
            return Err(bad("query is too old and response timeout expired or query ID is invalid"));
        }
        if body["text"].as_str().is_some_and(|text| text.chars().count() > 200) {
            return Err(bad("MESSAGE_TOO_LONG"));
        }
        Ok("true".to_owned())
    }
}

/// What people would read.
fn shown(body: &Value) -> Result<String, (u16, String)> {
    let text = body["text"].as_str().unwrap_or_default();
    let text = match body["parse_mode"].as_str() {
        None => text.to_owned(),
        Some("HTML") => markup::text_of(text).map_err(|why| bad(&format!("can't parse entities: {why}")))?,
        Some(_) => return Err(bad("unsupported parse_mode")),
    };
    if text.trim().is_empty() {
        return Err(bad("message text is empty"));
    }
    if text.encode_utf16().count() > TEXT_LONGEST {
        return Err(bad("message is too long"));
    }
    Ok(text)
}

fn check_buttons(body: &Value) -> Result<(), (u16, String)> {
    let rows = body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
    for button in rows.flat_map(|row| row.as_array().into_iter().flatten()) {
        let length = button["callback_data"].as_str().map_or(0, str::len);
        if button["text"].as_str().is_none_or(str::is_empty) || !(1..=BUTTON_LONGEST).contains(&length) {
            return Err(bad("BUTTON_DATA_INVALID"));
        }
    }
    Ok(())
}
