//! Reads: they see what was acknowledged, and no view that is kept open outlives what ends it.

use super::scene::Step::{Acknowledge, Commit, Publish, ReleaseReaders, WarnReaders};
use super::scene::{RIGHT, Scene, Steps, write_in_steps};
use super::{fault, holds};
use crate::connection::Connection;
use crate::sqlite;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use std::path::Path;
use std::sync::Arc;

const ORDERS: usize = 125;
const COMMITS: u64 = 3;
const READS: u64 = 5;

/// What a read must find at least.
#[derive(Clone, Copy)]
enum Known {
    Acknowledged,
    FoundBefore,
}

/// One writes in the given steps while two read.
fn reads_find_what_is_known(folder: &Path, known: Known, steps: Steps) {
    let scene = Arc::new(Scene::new(folder));
    let least = Arc::new(AtomicU64::new(0));
    let readers = [0, 1].map(|_| {
        let (scene, least) = (scene.clone(), least.clone());
        thread::spawn(move || {
            for _ in 0..READS {
                let least_before = least.load(Ordering::SeqCst);
                let found = scene.log(0).len() as u64;
                assert!(found >= least_before, "a read found {found} though {least_before} were known");
                if matches!(known, Known::FoundBefore) {
                    least.fetch_max(found, Ordering::SeqCst);
                }
            }
        })
    });
    let mut tx = scene.connection();
    for _ in 0..COMMITS {
        write_in_steps(&scene, &mut tx, steps, |number| {
            least.fetch_max(number, Ordering::SeqCst);
        });
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn a_read_sees_what_was_acknowledged_before_it_began() {
    holds(ORDERS, |folder| reads_find_what_is_known(folder, Known::Acknowledged, RIGHT));
}

#[test]
fn a_twin_that_acknowledges_before_readers_are_warned_is_caught() {
    let steps = [Commit, Acknowledge, WarnReaders, ReleaseReaders, Publish];
    let fault = fault(ORDERS, move |folder| reads_find_what_is_known(folder, Known::Acknowledged, steps));
    assert!(fault.contains("were known"), "{fault}");
}

#[test]
fn a_read_sees_what_any_earlier_read_saw() {
    holds(ORDERS, |folder| reads_find_what_is_known(folder, Known::FoundBefore, RIGHT));
}

#[test]
fn a_twin_that_warns_readers_after_the_commit_is_caught() {
    let steps = [Commit, WarnReaders, ReleaseReaders, Publish, Acknowledge];
    let fault = fault(ORDERS, move |folder| reads_find_what_is_known(folder, Known::FoundBefore, steps));
    assert!(fault.contains("were known"), "{fault}");
}

/// Frames of the log, and how many of them may be moved into the database: all, unless a view needs an older state.
fn checkpoint(scene: &Scene) -> (i64, i64) {
    let connection = sqlite::open_writer(&scene.path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
}

#[test]
fn no_idle_view_is_older_than_the_last_commit() {
    holds(ORDERS, |folder| {
        let scene = Arc::new(Scene::new(folder));
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
    holds(ORDERS, |folder| {
        let scene = Arc::new(Scene::new(folder));
        // Kept open: the last connection to close would empty the log by itself.
        let mut tx = scene.connection();
        write_in_steps(&scene, &mut tx, RIGHT, |_| ());
        let readers = [0, 1].map(|_| {
            let scene = scene.clone();
            thread::spawn(move || (0..2).for_each(|_| drop(scene.log(0))))
        });
        scene.rooms.readers.release_views();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        // Emptying the log needs it to be in nobody's use at all.
        let Connection::Sqlite(connection) = tx.connection else { unreachable!("it is SQLite's") };
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert_eq!(busy, 0, "a view is still open");
    });
}
