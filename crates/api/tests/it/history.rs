//! What a key was before.

use super::room::{Room, fields};
use serde_json::{Value, json};

fn steps(answer: &Value) -> Vec<(u64, u64)> {
    let items = answer["history"].as_array().expect("a history");
    items.iter().map(|item| (item["version"].as_u64().unwrap(), item["rev"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn history_tells_every_version_newest_last() {
    let room = Room::new(json!({})).await;
    let review = room.participant("subagent:review").await;
    room.write("a", "one").await;
    room.write("b", "other").await;
    room.as_(&review, json!({"action": "write", "key": "a", "value": "two"})).await;
    room.delete("a").await;
    room.write("a", "three").await;
    let answer = room.does(json!({"action": "read_history", "key": "a"})).await;
    assert_eq!(fields(&answer), ["history", "key"]);
    assert_eq!(steps(&answer), [(1, 1), (2, 3), (2, 4), (1, 5)]);
    let history = &answer["history"];
    assert_eq!(fields(&history[0]), ["rev", "value", "version", "written_at", "written_by"]);
    assert_eq!((&history[1]["value"], &history[1]["written_by"]), (&json!("two"), &json!("subagent:review")));
    assert_eq!((&history[2]["deleted"], &history[2]["value"]), (&json!(true), &Value::Null));
    assert_eq!(history[2]["written_by"], "user:usr_owner", "who deleted it");
    assert_eq!(history[3]["value"], "three");
}

#[tokio::test]
async fn history_survives_the_key_and_is_not_found_where_there_never_was_one() {
    let room = Room::new(json!({})).await;
    room.write("a", "one").await;
    room.delete("a").await;
    assert_eq!(steps(&room.does(json!({"action": "read_history", "key": "a"})).await), [(1, 1), (1, 2)]);
    room.refuses(json!({"action": "read_history", "key": "never"}), 404, "KEY_NOT_FOUND").await;
}

#[tokio::test]
async fn versions_can_be_picked() {
    let room = Room::new(json!({})).await;
    for n in 1..=5 {
        room.write("a", &n.to_string()).await;
    }
    let pick = async |versions: Value| {
        steps(&room.does(json!({"action": "read_history", "key": "a", "versions": versions})).await)
    };
    assert_eq!(pick(json!([2, 4])).await, [(2, 2), (4, 4)]);
    assert_eq!(pick(json!([4, 2, 2])).await, [(2, 2), (4, 4)], "in order, each once");
    assert_eq!(pick(json!([6, 99])).await, [], "not reached yet");
    assert_eq!(pick(json!([])).await, []);
}

#[tokio::test]
async fn only_the_newest_versions_are_kept_and_what_was_trimmed_is_expired() {
    let room = Room::new(json!({"history_keep": 2})).await;
    for n in 1..=5 {
        room.write("a", &n.to_string()).await;
    }
    room.write("b", "1").await;
    let all = room.does(json!({"action": "read_history", "key": "a"})).await;
    assert_eq!(steps(&all), [(4, 4), (5, 5)]);
    let trimmed = json!({"action": "read_history", "key": "a", "versions": [3]});
    room.refuses(trimmed, 410, "EXPIRED").await;
    let partly = json!({"action": "read_history", "key": "a", "versions": [1, 5]});
    room.refuses(partly, 410, "EXPIRED").await;
    let kept = room.does(json!({"action": "read_history", "key": "a", "versions": [4, 5]})).await;
    assert_eq!(steps(&kept), [(4, 4), (5, 5)]);
    assert_eq!(steps(&room.does(json!({"action": "read_history", "key": "b"})).await), [(1, 6)]);
}

#[tokio::test]
async fn twenty_versions_are_kept_unless_said_otherwise() {
    let room = Room::new(json!({})).await;
    for n in 1..=25 {
        room.write("a", &n.to_string()).await;
    }
    let all = steps(&room.does(json!({"action": "read_history", "key": "a"})).await);
    assert_eq!((all.len(), all[0]), (20, (6, 6)));
}

#[tokio::test]
async fn without_history_only_the_present_is_known() {
    let room = Room::new(json!({"history_keep": 0})).await;
    room.write("a", "1").await;
    room.write("a", "2").await;
    assert_eq!(room.does(json!({"action": "read_history", "key": "a"})).await["history"], json!([]));
    room.refuses(json!({"action": "read_history", "key": "a", "versions": [1]}), 410, "EXPIRED").await;
    room.refuses(json!({"action": "diff", "from": 1, "to": "now"}), 410, "EXPIRED").await;
    assert_eq!(room.read("a").await["version"], 2);
    room.delete("a").await;
    room.refuses(json!({"action": "read_history", "key": "a"}), 404, "KEY_NOT_FOUND").await;
}
