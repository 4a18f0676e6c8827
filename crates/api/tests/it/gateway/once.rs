//! The same message, however often and whenever it is told, is one turn.

use super::{Gate, message, reason};
use futures_util::future::join_all;
use serde_json::{Value, json};

#[tokio::test]
async fn a_hundred_times_at_once_and_again_after_a_restart_is_one_turn() {
    let gate = Gate::new().await;
    let body = message("lab", "group", "sean", "77", "only once");
    let answers = join_all((0..100).map(|_| gate.posting(&body).send())).await;
    let answers: Vec<Value> = answers.into_iter().map(testkit::Answer::ok).collect();
    let routed: Vec<&Value> = answers.iter().filter(|answer| reason(answer).0 == "routed").collect();
    assert_eq!(routed.len(), 1);
    for answer in &answers {
        assert!(matches!(reason(answer), ("routed", "") | ("refused", "DUPLICATE")), "{answer}");
        for part in ["workspace", "user", "session_id", "message_id"] {
            assert_eq!(answer[part], routed[0][part], "{part}");
        }
        assert_eq!(answer["reply"]["content"], "You said: only once");
    }
    assert_eq!(gate.provider.requests().len(), 1);
    let message_id = routed[0]["message_id"].clone();
    let world = gate.world.reopened().await;
    let gate = Gate { world, ..gate };
    let again = gate.posting(&body).send().await.ok();
    assert_eq!((reason(&again), &again["message_id"]), (("refused", "DUPLICATE"), &message_id));
    assert_eq!(gate.provider.requests().len(), 1);
    let sean = gate.token_of("sean").await;
    let path = format!("/sessions/{}/messages", again["session_id"].as_str().unwrap());
    let history = gate.world.get(&path).by(&sean).send().await.ok();
    assert_eq!(history["items"].as_array().unwrap().len(), 2, "one question, one answer");
    assert_eq!(history["items"][0]["author"], "user:usr_sean");
}

#[tokio::test]
async fn messages_of_other_places_and_senders_are_other_messages() {
    let gate = Gate::new().await;
    let first = gate.write("lab", "sean", "1", "here").await;
    assert_eq!(reason(&gate.write("lab-alerts", "sean", "1", "there").await), ("routed", ""));
    assert_eq!(reason(&gate.write("family", "wife", "1", "elsewhere").await), ("routed", ""));
    // Somebody who says that a message of sean's is theirs learns nothing of it.
    let stolen = gate.write("lab", "wife", "1", "here").await;
    assert_eq!(reason(&stolen), ("refused", "DUPLICATE"));
    assert!(stolen["session_id"].is_null() && stolen["reply"].is_null() && first["reply"].is_object());
    // The id of a message may be a number: it is the same id.
    let mut number = message("lab", "group", "sean", "", "here");
    number["message_id"] = json!(1);
    assert_eq!(reason(&gate.posting(&number).send().await.ok()), ("refused", "DUPLICATE"));
}

#[tokio::test]
async fn a_command_is_done_once() {
    let gate = Gate::new().await;
    let fresh = gate.write("lab", "sean", "1", "/new").await;
    let again = gate.write("lab", "sean", "1", "/new").await;
    assert_eq!(reason(&again), ("refused", "DUPLICATE"));
    assert_eq!(again["session_id"], fresh["session_id"]);
}

#[tokio::test]
async fn what_was_taken_is_forgotten_after_a_month() {
    let gate = Gate::new().await;
    gate.write("lab", "sean", "1", "now").await;
    assert_eq!(reason(&gate.write("lab", "sean", "1", "now").await), ("refused", "DUPLICATE"));
    gate.world.clock.advance_s(31 * 24 * 3600);
    service::housekeeping::purge_once(&gate.world.house, "test").await.unwrap();
    let bot = gate.world.post("/my/tokens", &json!({"channel": "http"})).locally().send().await.ok();
    let gate = Gate { bot: bot["token"].as_str().unwrap().to_owned(), ..gate };
    assert_eq!(reason(&gate.write("lab", "sean", "1", "now").await), ("routed", ""));
}
