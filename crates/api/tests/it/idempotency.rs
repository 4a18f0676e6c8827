//! Requests that are sent again.

use super::room::{Room, SESSION};
use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{Answer, World};

async fn send(room: &Room, key: &str, request: &Value) -> Answer {
    room.ask(&room.owner, request).header("idempotency-key", key).send().await
}

#[tokio::test]
async fn the_same_key_and_body_answer_the_same_and_act_once() {
    let room = Room::new(json!({})).await;
    let write = json!({"action": "write", "key": "a", "value": "1"});
    let first = send(&room, "k1", &write).await;
    room.write("a", "2").await;
    let second = send(&room, "k1", &write).await;
    assert_eq!((first.status, &first.text), (second.status, &second.text));
    assert_eq!(room.read("a").await["value"], "2", "the replay did not write");
    assert_eq!(room.session().await["rev"], 2);
    assert_eq!(send(&room, "k2", &write).await.ok()["version"], 3, "another key is another request");
}

#[tokio::test]
async fn a_field_of_the_body_counts_like_the_header() {
    let room = Room::new(json!({})).await;
    let write = json!({"action": "write", "key": "a", "value": "1", "idempotency_key": "k1"});
    let first = room.does(write.clone()).await;
    assert_eq!(room.does(write).await, first);
    let other = json!({"action": "write", "key": "a", "value": "2", "idempotency_key": "k1"});
    room.refuses(other, 422, "IDEMPOTENCY_MISMATCH").await;
    assert_eq!(room.session().await["rev"], 1);
    for bad in [json!(1), json!(""), json!("x".repeat(256)), json!("é"), json!("a\nb"), json!([])] {
        let request = json!({"action": "write", "key": "a", "value": "1", "idempotency_key": bad});
        let details = room.refuses(request, 400, "INVALID_REQUEST").await;
        assert_eq!(details["field"], "idempotency_key");
    }
}

