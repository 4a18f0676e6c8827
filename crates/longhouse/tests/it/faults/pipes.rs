//! Readers that go away: of an answer, of the greeting, of the log. SIGPIPE is ignored, and nobody else notices.

use super::wait_until;
use crate::it::binary::{Server, command};
use crate::it::door::Door;
use crate::it::load::Load;
use crate::it::records::{Record, times};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A session whose snapshot is far more than a socket takes in at once.
fn fill_a_session(server: &Server, token: &str) {
    server.cli(&["session", "create", "large", "--settings", r#"{"max_store_tokens": 1000000}"#]);
    let door = Door::new(&server.url, token);
    for number in 0..500 {
        let body = json!({"action": "write", "key": format!("k{number}"), "value": "v".repeat(3_900)});
        assert_eq!(door.ask("large", &body).unwrap().0, 200);
    }
    assert_eq!(door.ask("large", &json!({"action": "snapshot", "label": "all"})).unwrap().0, 200);
}

#[test]
fn clients_that_go_away_in_the_middle_of_an_answer_disturb_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let server = Server::start(data);
    let mut load = Load::new(data, 4);
    let token = server.token();
    fill_a_session(&server, &token);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let body = json!({"action": "read_snapshot", "label": "all"}).to_string();
    let mut record = Record::new("closed-connections", "clients that close in the middle of an answer");
    load.run(&server.url, || {
        for _ in 0..times(30, 1_000) {
            let mut stream = TcpStream::connect(&address).unwrap();
            write!(
                stream,
                "POST /sessions/large/shared_context HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            let mut start = [0; 12];
            stream.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 200");
            // Closed with most of the answer unread: the next write to it fails.
            drop(stream);
            record.rounds += 1;
        }
    });
    record.ready(server.ready);
    load.check(&server);
    load.check_record(&server);
    assert_eq!(server.terminate(), Some(0));
    record.finish(&load.finish());
}

/// Whether the server behind the control socket answers.
fn answers(data: &Path) -> bool {
    let Ok(mut socket) = UnixStream::connect(data.join("control.sock")) else { return false };
    let mut status = [0; 12];
    let asked = socket.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    asked.and_then(|()| socket.read_exact(&mut status)).is_ok() && &status == b"HTTP/1.1 200"
}

fn stopped(mut child: Child) -> Option<i32> {
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let mut code = None;
    wait_until("it stops", || {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.is_some()
    });
    code.flatten()
}

#[test]
fn a_server_whose_output_nobody_reads_starts_serves_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut start = command(&data);
    start.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start.env("LONGHOUSE_LOG", "debug").spawn().unwrap();
    // Both pipes have no reader before the first word.
    drop((child.stdout.take(), child.stderr.take()));
    wait_until("it answers", || answers(&data));
    std::thread::sleep(Duration::from_millis(50));
    assert!(answers(&data));
    assert_eq!(stopped(child), Some(0));
}
