//! Messages of a channel and a server that is killed: whoever brings a message again finds it taken, once.

use super::binary::{Server, ok, post};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use testkit::Random;

const CONFIG: &str = "\
users:
  sean: { role: admin, identities: { http: sean } }
workspaces:
  homelab:
    members: [sean]
    model: demo
    bindings:
      - { channel: http, chat_id: lab }
channels:
  http: { enabled: true }
";
const ROUNDS: u64 = 12;

fn start(folder: &Path) -> Server {
    let (config, log) = (folder.join("longhouse.yaml"), folder.join("log"));
    std::fs::write(&config, CONFIG).unwrap();
    Server::start_configured(&folder.join("data"), &config, &log).expect("it starts")
}

fn written(round: u64) -> Value {
    let id = format!("m{round}");
    json!({"chat_id": "lab", "chat_type": "group", "sender_id": "sean", "message_id": id, "text": format!("round {round}")})
}

#[test]
fn a_message_is_one_turn_whenever_the_server_is_killed() {
    let folder = TempDir::new().unwrap();
    let mut server = start(folder.path());
    let bot = server.cli(&["token", "create", "--channel", "http"]);
    let mut random = Random::new(8);
    let mut cut = 0;
    for round in 0..ROUNDS {
        let (url, token) = (server.url.clone(), bot.clone());
        let posting = std::thread::spawn(move || {
            post(&ureq::Agent::new_with_defaults(), &url, &token, "/channels/http/messages", &written(round))
        });
        std::thread::sleep(Duration::from_millis(random.below(40)));
        server.kill();
        cut += u64::from(!matches!(posting.join().unwrap(), Ok((200, _))));
        server = start(folder.path());
        // As a provider does: until it is taken.
        let (status, answer) = server.post(&bot, "/channels/http/messages", &written(round)).unwrap();
        assert_eq!(status, 200, "{answer}");
        let again = server.post(&bot, "/channels/http/messages", &written(round)).unwrap().1;
        assert_eq!(again["reason_code"], "DUPLICATE");
        assert_eq!((&again["message_id"], &again["session_id"]), (&answer["message_id"], &answer["session_id"]));
    }
    let rows: Value =
        serde_json::from_str(&server.cli(&["--json", "audit", "--workspace", "homelab", "--last", "1000"])).unwrap();
    let rows = rows.as_array().unwrap();
    let count = |action: &str| rows.iter().filter(|row| row["action"] == action).count() as u64;
    assert_eq!((count("message.send"), count("gateway.route")), (ROUNDS, ROUNDS), "{cut} posts were cut off");
    assert_eq!(count("session.create"), 1, "and all of them in the place's one session");
}

#[test]
fn a_stranger_is_let_in_from_the_command_line() {
    let folder = TempDir::new().unwrap();
    let server = start(folder.path());
    let bot = server.cli(&["token", "create", "--channel", "http"]);
    let mut hello = written(1);
    (hello["sender_id"], hello["chat_type"], hello["chat_id"]) = (json!("grandma"), json!("direct"), json!("dm"));
    let answer = server.post(&bot, "/channels/http/messages", &hello).unwrap().1;
    let code = answer["pairing_code"].as_str().unwrap();
    assert!(server.cli(&["pair", "list"]).contains(code));
    let approved = server.cli(&["pair", "approve", code]);
    assert!(approved.contains("usr_http-grandma"), "{approved}");
    let answer = server.post(&bot, "/channels/http/messages", &hello).unwrap().1;
    assert_eq!(answer["workspace"], "personal-usr_http-grandma");
    hello["sender_id"] = json!("sean at work");
    let answer = server.post(&bot, "/channels/http/messages", &hello).unwrap().1;
    assert_eq!(answer["reason_code"], "DUPLICATE", "another's message id tells nothing: {answer}");
    hello["message_id"] = json!("2");
    let answer = server.post(&bot, "/channels/http/messages", &hello).unwrap().1;
    let code = answer["pairing_code"].as_str().unwrap();
    // Also while no server runs.
    server.terminate();
    let data = folder.path().join("data");
    let approved = ok(&data, &["pair", "approve", code, "--user", "sean"]);
    assert!(approved.contains("usr_sean"), "{approved}");
    assert!(!ok(&data, &["pair", "list"]).contains(code));
}
