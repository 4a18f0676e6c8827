//! Killing the process. The oracle is outside of it: what was acknowledged must be there afterwards, and nothing that
//! was never sent.

use super::binary::{Server, ok, post};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CLIENTS: usize = 8;
const KEYS: usize = 5;

/// What one client knows: for each key the last value acknowledged and the one under way when the server died.
#[derive(Default, Clone)]
struct Known {
    acknowledged: BTreeMap<String, (u64, String)>,
    under_way: BTreeMap<String, String>,
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(10)))
        .build()
        .into()
}

/// Writes until the server is gone.
fn write_until_killed(url: &str, token: &str, session: &str, start: usize, known: &Mutex<Known>, stop: &AtomicBool) {
    let agent = agent();
    let mut n = start;
    while !stop.load(Ordering::Relaxed) {
        n += 1;
        let (key, value) = (format!("k{}", n % KEYS), format!("{session}-{n}"));
        known.lock().unwrap().under_way.insert(key.clone(), value.clone());
        let body = json!({"action": "write", "key": key, "value": value});
        match post(&agent, url, token, &format!("/sessions/{session}/shared_context"), &body) {
            Ok((200, answer)) => {
                let mut known = known.lock().unwrap();
                known.acknowledged.insert(key.clone(), (answer["version"].as_u64().unwrap(), value));
                known.under_way.remove(&key);
            }
            Ok((status, answer)) => panic!("{status} {answer}"),
            Err(_) => return,
        }
    }
}

fn check(server: &Server, token: &str, session: &str, known: &mut Known) {
    for (key, (version, value)) in known.acknowledged.clone() {
        let body = json!({"action": "read", "key": key});
        let (status, found) = server.post(token, &format!("/sessions/{session}/shared_context"), &body).unwrap();
        assert_eq!(status, 200, "{session}/{key} was acknowledged and is gone: {found}");
        let (found_version, found_value) = (found["version"].as_u64().unwrap(), found["value"].as_str().unwrap());
        let under_way = known.under_way.get(&key);
        let is_acknowledged = (found_version, found_value) == (version, value.as_str());
        let is_under_way = found_version == version + 1 && under_way.is_some_and(|value| value == found_value);
        assert!(
            is_acknowledged || is_under_way,
            "{session}/{key}: {found} is neither {version} {value} nor {under_way:?}"
        );
        known.acknowledged.insert(key.clone(), (found_version, found_value.to_owned()));
    }
    known.under_way.clear();
}

/// Event numbers without gap, one event and one audit row for each change.
fn check_record(server: &Server, data: &std::path::Path, token: &str, session: &str) {
    let (_, listing) =
        server.post(token, &format!("/sessions/{session}/shared_context"), &json!({"action": "list_keys"})).unwrap();
    let total: u64 =
        listing["keys"].as_array().unwrap().iter().map(|key| key["value_size_tokens"].as_u64().unwrap()).sum();
    assert_eq!(listing["total_size_tokens"].as_u64().unwrap(), total);
    let rev: u64 =
        listing["keys"].as_array().unwrap().iter().map(|key| key["rev"].as_u64().unwrap()).max().unwrap_or(0);
    if rev == 0 {
        return;
    }
    // Long runs write more events than are kept: the last thousand of each session always are.
    let after = rev.saturating_sub(1000);
    let (from, count) = (after.to_string(), (rev - after).to_string());
    let watched = ok(data, &["context", "watch", "-s", session, "--after", &from, "--count", &count, "--json"]);
    let revs: Vec<u64> =
        watched.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["rev"].as_u64().unwrap()).collect();
    assert_eq!(revs, (after + 1..=rev).collect::<Vec<_>>());
}

