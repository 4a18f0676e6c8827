//! The writer: one answer for every caller, whatever others do, and what was acknowledged is in the file.

use super::holds;
use super::scene::{Append, Ending, Scene};
use crate::Error;
use crate::sync::thread;
use shuttle::future::block_on;
use std::sync::Arc;

const ORDERS: usize = 125;

/// What one caller was told.
#[derive(Debug, PartialEq)]
enum Told {
    Acknowledged,
    Refused,
    Panicked,
    Closed,
    /// It had gone before it was told.
    Nothing,
}

fn call(scene: &Scene, key: &str, ending: Ending) -> Told {
    let append = Append { ending, ..Append::new(key) };
    match scene.submit(append) {
        None => Told::Closed,
        Some(answer) => match block_on(answer).expect("every caller gets an answer") {
            Ok(number) => {
                let found = scene.log(number - 1);
                assert_eq!(found[0].key.as_deref(), Some(key), "acknowledged, so a read finds it");
                Told::Acknowledged
            }
            Err(Error::BadRow(_)) => Told::Refused,
            Err(Error::BadOperation(_)) => Told::Panicked,
            Err(other) => panic!("{other}"),
        },
    }
}

fn call_and_go(scene: &Scene, key: &str) -> Told {
    drop(scene.submit(Append::new(key)));
    Told::Nothing
}

#[test]
fn each_caller_gets_one_answer_and_what_was_acknowledged_is_in_the_file() {
    holds(ORDERS, |folder| {
        let scene = Arc::new(Scene::new(folder));
        let writer = scene.start();
        let callers = ["well_1", "panics", "well_2", "refused", "gone", "well_3"].map(|key| {
            let scene = scene.clone();
            thread::spawn(move || match key {
                "panics" => call(&scene, key, Ending::Panic),
                "refused" => call(&scene, key, Ending::Refused),
                "gone" => call_and_go(&scene, key),
                _ => call(&scene, key, Ending::Well),
            })
        });
        let closer = thread::spawn({
            let scene = scene.clone();
            move || scene.rooms.queue.close()
        });
        let told = callers.map(|caller| caller.join().unwrap());
        closer.join().unwrap();
        writer.join().unwrap();
        let log = scene.log(0);
        assert!(log.iter().zip(1..).all(|(event, number)| event.stream_seq == number), "without a gap");
        let times = |key: &str| log.iter().filter(|event| event.key.as_deref() == Some(key)).count();
        for (key, told) in ["well_1", "panics", "well_2", "refused", "gone", "well_3"].into_iter().zip(told) {
            let (expected, most) = match told {
                Told::Acknowledged => (1, 1),
                Told::Refused | Told::Panicked | Told::Closed => (0, 0),
                Told::Nothing => (0, 1),
            };
            assert!(
                (expected..=most).contains(&times(key)),
                "{key} was told {told:?} and is there {} times",
                times(key)
            );
            let right = match key {
                "panics" => told == Told::Panicked || told == Told::Closed,
                "refused" => told == Told::Refused || told == Told::Closed,
                "gone" => told == Told::Nothing,
                _ => told == Told::Acknowledged || told == Told::Closed,
            };
            assert!(right, "{key} was told {told:?}");
        }
    });
}
