//! Who hears what, and in which order.
#![allow(clippy::unwrap_used)]

use super::*;
use domain::ids::SessionId;
use domain::times::Timestamp;
use futures_util::FutureExt;
use serde_json::{Map, json};
use std::cell::Cell;

fn workspace(name: &str) -> WorkspaceId {
    WorkspaceId::parse(name).unwrap()
}

fn earshot(of: &str, project: Option<&str>) -> Earshot {
    let project = project.map(|id| ProjectId::parse(id).unwrap());
    Earshot { workspace: workspace(of), project, session: SessionId::parse("s").unwrap() }
}

fn say(fan_out: &FanOut, earshot: &Earshot, number: u64) {
    let fields = Map::from_iter([("n".to_owned(), json!(number))]);
    fan_out.whisper(earshot, || Whisper::new(earshot, Whisper::MESSAGE_DELTA, Timestamp::from_ms(1_000), fields));
}

fn commit(fan_out: &FanOut, number: u64) {
    let event = RecordedEvent {
        seq: number,
        stream_seq: number,
        workspace: workspace("w"),
        stream: earshot("w", None).stream(),
        project: None,
        kind: "CONTEXT_WRITTEN".to_owned(),
        key: None,
        readable_by: None,
        data: "{}".to_owned(),
    };
    fan_out.publish(vec![Arc::new(event)]);
}

/// What has come, without waiting: `e1` for an event, `w1` for a whisper and the event it follows, `!` for a ring.
fn heard(mut next: impl FnMut() -> Option<News>) -> Vec<String> {
    let shown = |news| match news {
        News::Event(event) => format!("e{}", event.stream_seq),
        News::Whisper(Heard { whisper, after }) => {
            let data: serde_json::Value = serde_json::from_str(&whisper.data).unwrap();
            format!("w{} after {after}", data["n"])
        }
        News::Missed => "!".to_owned(),
    };
    std::iter::from_fn(|| next().map(shown)).collect()
}

fn by_watch(watch: &mut Watch) -> Vec<String> {
    heard(|| watch.next().now_or_never())
}

fn by_bell(bell: &Bell) -> Vec<String> {
    heard(|| bell.next().now_or_never())
}

#[test]
fn what_is_whispered_is_made_only_if_somebody_hears_it() {
    let (fan_out, here) = (FanOut::default(), earshot("w", Some("prj_a")));
    let made = Cell::new(0);
    let say = || {
        fan_out.whisper(&here, || {
            made.set(made.get() + 1);
            Whisper::new(&here, Whisper::MESSAGE_DELTA, Timestamp::from_ms(1_000), Map::new())
        });
        made.get()
    };
    assert_eq!(say(), 0);
    let elsewhere = fan_out.watch(&workspace("w"), &StreamId::of_session(&SessionId::parse("other").unwrap()));
    let other_house = fan_out.bell(&[workspace("v")], None);
    let other_project = fan_out.bell(&[workspace("w")], Some(ProjectId::parse("prj_b").unwrap()));
    assert_eq!(say(), 0, "nobody is near");
    drop((elsewhere, other_house, other_project));
    let watch = fan_out.watch(&workspace("w"), &here.stream());
    assert_eq!(say(), 1);
    drop(watch);
    assert_eq!(say(), 1, "whoever listened has gone");
    let _bell = fan_out.bell(&[workspace("v"), workspace("w")], None);
    assert_eq!(say(), 2);
}

#[test]
fn a_watcher_hears_whispers_between_the_events_where_they_were_said() {
    let (fan_out, here) = (FanOut::default(), earshot("w", None));
    let mut watch = fan_out.watch(&workspace("w"), &here.stream());
    say(&fan_out, &here, 1);
    commit(&fan_out, 7);
    say(&fan_out, &here, 2);
    fan_out.read(9);
    say(&fan_out, &here, 3);
    commit(&fan_out, 8);
    assert_eq!(by_watch(&mut watch), ["w1 after 0", "e7", "w2 after 7", "w3 after 9", "e8"]);
}

#[test]
fn a_bell_hears_what_is_said_in_its_project_or_workspaces() {
    let fan_out = FanOut::default();
    let of_user = fan_out.bell(&[workspace("v"), workspace("w")], None);
    let of_project = fan_out.bell(&[workspace("w")], Some(ProjectId::parse("prj_a").unwrap()));
    let places = [("w", Some("prj_a")), ("w", Some("prj_b")), ("w", None), ("v", Some("prj_a")), ("u", None)];
    for (number, (workspace, project)) in (1..).zip(places) {
        say(&fan_out, &earshot(workspace, project), number);
    }
    assert_eq!(by_bell(&of_user), ["w1 after 0", "w2 after 0", "w3 after 0", "w4 after 0"]);
    assert_eq!(by_bell(&of_project), ["w1 after 0"]);
}

#[test]
fn a_bell_rings_once_for_what_was_not_taken_and_keeps_the_order() {
    let (fan_out, here) = (FanOut::default(), earshot("w", None));
    let bell = fan_out.bell(&[workspace("w")], None);
    say(&fan_out, &here, 1);
    commit(&fan_out, 1);
    say(&fan_out, &here, 2);
    commit(&fan_out, 2);
    say(&fan_out, &here, 3);
    assert_eq!(by_bell(&bell), ["w1 after 0", "!", "w2 after 1", "w3 after 2"]);
    commit(&fan_out, 3);
    assert_eq!(by_bell(&bell), ["!"]);
}

#[test]
fn a_flood_of_whispers_drowns_older_ones_and_never_the_ring() {
    let (fan_out, here) = (FanOut::default(), earshot("w", None));
    let bell = fan_out.bell(&[workspace("w")], None);
    let mut watch = fan_out.watch(&workspace("w"), &here.stream());
    say(&fan_out, &here, 0);
    commit(&fan_out, 1);
    (1..=10_000).for_each(|number| say(&fan_out, &here, number));
    let (rung, seen) = (by_bell(&bell), by_watch(&mut watch));
    assert_eq!((rung.len(), rung[0].as_str()), (BACKLOG + 1, "!"));
    assert_eq!((seen.len(), seen[0].as_str()), (BACKLOG + 1, "!"), "the log is to be read");
    assert_eq!((rung.last(), seen.last()), (Some(&"w10000 after 1".to_owned()), rung.last()));
}
