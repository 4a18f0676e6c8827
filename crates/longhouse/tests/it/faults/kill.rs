//! kill -9 at any moment.

use crate::it::binary::{Server, ok};
use crate::it::door::Door;
use crate::it::load::Load;
use crate::it::records::{Record, times};
use serde_json::json;
use std::time::Duration;
use testkit::Random;

const CLIENTS: usize = 8;
const WHOLE_RECORD_EVERY: u64 = 20;

#[test]
fn whatever_was_acknowledged_is_there_after_kill_9() {
    let kills = times(100, 1_000);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new("kill-9", "kill -9 at random moments");
    let mut chance = Random::new(9);
    for kill in 1..=kills {
        // Different moments of the load: just begun, under way, deep in a batch.
        load.run_and_kill(server, Duration::from_micros(5_000 + chance.below(250_000)));
        server = Server::start(data);
        record.round(server.ready);
        load.check(&server);
        if kill % WHOLE_RECORD_EVERY == 0 {
            load.check_record(&server);
            load.renew(data);
        }
    }
    let tally = load.finish();
    assert!(tally.acknowledged >= kills, "the load was real: {tally:?}");
    assert_eq!(tally.refused, 0, "nothing is refused on a sound disk");
    record.finish(&tally);
}

#[test]
fn a_write_repeated_with_its_key_after_kill_9_has_one_effect() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let token = server.token();
    server.cli(&["session", "create", "s"]);
    for round in 0..6u64 {
        let body =
            json!({"action": "write", "key": "counter", "value": "x", "idempotency_key": format!("round-{round}")});
        let door = Door::new(&server.url, &token);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| door.ask("s", &body));
            std::thread::sleep(Duration::from_micros(300 * round));
            server.kill();
            drop(first.join());
        });
        server = Server::start(data);
        let (status, answer) = Door::new(&server.url, &token).ask("s", &body).unwrap();
        assert_eq!((status, answer["version"].as_u64()), (200, Some(round + 1)), "{answer}");
    }
}

/// A thousand keys, frozen a hundred times: a hundred thousand rows, soon written.
fn seed_100_000_rows(server: &Server, token: &str) {
    server.cli(&["session", "create", "large", "--settings", r#"{"max_store_tokens": 1000000}"#]);
    std::thread::scope(|scope| {
        for part in 0..4 {
            scope.spawn(move || {
                let door = Door::new(&server.url, token);
                for number in 0..250 {
                    let body = json!({"action": "write", "key": format!("k{part}x{number}"), "value": "v".repeat(100)});
                    assert_eq!(door.ask("large", &body).unwrap().0, 200);
                }
            });
        }
    });
    let door = Door::new(&server.url, token);
    for number in 0..100 {
        let answer = door.ask("large", &json!({"action": "snapshot", "label": format!("n{number}")})).unwrap();
        assert_eq!((answer.0, answer.1["key_count"].as_u64()), (200, Some(1_000)), "{answer:?}");
    }
}

#[test]
fn with_100_000_rows_it_is_ready_two_seconds_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let token = ok(data, &["token", "create", "--user", "owner"]);
    seed_100_000_rows(&server, &token);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new("kill-9-100k-rows", "kill -9 with 100 000 rows");
    for kill in 0..times(5, 50) {
        load.run_and_kill(server, Duration::from_millis(100 + 97 * (kill % 5)));
        server = Server::start(data);
        record.round(server.ready);
        assert!(server.ready <= Duration::from_secs(2), "ready after {:?}", server.ready);
        load.check(&server);
    }
    load.check_record(&server);
    record.finish(&load.finish());
}
