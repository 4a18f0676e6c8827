//! What is acknowledged is on disk, and what failed takes nobody with it.

use super::operations::{AuditRows, Ending, House, Put, open, workspace};
use std::sync::atomic::Ordering;
use store::{Condition, Error, Operation, Result, Tx};

#[tokio::test]
async fn writes_that_wait_together_share_a_commit_and_survive() {
    let house = open().await;
    let held = house.held().await;
    let mut waiting = Vec::new();
    for n in 0..300 {
        waiting.push(house.queued("any", Put::new(&format!("w{n}"))).await);
    }
    let before = house.store.figures().commits.load(Ordering::Relaxed);
    held.release().await;
    for write in waiting {
        write.await.unwrap().unwrap();
    }
    let commits = house.store.figures().commits.load(Ordering::Relaxed) - before;
    assert!((1..100).contains(&commits), "300 writes in {commits} commits");
    assert_eq!(house.store.figures().operations.load(Ordering::Relaxed), 301);
    house.store.close().await;
    let house = house.again().await;
    for n in 0..300 {
        assert!(house.has(&format!("w{n}")).await, "w{n}");
    }
    assert_eq!(house.store.read(AuditRows).await.unwrap(), 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_write_of_many_tasks_is_there() {
    let house = open().await;
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let store = house.store.clone();
            tokio::spawn(async move {
                for n in 0..25 {
                    store.write(&workspace(&format!("w{task}")), Put::new(&format!("{task} {n}"))).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    // Not closed: as after a crash of the process.
    let house = house.again().await;
    assert_eq!(house.store.read(AuditRows).await.unwrap(), 400);
    for task in 0..16 {
        assert!(house.has(&format!("{task} 24")).await);
    }
    house.store.check().await.unwrap();
}

#[tokio::test]
async fn an_operation_that_fails_goes_alone() {
    let house = open().await;
    let held = house.held().await;
    let steps = [
        ("first", Ending::Well),
        ("panics", Ending::Panic),
        ("second", Ending::Well),
        ("errs", Ending::Error),
        ("third", Ending::Well),
        ("waits", Ending::Waiting),
        ("fourth", Ending::Well),
    ];
    let mut waiting = Vec::new();
    for (name, ending) in steps {
        waiting.push(house.queued("any", Put::new(name).ending(ending)).await);
    }
    held.release().await;
    let mut outcomes = Vec::new();
    for write in waiting {
        outcomes.push(write.await.unwrap());
    }
    for ((name, ending), outcome) in steps.into_iter().zip(outcomes) {
        let as_expected = match ending {
            Ending::Well => outcome.is_ok(),
            Ending::Error => matches!(outcome, Err(Error::BadRow(_))),
            Ending::Panic | Ending::Waiting => matches!(outcome, Err(Error::BadOperation(_))),
        };
        assert!(as_expected, "{name}: {outcome:?}");
        assert_eq!(house.has(name).await, matches!(ending, Ending::Well), "{name}");
    }
    assert_eq!(house.store.read(AuditRows).await.unwrap(), 4, "no audit row of what did not happen");
    assert_eq!(house.store.condition(), Condition::Healthy);
    house.put("afterwards").await.unwrap();
}

#[tokio::test]
async fn closing_finishes_what_waits_and_takes_no_more() {
    let house = open().await;
    let held = house.held().await;
    let mut waiting = Vec::new();
    for n in 0..50 {
        waiting.push(house.queued("any", Put::new(&format!("w{n}"))).await);
    }
    let store = house.store.clone();
    let closing = tokio::spawn(async move { store.close().await });
    tokio::task::yield_now().await;
    assert!(matches!(house.put("too late").await, Err(Error::Unavailable(_))));
    held.release().await;
    for write in waiting {
        write.await.unwrap().unwrap();
    }
    closing.await.unwrap();
    assert!(matches!(house.put("much too late").await, Err(Error::Unavailable(_))));
    house.store.close().await;
    let house = house.again().await;
    assert!(house.has("w0").await && house.has("w49").await && !house.has("too late").await);
}

#[tokio::test]
async fn a_store_that_was_just_dropped_kept_what_it_acknowledged() {
    let mut house = open().await;
    for n in 0..5 {
        house.put(&format!("w{n}")).await.unwrap();
        house = house.again().await;
        assert!(house.has(&format!("w{n}")).await);
    }
}

#[tokio::test]
async fn a_copy_of_the_files_at_any_moment_opens_with_all_that_was_acknowledged() {
    let house = open().await;
    for n in 0..50 {
        house.put(&format!("w{n}")).await.unwrap();
    }
    // What a power cut would leave: the files as they are, the writer still open.
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(house.folder.path()).unwrap() {
        let file = file.unwrap();
        if !file.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
    }
    let copy = House::of_files(folder).await;
    copy.store.check().await.unwrap();
    for n in 0..50 {
        assert!(copy.has(&format!("w{n}")).await);
    }
}

#[tokio::test]
async fn a_read_cannot_write() {
    let house = open().await;
    assert!(house.store.read(Put::new("sly")).await.is_err());
    assert!(house.store.scan(Put::new("sly")).await.is_err());
    assert!(!house.has("sly").await);
    house.put("honest").await.unwrap();
    assert_eq!(house.store.read(AuditRows).await.unwrap(), 1, "a row a read tried to leave is not sealed later");
}

struct Panics;

impl Operation for Panics {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        tx.event_bounds().await?;
        panic!("a read that panics, and is caught")
    }
}

#[tokio::test]
async fn a_read_that_panics_harms_nobody() {
    let house = open().await;
    house.put("before").await.unwrap();
    // By whichever connection it is read: the writer's answers if it is idle.
    assert!(house.store.read(Panics).await.is_err());
    assert!(house.store.read_beside(Panics).await.is_err());
    house.put("after").await.unwrap();
    assert!(house.has("before").await && house.has("after").await);
}
