//! A file that may not grow: SIGXFSZ is ignored, and the write that hits the limit is refused.

use crate::it::binary::{Server, ok};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn when_the_disk_refuses_nothing_is_acknowledged_and_what_was_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let config = r#"{"max_store_tokens": 1000000, "history_keep": 0}"#;
    ok(data, &["session", "create", "s", "--settings", config]);
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
