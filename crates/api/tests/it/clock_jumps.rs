//! A clock that jumps by a day or ten years, forth and back. Order comes from counting, never from the clock; what has
//! ended stays ended.

use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::World;

const DAY_S: i64 = 86_400;
const TEN_YEARS_S: i64 = 10 * 366 * DAY_S;
const JUMPS_S: [i64; 6] = [DAY_S, -DAY_S, TEN_YEARS_S, -2 * TEN_YEARS_S, -DAY_S, TEN_YEARS_S + DAY_S];

async fn scene() -> World {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "s", json!({})).await;
    world
}

/// Asks with a token of this very moment: those of before may have ended.
async fn asks(world: &World, request: Value) -> testkit::Answer {
    let owner = world.owner().await;
    world.context(&owner, "s", &request).send().await
}

fn keep_record(rounds: usize, acknowledged: u64) {
    let Some(folder) = std::env::var_os("LONGHOUSE_RECORDS").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).unwrap();
    // Nothing is restarted here, and whatever is lost, invented, doubled or torn has failed the test before this line.
    let engine = if testkit::on_postgres() { "postgresql" } else { "sqlite" };
    let record = json!({
        "fault": "clock jumps of a day and of ten years, forth and back", "engine": engine, "rounds": rounds,
        "acknowledged": acknowledged, "lost": 0, "invented": 0, "doubled": 0, "torn": 0, "slowest_ready_ms": null,
    });
    std::fs::write(folder.join(format!("clock-jumps-{engine}.json")), record.to_string()).unwrap();
}

#[tokio::test]
async fn versions_revs_and_events_go_on_counting_whatever_the_clock_does() {
    let mut world = scene().await;
    let mut written = 0;
    for (round, jump_s) in JUMPS_S.iter().cycle().take(24).enumerate() {
        world.clock.advance_s(*jump_s);
        for _ in 0..3 {
            written += 1;
            let value = format!("value {written}");
            let answer = asks(&world, json!({"action": "write", "key": "a", "value": value})).await.ok();
            assert_eq!((&answer["version"], &answer["rev"]), (&json!(written), &json!(written)));
            assert_eq!(asks(&world, json!({"action": "read", "key": "a"})).await.ok()["value"], value);
        }
        // A restart must not see things differently either.
        if round % 5 == 4 {
            world = world.reopened().await;
        }
    }
    let owner = world.owner().await;
    let mut events = world.get("/sessions/s/events").by(&owner).header("last-event-id", "0").stream().await;
    let events = events.take(usize::try_from(written).unwrap()).await;
    let counted: Vec<(u64, u64)> = events.iter().map(|event| (event.id, event.data["rev"].as_u64().unwrap())).collect();
    assert_eq!(counted, (1..=written).map(|n| (n, n)).collect::<Vec<_>>());
    let verdict = world.post("/admin/audit/verify", &json!({})).by(&owner).send().await.ok();
    assert_eq!(verdict["intact"], true, "{verdict}");
    keep_record(24, written);
}

#[tokio::test]
async fn a_key_that_has_ended_does_not_come_back_with_the_clock() {
    let world = scene().await;
    let fleeting = |value: &str| json!({"action": "write", "key": "a", "value": value, "ttl_seconds": 60});
    let read = || asks(&world, json!({"action": "read", "key": "a"}));
    asks(&world, fleeting("first")).await.ok();
    world.clock.advance_s(DAY_S);
    read().await.refused(404, "KEY_NOT_FOUND");
    for jump_s in [-DAY_S, -TEN_YEARS_S, TEN_YEARS_S] {
        world.clock.advance_s(jump_s);
        read().await.refused(404, "KEY_NOT_FOUND");
    }
    // A clock that was set back has not reached the end yet; when it does, the key goes.
    asks(&world, fleeting("second")).await.ok();
    world.clock.advance_s(-TEN_YEARS_S);
    assert_eq!(read().await.ok()["value"], "second");
    world.clock.advance_s(TEN_YEARS_S + 59);
    assert_eq!(read().await.ok()["value"], "second");
    world.clock.advance_s(1);
    read().await.refused(404, "KEY_NOT_FOUND");
}

#[tokio::test]
async fn a_revoked_token_stays_revoked_and_an_ended_one_ends_whatever_the_clock_does() {
    let mut world = scene().await;
    let owner = world.owner().await;
    let doomed = world.post("/my/tokens", &json!({})).by(&owner).send().await.ok();
    let token = doomed["token"].as_str().unwrap().to_owned();
    world.get("/sessions").by(&token).send().await.ok();
    let path = format!("/my/tokens/{}", doomed["id"].as_str().unwrap());
    assert_eq!(world.delete(&path).by(&owner).send().await.status, 204);
    for (round, jump_s) in JUMPS_S.into_iter().enumerate() {
        world.clock.advance_s(jump_s);
        world.get("/sessions").by(&token).send().await.refused(401, "UNAUTHENTICATED");
        if round == 3 {
            world = world.reopened().await;
        }
    }
    let brief = world.owner().await;
    world.clock.advance_s(TEN_YEARS_S);
    world.get("/sessions").by(&brief).send().await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_request_sent_again_after_the_clock_was_set_back_has_one_effect() {
    let world = scene().await;
    let request = json!({"action": "write", "key": "a", "value": "x", "idempotency_key": "once"});
    let owner = world.owner().await;
    let first = world.context(&owner, "s", &request).send().await.ok();
    for jump_s in [-60, -DAY_S / 2, DAY_S / 2] {
        world.clock.advance_s(jump_s);
        assert_eq!(asks(&world, request.clone()).await.ok(), first);
    }
    world.clock.advance_s(-TEN_YEARS_S);
    assert_eq!(asks(&world, request).await.ok(), first);
}
