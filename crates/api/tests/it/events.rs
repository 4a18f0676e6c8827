//! Event streams: whole, in order, resumable, and blind to what is not the reader's.

use api::{App, Door, Options, entrance};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::{Events, Random, StreamEvent, World};

async fn scene() -> (World, String) {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({"namespaces": true})).await;
    (world, owner)
}

async fn stream(world: &World, token: &str, path: &str, after: Option<u64>) -> Events {
    let ask = world.get(path).by(token);
    match after {
        Some(id) => ask.header("last-event-id", &id.to_string()).stream().await,
        None => ask.stream().await,
    }
}

const PLANS: &str = "/sessions/plans/events";

fn ids(events: &[StreamEvent]) -> Vec<u64> {
    events.iter().map(|event| event.id).collect()
}

#[tokio::test]
async fn an_event_tells_what_happened_and_never_the_value() {
    let (world, owner) = scene().await;
    let review = world.participant(&owner, "plans", "subagent:review").await;
    let mut events = stream(&world, &owner, PLANS, None).await;
    let canary = "VALUE_CANARY 12345678";
    world.write(&review, "plans", "findings", canary).await;
    world.context(&owner, "plans", &json!({"action": "snapshot", "label": "one"})).send().await.ok();
    world.context(&owner, "plans", &json!({"action": "delete", "key": "findings"})).send().await.ok();
    let [written, snapshot, deleted] = events.take(3).await.try_into().expect("three");
    let fields = |event: &StreamEvent, names: &[&str]| -> Value {
        json!(names.iter().map(|name| event.data[*name].clone()).collect::<Vec<_>>())
    };
    let about_key = ["type", "session", "key", "version", "rev", "written_by", "size"];
    assert_eq!(
        fields(&written, &about_key),
        json!(["CONTEXT_WRITTEN", "plans", "findings", 1, 1, "subagent:review", 6])
    );
    assert_eq!(fields(&snapshot, &["type", "label", "rev", "session"]), json!(["CONTEXT_SNAPSHOT", "one", 1, "plans"]));
    assert_eq!(
        fields(&deleted, &about_key),
        json!(["CONTEXT_DELETED", "plans", "findings", 1, 2, "user:usr_owner", 0])
    );
    for event in [written, snapshot, deleted] {
        assert_eq!(event.data["type"], event.kind.as_str());
        let at = event.data["at"].as_str().expect("a time");
        assert!(at.ends_with('Z') && at.len() == 24, "{at}");
        assert!(!event.data.to_string().contains("CANARY"), "{}", event.data);
    }
}

#[tokio::test]
async fn a_key_that_expires_is_told_of_too() {
    let (world, owner) = scene().await;
    let mut events = stream(&world, &owner, PLANS, None).await;
    let write = json!({"action": "write", "key": "lock", "value": "x", "ttl_seconds": 60});
    world.context(&owner, "plans", &write).send().await.ok();
    world.clock.advance_s(61);
    world.context(&owner, "plans", &json!({"action": "list_keys"})).send().await.ok();
    let [written, expired] = events.take(2).await.try_into().expect("two");
    assert!(written.data["expires_at"].is_string());
    assert_eq!((expired.kind.as_str(), &expired.data["key"]), ("CONTEXT_EXPIRED", &json!("lock")));
    assert_eq!((written.id, expired.id), (1, 2));
}

#[tokio::test]
async fn the_answer_is_an_event_stream_that_proxies_pass_on() {
    let (world, owner) = scene().await;
    let answer = world.get(PLANS).by(&owner).send().await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("x-accel-buffering"), "no");
}

#[tokio::test]
async fn a_sessions_events_are_numbered_from_one_without_a_gap() {
    let (world, owner) = scene().await;
    world.session(&owner, "other", json!({})).await;
    for number in 0..20 {
        world.write(&owner, "plans", &format!("key_{number}"), "x").await;
        world.write(&owner, "other", "noise", "x").await;
        // Refused, so it leaves no number behind.
        let stale = json!({"action": "write", "key": "key_0", "value": "y", "if_version": 99});
        world.context(&owner, "plans", &stale).send().await.refused(409, "VERSION_CONFLICT");
    }
    let events = stream(&world, &owner, PLANS, Some(0)).await.take(20).await;
    assert_eq!(ids(&events), (1..=20).collect::<Vec<_>>());
    assert!(events.iter().all(|event| event.data["session"] == "plans"));
}

