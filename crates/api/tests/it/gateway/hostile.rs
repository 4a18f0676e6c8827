//! Whatever is posted: refused in words, or taken as what it is; never a fault, and never by whom it is not for.

use super::{Gate, message, reason};
use serde_json::{Value, json};

#[tokio::test]
async fn only_a_token_of_the_channel_posts_and_it_does_nothing_else() {
    let gate = Gate::new().await;
    let body = message("lab", "group", "sean", "1", "hello");
    let sean = gate.token_of("sean").await;
    let telegram = gate.world.post("/my/tokens", &json!({"channel": "telegram"})).locally().send().await.ok();
    let project = gate.world.project(&sean, "garden").await;
    let agents = format!("/my/projects/{}/agents", project["id"].as_str().unwrap());
    let agents = gate.world.get(&agents).by(&sean).send().await.ok();
    let of_agent = json!({"agent": agents["items"][0]["id"]});
    let of_agent = gate.world.post("/my/tokens", &of_agent).by(&sean).send().await.ok();
    for token in [sean.as_str(), telegram["token"].as_str().unwrap(), of_agent["token"].as_str().unwrap()] {
        gate.world.post("/channels/http/messages", &body).by(token).send().await.refused(403, "FORBIDDEN");
    }
    gate.world.post("/channels/http/messages", &body).send().await.refused(401, "UNAUTHENTICATED");
    assert!(gate.provider.requests().is_empty());
    let route = json!({"channel": "http", "chat_id": "lab", "sender_id": "sean"});
    gate.world.post("/gateway/route", &route).by(&gate.bot).send().await.refused(403, "FORBIDDEN");
    gate.world.get("/sessions").by(&gate.bot).send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_channel_that_is_switched_off_takes_nothing() {
    let mut off = super::declaration();
    off.house.channels.http = false;
    let gate = Gate::declared(off).await;
    gate.posting(&message("lab", "group", "sean", "1", "hello")).send().await.refused(403, "FORBIDDEN");
    gate.world.declare(super::declaration()).await;
    assert_eq!(reason(&gate.write("lab", "sean", "1", "hello").await), ("routed", ""));
}

#[tokio::test]
async fn odd_bodies_are_refused_in_words() {
    let gate = Gate::new().await;
    let good = message("lab", "group", "sean", "1", "hello");
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    let long = "x".repeat(300);
    let bad = [
        with("chat_id", json!(null)),
        with("chat_id", json!(1.5)),
        with("chat_id", json!(["lab"])),
        with("chat_id", json!("")),
        with("chat_id", json!("a\nb")),
        with("chat_id", json!("a\u{202e}b")),
        with("chat_id", json!(long)),
        with("chat_type", json!("channel")),
        with("chat_type", json!(1)),
        with("sender_id", json!({"id": "sean"})),
        with("sender_id", json!("")),
        with("sender_id", json!("sean\0")),
        with("sender_id", json!(long)),
        with("message_id", json!("")),
        with("message_id", json!(true)),
        with("message_id", json!("a\0b")),
        with("message_id", json!(long)),
        with("text", json!("")),
        with("text", json!(" \n ")),
        with("text", json!("a\0b")),
        with("text", json!(7)),
        with("wait_s", json!(601)),
        with("wait_s", json!(-1)),
        with("wait_s", json!("5")),
        with("user", json!("usr_sean")),
        with("workspace", json!("homelab")),
        json!({}),
    ];
    for body in bad {
        let answer = gate.posting(&body).send().await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (400, "INVALID_REQUEST"),
            "{body}: {}",
            answer.text
        );
    }
    let much = with("text", json!("x".repeat(300 * 1024)));
    gate.posting(&much).send().await.refused(413, "VALUE_TOO_LARGE");
    let more = with("text", json!("x".repeat(2 * 1024 * 1024)));
    gate.posting(&more).send().await.refused(413, "PAYLOAD_TOO_LARGE");
    assert!(gate.provider.requests().is_empty());
    let said = "Grüße 👩‍👩‍👧 \u{202e}txet ﷽ \"quoted\" \\ end";
    let answer = gate.write("lab", "sean", "🦊 1", said).await;
    assert_eq!(answer["reply"]["content"], format!("You said: {said}"));
    for channel in [json!("smoke"), json!(""), json!(1)] {
        let answer = gate.route(&json!({"channel": channel, "chat_id": "x", "sender_id": "y"})).await;
        assert_eq!(answer.status.as_u16(), 400, "{}", answer.text);
    }
}

#[tokio::test]
async fn strangers_who_write_all_day_do_not_fill_the_audit_log() {
    let gate = Gate::new().await;
    for number in 0..200 {
        let body = message("lab", "group", "stranger", &number.to_string(), "spam");
        assert_eq!(reason(&gate.posting(&body).send().await.ok()), ("refused", "UNKNOWN_SENDER"));
    }
    assert_eq!(gate.audit("@house", "gateway.refuse").await.len(), 120);
    gate.world.clock.advance_s(61);
    gate.write("lab", "stranger", "later", "spam").await;
    let last = gate.audit("@house", "gateway.refuse").await.pop().unwrap();
    assert!(last["detail"].to_string().contains("\"passed_over\":80"), "{last}");
}
