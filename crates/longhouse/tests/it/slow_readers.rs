//! Readers that do not read: they never did, their process was stopped, or their machine is gone without a word.
//! The server lets go of each within a bounded time and memory, others do not notice, and each can resume.

use super::binary::{LONGHOUSE, Server, post};
use super::records::record;
use super::streams::compare;
use serde_json::{Value, json};
use socket2::{SockAddr, SockFilter, SockRef, Socket};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{Line, StreamEvent};

const EVENTS: u64 = 3_000;
const WRITERS: u64 = 4;
const STILL: usize = 40;
/// Heartbeat (15 s), then 30 s without an answer, and some slack for a busy machine.
const LET_GO_WITHIN: Duration = Duration::from_secs(75);
/// A buffer or two for each of them, and what the writes themselves need.
const GROWS_AT_MOST_KIB: u64 = 16 * 1024;
const SESSION: &str = "/sessions/s/events";

struct Scene {
    server: Server,
    token: String,
    address: SocketAddr,
}

impl Scene {
    fn new(folder: &Path) -> Self {
        let server = Server::start(folder);
        server.cli(&["session", "create", "s"]);
        server.cli(&["session", "create", "quiet"]);
        let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
        Self { token: server.token(), address, server }
    }

    fn open_streams(&self) -> usize {
        let ask = ureq::get(format!("{}/metrics", self.server.url));
        let text = ask.header("authorization", format!("Bearer {}", self.token)).call().unwrap();
        let text = text.into_body().read_to_string().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("longhouse_event_streams "));
        line.expect("a gauge").trim().parse().unwrap()
    }

    fn wait_for_streams(&self, count: usize, within: Duration) -> Duration {
        let started = Instant::now();
        while self.open_streams() != count {
            assert!(started.elapsed() < within, "{} streams are open, not {count}", self.open_streams());
            std::thread::sleep(Duration::from_millis(20));
        }
        started.elapsed()
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// A client with the smallest of buffers that asks for everything and never reads.
    fn still(&self) -> Line {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(&SockAddr::from(self.address)).unwrap();
        Line::ask(TcpStream::from(socket), &self.token, SESSION, 0).unwrap()
    }

    /// The same on the control socket, where no network watches over the connection.
    fn still_locally(&self, data_dir: &Path) -> UnixStream {
        let mut stream = UnixStream::connect(data_dir.join("control.sock")).unwrap();
        write!(stream, "GET {SESSION} HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 0\r\n\r\n").unwrap();
        stream
    }

    /// A client whose machine is gone: from now on every packet to it is lost, and it never answers.
    fn vanished(&self, path: &str) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        let mut line = Line::ask(stream.try_clone().unwrap(), &self.token, path, 0).unwrap();
        line.read(1).unwrap();
        const LOSE_EVERYTHING: SockFilter = SockFilter::new(0x06, 0, 0, 0);
        SockRef::from(&stream).attach_filter(&[LOSE_EVERYTHING]).unwrap();
        stream
    }

    fn write_all(&self) {
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    let agent = ureq::agent();
                    for number in 0..EVENTS / WRITERS {
                        let body = json!({"action": "write", "key": format!("w{writer}"), "value": number.to_string()});
                        let path = "/sessions/s/shared_context";
                        assert_eq!(post(&agent, &self.server.url, &self.token, path, &body).unwrap().0, 200);
                    }
                });
            }
        });
    }

    /// Reads on after what was seen until the end of the log.
    fn resume(&self, mut seen: Vec<StreamEvent>) -> Vec<StreamEvent> {
        let last = |seen: &[StreamEvent]| seen.last().map_or(0, |event| event.id);
        let mut line = Line::open(self.address, &self.token, SESSION, last(&seen)).unwrap();
        while last(&seen) < EVENTS {
            seen.extend(line.read(usize::MAX).unwrap().1);
        }
        seen
    }
}

/// Reads whatever still arrives until the connection is over.
fn drain(mut line: Line) -> Vec<StreamEvent> {
    let mut seen = Vec::new();
    while let Ok((_, events)) = line.read(usize::MAX) {
        seen.extend(events);
    }
    seen
}

/// `longhouse context watch`, stopped and woken by signals.
struct Watcher {
    child: Child,
    output: std::path::PathBuf,
}

impl Watcher {
    fn start(scene: &Scene, output: &Path, before: usize) -> Self {
        let mut command = Command::new(LONGHOUSE);
        command.args(["--server", &scene.server.url, "context", "watch", "-s", "s", "--after", "0", "--json"]);
        command.env("LONGHOUSE_TOKEN", &scene.token).stdout(std::fs::File::create(output).unwrap());
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let watcher = Self { child, output: output.to_owned() };
        scene.wait_for_streams(before + 1, Duration::from_secs(20));
        watcher.signal("-STOP");
        watcher
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Wakes it, lets it come to its end, and gives the events that it had shown.
    fn wake(mut self) -> Vec<StreamEvent> {
        self.signal("-CONT");
        assert!(!self.child.wait().unwrap().success(), "it says that the stream was cut off");
        let text = std::fs::read_to_string(&self.output).unwrap();
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        // Each write here is one change and one event, so that `rev` is the event's number.
        let event = |data: Value| StreamEvent {
            is_numbered: true,
            id: data["rev"].as_u64().unwrap(),
            kind: data["type"].as_str().unwrap().to_owned(),
            data,
        };
        events.map(event).collect()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn readers_that_do_not_read_are_let_go_and_nobody_else_notices() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let scene = Scene::new(&data_dir);
    let still: Vec<_> = (0..STILL).map(|_| scene.still()).collect();
    let vanished = [scene.vanished(SESSION), scene.vanished("/sessions/quiet/events")];
    let local = scene.still_locally(&data_dir);
    scene.wait_for_streams(STILL + 3, Duration::from_secs(20));
    let stopped = Watcher::start(&scene, &folder.path().join("watched"), STILL + 3);
    let (before_kib, started) = (scene.resident_kib(), Instant::now());
    let log = std::thread::scope(|scope| {
        let healthy = scope.spawn(|| scene.resume(Vec::new()));
        scene.write_all();
        healthy.join().unwrap()
    });
    let (others_done, grown_kib) = (started.elapsed(), scene.resident_kib().saturating_sub(before_kib));
    scene.wait_for_streams(0, LET_GO_WITHIN);
    let let_go = started.elapsed();

    let mut pieces: Vec<_> = still.into_iter().map(drain).collect();
    pieces.extend([stopped.wake(), Vec::new()]);
    assert!(pieces.iter().all(|seen| seen.len() < log.len()), "they were let go before the end");
    let faults = pieces.into_iter().map(|seen| compare(&scene.resume(seen), &log));
    let [lost, invented, doubled, torn] = faults.fold([0; 4], |all, one| std::array::from_fn(|at| all[at] + one[at]));
    drop((vanished, local));
    let about = json!({"fault": "readers that never read, are stopped, or vanish", "engine": "sqlite",
        "rounds": STILL + 4, "acknowledged": log.len(), "lost": lost, "invented": invented, "doubled": doubled,
        "torn": torn, "others_done_ms": others_done.as_millis() as u64, "all_let_go_ms": let_go.as_millis() as u64,
        "memory_grown_kib": grown_kib});
    record("slow-readers", &about);
    assert_eq!([lost, invented, doubled, torn], [0; 4]);
    assert!(log.iter().zip(1..=EVENTS).all(|(event, number)| event.id == number));
    assert!(others_done < Duration::from_secs(25), "nobody waits for them: {others_done:?}");
    assert!(grown_kib < GROWS_AT_MOST_KIB, "{grown_kib} KiB");
}