#[tokio::test]
async fn a_restored_snapshot_is_a_whole_row_of_events() {
    let (world, owner) = scene().await;
    world.write(&owner, "plans", "a", "1").await;
    world.write(&owner, "plans", "b", "1").await;
    world.context(&owner, "plans", &json!({"action": "snapshot", "label": "one"})).send().await.ok();
    world.write(&owner, "plans", "c", "1").await;
    world.context(&owner, "plans", &json!({"action": "restore_snapshot", "label": "one"})).send().await.ok();
    world.write(&owner, "plans", "end", "1").await;
    let mut events = stream(&world, &owner, PLANS, Some(0)).await;
    let mut last = 0;
    while let Some(event) = events.next().await {
        assert_eq!(event.id, last + 1);
        last = event.id;
        if event.data["key"] == "end" {
            break;
        }
    }
    assert_eq!(last, 8, "four before, two written and one deleted by the restoration, and the last");
}

#[tokio::test]
async fn a_selection_of_keys_shows_those_and_no_others() {
    let (world, owner) = scene().await;
    let keys = ["a", "b", "ab", "inv:x", "inv:y", "inv_z"];
    for (selection, expected) in [
        ("a", vec!["a"]),
        ("a,b", vec!["a", "b"]),
        ("inv:*", vec!["inv:x", "inv:y"]),
        ("a*,inv:y", vec!["a", "ab", "inv:y"]),
        ("*:x", vec!["inv:x"]),
        ("*", keys.to_vec()),
        ("nothing", vec![]),
    ] {
        let mut events = stream(&world, &owner, &format!("{PLANS}?keys={selection},the_end"), None).await;
        for key in keys.into_iter().chain(["the_end"]) {
            world.write(&owner, "plans", key, "x").await;
        }
        let mut seen = Vec::new();
        while let Some(event) = events.next().await
            && event.data["key"] != "the_end"
        {
            seen.push(event.data["key"].as_str().expect("a key").to_owned());
        }
        let expected: Vec<_> = keys.into_iter().filter(|key| expected.contains(key)).collect();
        assert_eq!(seen, expected, "{selection}");
    }
    for bad in ["A", "a%20b", "a;b", "%C3%A4", &"x,".repeat(101)] {
        let ask = world.get(&format!("{PLANS}?keys={bad}")).by(&owner);
        ask.send().await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_key_that_one_may_not_read_is_not_told_of() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({"acl": true})).await;
    let orchestrator = world.participant(&owner, "plans", "orchestrator").await;
    let review = world.participant(&owner, "plans", "subagent:review").await;
    let mut live = stream(&world, &review, PLANS, None).await;
    let hidden = json!({"action": "write", "key": "hidden", "value": "x", "readable_by": ["orchestrator"]});
    world.context(&orchestrator, "plans", &hidden).send().await.ok();
    world.context(&orchestrator, "plans", &json!({"action": "delete", "key": "hidden"})).send().await.ok();
    world.write(&orchestrator, "plans", "open", "x").await;
    assert_eq!(live.next().await.expect("an event").data["key"], "open");
    let mut replayed = stream(&world, &review, PLANS, Some(0)).await;
    assert_eq!(replayed.next().await.expect("an event").data["key"], "open");
}

#[tokio::test]
async fn a_reader_who_comes_back_again_and_again_misses_nothing_and_sees_nothing_twice() {
    const WRITES: u64 = 300;
    let (world, owner) = scene().await;
    let world = Arc::new(world);
    let writer = tokio::spawn({
        let (world, owner) = (world.clone(), owner.clone());
        async move {
            for number in 0..WRITES {
                world.write(&owner, "plans", "counter", &number.to_string()).await;
            }
        }
    });
    let (mut random, mut last, mut visits) = (Random::new(42), 0, 0);
    while last < WRITES {
        let mut events = stream(&world, &owner, PLANS, Some(last)).await;
        visits += 1;
        for _ in 0..random.below(12).min(WRITES - last) {
            let event = events.next().await.expect("an event");
            assert_eq!(event.id, last + 1, "visit {visits}");
            assert_eq!(event.data["version"], event.id);
            last = event.id;
        }
    }
    writer.await.expect("the writer");
    assert!(visits >= 40, "{visits}");
}

