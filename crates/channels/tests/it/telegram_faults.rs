//! What is done when Telegram, or what stands between, does not do its part.

use crate::scenes::{Inbox, chat, quick, telegram, telegram_options, until_connected, until_failing};
use domain::channels::OutboundMessage;
use longhouse_channels::{Error, InvalidOptions, Mode, Secret, Telegram, TelegramOptions, Timing};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{ApiFault, ImitatedTelegram};

/// Everything that may be over the next time.
fn passing_faults() -> Vec<ApiFault> {
    let failing = json!({ "ok": false, "error_code": 502, "description": "Bad Gateway" });
    vec![
        ApiFault::Status(502, failing),
        ApiFault::Status(503, json!("<html>")),
        ImitatedTelegram::slow_down(0),
        ApiFault::Close,
        ApiFault::Garbage,
        ApiFault::Huge,
        ApiFault::CutAt(10),
        ApiFault::CutAt(95),
        ApiFault::Status(200, json!({ "ok": true })),
        ApiFault::Status(200, json!([])),
    ]
}

#[tokio::test]
async fn updates_arrive_whatever_goes_wrong_on_the_way() {
    for fault in passing_faults() {
        let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
        for method in ["getMe", "deleteWebhook", "getUpdates"] {
            imitation.fault(method, fault.clone());
        }
        let telegram = telegram(&imitation, &inbox);
        imitation.say(1111, 1111, "hello");
        inbox.until(1).await;
        imitation.until_confirmed().await;
        assert_eq!(inbox.texts(), ["hello"], "{fault:?}");
        until_connected(telegram.states()).await;
    }
}

#[tokio::test]
async fn words_are_said_again_whatever_goes_wrong_on_the_way() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    for fault in passing_faults() {
        let before = imitation.messages().len();
        imitation.fault("sendMessage", fault.clone());
        telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await.unwrap();
        // An answer that is cut off was an answer to something that was done.
        let count = if matches!(fault, ApiFault::CutAt(_)) { 2 } else { 1 };
        assert_eq!(imitation.messages().len() - before, count, "{fault:?}");
    }
}

#[tokio::test]
async fn silence_ends_after_the_time_for_an_answer() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let timing = Timing { answer: Duration::from_millis(700), poll: Duration::ZERO, ..quick() };
    let options = TelegramOptions { timing, ..telegram_options(&imitation) };
    imitation.fault("getMe", ApiFault::Hang);
    imitation.fault("getUpdates", ApiFault::Hang);
    imitation.fault("sendMessage", ApiFault::Hang);
    let telegram = Telegram::start(options, inbox.clone()).unwrap();
    imitation.say(1111, 1111, "hello");
    inbox.until(1).await;
    telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await.unwrap();
    assert_eq!(imitation.calls("sendMessage").len(), 2);
}

#[tokio::test]
async fn a_provider_is_waited_for_as_long_as_it_asks_within_limits() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    imitation.fault("sendMessage", ImitatedTelegram::slow_down(1));
    let begun = Instant::now();
    telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    imitation.fault("sendMessage", ImitatedTelegram::slow_down(100_000));
    let refused = telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await;
    assert_eq!(refused, Err(Error::RateLimited { retry_after: Duration::from_secs(3600) }));
}

#[tokio::test]
async fn a_provider_that_keeps_failing_is_given_up_by_who_sends() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    for _ in 0..5 {
        imitation.fault("sendMessage", ApiFault::Status(500, json!({ "ok": false })));
    }
    let failed = telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await;
    assert_eq!(failed, Err(Error::Failing { status: 500 }));
    assert_eq!(imitation.calls("sendMessage").len(), 5);
}

#[tokio::test]
async fn what_may_have_been_said_is_said_at_most_twice() {
    for fault in [ApiFault::CutAt(30), ApiFault::Garbage, ApiFault::Close] {
        let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
        let telegram = telegram(&imitation, &inbox);
        imitation.break_down("sendMessage", fault.clone());
        let failed = telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await.unwrap_err();
        assert!(failed.is_unsure(), "{fault:?}: {failed:?}");
        assert_eq!(imitation.calls("sendMessage").len(), 2, "{fault:?}");
    }
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_told_and_tried_again() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let options = TelegramOptions { token: Secret::new("43:wrong"), ..telegram_options(&imitation) };
    let telegram = Telegram::start(options, inbox.clone()).unwrap();
    until_failing(telegram.states(), "token").await;
    imitation.until_called("getMe", 3).await;
    assert!(imitation.calls("getUpdates").is_empty());
}

