//! What must never be seen: tokens, secrets, and what people say.

use crate::scenes::{
    Inbox, chat, discord, discord_options, guild_channel, telegram, telegram_options, until_connected,
};
use domain::channels::OutboundMessage;
use longhouse_channels::{Mode, Secret, TelegramOptions};
use serde_json::json;
use testkit::{ApiFault, ImitatedDiscord, ImitatedTelegram, keep_logs, kept_logs};

const WORDS: &str = "xylophone-in-the-cellar";
const SECRET: &str = "a-secret-of-a-webhook";

/// Everything that goes wrong, with words that repeat the token.
fn faults(token: &str) -> Vec<ApiFault> {
    let said = json!({ "ok": false, "description": format!("no: {token}"), "message": format!("no: {token}") });
    vec![
        ApiFault::Status(400, said.clone()),
        ApiFault::Status(403, said.clone()),
        ApiFault::Status(401, said.clone()),
        ApiFault::Status(404, said),
        ApiFault::Redirect(307, "http://127.0.0.1:9/".to_owned()),
        ApiFault::Garbage,
        ApiFault::Close,
        ApiFault::CutAt(50),
    ]
}

#[tokio::test]
async fn no_token_and_no_words_are_in_a_log_or_an_error() {
    keep_logs();
    let inbox = Inbox::new();
    let (at_telegram, at_discord) = (ImitatedTelegram::start().await, ImitatedDiscord::start().await);
    for fault in faults(ImitatedTelegram::TOKEN) {
        at_telegram.fault("getMe", fault.clone());
        at_telegram.fault("getUpdates", fault.clone());
    }
    for fault in faults(ImitatedDiscord::TOKEN) {
        at_discord.fault("/users/@me", fault);
    }
    let (telegram, discord) = (telegram(&at_telegram, &inbox), discord(&at_discord, &inbox));
    at_telegram.say(1111, 1111, WORDS);
    at_discord.say("222", None, "555", WORDS);
    inbox.until(2).await;
    until_connected(telegram.states()).await;
    until_connected(discord.states()).await;
    let mut shown = String::new();
    for (fault, other) in faults(ImitatedTelegram::TOKEN).into_iter().zip(faults(ImitatedDiscord::TOKEN)) {
        at_telegram.break_down("sendMessage", fault);
        at_discord.break_down("/messages", other);
        let first = telegram.outlet().send(&OutboundMessage::to(chat(1111), WORDS)).await.unwrap_err();
        let second = discord.outlet().send(&OutboundMessage::to(guild_channel("1", "2"), WORDS)).await.unwrap_err();
        shown.push_str(&format!("{first} {first:?} {second} {second:?}\n"));
        at_telegram.heal();
        at_discord.heal();
    }
    let mode = Mode::Webhook { secret: Secret::new(SECRET), url: None };
    let options = TelegramOptions { mode, ..telegram_options(&at_telegram) };
    shown.push_str(&format!("{options:?} {:?}", discord_options(&at_discord)));
    shown.push_str(&kept_logs());
    for hidden in [ImitatedTelegram::TOKEN, ImitatedDiscord::TOKEN, "imitated-token", "imitated.token", WORDS, SECRET] {
        let line = shown.lines().find(|line| line.contains(hidden));
        assert_eq!(line, None);
    }
    assert!(shown.contains("[token]") && shown.contains("the channel is failing"), "the test sees what it looks for");
}
