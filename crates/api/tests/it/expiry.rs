//! Keys that live for a while.

use super::room::{Room, SESSION, fields};
use serde_json::{Value, json};

async fn room_with_a_short_lived_key(config: Value) -> Room {
    let room = Room::new(config).await;
    room.write("lasting", "stays").await;
    room.does(json!({"action": "write", "key": "fleeting", "value": "goes away soon", "ttl_seconds": 60})).await;
    room
}

#[tokio::test]
async fn a_key_is_there_until_the_very_second_its_time_is_over() {
    let room = room_with_a_short_lived_key(json!({})).await;
    let read = room.read("fleeting").await;
    assert!(fields(&read).contains(&"expires_at"));
    assert!(!fields(&room.read("lasting").await).contains(&"expires_at"));
    room.world.clock.advance_s(59);
    room.read("fleeting").await;
    room.world.clock.advance_s(1);
    room.refuses(json!({"action": "read", "key": "fleeting"}), 404, "KEY_NOT_FOUND").await;
}

#[tokio::test]
async fn an_expired_key_is_absent_from_every_action_asked_first() {
    // Each action meets the expired key as the first thing that happens after its end.
    let read = |listing: &Value| listing["keys"].as_array().unwrap().len();
    let gone = async || {
        let room = room_with_a_short_lived_key(json!({})).await;
        room.does(json!({"action": "snapshot", "label": "before"})).await;
        room.world.clock.advance_s(60);
        room
    };
    let listing = gone().await.does(json!({"action": "list_keys"})).await;
    assert_eq!((read(&listing), &listing["total_size_tokens"]), (1, &json!(2)));
    let batch = gone().await.does(json!({"action": "read_batch", "keys": ["fleeting"]})).await;
    assert_eq!(batch, json!({"entries": [], "missing": ["fleeting"]}));
    gone().await.refuses(json!({"action": "delete", "key": "fleeting"}), 404, "KEY_NOT_FOUND").await;
    let written = gone().await.does(json!({"action": "write", "key": "fleeting", "value": "x", "if_version": 0})).await;
    assert_eq!((&written["version"], &written["rev"]), (&json!(1), &json!(4)), "its end took rev 3");
    let snapshot = gone().await.does(json!({"action": "snapshot", "label": "after"})).await;
    assert_eq!((&snapshot["key_count"], &snapshot["total_size_tokens"]), (&json!(1), &json!(2)));
    let diff = gone().await.does(json!({"action": "diff", "from": "before", "to": "now"})).await;
    assert_eq!(diff["removed"][0]["key"], "fleeting");
    let history = gone().await.does(json!({"action": "read_history", "key": "fleeting"})).await;
    assert_eq!(history["history"].as_array().unwrap().len(), 2);
    let room = gone().await;
    let prompt = room.world.get(&format!("/sessions/{SESSION}/prompt")).by(&room.owner).send().await;
    assert!(!prompt.text.contains("fleeting"));
}

#[tokio::test]
async fn an_expired_key_counts_no_more_in_what_is_told_of_the_session() {
    let counts = |session: &Value| (session["key_count"].as_u64(), session["total_size_tokens"].as_u64());
    let room = room_with_a_short_lived_key(json!({})).await;
    assert_eq!(counts(&room.session().await), (Some(2), Some(6)));
    room.world.clock.advance_s(60);
    assert_eq!(counts(&room.session().await), (Some(1), Some(2)), "GET /sessions/{{s}}");
    let room = room_with_a_short_lived_key(json!({})).await;
    room.world.clock.advance_s(60);
    let listed = room.world.get("/sessions").by(&room.owner).send().await.ok();
    assert_eq!(counts(&listed["items"][0]), (Some(1), Some(2)), "GET /sessions");
    let room = room_with_a_short_lived_key(json!({})).await;
    room.world.clock.advance_s(60);
    let path = format!("/admin/sessions/{SESSION}/context");
    let inspected = room.world.get(&path).by(&room.owner).send().await.ok();
    assert_eq!(inspected["entries"].as_array().unwrap().len(), 1);
    assert_eq!(counts(&inspected["session"]), (Some(1), Some(2)), "the owner's whole view");
}

#[tokio::test]
async fn the_room_of_an_expired_key_is_free_at_once() {
    let room = Room::new(json!({"max_store_tokens": 2})).await;
    room.does(json!({"action": "write", "key": "a", "value": "12345678", "ttl_seconds": 5})).await;
    room.refuses(json!({"action": "write", "key": "b", "value": "x"}), 409, "STORE_FULL").await;
    room.world.clock.advance_s(5);
    room.write("b", "12345678").await;
}

