//! kill -9 while agents write, delete, publish and recall items. What was acknowledged is there and nothing else, and a
//! publication is its copy, its record and its event, or none of them.

mod keeper;

use crate::it::binary::Server;
use crate::it::door::Door;
use crate::it::oracle::Tally;
use crate::it::records::{Record, times};
use keeper::{Doors, Keeper};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::Random;

const KEEPERS: usize = 4;

/// A project with a private agent and a shared one, and tokens for a person and the private agent.
struct Scene {
    person: String,
    agent: String,
    board: String,
}

impl Scene {
    fn new(server: &Server) -> Self {
        let person = server.cli(&["token", "create", "--user", "owner", "--ttl", "30d"]);
        let made = |path: &str, body: Value| {
            let (status, answer) = server.post(&person, path, &body).unwrap();
            assert_eq!(status, 201, "{answer}");
            answer
        };
        let project = made("/my/projects", json!({"name": "garden"}));
        let board = made("/my/projects/garden/agents", json!({"name": "board", "visibility": "shared"}));
        let wanted = json!({"agent": project["agents"][0]["id"], "ttl": "30d"});
        let token = made("/my/tokens", wanted)["token"].as_str().unwrap().to_owned();
        Self { agent: token, board: board["id"].as_str().unwrap().to_owned(), person }
    }

    fn doors(&self, url: &str) -> Doors {
        Doors { person: Door::new(url, &self.person), agent: Door::new(url, &self.agent), board: self.board.clone() }
    }

    /// The events tell the same story as the items: replayed, they end in what is there.
    fn compare_events(&self, url: &str, tally: &mut Tally) {
        let doors = self.doors(url);
        let last = doors.tool("agent_coder", "workspace_write", &json!({"key": "last", "value": "x"})).unwrap().1;
        let is_last = |event: &Value| event["key"] == "last" && event["version"] == last["version"];
        let mut told: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (_, event) in doors.person.stream("/my/events", is_last) {
            // A worker space that begins is told on the same stream.
            if event["type"] == "WORKER_SPACE_CHANGED" {
                continue;
            }
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            let place = (text("scope"), text("key"));
            match event["type"].as_str().unwrap() {
                "ITEM_WRITTEN" | "ITEM_PUBLISHED" => drop(told.insert(place, event["version"].as_u64().unwrap())),
                "ITEM_DELETED" | "ITEM_RECALLED" => drop(told.remove(&place)),
                other => panic!("{other}"),
            }
        }
        let mut there = BTreeMap::new();
        for (agent, scope) in [("agent_coder", "user-usr_owner".to_owned()), ("board", format!("agent-{}", self.board))]
        {
            let listing = doors.tool(agent, "workspace_list", &json!({})).unwrap().1;
            for item in listing["items"].as_array().unwrap() {
                let key = item["key"].as_str().unwrap().to_owned();
                there.insert((scope.clone(), key), item["version"].as_u64().unwrap());
            }
        }
        if told != there {
            tally.torn(&format!("the events tell {told:?}, there is {there:?}"));
        }
    }
}

/// Works for a while and then kills the server.
fn run_and_kill(scene: &Scene, keepers: &mut [Keeper], server: Server, after: Duration) {
    let (stop, url) = (AtomicBool::new(false), server.url.clone());
    std::thread::scope(|scope| {
        for keeper in keepers {
            let (stop, doors) = (&stop, scene.doors(&url));
            scope.spawn(move || while !stop.load(Ordering::Relaxed) && keeper.step(&doors).is_ok() {});
        }
        std::thread::sleep(after);
        server.kill();
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn items_and_publications_are_there_after_kill_9_and_never_by_halves() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let scene = Scene::new(&server);
    let mut keepers: Vec<Keeper> = (0..KEEPERS).map(Keeper::new).collect();
    let mut record = Record::new("kill-9-items", "kill -9 while items are written, published and recalled");
    let mut chance = Random::new(21);
    let kills = times(15, 300);
    for _ in 0..kills {
        run_and_kill(&scene, &mut keepers, server, Duration::from_micros(5_000 + chance.below(250_000)));
        server = Server::start(data);
        record.round(server.ready);
        let doors = scene.doors(&server.url);
        let listed = doors.publications();
        keepers.iter_mut().for_each(|keeper| keeper.check(&doors, &listed));
    }
    let mut tally = Tally::default();
    scene.compare_events(&server.url, &mut tally);
    assert!(server.cli(&["audit", "verify"]).starts_with("intact"));
    server.cli(&["doctor"]);
    let published: u64 = keepers.iter().map(|keeper| keeper.publishes).sum();
    keepers.into_iter().for_each(|keeper| tally.add(keeper.tally));
    assert!(tally.acknowledged >= kills && published >= kills / 3, "the load was real: {published} {tally:?}");
    assert_eq!(tally.refused, 0, "nothing is refused on a sound disk");
    record.note("publishes", published);
    record.finish(&tally);
}
