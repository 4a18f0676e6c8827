//! Many at once.

use super::room::{Room, SESSION};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_expect_the_same_version_one_wins() {
    let room = Room::new(json!({})).await;
    for (field, round) in [("if_version", 0), ("if_rev", 1), ("if_version", 2), ("if_rev", 3)] {
        let requests: Vec<Value> = (0..40)
            .map(|n| json!({"action": "write", "key": "a", "value": format!("{round}-{n}"), field: round}))
            .collect();
        let answers = join_all(requests.iter().map(|request| room.ask(&room.owner, request).send())).await;
        let winners: Vec<usize> = (0..40).filter(|n| answers[*n].status == 200).collect();
        assert_eq!(winners.len(), 1, "{field} {round}");
        assert_eq!(room.read("a").await["value"], format!("{round}-{}", winners[0]));
        for answer in answers.into_iter().filter(|answer| answer.status != 200) {
            assert_eq!(answer.refused(409, "VERSION_CONFLICT")["current_version"], round + 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_counter_kept_by_if_version_loses_no_step() {
    let room = std::sync::Arc::new(Room::new(json!({"history_keep": 100})).await);
    room.write("count", "0").await;
    let tasks = (0..8).map(|_| {
        let room = room.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                loop {
                    let read = room.read("count").await;
                    let next = read["value"].as_str().unwrap().parse::<u64>().unwrap() + 1;
                    let write = json!({"action": "write", "key": "count", "value": next.to_string(), "if_version": read["version"]});
                    if room.try_as(&room.owner, write).await.status == 200 {
                        break;
                    }
                }
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(|done| done.unwrap());
    let read = room.read("count").await;
    assert_eq!((&read["value"], &read["version"]), (&json!("40"), &json!(41)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_of_a_storm_has_its_own_version_and_rev_and_the_stream_tells_them_in_order() {
    let room = Room::new(json!({"history_keep": 500})).await;
    let mut stream = room.world.get(&format!("/sessions/{SESSION}/events")).by(&room.owner).stream().await;
    let requests: Vec<Value> =
        (0..200).map(|n| json!({"action": "write", "key": format!("k{}", n % 7), "value": n.to_string()})).collect();
    let answers = join_all(requests.iter().map(|request| room.ask(&room.owner, request).send())).await;
    let mut revs = BTreeSet::new();
    let mut versions = BTreeSet::new();
    for answer in answers {
        let written = answer.ok();
        revs.insert(written["rev"].as_u64().unwrap());
        versions.insert((written["key"].as_str().unwrap().to_owned(), written["version"].as_u64().unwrap()));
    }
    assert_eq!((revs.len(), versions.len()), (200, 200));
    assert_eq!((revs.first(), revs.last()), (Some(&1), Some(&200)));
    let told: Vec<(u64, u64)> =
        stream.take(200).await.iter().map(|event| (event.id, event.data["rev"].as_u64().unwrap())).collect();
    assert!(told.iter().zip(1..).all(|(told, n)| *told == (n, n)), "gap-free and in order");
    let listing = room.does(json!({"action": "list_keys"})).await;
    let sum: u64 =
        listing["keys"].as_array().unwrap().iter().map(|key| key["value_size_tokens"].as_u64().unwrap()).sum();
    assert_eq!(listing["total_size_tokens"], sum);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_delete_one_does() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    let delete = json!({"action": "delete", "key": "a"});
    let answers = join_all((0..20).map(|_| room.ask(&room.owner, &delete).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "KEY_NOT_FOUND").count(), 19);
    assert_eq!(room.session().await["rev"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_the_same_name_one_gets_it() {
    let room = Room::new(json!({})).await;
    let taken = json!({"action": "snapshot", "label": "s"});
    let answers = join_all((0..20).map(|_| room.ask(&room.owner, &taken).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    let body = json!({"id": "wanted"});
    let answers = join_all((0..20).map(|_| room.world.post("/sessions", &body).by(&room.owner).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "SESSION_EXISTS").count(), 19);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_once_a_session_is_archived() {
    let room = Room::new(json!({})).await;
    let write = json!({"action": "write", "key": "a", "value": "1"});
    let path = format!("/sessions/{SESSION}/archive");
    let writes = join_all((0..60).map(|_| room.ask(&room.owner, &write).send()));
    let empty = json!({});
    let archive = room.world.post(&path, &empty).by(&room.owner).send();
    let (writes, archived) = tokio::join!(writes, archive);
    let archived = archived.ok();
    let done = writes.iter().filter(|answer| answer.status == 200).count() as u64;
    assert!(writes.iter().all(|answer| answer.status == 200 || answer.code() == "SESSION_ARCHIVED"));
    assert_eq!(archived["rev"], done);
    assert_eq!(room.session().await["rev"], done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_its_own_write_at_once() {
    let room = Room::new(json!({})).await;
    let turns = (0..20).map(|n| {
        let room = &room;
        async move {
            let key = format!("k{n}");
            for turn in 0..5 {
                room.write(&key, &turn.to_string()).await;
                assert_eq!(room.read(&key).await["value"], turn.to_string());
            }
        }
    });
    join_all(turns).await;
}
