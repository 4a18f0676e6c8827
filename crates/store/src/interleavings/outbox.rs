//! The outbox: whoever subscribes, reads the log and then follows sees each event once, in order, and none before
//! its commit.

use super::scene::Step::{Acknowledge, Commit, Publish, ReleaseReaders, WarnReaders};
use super::scene::{Append, RIGHT, Scene, Steps, topic, write_in_steps};
use super::{fault, holds};
use crate::News;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use shuttle::future::block_on;
use std::path::Path;
use std::sync::Arc;

const ORDERS: usize = 125;
const WRITERS: u64 = 2;
const EACH: u64 = 3;
const ALL: u64 = WRITERS * EACH;

/// In which order a watcher begins.
#[derive(Clone, Copy, PartialEq)]
enum Beginning {
    SubscribesFirst,
    ReadsFirst,
}

/// The rule of `service::streams` in a few words: an event from the fan-out is shown if it is the very next one, else
/// the log is read.
fn watch(scene: &Scene, beginning: Beginning) -> Vec<u64> {
    let (workspace, session) = topic();
    let subscribe = || scene.rooms.shared.fan_out.watch(&workspace, &domain::events::StreamId::of_session(&session));
    let mut shown = Vec::new();
    if beginning == Beginning::ReadsFirst {
        read_on(scene, &mut shown);
    }
    let mut news = subscribe();
    if beginning == Beginning::SubscribesFirst {
        read_on(scene, &mut shown);
    }
    while shown.len() < usize::try_from(ALL).unwrap() {
        let next = shown.last().map_or(1, |last| last + 1);
        match block_on(news.next()) {
            News::Event(event) => {
                let committed = scene.log(event.stream_seq - 1).first().map(|found| found.stream_seq);
                assert_eq!(committed, Some(event.stream_seq), "an event was told of before its commit");
                if event.stream_seq == next {
                    shown.push(next);
                } else if event.stream_seq > next {
                    read_on(scene, &mut shown);
                }
            }
            News::Whisper(heard) => hear(&heard),
            News::Missed => read_on(scene, &mut shown),
        }
    }
    shown
}

fn read_on(scene: &Scene, shown: &mut Vec<u64>) {
    let after = shown.last().copied().unwrap_or(0);
    shown.extend(scene.log(after).iter().map(|event| event.stream_seq));
}

/// The same with a bell, which tells that there is something and not what.
fn listen(scene: &Scene) -> Vec<u64> {
    let bell = scene.rooms.shared.fan_out.bell(&[topic().0], None);
    let mut shown = Vec::new();
    read_on(scene, &mut shown);
    while shown.len() < usize::try_from(ALL).unwrap() {
        if let News::Missed = block_on(bell.next()) {
            read_on(scene, &mut shown);
        }
    }
    shown
}

/// Runs two watchers and a listener beside whatever writes.
fn beside(scene: &Arc<Scene>, beginning: Beginning, write: impl FnOnce()) {
    let watchers: Vec<_> = (0..3)
        .map(|number| {
            let scene = scene.clone();
            thread::spawn(move || if number < 2 { watch(&scene, beginning) } else { listen(&scene) })
        })
        .collect();
    write();
    for watcher in watchers {
        assert_eq!(watcher.join().unwrap(), (1..=ALL).collect::<Vec<_>>(), "a contiguous slice");
    }
}

fn with_the_real_writer(folder: &Path, beginning: Beginning) {
    let scene = Arc::new(Scene::new(folder));
    let writer = scene.start();
    beside(&scene, beginning, || {
        let callers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let scene = scene.clone();
                thread::spawn(move || {
                    for _ in 0..EACH {
                        let answer = scene.submit(Append::new("k")).unwrap();
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
    beside(&scene, Beginning::SubscribesFirst, || {
        let mut tx = scene.connection();
        for _ in 0..ALL {
            write_in_steps(&scene, &mut tx, steps, |number| acknowledged.store(number, Ordering::SeqCst));
        }
    });
}

#[test]
fn watchers_that_lag_and_catch_up_see_a_contiguous_slice() {
    holds(ORDERS, |folder| with_the_real_writer(folder, Beginning::SubscribesFirst));
}

#[test]
fn a_watcher_that_reads_the_log_before_it_subscribes_sleeps_through_an_event() {
    let fault = fault(ORDERS, |folder| with_the_real_writer(folder, Beginning::ReadsFirst));
    assert!(fault.contains("deadlock"), "{fault}");
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