#[tokio::test]
async fn somebody_else_with_the_same_token_is_told_of() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let conflict = json!({ "ok": false, "error_code": 409, "description": "Conflict: terminated by other getUpdates" });
    let telegram = telegram(&imitation, &inbox);
    imitation.until_called("getUpdates", 1).await;
    imitation.break_down("getUpdates", ApiFault::Status(409, conflict));
    imitation.say(1111, 1111, "hello");
    let why = until_failing(telegram.states(), "somebody else").await;
    assert!(why.contains("Conflict"), "{why}");
    imitation.heal();
    until_connected(telegram.states()).await;
}

#[tokio::test]
async fn a_provider_that_repeats_itself_is_not_asked_without_a_pause() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let update = json!({ "update_id": 7, "message": imitation.message(1111, 1111, "again") });
    for _ in 0..6 {
        imitation.fault("getUpdates", ApiFault::Status(200, json!({ "ok": true, "result": [update] })));
    }
    let begun = Instant::now();
    let _telegram = telegram(&imitation, &inbox);
    let offered = inbox.until(6).await;
    // Pauses of 10, 20, 40 and 80 ms lie between, and every one is offered: who takes it knows whether it is new.
    assert!(begun.elapsed() >= Duration::from_millis(150));
    assert!(offered.iter().all(|message| message.update_id.as_deref() == Some("7")));
    imitation.until_called("getUpdates", 7).await;
    assert_eq!(imitation.calls("getUpdates").last().unwrap()["offset"], 8);
}

#[tokio::test]
async fn nobody_follows_a_redirect_with_the_token() {
    let (imitation, elsewhere) = (ImitatedTelegram::start().await, ImitatedTelegram::start().await);
    let inbox = Inbox::new();
    let telegram = telegram(&imitation, &inbox);
    for redirect in [301, 302, 307, 308] {
        imitation.fault("sendMessage", ApiFault::Redirect(redirect, elsewhere.api_base()));
        let refused = telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await;
        assert!(matches!(refused, Err(Error::Refused { status, .. }) if status == redirect), "{refused:?}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_at_once() {
    let imitation = ImitatedTelegram::start().await;
    let start = |options: TelegramOptions| Telegram::start(options, Inbox::new()).err();
    let fine = telegram_options(&imitation);
    let webhook = |secret: &str| Mode::Webhook { secret: Secret::new(secret), url: None };
    let bad = [
        TelegramOptions { token: Secret::new(""), ..fine.clone() },
        TelegramOptions { token: Secret::new("42:a/../b"), ..fine.clone() },
        TelegramOptions { token: Secret::new("42:a\nb"), ..fine.clone() },
        TelegramOptions { api_base: Some("ftp://a.example".to_owned()), ..fine.clone() },
        TelegramOptions { api_base: Some("not an address".to_owned()), ..fine.clone() },
        TelegramOptions { api_base: Some("https://me:pw@a.example".to_owned()), ..fine.clone() },
        TelegramOptions { api_base: Some("http://169.254.169.254".to_owned()), ..fine.clone() },
        TelegramOptions { mode: webhook(""), ..fine.clone() },
        TelegramOptions { mode: webhook("a b"), ..fine.clone() },
        TelegramOptions { mode: webhook(&"a".repeat(257)), ..fine.clone() },
    ];
    for options in bad {
        let shown = format!("{options:?}");
        let refused: Option<InvalidOptions> = start(options);
        assert!(refused.is_some(), "{shown}");
    }
    assert_eq!(start(fine), None);
}

#[tokio::test]
async fn a_server_without_tls_is_no_secure_provider() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let secure = imitation.api_base().replace("http:", "https:");
    let options = TelegramOptions { api_base: Some(secure), ..telegram_options(&imitation) };
    let telegram = Telegram::start(options, inbox.clone()).unwrap();
    until_failing(telegram.states(), "").await;
    assert!(telegram.outlet().send(&OutboundMessage::to(chat(5), "hello")).await.is_err());
    assert!(imitation.requests().is_empty(), "nothing was said in the clear");
}
