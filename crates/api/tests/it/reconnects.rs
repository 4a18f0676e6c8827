//! A thousand reconnects of each kind of stream, cut at any byte while others write: what was seen is the log.

use super::connections::{Served, served};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::{CutReader, StreamEvent, World};
use tokio::sync::watch;

const VISITS: usize = 1_000;
const WRITERS: usize = 4;
/// Writers stay this close to the readers, so that events come from the log and from the fan-out in turn.
const AHEAD: usize = 24;
const PLANS: &str = "/sessions/plans/events";
const MINE: &str = "/my/events";

/// How far the two readers are: events seen and visits made.
#[derive(Default, Clone, Copy)]
struct Progress {
    plans: (usize, usize),
    mine: (usize, usize),
}

impl Progress {
    fn is_enough(&self) -> bool {
        self.plans.1 >= VISITS && self.mine.1 >= VISITS
    }
}

/// Writes to both sessions in turn until both readers have come often enough; tells how often it wrote to each.
async fn write(world: Arc<World>, owner: String, name: usize, mut progress: watch::Receiver<Progress>) -> usize {
    let key = format!("writer_{name}");
    let mut rounds = 0;
    loop {
        let near = |seen: &Progress| {
            let (plans, mine) = (rounds * WRITERS, 2 * rounds * WRITERS);
            seen.is_enough() || (plans < seen.plans.0 + AHEAD && mine < seen.mine.0 + 2 * AHEAD)
        };
        if progress.wait_for(near).await.expect("readers").is_enough() {
            return rounds;
        }
        rounds += 1;
        for session in ["plans", "other"] {
            world.write(&owner, session, &key, &rounds.to_string()).await;
        }
    }
}

/// Comes back until it has seen the end of each of `ends` sessions.
fn read(mut reader: CutReader, served: &Served, ends: usize, tell: impl Fn((usize, usize))) -> CutReader {
    let is_all =
        |seen: &[StreamEvent]| seen.iter().rev().take(2).filter(|event| event.data["key"] == "end").count() == ends;
    while !is_all(&reader.seen) {
        reader.visit(served.address, is_all).expect("the server is there and has something to tell");
        tell((reader.seen.len(), reader.visits));
    }
    reader
}

/// For each session and key the versions in the order they were seen.
fn versions(events: &[StreamEvent]) -> BTreeMap<(String, String), Vec<u64>> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut found: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for event in events {
        let key = (text(&event.data["session"]), text(&event.data["key"]));
        found.entry(key).or_default().push(event.data["version"].as_u64().expect("a version"));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reconnects_show_each_event_once_and_in_order() {
    let served = Arc::new(served().await);
    let world = served.world.clone();
    let owner = world.owner().await;
    for session in ["plans", "other"] {
        world.session(&owner, session, json!({})).await;
    }
    let progress = Arc::new(watch::Sender::new(Progress::default()));
    let readers = [(PLANS, 1), (MINE, 2)].map(|(path, ends)| {
        let (reader, served, progress) = (CutReader::new(&owner, path, ends), served.clone(), progress.clone());
        tokio::task::spawn_blocking(move || {
            read(reader, &served, usize::try_from(ends).expect("small"), |seen| {
                progress.send_modify(|all| *(if path == PLANS { &mut all.plans } else { &mut all.mine }) = seen);
            })
        })
    });
    let writers: Vec<_> = (0..WRITERS)
        .map(|name| tokio::spawn(write(world.clone(), owner.clone(), name, progress.subscribe())))
        .collect();
    let mut expected = BTreeMap::new();
    for (name, writer) in writers.into_iter().enumerate() {
        let rounds = writer.await.expect("a writer") as u64;
        for session in ["plans", "other"] {
            expected.insert((session.to_owned(), format!("writer_{name}")), (1..=rounds).collect::<Vec<_>>());
        }
    }
    for session in ["other", "plans"] {
        world.write(&owner, session, "end", "x").await;
        expected.insert((session.to_owned(), "end".to_owned()), vec![1]);
    }
    let [plans, mine] = readers;
    let (plans, mine) = (plans.await.expect("a reader"), mine.await.expect("a reader"));

    assert_eq!(versions(&mine.seen), expected);
    assert!(mine.seen.is_sorted_by(|one, next| one.id < next.id));
    let ids: Vec<_> = plans.seen.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    expected.retain(|(session, _), _| session == "plans");
    assert_eq!(versions(&plans.seen), expected);
    for (path, reader) in [(PLANS, plans), (MINE, mine)] {
        let mut log = world.get(path).by(&owner).header("last-event-id", "0").stream().await;
        assert_eq!(log.take(reader.seen.len()).await, reader.seen, "{path}: what was seen is the log");
        assert!(reader.visits >= VISITS && reader.torn >= VISITS / 4, "{} {}", reader.visits, reader.torn);
    }
}
