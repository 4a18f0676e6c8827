//! The queue: nothing lost, nothing twice, nobody asleep for ever, nobody pushed aside.

use super::holds;
use crate::queue::{FairQueue, Refused};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, thread};
use domain::ids::WorkspaceId;
use std::sync::Arc;

const ORDERS: usize = 1_000;

/// Two of one workspace, one of another.
const PUSHERS: [(&str, std::ops::Range<usize>); 3] = [("a", 0..3), ("a", 3..6), ("b", 0..3)];

type Job = (&'static str, usize);

fn workspace(name: &str) -> WorkspaceId {
    WorkspaceId::parse(name).unwrap()
}

/// Pushes jobs for a workspace; gives those that were taken.
fn push(queue: &FairQueue<Job>, name: &'static str, numbers: std::ops::Range<usize>) -> Vec<Job> {
    let accepted = |number: &usize| match queue.push(&workspace(name), (name, *number)) {
        Ok(()) => true,
        Err(Refused::Full(job) | Refused::Closed(job)) => {
            assert_eq!(job, (name, *number), "its owner gets it back");
            false
        }
    };
    numbers.filter(accepted).map(|number| (name, number)).collect()
}

/// Takes all there is until the queue is closed.
fn take_all(queue: &FairQueue<Job>) -> Vec<Job> {
    std::iter::from_fn(|| queue.next()).collect()
}

#[test]
fn every_accepted_job_is_handed_out_once_and_the_consumer_never_sleeps_for_ever() {
    holds(ORDERS, |_| {
        let queue = Arc::new(FairQueue::new(4));
        let pushers = PUSHERS.map(|(name, numbers)| {
            let queue = queue.clone();
            thread::spawn(move || push(&queue, name, numbers))
        });
        let consumer = thread::spawn({
            let queue = queue.clone();
            move || take_all(&queue)
        });
        // At any moment, as the scheduler likes; a consumer that is never woken is a deadlock, which it reports.
        let closer = thread::spawn(move || queue.close());
        let mut accepted: Vec<_> = pushers.into_iter().flat_map(|pusher| pusher.join().unwrap()).collect();
        closer.join().unwrap();
        let mut handed = consumer.join().unwrap();
        for (name, numbers) in PUSHERS {
            let own = handed.iter().filter(|(of, number)| *of == name && numbers.contains(number));
            assert!(own.is_sorted(), "in the order of whoever pushed them: {handed:?}");
        }
        accepted.sort_unstable();
        handed.sort_unstable();
        assert_eq!(handed, accepted);
    });
}

#[test]
fn a_job_wakes_the_consumer_by_itself() {
    holds(ORDERS, |_| {
        let queue = Arc::new(FairQueue::new(16));
        let pushers = PUSHERS.map(|(name, numbers)| {
            let queue = queue.clone();
            thread::spawn(move || push(&queue, name, numbers).len())
        });
        // Not closed until all have come: a wake-up that is lost is a deadlock.
        let handed = (0..9).filter_map(|_| queue.next()).count();
        let accepted: usize = pushers.into_iter().map(|pusher| pusher.join().unwrap()).sum();
        assert_eq!((handed, accepted, queue.len()), (9, 9, 0));
    });
}

#[test]
fn a_job_waits_for_no_more_than_one_of_each_other_workspace() {
    holds(ORDERS, |_| {
        let queue = Arc::new(FairQueue::new(16));
        let handed = Arc::new(Mutex::new(Vec::<Job>::new()));
        let consumer = thread::spawn({
            let (queue, handed) = (queue.clone(), handed.clone());
            move || {
                while let Some(job) = queue.next() {
                    handed.lock().unwrap().push(job);
                }
            }
        });
        let loud = thread::spawn({
            let queue = queue.clone();
            move || push(&queue, "loud", 0..6)
        });
        let quiet = thread::spawn({
            let (queue, handed) = (queue.clone(), handed.clone());
            move || {
                push(&queue, "quiet", 0..1);
                handed.lock().unwrap().len()
            }
        });
        let before = quiet.join().unwrap();
        loud.join().unwrap();
        queue.close();
        consumer.join().unwrap();
        let handed = handed.lock().unwrap();
        let place = handed.iter().position(|job| job.0 == "quiet").unwrap();
        // One that had its turn, and one that was already taken but not yet noted here.
        assert!(place <= before + 2, "quiet waited from {before} to {place}: {handed:?}");
    });
}

#[test]
fn a_flood_takes_half_of_the_places_and_leaves_the_others() {
    holds(ORDERS, |_| {
        let queue = Arc::new(FairQueue::new(4));
        let flood = [0..3, 3..6].map(|numbers| {
            let queue = queue.clone();
            thread::spawn(move || push(&queue, "loud", numbers).len())
        });
        let most = Arc::new(AtomicUsize::new(0));
        let looker = thread::spawn({
            let (queue, most) = (queue.clone(), most.clone());
            move || {
                for _ in 0..3 {
                    most.fetch_max(queue.len(), Ordering::Relaxed);
                }
            }
        });
        let quiet = push(&queue, "quiet", 0..2).len();
        let loud: usize = flood.into_iter().map(|pusher| pusher.join().unwrap()).sum();
        looker.join().unwrap();
        assert_eq!((loud, quiet), (2, 2));
        assert!(most.load(Ordering::Relaxed) <= 4);
    });
}
