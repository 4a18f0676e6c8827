//! A thousand reconnects to the real binary, which is killed now and then, while others write: what two readers saw
//! in pieces is the log, and the log is what was written.

use super::binary::{Server, ok, post};
use super::records::record;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use testkit::{CutReader, Line, StreamEvent};

const WRITERS: usize = 4;
/// How often the server ends; every third time because it was asked to.
const ENDS: usize = 9;
const SESSION: &str = "/sessions/s/events";
const MINE: &str = "/my/events";
/// Writers stay this close to the slower reader, so that events come from the log and from the fan-out in turn.
const AHEAD: usize = 40;
/// Between two attempts while the server is away.
const PAUSE: Duration = Duration::from_millis(2);

/// What everybody shares: where the server is, and how far the others are.
struct Scene {
    token: String,
    url: Mutex<String>,
    written: AtomicUsize,
    seen: [AtomicUsize; 2],
    visits: [AtomicUsize; 2],
    wanted: usize,
}

impl Scene {
    fn url(&self) -> MutexGuard<'_, String> {
        self.url.lock().unwrap()
    }

    fn address(&self) -> SocketAddr {
        self.url().strip_prefix("http://").unwrap().parse().unwrap()
    }

    fn visits(&self) -> usize {
        self.visits.iter().map(|visits| visits.load(Ordering::Relaxed)).min().unwrap()
    }

    fn is_far_ahead(&self) -> bool {
        let seen = self.seen.iter().map(|seen| seen.load(Ordering::Relaxed)).min().unwrap();
        self.written.load(Ordering::Relaxed) > seen + AHEAD
    }

    /// Writes one value and repeats it under the same key until it is acknowledged; gives its version.
    fn write(&self, agent: &ureq::Agent, key: &str, number: u64) -> u64 {
        let body = json!({"action": "write", "key": key, "value": number.to_string(),
            "idempotency_key": format!("{key}-{number}")});
        loop {
            let url = self.url().clone();
            match post(agent, &url, &self.token, "/sessions/s/shared_context", &body) {
                Ok((200, answer)) => return answer["version"].as_u64().unwrap(),
                // Asked while the house was closing, or gone.
                Ok((503, _)) | Err(_) => std::thread::sleep(PAUSE),
                Ok((status, answer)) => panic!("{status} {answer}"),
            }
        }
    }

    /// Writes until the readers came often enough; tells how often.
    fn write_on(&self, key: &str) -> u64 {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(10)))
            .build()
            .into();
        let mut number = 0;
        while self.visits() < self.wanted {
            if self.is_far_ahead() {
                std::thread::sleep(PAUSE);
                continue;
            }
            number += 1;
            assert_eq!(self.write(&agent, key, number), number, "one effect of each write");
            self.written.fetch_add(1, Ordering::Relaxed);
        }
        number
    }

    fn read_on(&self, which: usize, path: &str) -> CutReader {
        let mut reader = CutReader::new(&self.token, path, which as u64 + 1);
        while !is_all(&reader.seen) {
            if reader.visit(self.address(), is_all).is_err() {
                std::thread::sleep(PAUSE);
            }
            self.seen[which].store(reader.seen.len(), Ordering::Relaxed);
            self.visits[which].store(reader.visits, Ordering::Relaxed);
        }
        reader
    }
}

/// The last write of all has a key of its own.
fn is_all(seen: &[StreamEvent]) -> bool {
    seen.last().is_some_and(|event| event.data["key"] == "end")
}

/// The whole log, read in one go.
fn log(scene: &Scene, path: &str) -> Vec<StreamEvent> {
    let mut line = Line::open(scene.address(), &scene.token, path, 0).unwrap();
    let mut events = Vec::new();
    while !is_all(&events) {
        events.extend(line.read(usize::MAX).unwrap().1);
    }
    events
}

