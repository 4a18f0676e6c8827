//! Reads: they see what was acknowledged, and no view that is kept open outlives what ends it.

use super::scene::{RIGHT, Scene, Step, write_in_steps};
use super::{fault, holds};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use std::sync::Arc;

const ORDERS: usize = 250;
const COMMITS: u64 = 3;

/// One writes in the given steps while two read.
fn reads_see_what_was_acknowledged(steps: [Step; 4]) {
    let scene = Arc::new(Scene::new());
    let acknowledged = Arc::new(AtomicU64::new(0));
    let readers = [0, 1].map(|_| {
        let (scene, acknowledged) = (scene.clone(), acknowledged.clone());
        thread::spawn(move || {
            for _ in 0..COMMITS {
                let known = acknowledged.load(Ordering::SeqCst);
                let found = scene.log(0).len() as u64;
                assert!(found >= known, "a read found {found} though {known} were acknowledged");
            }
        })
    });
    let mut tx = scene.connection();
    for _ in 0..COMMITS {
        write_in_steps(&scene, &mut tx, steps, |number| acknowledged.store(number, Ordering::SeqCst));
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn a_read_that_begins_after_an_acknowledgement_sees_its_commit() {
    holds(ORDERS, || reads_see_what_was_acknowledged(RIGHT));
}

#[test]
fn a_twin_that_acknowledges_before_readers_know_of_the_commit_is_caught() {
    let fault = fault(ORDERS, || {
        reads_see_what_was_acknowledged([Step::Commit, Step::Acknowledge, Step::CountForReaders, Step::Publish]);
    });
    assert!(fault.contains("were acknowledged"), "{fault}");
}

/// Frames of the log, and how many of them may be moved into the database: all, unless a view needs an older state.
fn checkpoint(scene: &Scene) -> (i64, i64) {
    let connection = scene.connection().into_sqlite();
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
}

#[test]
fn no_idle_view_is_older_than_the_last_commit() {
    holds(ORDERS, || {
        let scene = Arc::new(Scene::new());
        let readers = [0, 1].map(|_| {
            let scene = scene.clone();
            thread::spawn(move || (0..2).for_each(|_| drop(scene.log(0))))
        });
        let mut tx = scene.connection();
        for _ in 0..2 {
            write_in_steps(&scene, &mut tx, RIGHT, |_| ());
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        let (frames, free) = checkpoint(&scene);
        assert_eq!(frames, free, "a view that nobody uses holds the log back");
    });
}

#[test]
fn no_view_outlives_its_release() {
    holds(ORDERS, || {
        let scene = Arc::new(Scene::new());
        // Kept open: the last connection to close would empty the log by itself.
        let mut tx = scene.connection();
        write_in_steps(&scene, &mut tx, RIGHT, |_| ());
        let readers = [0, 1].map(|_| {
            let scene = scene.clone();
            thread::spawn(move || (0..2).for_each(|_| drop(scene.log(0))))
        });
        scene.shared.readers.release_views();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        // Emptying the log needs it to be in nobody's use at all.
        let connection = tx.into_sqlite();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert_eq!(busy, 0, "a view is still open");
    });
}