#[tokio::test]
async fn a_key_sent_as_header_first_and_as_field_later_is_the_same_key() {
    let room = Room::new(json!({})).await;
    let first = send(&room, "k1", &json!({"action": "write", "key": "a", "value": "1"})).await;
    let again = json!({"action": "write", "key": "a", "value": "1", "idempotency_key": "k1"});
    assert_eq!(room.try_as(&room.owner, again).await.text, first.text);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_a_mismatch() {
    let room = Room::new(json!({})).await;
    send(&room, "k1", &json!({"action": "write", "key": "a", "value": "1"})).await.ok();
    let before = room.state().await;
    for other in [
        json!({"action": "write", "key": "a", "value": "2"}),
        json!({"action": "delete", "key": "a"}),
        json!({"action": "snapshot", "label": "s"}),
    ] {
        send(&room, "k1", &other).await.refused(422, "IDEMPOTENCY_MISMATCH");
    }
    assert_eq!(room.state().await, before);
    // The mismatch did not take the key away from the first request.
    assert_eq!(send(&room, "k1", &json!({"action": "write", "key": "a", "value": "1"})).await.ok()["rev"], 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_and_its_route() {
    let room = Room::new(json!({})).await;
    room.world.session(&room.owner, "other", json!({})).await;
    let review = room.participant("subagent:review").await;
    let write = json!({"action": "write", "key": "a", "value": "1"});
    send(&room, "k1", &write).await.ok();
    let by_other = room.ask(&review, &write).header("idempotency-key", "k1").send().await.ok();
    assert_eq!((&by_other["version"], &by_other["written_by"]), (&json!(2), &json!("subagent:review")));
    let elsewhere = room.world.context(&room.owner, "other", &write).header("idempotency-key", "k1").send().await.ok();
    assert_eq!(elsewhere["version"], 1);
}

#[tokio::test]
async fn every_change_of_a_shared_context_is_replayed() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    let changes = [
        json!({"action": "write", "key": "b", "value": "1"}),
        json!({"action": "delete", "key": "b"}),
        json!({"action": "snapshot", "label": "t"}),
        json!({"action": "restore_snapshot", "label": "s"}),
    ];
    for (n, change) in changes.iter().enumerate() {
        let key = format!("k{n}");
        let first = send(&room, &key, change).await.ok();
        let rev = room.session().await["rev"].clone();
        assert_eq!(send(&room, &key, change).await.ok(), first, "{change}");
        assert_eq!(room.session().await["rev"], rev, "{change}");
    }
}

#[tokio::test]
async fn a_refusal_is_replayed_though_it_would_pass_by_now() {
    let room = Room::new(json!({"max_store_tokens": 4})).await;
    let cases = [
        json!({"action": "delete", "key": "a"}),
        json!({"action": "write", "key": "a", "value": "1", "if_version": 1}),
        json!({"action": "restore_snapshot", "label": "s"}),
    ];
    let mut refused = Vec::new();
    for (n, request) in cases.iter().enumerate() {
        let answer = send(&room, &format!("k{n}"), request).await;
        assert!(answer.status.is_client_error());
        refused.push((answer.status, answer.text));
    }
    room.write("a", "now it is there").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    let before = room.state().await;
    for (n, request) in cases.iter().enumerate() {
        let answer = send(&room, &format!("k{n}"), request).await;
        assert_eq!((answer.status, answer.text), refused[n], "{request}");
    }
    assert_eq!(room.state().await, before);
    let other = json!({"action": "delete", "key": "b"});
    send(&room, "k0", &other).await.refused(422, "IDEMPOTENCY_MISMATCH");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_twins_at_once_one_acts_and_all_hear_the_same() {
    for config in [json!({}), json!({"token_counter": "o200k"})] {
        let room = Room::new(config).await;
        let write = json!({"action": "write", "key": "a", "value": "1"});
        let answers = join_all((0..30).map(|_| send(&room, "twin", &write))).await;
        for answer in &answers {
            assert_eq!((answer.status.as_u16(), &answer.text), (200, &answers[0].text));
        }
        assert_eq!(room.session().await["rev"], 1);
        let rows = room.audit().await;
        assert_eq!(rows.iter().filter(|row| row["action"] == "context.write").count(), 1);
    }
}

#[tokio::test]
async fn twins_hear_the_same_though_the_key_is_created_between_them() {
    let room = Room::new(json!({})).await;
    for round in 0..20 {
        let key = format!("k{round}");
        let twin = json!({"action": "write", "key": key, "value": "2", "if_version": 1});
        let creation = json!({"action": "write", "key": key, "value": "1"});
        // All are in the queue, in this order, before the first is answered.
        let (first, _, second) =
            tokio::join!(send(&room, &key, &twin), room.ask(&room.owner, &creation).send(), send(&room, &key, &twin));
        assert_eq!((first.status, first.text), (second.status, second.text), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twins_with_different_bodies_one_acts_and_the_others_are_told() {
    let room = Room::new(json!({})).await;
    let requests: Vec<Value> =
        (0..20).map(|n| json!({"action": "write", "key": "a", "value": n.to_string()})).collect();
    let answers = join_all(requests.iter().map(|request| send(&room, "twin", request))).await;
    let done = answers.iter().filter(|answer| answer.status == 200).count();
    let told = answers.iter().filter(|answer| answer.code() == "IDEMPOTENCY_MISMATCH").count();
    assert_eq!((done, told), (1, 19));
    assert_eq!(room.session().await["rev"], 1);
}

#[tokio::test]
async fn answers_survive_a_restart() {
    let room = Room::new(json!({})).await;
    let write = json!({"action": "write", "key": "a", "value": "1"});
    let miss = json!({"action": "delete", "key": "b"});
    let (first, refused) = (send(&room, "k1", &write).await, send(&room, "k2", &miss).await);
    let Room { world, owner } = room;
    let room = Room { world: world.reopened().await, owner };
    assert_eq!(send(&room, "k1", &write).await.text, first.text);
    assert_eq!(send(&room, "k2", &miss).await.text, refused.text);
    send(&room, "k1", &miss).await.refused(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(room.session().await["rev"], 1);
}

#[tokio::test]
async fn a_key_is_free_again_after_a_day() {
    let room = Room::new(json!({})).await;
    let lasting = room.world.post("/my/tokens", &json!({"ttl": "30d"})).locally().send().await.ok();
    let owner = lasting["token"].as_str().unwrap().to_owned();
    let room = Room { owner, ..room };
    let write = json!({"action": "write", "key": "a", "value": "1"});
    send(&room, "k1", &write).await.ok();
    room.world.clock.advance_s(24 * 3600 - 1);
    assert_eq!(send(&room, "k1", &write).await.ok()["version"], 1);
    room.world.clock.advance_s(1);
    assert_eq!(send(&room, "k1", &write).await.ok()["version"], 2);
}

#[tokio::test]
async fn creating_a_session_again_gives_the_same_session() {
    let world = World::new().await;
    let owner = world.owner().await;
    let create = async |key: &str, body: Value| {
        world.post("/sessions", &body).by(&owner).header("idempotency-key", key).send().await
    };
    let first = create("k1", json!({})).await;
    let second = create("k1", json!({})).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201));
    assert_eq!(first.text, second.text, "the generated id too");
    create("k2", json!({"id": "named"})).await.ok();
    create("k2", json!({"id": "named"})).await.ok();
    create("k3", json!({"id": "named"})).await.refused(409, "SESSION_EXISTS");
    let listed = world.get("/sessions").by(&owner).send().await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn archiving_again_with_the_same_key_is_no_error() {
    let room = Room::new(json!({})).await;
    let path = format!("/sessions/{SESSION}/archive");
    let archive =
        async || room.world.post(&path, &json!({})).by(&room.owner).header("idempotency-key", "k1").send().await;
    let first = archive().await.ok();
    assert_eq!(archive().await.ok(), first);
}

#[tokio::test]
async fn a_token_asked_for_twice_is_one_token_with_the_same_text() {
    let room = Room::new(json!({})).await;
    let body = json!({"session": SESSION, "participant": "subagent:review"});
    let make =
        async || room.world.post("/my/tokens", &body).by(&room.owner).header("idempotency-key", "k1").send().await;
    let first = make().await.ok();
    room.world.clock.advance_s(60);
    let second = make().await.ok();
    assert_eq!(first, second);
    room.as_(first["token"].as_str().unwrap(), json!({"action": "list_keys"})).await;
    let copy = room.world.folder().join("copy");
    room.world.post("/admin/backup", &json!({"path": copy})).locally().send().await.ok();
    let stored = std::fs::read(copy.join("longhouse.db")).expect("everything that is kept");
    let text = first["token"].as_str().unwrap().as_bytes();
    assert!(!stored.windows(text.len()).any(|window| window == text), "the text itself is kept nowhere");
}
