//! The mixed load: several clients at once that write, write with idempotency keys, delete, read and take snapshots,
//! each telling the oracle before it asks and after it was answered.

use super::binary::{Server, ok};
use super::client::Client;
use super::door::Door;
use super::oracle::{Moment, Tally};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CONFIG: &str = r#"{"max_store_tokens": 1000000}"#;
const CLIENTS_PER_SESSION: usize = 2;

pub(super) struct Load {
    token: String,
    generation: usize,
    clients: Vec<Client>,
    /// What earlier generations of clients had counted.
    earlier: Tally,
}

impl Load {
    /// Clients in sessions of their own, two in each, so that commits mix what they do.
    pub(super) fn new(data: &Path, clients: usize) -> Self {
        let token = ok(data, &["token", "create", "--user", "owner", "--ttl", "30d"]);
        let mut load = Self { token, generation: 0, clients: Vec::new(), earlier: Tally::default() };
        load.clients = load.fresh_clients(data, clients);
        load
    }

    fn fresh_clients(&self, data: &Path, clients: usize) -> Vec<Client> {
        let sessions = clients.div_ceil(CLIENTS_PER_SESSION);
        for number in 0..sessions {
            ok(data, &["session", "create", &self.session(number), "--settings", CONFIG]);
        }
        let seeded = |number: usize| (self.generation * 1_000 + number) as u64;
        (0..clients)
            .map(|number| Client::new(self.session(number % sessions), format!("c{number}"), seeded(number)))
            .collect()
    }

    fn session(&self, number: usize) -> String {
        format!("g{}s{number}", self.generation)
    }

    /// Lets new clients in new sessions take over: a session has only so many snapshots.
    pub(super) fn renew(&mut self, data: &Path) {
        self.generation += 1;
        let fresh = self.fresh_clients(data, self.clients.len());
        for client in std::mem::replace(&mut self.clients, fresh) {
            self.earlier.add(client.tally);
        }
    }

    /// Works until `meanwhile` returns or the server has gone.
    pub(super) fn run(&mut self, url: &str, meanwhile: impl FnOnce()) {
        /// Also when the test fails meanwhile: else it would wait for clients that work for ever.
        struct Stop<'s>(&'s AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let stop = AtomicBool::new(false);
        let token = &self.token;
        std::thread::scope(|scope| {
            for client in &mut self.clients {
                let stop = &stop;
                scope.spawn(move || {
                    let door = Door::new(url, token);
                    client.new_round();
                    while !stop.load(Ordering::Relaxed) && client.step(&door).is_ok() {}
                });
            }
            let _stop = Stop(&stop);
            meanwhile();
        });
    }

    /// Works for a while and then kills the server.
    pub(super) fn run_and_kill(&mut self, server: Server, after: Duration) {
        let url = server.url.clone();
        self.run(&url, || {
            std::thread::sleep(after);
            server.kill();
        });
    }

    /// Looks at every key and the newest snapshots, and goes on from what was found.
    pub(super) fn check(&mut self, server: &Server) {
        let door = Door::new(&server.url, &self.token);
        for client in &mut self.clients {
            client.check(&door);
        }
    }

    /// Looks at what a server would know that stopped at `moment`; nothing is settled. Gives what was wrong.
    pub(super) fn check_at(&self, server: &Server, moment: Moment) -> Tally {
        let door = Door::new(&server.url, &self.token);
        let mut tally = Tally::default();
        for client in &self.clients {
            client.check_at(&door, moment, &mut tally);
        }
        tally
    }

    /// Reads every key where some answers may be errors. Gives what was wrong, and how many answers were errors.
    pub(super) fn read_each(&self, server: &Server) -> (Tally, u64) {
        let mut tally = Tally::default();
        let failed = self.clients.iter().map(|client| client.read_each(&server.url, &self.token, &mut tally)).sum();
        (tally, failed)
    }

    /// The whole record: sums, history, events without gap, audit chains, pages.
    pub(super) fn check_record(&mut self, server: &Server) {
        let door = Door::new(&server.url, &self.token);
        for client in &mut self.clients {
            client.check_history(&door);
        }
        let sessions = self.clients.len().div_ceil(CLIENTS_PER_SESSION);
        for number in 0..sessions {
            let session = self.session(number);
            if let Some(note) = fault_of_session(&door, &session) {
                self.earlier.torn(&format!("{session}: {note}"));
            }
        }
        assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
        server.cli(&["doctor"]);
    }

    /// Everything counted so far.
    pub(super) fn finish(self) -> Tally {
        let mut tally = self.earlier;
        for client in self.clients {
            tally.add(client.tally);
        }
        tally
    }
}

/// Sums that do not fit their keys, or events with a gap.
fn fault_of_session(door: &Door, session: &str) -> Option<String> {
    let (_, listing) = door.ask(session, &json!({"action": "list_keys"})).expect("an answer");
    let keys = listing["keys"].as_array().expect("keys");
    let total: u64 = keys.iter().map(|key| key["value_size_tokens"].as_u64().unwrap()).sum();
    if listing["total_size_tokens"] != total {
        return Some(format!("the keys have {total} tokens together: {listing}"));
    }
    // The last event there is, so that the reading of them ends.
    let (_, last) = door.ask(session, &json!({"action": "write", "key": "last", "value": "x"})).expect("an answer");
    let events = door.events(session, |event| event["key"] == "last" && event["rev"] == last["rev"]);
    let ids: Vec<u64> = events.iter().map(|(id, _)| *id).collect();
    if ids != (1..=ids.len() as u64).collect::<Vec<_>>() {
        return Some(format!("the events are numbered {ids:?}"));
    }
    let changes = events.iter().filter(|(_, event)| event["type"] != "CONTEXT_SNAPSHOT");
    let revs: Vec<u64> = changes.map(|(_, event)| event["rev"].as_u64().unwrap()).collect();
    (revs != (1..=revs.len() as u64).collect::<Vec<_>>()).then(|| format!("the changes are numbered {revs:?}"))
}