#[tokio::test]
async fn the_end_of_a_key_is_on_record() {
    let room = room_with_a_short_lived_key(json!({})).await;
    let mut stream = room.world.get(&format!("/sessions/{SESSION}/events")).by(&room.owner).stream().await;
    room.world.clock.advance_s(60);
    room.does(json!({"action": "list_keys"})).await;
    let event = stream.next().await.unwrap();
    assert_eq!(event.kind, "CONTEXT_EXPIRED");
    assert_eq!(
        (&event.data["key"], &event.data["version"], &event.data["rev"]),
        (&json!("fleeting"), &json!(1), &json!(3))
    );

    let history = room.does(json!({"action": "read_history", "key": "fleeting"})).await;
    let (first, last) = (&history["history"][0], &history["history"][1]);
    assert_eq!(first["value"], "goes away soon");
    assert_eq!((&last["deleted"], &last["rev"], &last["value"]), (&json!(true), &json!(3), &Value::Null));
    let rows = room.audit().await;
    let expired: Vec<_> = rows.iter().filter(|row| row["action"] == "context.expire").collect();
    assert_eq!(expired.len(), 1);
    assert_eq!(expired[0]["detail"]["key"], "fleeting");
}

#[tokio::test]
async fn a_key_ends_once_however_many_look() {
    let room = room_with_a_short_lived_key(json!({})).await;
    room.world.clock.advance_s(3600);
    let list = json!({"action": "list_keys"});
    let looks = (0..20).map(|_| room.ask(&room.owner, &list).send());
    for answer in futures_util::future::join_all(looks).await {
        assert_eq!(answer.ok()["keys"].as_array().unwrap().len(), 1);
    }
    assert_eq!(room.session().await["rev"], 3);
    assert_eq!(room.audit().await.iter().filter(|row| row["action"] == "context.expire").count(), 1);
}

#[tokio::test]
async fn writing_again_sets_or_lifts_the_time_to_live() {
    let room = room_with_a_short_lived_key(json!({})).await;
    room.world.clock.advance_s(30);
    room.does(json!({"action": "write", "key": "fleeting", "value": "x", "ttl_seconds": 60})).await;
    room.world.clock.advance_s(59);
    room.read("fleeting").await;
    room.write("fleeting", "for good").await;
    room.world.clock.advance_s(1_000);
    let read = room.read("fleeting").await;
    assert_eq!((read.get("expires_at"), &read["version"]), (None, &json!(3)));
}

#[tokio::test]
async fn several_keys_end_each_in_its_own_time() {
    let room = Room::new(json!({})).await;
    for seconds in [30, 10, 20] {
        let request = json!({"action": "write", "key": format!("k{seconds}"), "value": "x", "ttl_seconds": seconds});
        room.does(request).await;
    }
    for (advance, left) in [(9, 3), (1, 2), (10, 1), (10, 0)] {
        room.world.clock.advance_s(advance);
        assert_eq!(room.keys(&room.owner).await.len(), left);
    }
    assert_eq!(room.session().await["rev"], 6);
}

#[tokio::test]
async fn archiving_stops_the_clock_of_every_key() {
    let room = room_with_a_short_lived_key(json!({})).await;
    room.does(json!({"action": "write", "key": "over", "value": "x", "ttl_seconds": 10})).await;
    room.world.clock.advance_s(10);
    let archived = room.archive().await;
    assert_eq!((&archived["key_count"], &archived["rev"]), (&json!(2), &json!(4)), "what was over had ended first");
    room.world.clock.advance_s(20 * 3600);
    assert_eq!(room.keys(&room.owner).await, ["fleeting", "lasting"]);
    assert_eq!(room.read("fleeting").await["value"], "goes away soon");
    assert_eq!(room.session().await["rev"], 4);
}

#[tokio::test]
async fn a_snapshot_keeps_what_has_expired_since_and_a_restore_does_not_bring_it_back() {
    let room = room_with_a_short_lived_key(json!({})).await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    room.world.clock.advance_s(60);
    let frozen = room.does(json!({"action": "read_snapshot", "label": "s"})).await;
    assert_eq!(frozen["entries"].as_array().unwrap().len(), 2, "the entries as they were");
    room.does(json!({"action": "restore_snapshot", "label": "s"})).await;
    assert_eq!(room.keys(&room.owner).await, ["lasting"]);
}
