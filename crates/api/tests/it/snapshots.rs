//! Freezing a whole shared context, looking back at it and turning back to it.

use super::room::{Room, SESSION, fields, names};
use serde_json::{Value, json};

async fn snapshot(room: &Room, label: &str) -> Value {
    room.does(json!({"action": "snapshot", "label": label})).await
}

async fn diff(room: &Room, from: Value, to: Value) -> Value {
    room.does(json!({"action": "diff", "from": from, "to": to})).await
}

#[tokio::test]
async fn a_snapshot_answers_what_it_froze_and_is_listed() {
    let room = Room::new(json!({})).await;
    let review = room.participant("subagent:review").await;
    room.write("a", "12345").await;
    room.write("a", "123456789").await;
    room.write("b", "x").await;
    let taken = room.as_(&review, json!({"action": "snapshot", "label": "pre_approval.3-A"})).await;
    assert_eq!(fields(&taken), ["key_count", "label", "rev", "taken_at", "taken_by", "total_size_tokens"]);
    let told = (&taken["label"], &taken["taken_by"], &taken["rev"], &taken["key_count"], &taken["total_size_tokens"]);
    assert_eq!(told, (&json!("pre_approval.3-A"), &json!("subagent:review"), &json!(3), &json!(2), &json!(4)));
    assert_eq!(room.session().await["rev"], 3, "a snapshot changes nothing");

    let later = snapshot(&room, "later").await;
    let listed = room.does(json!({"action": "list_snapshots"})).await;
    assert_eq!(listed["snapshots"].as_array().unwrap().len(), 2);
    for expected in [taken, later] {
        assert!(listed["snapshots"].as_array().unwrap().contains(&expected));
    }
}

#[tokio::test]
async fn a_label_is_used_once() {
    let room = Room::new(json!({})).await;
    snapshot(&room, "s").await;
    room.write("a", "1").await;
    let before = room.state().await;
    room.refuses(json!({"action": "snapshot", "label": "s"}), 409, "SNAPSHOT_EXISTS").await;
    assert_eq!(room.state().await, before);
    snapshot(&room, "S").await;
    snapshot(&room, &"x".repeat(64)).await;
}

#[tokio::test]
async fn a_snapshot_that_is_not_there_is_not_found() {
    let room = Room::new(json!({})).await;
    let cases = [
        json!({"action": "read_snapshot", "label": "s"}),
        json!({"action": "restore_snapshot", "label": "s"}),
        json!({"action": "diff", "from": "s", "to": "now"}),
        json!({"action": "diff", "from": "now", "to": "s"}),
    ];
    for request in cases {
        room.refuses(request, 404, "SNAPSHOT_NOT_FOUND").await;
    }
}

#[tokio::test]
async fn a_snapshot_is_read_as_it_was_whatever_happened_since() {
    let room = Room::new(json!({})).await;
    room.write("a", "old").await;
    room.write("b", "gone later").await;
    let (a, b) = (room.read("a").await, room.read("b").await);
    snapshot(&room, "s").await;
    room.write("a", "new").await;
    room.delete("b").await;
    room.write("c", "young").await;
    let frozen = room.does(json!({"action": "read_snapshot", "label": "s"})).await;
    assert_eq!(frozen["entries"], json!([a, b]));
    assert_eq!(frozen["label"], "s");
    let some = room.does(json!({"action": "read_snapshot", "label": "s", "keys": ["c", "b"]})).await;
    assert_eq!((&some["entries"], &some["missing"]), (&json!([b]), &json!(["c"])));
}

#[tokio::test]
async fn a_restore_is_a_new_change_of_every_key_by_whoever_restores() {
    let room = Room::new(json!({})).await;
    let orchestrator = room.participant("orchestrator").await;
    room.write("kept", "1").await;
    room.write("changed", "before").await;
    room.write("deleted", "before").await;
    snapshot(&room, "s").await;
    room.write("changed", "after").await;
    room.delete("deleted").await;
    room.write("young", "after").await;
    let before = room.session().await["rev"].as_u64().unwrap();
    room.as_(&orchestrator, json!({"action": "restore_snapshot", "label": "s"})).await;

    assert_eq!(room.keys(&room.owner).await, ["changed", "deleted", "kept"]);
    let mut revs = Vec::new();
    for (key, value, version) in [("kept", "1", 2), ("changed", "before", 3), ("deleted", "before", 1)] {
        let read = room.read(key).await;
        assert_eq!((&read["value"], &read["version"]), (&json!(value), &json!(version)), "{key}");
        assert_eq!(read["written_by"], "orchestrator", "{key}");
        revs.push(read["rev"].as_u64().unwrap());
    }
    assert!(revs.iter().all(|rev| *rev > before), "{revs:?} after {before}");
    revs.dedup();
    assert_eq!(revs.len(), 3, "no rev twice");
    let listing = room.does(json!({"action": "list_keys"})).await;
    assert_eq!(listing["total_size_tokens"], 1 + 2 + 2);
    let history = room.does(json!({"action": "read_history", "key": "young"})).await;
    assert_eq!(history["history"][1]["deleted"], true);
    // The snapshot stays and can be turned back to again.
    room.does(json!({"action": "restore_snapshot", "label": "s"})).await;
    assert_eq!(room.read("kept").await["version"], 3);
}

