//! Updates that Telegram brings to an address of the house.

use crate::scenes::{Inbox, telegram_options, until_connected};
use longhouse_channels::{Mode, Secret, Telegram, TelegramOptions, WebhookAnswer};
use serde_json::json;
use std::sync::Arc;
use testkit::{ApiFault, ImitatedTelegram};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const SECRET: &str = "a-secret_of-the-webhook";

fn listening(imitation: &ImitatedTelegram, inbox: &Arc<Inbox>, url: Option<&str>) -> Telegram {
    let mode = Mode::Webhook { secret: Secret::new(SECRET), url: url.map(str::to_owned) };
    Telegram::start(TelegramOptions { mode, ..telegram_options(imitation) }, inbox.clone()).unwrap()
}

#[tokio::test]
async fn telegram_is_told_the_address_and_the_secret() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let address = "http://127.0.0.1:9/channels/telegram/webhook";
    let telegram = listening(&imitation, &inbox, Some(address));
    until_connected(telegram.states()).await;
    let told = imitation.calls("setWebhook").remove(0);
    let kinds = json!(["message", "edited_message", "callback_query"]);
    let expected = json!({ "url": address, "secret_token": SECRET, "allowed_updates": kinds, "max_connections": 1 });
    assert_eq!(told, expected);
    assert!(imitation.calls("getUpdates").is_empty());
    assert_eq!(imitation.webhook_url().as_deref(), Some(address));
    // Whoever polls afterwards takes it away again.
    let polling = crate::scenes::telegram(&imitation, &inbox);
    imitation.until_called("deleteWebhook", 1).await;
    imitation.until_called("getUpdates", 2).await;
    until_connected(polling.states()).await;
    assert_eq!(imitation.webhook_url(), None);
}

#[tokio::test]
async fn only_who_knows_the_secret_is_heard() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = listening(&imitation, &inbox, None);
    until_connected(telegram.states()).await;
    let update = json!({ "update_id": 1, "message": imitation.message(1111, 1111, "hello") }).to_string();
    for wrong in [None, Some(""), Some("a-secret_of-the-webhoo"), Some("A-secret_of-the-webhook"), Some("\0")] {
        let answer = telegram.webhook(wrong.map(str::as_bytes), update.as_bytes()).await;
        assert_eq!(answer, WebhookAnswer::Forbidden, "{wrong:?}");
    }
    assert!(inbox.texts().is_empty());
    for _ in 0..3 {
        // The same one again is offered again: who takes it knows whether it is new.
        assert_eq!(telegram.webhook(Some(SECRET.as_bytes()), update.as_bytes()).await, WebhookAnswer::Taken);
    }
    assert_eq!(inbox.texts(), ["hello"; 3]);
    assert!(imitation.calls("setWebhook").is_empty(), "the operator has done that");
}

#[tokio::test]
async fn an_update_that_is_not_taken_is_to_be_brought_again_and_nonsense_is_not() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = listening(&imitation, &inbox, None);
    until_connected(telegram.states()).await;
    inbox.close(true);
    let secret = Some(SECRET.as_bytes());
    let update = json!({ "update_id": 1, "message": imitation.message(1111, 1111, "hello") }).to_string();
    assert_eq!(telegram.webhook(secret, update.as_bytes()).await, WebhookAnswer::NotNow);
    for nonsense in [&b""[..], b"{", b"\xff\xfe", b"{\"update_id\":1}", b"[]", &[b'['; 100_000]] {
        assert_eq!(telegram.webhook(secret, nonsense).await, WebhookAnswer::Taken);
    }
    assert_eq!(inbox.texts().len(), 1);
}

#[tokio::test]
async fn before_the_bot_knows_its_name_nothing_is_taken() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    imitation.fault("getMe", ApiFault::Hang);
    let telegram = listening(&imitation, &inbox, None);
    imitation.until_called("getMe", 1).await;
    let update = json!({ "update_id": 1, "message": imitation.message(1111, 1111, "hello") }).to_string();
    assert_eq!(telegram.webhook(Some(SECRET.as_bytes()), update.as_bytes()).await, WebhookAnswer::NotNow);
    assert!(inbox.texts().is_empty());
}

#[tokio::test]
async fn a_bot_that_polls_has_no_webhook() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = crate::scenes::telegram(&imitation, &inbox);
    until_connected(telegram.states()).await;
    for secret in [None, Some(&b""[..]), Some(SECRET.as_bytes())] {
        assert_eq!(telegram.webhook(secret, b"{}").await, WebhookAnswer::Forbidden);
    }
}

/// A door as the API has it: takes one update for each connection.
async fn door(listener: TcpListener, telegram: Arc<Telegram>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let mut body = vec![0; header("Content-Length: ").unwrap().parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        let secret = header("X-Telegram-Bot-Api-Secret-Token: ");
        let status = match telegram.webhook(secret.map(str::as_bytes), &body).await {
            WebhookAnswer::Taken => 200,
            WebhookAnswer::NotNow => 503,
            WebhookAnswer::Forbidden => 401,
        };
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn telegram_brings_updates_again_until_they_are_taken() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/webhook", listener.local_addr().unwrap());
    let telegram = Arc::new(listening(&imitation, &inbox, Some(&address)));
    tokio::spawn(door(listener, telegram.clone()));
    inbox.close(true);
    imitation.say(1111, 1111, "first");
    imitation.say(1111, 1111, "second");
    inbox.until(2).await;
    assert_eq!(imitation.waiting(), [1, 2]);
    inbox.close(false);
    imitation.until_confirmed().await;
    let mut texts = inbox.texts();
    texts.dedup();
    assert_eq!(texts, ["first", "second"]);
}
