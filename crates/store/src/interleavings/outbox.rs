//! The outbox: whoever subscribes, reads the log and then follows sees each event once, in order, and none before
//! its commit. A whisper that was said before an event is not shown after it.

use super::scene::Step::{Acknowledge, Commit, Publish, ReleaseReaders, WarnReaders};
use super::scene::{Append, RIGHT, Scene, Steps, topic, write_in_steps};
use super::{fault, holds};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use crate::{Heard, News};
use domain::events::{Earshot, RecordedEvent, Whisper};
use shuttle::future::block_on;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const ORDERS: usize = 125;
const WRITERS: u64 = 2;
const EACH: u64 = 3;
const ALL: u64 = WRITERS * EACH;

/// How a watcher goes about it.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Subscribes, then reads the log; shows no whisper that an event has overtaken.
    Right,
    ReadsBeforeItSubscribes,
    ShowsEveryWhisper,
}

/// What a watcher has shown.
#[derive(Default)]
struct Shown {
    numbers: Vec<u64>,
    keys: HashSet<String>,
    /// By its number in the house.
    newest: u64,
}

impl Shown {
    fn is_all(&self) -> bool {
        self.numbers.len() == usize::try_from(ALL).unwrap()
    }

    fn last(&self) -> u64 {
        self.numbers.last().copied().unwrap_or(0)
    }

    fn show(&mut self, event: &RecordedEvent) {
        self.numbers.push(event.stream_seq);
        self.keys.extend(event.key.clone());
        self.newest = event.seq;
    }

    fn read_on(&mut self, scene: &Scene) {
        scene.log(self.last()).iter().for_each(|event| self.show(event));
        scene.rooms.shared.fan_out.read(self.newest);
    }

    /// A whisper says which key will be written.
    fn hear(&self, heard: &Heard, manner: Manner) {
        if heard.after >= self.newest || manner == Manner::ShowsEveryWhisper {
            assert!(!self.keys.contains(&heard.whisper.data), "a whisper was shown after what it announced");
        }
    }
}

/// The rule of `service::streams` in a few words: an event from the fan-out is shown if it is the very next one, else
/// the log is read.
fn watch(scene: &Scene, manner: Manner) -> Vec<u64> {
    let (workspace, session) = topic();
    let subscribe = || scene.rooms.shared.fan_out.watch(&workspace, &domain::events::StreamId::of_session(&session));
    let mut shown = Shown::default();
    if manner == Manner::ReadsBeforeItSubscribes {
        shown.read_on(scene);
    }
    let mut news = subscribe();
    if manner != Manner::ReadsBeforeItSubscribes {
        shown.read_on(scene);
    }
    while !shown.is_all() {
        match block_on(news.next()) {
            News::Event(event) => {
                let committed = scene.log(event.stream_seq - 1).first().map(|found| found.stream_seq);
                assert_eq!(committed, Some(event.stream_seq), "an event was told of before its commit");
                if event.stream_seq == shown.last() + 1 {
                    shown.show(&event);
                } else if event.stream_seq > shown.last() {
                    shown.read_on(scene);
                }
            }
            News::Whisper(heard) => shown.hear(&heard, manner),
            News::Missed => shown.read_on(scene),
        }
    }
    shown.numbers
}

/// The same with a bell, which tells that there is something and not what.
fn listen(scene: &Scene, manner: Manner) -> Vec<u64> {
    let bell = scene.rooms.shared.fan_out.bell(&[topic().0], None);
    let mut shown = Shown::default();
    shown.read_on(scene);
    while !shown.is_all() {
        match block_on(bell.next()) {
            News::Whisper(heard) => shown.hear(&heard, manner),
            News::Event(_) | News::Missed => shown.read_on(scene),
        }
    }
    shown.numbers
}

fn announce(scene: &Scene, key: &str) {
    let (workspace, session) = topic();
    let earshot = Earshot { workspace, project: None, session };
    let data = key.to_owned();
    let make = || Whisper { earshot: earshot.clone(), kind: Whisper::MESSAGE_DELTA, data };
    scene.rooms.shared.fan_out.whisper(&earshot, make);
}

/// Runs two watchers and a listener beside whatever writes.
fn beside(scene: &Arc<Scene>, manner: Manner, write: impl FnOnce()) {
    let watchers: Vec<_> = (0..3)
        .map(|number| {
            let scene = scene.clone();
            thread::spawn(move || if number < 2 { watch(&scene, manner) } else { listen(&scene, manner) })
        })
        .collect();
    write();
    for watcher in watchers {
        assert_eq!(watcher.join().unwrap(), (1..=ALL).collect::<Vec<_>>(), "a contiguous slice");
    }
}

fn with_the_real_writer(folder: &Path, manner: Manner) {
    let scene = Arc::new(Scene::new(folder));
    let writer = scene.start();
    beside(&scene, manner, || {
        let callers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let scene = scene.clone();
                thread::spawn(move || {
                    for number in 0..EACH {
                        let key = format!("k{writer}_{number}");
                        announce(&scene, &key);
                        let answer = scene.submit(Append::new(&key)).unwrap();
                        let number = block_on(answer).unwrap().unwrap();
                        assert_eq!(scene.log(number - 1)[0].stream_seq, number, "acknowledged, so it is there");
                    }
                })
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    });
    scene.rooms.queue.close();
    writer.join().unwrap();
}

fn in_steps(folder: &Path, steps: Steps) {
    let scene = Arc::new(Scene::new(folder));
    let acknowledged = AtomicU64::new(0);
    beside(&scene, Manner::Right, || {
        let mut tx = scene.connection();
        for _ in 0..ALL {
            write_in_steps(&scene, &mut tx, steps, |number| acknowledged.store(number, Ordering::SeqCst));
        }
    });
}

#[test]
fn watchers_that_lag_and_catch_up_see_a_contiguous_slice() {
    holds(ORDERS, |folder| with_the_real_writer(folder, Manner::Right));
}

#[test]
fn a_watcher_that_reads_the_log_before_it_subscribes_sleeps_through_an_event() {
    let fault = fault(ORDERS, |folder| with_the_real_writer(folder, Manner::ReadsBeforeItSubscribes));
    assert!(fault.contains("deadlock"), "{fault}");
}

#[test]
fn a_watcher_that_shows_every_whisper_shows_some_after_what_they_announced() {
    let fault = fault(ORDERS, |folder| with_the_real_writer(folder, Manner::ShowsEveryWhisper));
    assert!(fault.contains("after what it announced"), "{fault}");
}

#[test]
fn the_steps_of_a_commit_are_right_in_one_order() {
    holds(ORDERS / 3, |folder| in_steps(folder, RIGHT));
}

#[test]
fn a_twin_that_tells_watchers_before_the_commit_is_caught() {
    let fault = fault(ORDERS, |folder| in_steps(folder, [Publish, WarnReaders, Commit, ReleaseReaders, Acknowledge]));
    assert!(fault.contains("before its commit"), "{fault}");
}

#[test]
fn a_twin_that_tells_watchers_before_readers_are_warned_is_caught() {
    let fault = fault(ORDERS, |folder| in_steps(folder, [Commit, Publish, WarnReaders, ReleaseReaders, Acknowledge]));
    assert!(fault.contains("before its commit"), "{fault}");
}