#[test]
fn whatever_was_acknowledged_is_there_after_kill_9() {
    let rounds = if std::env::var("LONGHOUSE_SOAK").is_ok() { 100 } else { 12 };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let token = ok(data, &["token", "create", "--user", "owner", "--ttl", "30d"]);
    let sessions: Vec<String> = (0..CLIENTS).map(|n| format!("s{n}")).collect();
    sessions.iter().for_each(|session| drop(server.cli(&["session", "create", session])));
    let known: Vec<Mutex<Known>> = (0..CLIENTS).map(|_| Mutex::default()).collect();
    for round in 0..rounds {
        let stop = AtomicBool::new(false);
        let url = server.url.clone();
        std::thread::scope(|scope| {
            for (session, known) in sessions.iter().zip(&known) {
                let (url, token, stop) = (&url, &token, &stop);
                scope.spawn(move || write_until_killed(url, token, session, round * 100_000, known, stop));
            }
            // Different moments of the load: just begun, under way, deep in a batch.
            std::thread::sleep(Duration::from_millis(20 + 37 * (round as u64 % 9)));
            server.kill();
            stop.store(true, Ordering::Relaxed);
        });
        server = Server::start(data);
        for (session, known) in sessions.iter().zip(&known) {
            check(&server, &token, session, &mut known.lock().unwrap());
        }
    }
    for session in &sessions {
        check_record(&server, data, &token, session);
    }
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
    server.cli(&["doctor"]);
    let written: usize = known.iter().map(|known| known.lock().unwrap().acknowledged.len()).sum();
    assert!(written >= CLIENTS * KEYS, "the load was real");
}

#[test]
fn a_write_repeated_with_its_key_after_kill_9_has_one_effect() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let token = server.token();
    server.cli(&["session", "create", "s"]);
    let agent = agent();
    for round in 0..6u64 {
        let url = server.url.clone();
        let body =
            json!({"action": "write", "key": "counter", "value": "x", "idempotency_key": format!("round-{round}")});
        let send = |url: &str| post(&agent, url, &token, "/sessions/s/shared_context", &body);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| send(&url));
            std::thread::sleep(Duration::from_micros(300 * round));
            server.kill();
            drop(first.join());
        });
        server = Server::start(data);
        let (status, answer) = send(&server.url).unwrap();
        assert_eq!((status, answer["version"].as_u64()), (200, Some(round + 1)), "{answer}");
    }
}

#[test]
fn when_the_disk_refuses_nothing_is_acknowledged_and_what_was_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let config = r#"{"max_store_tokens": 1000000, "history_keep": 0}"#;
    ok(data, &["session", "create", "s", "--config", config]);
    let token = ok(data, &["token", "create", "--user", "owner"]);
    let server = Server::start_limited(data, 2048);
    let read = |server: &Server, key: &str| {
        server.post(&token, "/sessions/s/shared_context", &json!({"action": "read", "key": key})).unwrap()
    };
    let mut acknowledged = BTreeMap::new();
    let refusal = (0..2000).find_map(|n: usize| {
        let (key, value) = (format!("k{}", n % 150), format!("{n}").repeat(500));
        let body = json!({"action": "write", "key": key, "value": value});
        match server.post(&token, "/sessions/s/shared_context", &body).unwrap() {
            (200, _) => {
                acknowledged.insert(key, value);
                None
            }
            refused => Some((key, refused)),
        }
    });
    let (failed, (status, answer)) = refusal.expect("a file of one megabyte is soon full");
    let code = answer["error"]["code"].as_str().unwrap();
    assert!(matches!((status, code), (503, "UNAVAILABLE") | (507, "STORAGE_FULL")), "{status} {answer}");
    let (key, value) = acknowledged.iter().find(|(key, _)| **key != failed).unwrap();
    let (status, found) = read(&server, key);
    assert_eq!((status, found["value"].as_str()), (200, Some(value.as_str())), "reads are served");
    // Reads have just opened views of the log; it can be emptied and written again all the same.
    let small = json!({"action": "write", "key": "small", "value": "x"});
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while server.post(&token, "/sessions/s/shared_context", &small).unwrap().0 != 200 {
        assert!(std::time::Instant::now() < deadline, "the writer recovers");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.kill();

    let server = Server::start(data);
    for (key, value) in acknowledged.iter().filter(|(key, _)| **key != failed) {
        assert_eq!(read(&server, key).1["value"].as_str(), Some(value.as_str()), "{key} was acknowledged");
    }
    let body = json!({"action": "write", "key": "after", "value": "room again"});
    assert_eq!(server.post(&token, "/sessions/s/shared_context", &body).unwrap().0, 200);
    server.cli(&["doctor"]);
}