#[tokio::test]
async fn the_same_holds_for_the_stream_of_all_sessions() {
    const WRITES: u64 = 200;
    let (world, owner) = scene().await;
    world.session(&owner, "other", json!({})).await;
    let world = Arc::new(world);
    let writer = tokio::spawn({
        let (world, owner) = (world.clone(), owner.clone());
        async move {
            for number in 0..WRITES / 2 {
                world.write(&owner, "plans", "counter", &number.to_string()).await;
                world.write(&owner, "other", "counter", &number.to_string()).await;
            }
        }
    });
    let (mut random, mut last, mut seen) = (Random::new(7), 0, Vec::new());
    while seen.len() < usize::try_from(WRITES).expect("small") {
        let mut events = stream(&world, &owner, "/my/events", Some(last)).await;
        for _ in 0..random.below(12).min(WRITES - seen.len() as u64) {
            let event = events.next().await.expect("an event");
            assert!(event.id > last, "{} after {last}", event.id);
            last = event.id;
            seen.push((event.data["session"].clone(), event.data["version"].clone()));
        }
    }
    writer.await.expect("the writer");
    for session in ["plans", "other"] {
        let versions: Vec<_> =
            seen.iter().filter(|(of, _)| of == session).map(|(_, version)| version.clone()).collect();
        assert_eq!(versions, (1..=WRITES / 2).map(Value::from).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_reader_resumes_after_a_restart_where_it_left_off() {
    let (mut world, owner) = scene().await;
    let mut last = 0;
    for round in 0..3 {
        for number in 0..5 {
            world.write(&owner, "plans", &format!("key_{number}"), &round.to_string()).await;
        }
        let mut events = stream(&world, &owner, PLANS, Some(last)).await;
        // Leaves before the end of what is there.
        for event in events.take(4).await {
            assert_eq!(event.id, last + 1);
            last = event.id;
        }
        drop(events);
        world = world.reopened().await;
    }
    let rest = stream(&world, &owner, PLANS, Some(last)).await.take(3).await;
    assert_eq!(ids(&rest), [13, 14, 15]);
    let mine = stream(&world, &owner, "/my/events", Some(0)).await.take(15).await;
    assert!(ids(&mine).is_sorted_by(|one, next| one < next));
}

#[tokio::test]
async fn an_id_from_the_future_gets_one_reset_and_then_what_happens() {
    let (world, owner) = scene().await;
    world.write(&owner, "plans", "a", "x").await;
    for (path, future) in [(PLANS, 2), (PLANS, u64::MAX), (PLANS, u64::MAX - 1), ("/my/events", 1000)] {
        let mut events = stream(&world, &owner, path, Some(future)).await;
        let reset = events.next().await.expect("an event");
        assert_eq!((reset.kind.as_str(), &reset.data["type"]), ("RESET", &json!("RESET")));
        assert!(reset.data["hint"].as_str().is_some_and(|hint| hint.contains("list_keys")), "{}", reset.data);
        assert!(reset.data["at"].is_string());
        if path == PLANS {
            assert_eq!(reset.data["session"], "plans");
        }
        world.write(&owner, "plans", "a", "y").await;
        let next = events.next().await.expect("an event");
        assert_eq!((next.kind.as_str(), next.id > reset.id), ("CONTEXT_WRITTEN", true), "{path} {future}");
        let mut resumed = stream(&world, &owner, path, Some(reset.id)).await;
        assert_eq!(resumed.next().await.expect("an event"), next, "the reset's id is a place to resume from");
    }
}

#[tokio::test]
async fn an_id_that_is_not_a_number_is_refused() {
    let (world, owner) = scene().await;
    for bad in ["", "x", "-1", "1.5", "0x1", "1e3", "18446744073709551616", "1,2", "CANARY"] {
        for path in [PLANS, "/my/events"] {
            let answer = world.get(path).by(&owner).header("last-event-id", bad).send().await;
            assert!(!answer.text.contains("CANARY"));
            assert_eq!(answer.refused(400, "INVALID_REQUEST")["field"], "Last-Event-ID", "{bad}");
        }
    }
}

#[tokio::test]
async fn a_slow_reader_gets_everything_in_the_end() {
    let (world, owner) = scene().await;
    let mut session = stream(&world, &owner, PLANS, None).await;
    let mut mine = stream(&world, &owner, "/my/events", None).await;
    // Far more than what is kept at hand for a watcher.
    for number in 1..=600 {
        world.write(&owner, "plans", "counter", &number.to_string()).await;
    }
    let all: Vec<u64> = (1..=600).collect();
    assert_eq!(ids(&session.take(600).await), all);
    let versions: Vec<_> = mine.take(600).await.iter().map(|event| event.data["version"].as_u64()).collect();
    assert_eq!(versions, all.into_iter().map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let (world, owner) = scene().await;
    let agent = world.participant(&owner, "plans", "subagent:review").await;
    let mut streams = [stream(&world, &owner, PLANS, None).await, stream(&world, &agent, PLANS, None).await];
    world.delete("/sessions/plans").by(&owner).send().await.ok();
    for events in &mut streams {
        assert_eq!(events.next().await, None);
    }
    world.get(PLANS).by(&owner).send().await.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_stream_does_not_go_on_with_another_session_of_the_same_name() {
    let (world, owner) = scene().await;
    world.write(&owner, "plans", "a", "x").await;
    let mut events = stream(&world, &owner, PLANS, Some(0)).await;
    assert_eq!(events.next().await.expect("an event").id, 1);
    world.delete("/sessions/plans").by(&owner).send().await.ok();
    world.clock.advance_s(1);
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "b", "x").await;
    world.write(&owner, "plans", "b", "y").await;
    assert_eq!(events.next().await, None, "it was the other session's");
}

#[tokio::test]
async fn the_stream_of_an_archived_session_is_readable_and_quiet() {
    let (world, owner) = scene().await;
    let lock = json!({"action": "write", "key": "lock", "value": "x", "ttl_seconds": 60});
    world.context(&owner, "plans", &lock).send().await.ok();
    world.post("/sessions/plans/archive", &json!({})).by(&owner).send().await.ok();
    let mut events = stream(&world, &owner, PLANS, Some(0)).await;
    assert_eq!(events.next().await.expect("an event").data["key"], "lock");
    let write = json!({"action": "write", "key": "a", "value": "x"});
    world.context(&owner, "plans", &write).send().await.refused(409, "SESSION_ARCHIVED");
    world.clock.advance_s(61);
    world.context(&owner, "plans", &json!({"action": "list_keys"})).send().await.ok();
    world.delete("/sessions/plans").by(&owner).send().await.ok();
    assert_eq!(events.next().await, None, "nothing in between");
}

#[tokio::test]
async fn my_events_are_of_all_my_sessions_and_of_no_strangers() {
    let (world, owner) = scene().await;
    let bea = world.member("bea").await;
    let mut mine = stream(&world, &owner, "/my/events", None).await;
    let mut hers = stream(&world, &bea, "/my/events?keys=hers", None).await;
    // The same name as the owner's, made while both are watching.
    world.session(&bea, "plans", json!({})).await;
    world.write(&bea, "plans", "other", "x").await;
    world.write(&bea, "plans", "hers", "x").await;
    world.session(&owner, "later", json!({})).await;
    world.write(&owner, "plans", "one", "x").await;
    world.write(&owner, "later", "two", "x").await;
    let seen: Vec<_> = mine.take(2).await.iter().map(|event| event.data["key"].clone()).collect();
    assert_eq!(seen, ["one", "two"]);
    assert_eq!(hers.next().await.expect("an event").data["key"], "hers");
    let mut replayed = stream(&world, &owner, "/my/events", Some(0)).await;
    assert_eq!(replayed.next().await.expect("an event").data["key"], "one");
}

/// The clock of the framework stands still and jumps, so this takes no time.
#[tokio::test]
async fn a_quiet_stream_is_kept_alive_by_a_comment_every_fifteen_seconds() {
    // It also jumps while an answer of a database elsewhere is waited for, and that would be over at once.
    if testkit::on_postgres() {
        return;
    }
    let (world, owner) = scene().await;
    let entrance = entrance(App::new(world.house.clone(), Options::default()));
    let request = Request::get(PLANS).header("host", "localhost").header("authorization", format!("Bearer {owner}"));
    let response = entrance.call(Door::Network, request.body(Body::empty()).expect("a request")).await;
    let mut body = response.into_body();
    let opening = body.frame().await.expect("a frame").expect("whole").into_data().expect("data");
    assert_eq!(opening.as_ref(), b"retry: 1000\n\n");
    tokio::time::pause();
    for _ in 0..3 {
        let started = tokio::time::Instant::now();
        let beat = body.frame().await.expect("a frame").expect("whole").into_data().expect("data");
        assert!(beat.starts_with(b":"), "{beat:?}");
        let waited = started.elapsed();
        assert!(waited >= Duration::from_secs(14) && waited <= Duration::from_secs(16), "{waited:?}");
    }
}
