//! kill -9 while an admin makes workspaces and binds places to them. What was acknowledged is there, and nothing else.

use crate::it::binary::Server;
use crate::it::door::{Door, Gone};
use crate::it::records::times;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::Random;

const ADMINS: usize = 4;

/// One admin with workspaces of their own: what was acknowledged, and what was asked last and not answered.
struct Admin {
    number: usize,
    chance: Random,
    made: u64,
    places: BTreeSet<String>,
    unanswered: Option<(String, bool)>,
    /// Whether one workspace was giving way to the next.
    replacing: bool,
    acknowledged: u64,
}

impl Admin {
    fn new(number: usize) -> Self {
        let chance = Random::new(40 + number as u64);
        Self { number, chance, made: 0, places: BTreeSet::new(), unanswered: None, replacing: false, acknowledged: 0 }
    }

    fn workspace(&self) -> String {
        format!("w{}-{}", self.number, self.made)
    }

    /// Makes the next workspace with everything that was bound gone, or binds or unbinds a place.
    fn step(&mut self, door: &Door) -> Result<(), Gone> {
        if self.chance.once_in(20) || self.made == 0 {
            return self.make(door);
        }
        let chat = self.chance.below(8).to_string();
        let place = format!("http:{}-{chat}", self.number);
        let bind = !self.places.contains(&place);
        self.unanswered = Some((place.clone(), bind));
        let path = format!("/admin/workspaces/{}/bindings", self.workspace());
        let (status, answer) = if bind {
            door.post(&path, &json!({"channel": "http", "chat_id": format!("{}-{chat}", self.number)}))?
        } else {
            door.delete(&format!("{path}/{place}"))?
        };
        assert_eq!(status, 200, "{answer}");
        if bind {
            self.places.insert(place)
        } else {
            self.places.remove(&place)
        };
        self.unanswered = None;
        self.acknowledged += 1;
        Ok(())
    }

    /// The old one goes first, because its places have to be free.
    fn make(&mut self, door: &Door) -> Result<(), Gone> {
        self.replacing = true;
        if self.made > 0 {
            let (status, answer) = door.delete(&format!("/admin/workspaces/{}", self.workspace()))?;
            assert!(matches!(status, 204 | 404), "{status} {answer}");
        }
        self.made += 1;
        self.places.clear();
        let (status, answer) = door.post("/admin/workspaces", &json!({"name": self.workspace()}))?;
        assert_eq!(status, 201, "{answer}");
        self.replacing = false;
        self.acknowledged += 1;
        Ok(())
    }

    /// What is there is what was acknowledged, with or without what was asked last.
    fn check(&mut self, door: &Door) {
        let Ok(found) = door.get(&format!("/admin/workspaces/{}", self.workspace())) else { panic!("no answer") };
        if found["error"]["code"] == "WORKSPACE_NOT_FOUND" {
            // The one before was gone or going, and this one not there yet: it is made now.
            assert!(self.replacing, "{} is lost", self.workspace());
            self.replacing = false;
            self.places.clear();
            let (status, answer) = door.post("/admin/workspaces", &json!({"name": self.workspace()})).unwrap();
            assert_eq!(status, 201, "{answer}");
            return;
        }
        let found: BTreeSet<String> =
            found["bindings"].as_array().unwrap().iter().map(|bound| text(&bound["place"])).collect();
        let mut other = self.places.clone();
        match self.unanswered.take() {
            Some((place, true)) => drop(other.insert(place)),
            Some((place, false)) => drop(other.remove(&place)),
            None => {}
        }
        assert!(found == self.places || found == other, "{found:?} is neither {:?} nor {other:?}", self.places);
        self.places = found;
        self.replacing = false;
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn workspaces_and_their_places_are_there_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let token = server.cli(&["token", "create", "--user", "owner", "--ttl", "30d"]);
    let mut admins: Vec<Admin> = (0..ADMINS).map(Admin::new).collect();
    let mut chance = Random::new(5);
    let kills = times(10, 200);
    for _ in 0..kills {
        let (stop, url) = (AtomicBool::new(false), server.url.clone());
        std::thread::scope(|scope| {
            for admin in &mut admins {
                let (stop, door) = (&stop, Door::new(&url, &token));
                scope.spawn(move || while !stop.load(Ordering::Relaxed) && admin.step(&door).is_ok() {});
            }
            std::thread::sleep(Duration::from_micros(5_000 + chance.below(200_000)));
            server.kill();
            stop.store(true, Ordering::Relaxed);
        });
        server = Server::start(data);
        let door = Door::new(&server.url, &token);
        admins.iter_mut().filter(|admin| admin.made > 0).for_each(|admin| admin.check(&door));
    }
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
    let acknowledged: u64 = admins.iter().map(|admin| admin.acknowledged).sum();
    assert!(acknowledged >= kills, "the load was real: {acknowledged}");
}