#[tokio::test]
async fn a_restore_shows_on_the_stream_as_the_changes_it_made() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    snapshot(&room, "s").await;
    room.write("b", "1").await;
    let mut stream = room.world.get(&format!("/sessions/{SESSION}/events")).by(&room.owner).stream().await;
    room.does(json!({"action": "restore_snapshot", "label": "s"})).await;
    let events = stream.take(2).await;
    let told: Vec<_> = events.iter().map(|event| (event.kind.as_str(), event.data["key"].as_str().unwrap())).collect();
    assert_eq!(told, [("CONTEXT_WRITTEN", "a"), ("CONTEXT_DELETED", "b")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sees_half_a_restore() {
    let room = Room::new(json!({})).await;
    let keys: Vec<String> = (0..20).map(|n| format!("k{n:02}")).collect();
    for key in &keys {
        room.write(key, "old").await;
    }
    snapshot(&room, "old").await;
    for key in &keys {
        room.write(key, "new").await;
    }
    snapshot(&room, "new").await;
    let batch = json!({"action": "read_batch", "keys": keys});
    let turns =
        ["old", "new"].repeat(10).into_iter().map(|label| json!({"action": "restore_snapshot", "label": label}));
    let turns: Vec<Value> = turns.collect();
    let restoring = futures_util::future::join_all(turns.iter().map(|turn| room.ask(&room.owner, turn).send()));
    let reading = futures_util::future::join_all((0..60).map(|_| room.ask(&room.owner, &batch).send()));
    let (restored, read) = tokio::join!(restoring, reading);
    restored.into_iter().for_each(|answer| drop(answer.ok()));
    for answer in read {
        let entries = answer.ok()["entries"].as_array().unwrap().clone();
        assert_eq!(entries.len(), 20);
        assert!(entries.iter().all(|entry| entry["value"] == entries[0]["value"]), "a mixture was seen");
    }
}

#[tokio::test]
async fn a_difference_names_what_was_added_removed_and_changed_with_both_versions() {
    let room = Room::new(json!({})).await;
    room.write("same", "1").await;
    room.write("changed", "1").await;
    room.write("removed", "1").await;
    room.write("reborn", "1").await;
    snapshot(&room, "s").await;
    room.write("changed", "2").await;
    room.delete("removed").await;
    room.write("added", "1").await;
    room.delete("reborn").await;
    room.write("reborn", "1").await;
    snapshot(&room, "t").await;

    let expected = diff(&room, json!("s"), json!("t")).await;
    assert_eq!(fields(&expected), ["added", "changed", "removed"]);
    assert_eq!(names(&expected["added"]), ["added"]);
    assert_eq!(names(&expected["removed"]), ["removed"]);
    assert_eq!(names(&expected["changed"]), ["changed", "reborn"], "a key born again is not the same");
    let changed = &expected["changed"][0];
    assert_eq!((&changed["from_version"], &changed["to_version"]), (&json!(1), &json!(2)));
    assert_eq!(expected["added"][0]["to_version"], 1);
    assert_eq!(expected["removed"][0]["from_version"], 1);
    for (from, to) in
        [(json!(4), json!(9)), (json!("s"), json!("now")), (json!(4), json!("now")), (json!("s"), json!(9))]
    {
        assert_eq!(diff(&room, from.clone(), to.clone()).await, expected, "{from} {to}");
    }
    let back = diff(&room, json!("now"), json!("s")).await;
    assert_eq!(names(&back["added"]), ["removed"]);
    let nothing = json!({"added": [], "removed": [], "changed": []});
    for moment in [json!("s"), json!("now"), json!(0), json!(6)] {
        assert_eq!(diff(&room, moment.clone(), moment.clone()).await, nothing, "{moment}");
    }
    let all = diff(&room, json!(0), json!("now")).await;
    assert_eq!(names(&all["added"]), ["added", "changed", "reborn", "same"]);
}

#[tokio::test]
async fn a_rev_that_is_not_reached_yet_is_refused() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.refuses(json!({"action": "diff", "from": 2, "to": "now"}), 400, "INVALID_REQUEST").await;
}

#[tokio::test]
async fn a_difference_to_a_trimmed_moment_is_expired_while_snapshots_stay() {
    let room = Room::new(json!({"history_keep": 2})).await;
    room.write("b", "1").await;
    room.write("a", "1").await;
    snapshot(&room, "s").await;
    for n in 2..=4 {
        room.write("a", &n.to_string()).await;
    }
    for rev in [0, 1, 2, 3] {
        room.refuses(json!({"action": "diff", "from": rev, "to": "now"}), 410, "EXPIRED").await;
        room.refuses(json!({"action": "diff", "from": "now", "to": rev}), 410, "EXPIRED").await;
    }
    assert_eq!(names(&diff(&room, json!(4), json!("now")).await["changed"]), ["a"]);
    assert_eq!(names(&diff(&room, json!("s"), json!("now")).await["changed"]), ["a"]);
}

#[tokio::test]
async fn a_rev_as_text_means_the_same_as_the_number() {
    for keep in [20, 0] {
        let room = Room::new(json!({"history_keep": keep})).await;
        room.write("a", "1").await;
        let by_number = diff(&room, json!(1), json!("now")).await;
        let by_text = diff(&room, json!("1"), json!("now")).await;
        assert_eq!(by_text, by_number, "history_keep {keep}");
    }
}

#[tokio::test]
async fn snapshots_are_events_too() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    let mut stream = room.world.get(&format!("/sessions/{SESSION}/events")).by(&room.owner).stream().await;
    snapshot(&room, "s").await;
    let event = stream.next().await.unwrap();
    assert_eq!((event.kind.as_str(), &event.data["label"]), ("CONTEXT_SNAPSHOT", &json!("s")));
}
