//! Alerts at the webhook that the configuration names, from the real binary.

use super::binary::Server;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Reads one request and answers it with a status, and headers with it; gives its path and its body.
fn take(mut stream: TcpStream, status: &str) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut path, mut length) = (String::new(), 0);
    reader.read_line(&mut path).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    (path.split(' ').nth(1).unwrap().to_owned(), serde_json::from_slice(&body).unwrap())
}

#[test]
fn an_alert_is_posted_and_posted_again_if_it_is_not_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = alerting(&folder, &format!("http://{}/hooks/secret-path", listener.local_addr().unwrap()));
    let (path, refused) = take(listener.accept().unwrap().0, "503 Service Unavailable");
    let (_, taken) = take(listener.accept().unwrap().0, "200 OK");
    assert_eq!(path, "/hooks/secret-path");
    assert_eq!(refused, taken);
    assert_eq!((&taken["type"], &taken["alert"]), (&json!("ALERT"), &json!("provider_failing")), "{taken}");
    assert_eq!(server.terminate(), Some(0));
    assert!(
        !std::fs::read_to_string(folder.path().join("log")).unwrap().contains("secret-path"),
        "an address may hold a secret"
    );
}

/// A server one of whose alerts is on its way, as every call of its provider fails.
fn alerting(folder: &tempfile::TempDir, webhook: &str) -> Server {
    let (config, log) = (folder.path().join("longhouse.yaml"), folder.path().join("log"));
    // Nobody is behind the provider's address, so that every call of it fails.
    let text = format!(
        "alerts: {{ webhook: \"{webhook}\" }}\n\
         models:\n  providers: {{ gone: {{ kind: openai, base_url: \"http://127.0.0.1:1/v1\" }} }}\n  routes: {{ \"*\": gone }}\n",
    );
    std::fs::write(&config, text).unwrap();
    let server = Server::start_configured(&folder.path().join("house"), &config, &log).ok().unwrap();
    let token = server.token();
    server.post(&token, "/sessions", &json!({"id": "s", "project": "home"})).unwrap();
    let message = json!({"content": "hello", "target_agent": "agent_coder"});
    assert_eq!(server.post(&token, "/sessions/s/messages", &message).unwrap().0, 202);
    server
}

#[test]
fn no_redirect_of_a_webhook_is_followed() {
    let (listener, elsewhere) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    elsewhere.set_nonblocking(true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = alerting(&folder, &format!("http://{}/hooks/secret-path", listener.local_addr().unwrap()));
    let to = elsewhere.local_addr().unwrap();
    // One for each try; a webhook that is not taken is posted three times.
    for status in ["301 Moved Permanently", "307 Temporary Redirect", "308 Permanent Redirect"] {
        take(listener.accept().unwrap().0, &format!("{status}\r\nlocation: http://{to}/stolen"));
    }
    assert_eq!(server.terminate(), Some(0));
    assert!(elsewhere.accept().is_err(), "somebody knocked elsewhere");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("the webhook answered 307") && !log.contains("secret-path"), "{log}");
}