/// What was seen against the log: lost, invented, seen twice, and torn (other words than in the log).
pub(super) fn compare(seen: &[StreamEvent], log: &[StreamEvent]) -> [usize; 4] {
    let told: BTreeMap<_, _> = log.iter().map(|event| (event.id, event)).collect();
    let ids: BTreeSet<_> = seen.iter().map(|event| event.id).collect();
    let invented = ids.iter().filter(|id| !told.contains_key(id)).count();
    let lost = told.len() + invented - ids.len();
    let torn = seen.iter().filter(|event| told.get(&event.id).is_some_and(|told| told != event)).count();
    [lost, invented, seen.len() - ids.len(), torn]
}

/// The log holds every version of every key once, in order, and nothing else.
fn check_log(log: &[StreamEvent], written: &BTreeMap<String, u64>) {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for event in log {
        let version = found.entry(event.data["key"].as_str().unwrap().to_owned()).or_default();
        *version += 1;
        assert_eq!(event.data["version"], *version, "{}", event.data);
    }
    assert_eq!(&found, written);
}

/// Ends the server at even distances between the visits, most times by `kill -9`, and starts it again.
fn serve_and_end(scene: &Scene, mut server: Server, data: &std::path::Path) -> Server {
    for end in 1..=ENDS {
        while scene.visits() < end * scene.wanted / (ENDS + 1) {
            std::thread::sleep(PAUSE);
        }
        if end % 3 == 0 {
            assert_eq!(server.terminate(), Some(0), "it ends in good order too, with readers at the door");
        } else {
            server.kill();
        }
        server = Server::start(data);
        scene.url().clone_from(&server.url);
    }
    server
}

#[test]
fn a_thousand_reconnects_across_kill_9_show_each_event_once_and_in_order() {
    let wanted = if std::env::var("LONGHOUSE_SOAK").is_ok() { 10_000 } else { 1_000 };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    server.cli(&["session", "create", "s"]);
    let token = ok(folder.path(), &["token", "create", "--user", "owner", "--ttl", "30d"]);
    let url = Mutex::new(server.url.clone());
    let scene = Scene { token, url, written: 0.into(), seen: Default::default(), visits: Default::default(), wanted };
    let (server, [session, mine], written) = std::thread::scope(|scope| {
        let readers = [(0, SESSION), (1, MINE)].map(|(which, path)| {
            let scene = &scene;
            scope.spawn(move || scene.read_on(which, path))
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|name| (format!("writer_{name}"), &scene))
            .map(|(key, scene)| (key.clone(), scope.spawn(move || scene.write_on(&key))))
            .collect();
        let server = serve_and_end(&scene, server, folder.path());
        let mut written: BTreeMap<_, _> =
            writers.into_iter().map(|(key, writer)| (key, writer.join().expect("a writer"))).collect();
        written.insert("end".to_owned(), scene.write(&ureq::agent(), "end", 1));
        (server, readers.map(|reader| reader.join().expect("a reader")), written)
    });
    for (name, path, reader) in [("session", SESSION, &session), ("user", MINE, &mine)] {
        let log = log(&scene, path);
        check_log(&log, &written);
        let [lost, invented, doubled, torn] = compare(&reader.seen, &log);
        let about = json!({"fault": format!("{} reconnects of a {name} stream", reader.visits), "engine": "sqlite",
            "rounds": reader.visits, "ends_of_the_server": ENDS, "cut_inside_an_event": reader.torn,
            "acknowledged": log.len(), "lost": lost, "invented": invented, "doubled": doubled, "torn": torn});
        record(&format!("reconnects-{name}"), &about);
        assert_eq!(reader.seen, log, "{path}");
        assert!(reader.visits >= wanted && reader.torn >= wanted / 4, "{} {}", reader.visits, reader.torn);
    }
    let ids: Vec<_> = session.seen.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    assert!(mine.seen.is_sorted_by(|one, next| one.id < next.id));
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
}
