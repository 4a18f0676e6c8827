//! Stopping in good order, and TLS.

use super::binary::{Server, command};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn sigterm_ends_open_streams_and_exits_with_0_within_ten_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    server.cli(&["session", "create", "s"]);
    let token = server.token();
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET /sessions/s/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    assert_eq!(server.terminate(), Some(0));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
}

#[test]
fn with_a_certificate_it_speaks_tls_and_the_command_line_checks_it() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let data = folder.path().join("data");
    let tls = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let (server, url) = start_with_tls(&data, &tls);
    let token = super::binary::ok(&data, &["token", "create", "--user", "owner"]);
    let ask = |trust: bool| {
        let mut command = command(&folder.path().join("none"));
        command.args(["--server", &url, "session", "list"]).env("LONGHOUSE_TOKEN", &token);
        if trust {
            command.arg("--ca-file").arg(&cert);
        }
        command.output().unwrap()
    };
    let trusted = ask(true);
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    assert_eq!(ask(false).status.code(), Some(1), "a certificate nobody vouches for is refused");
    drop(server);
}

/// Ends the process however the test ends.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_with_tls(data: &std::path::Path, tls: &[&str]) -> (Ended, String) {
    use std::io::BufRead;
    let mut child = Ended(
        command(data)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(tls)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap(),
    );
    let line = std::io::BufReader::new(child.0.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let url = line.split(" is at ").nth(1).unwrap().replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"));
    (child, url)
}

#[test]
fn logs_and_errors_never_carry_values_or_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let data = folder.path().join("data");
    let child = command(&data)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("LONGHOUSE_LOG", "trace")
        .stdout(std::process::Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn();
    let mut child = Ended(child.unwrap());
    use std::io::BufRead;
    let mut lines = std::io::BufReader::new(child.0.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap().split(" is at ").nth(1).unwrap().to_owned();
    lines.take(3).for_each(drop);
    let token = super::binary::ok(&data, &["token", "create", "--user", "owner"]);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let post = |path: &str, body| super::binary::post(&agent, &url, &token, path, &body).unwrap().1.to_string();
    let canary = "CANARY-7f3a";
    post("/sessions", json!({"id": "s"}));
    let mut seen = String::new();
    for body in [
        json!({"action": "write", "key": "a", "value": canary}),
        json!({"action": "write", "key": "a", "value": canary.repeat(2000)}),
        json!({"action": "write", "key": "a", "value": canary, "if_version": canary}),
        json!({"action": "write", "key": "a", "value": {"x": canary}}),
        json!({"action": "write", "key": canary, "value": canary}),
    ] {
        seen.push_str(&post("/sessions/s/shared_context", body));
    }
    drop(child);
    seen.push_str(&std::fs::read_to_string(&log).unwrap());
    assert!(!seen.contains(canary), "a value was repeated");
    assert!(!seen.contains(&token[..token.len() / 2]), "a token was logged");
}
