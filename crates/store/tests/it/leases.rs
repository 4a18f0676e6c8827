//! Leases: one holder at a time, and whoever lost one without noticing is found out.

use super::operations::{House, open_any, workspace};
use domain::times::Timestamp;
use store::{Error, Lease, Operation, Result, Tx};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

struct Take {
    holder: String,
    now_ms: i64,
}

impl Operation for Take {
    type Output = Option<Lease>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Lease>> {
        tx.take_lease("sweep", &self.holder, at(self.now_ms), at(self.now_ms + 10)).await
    }
}

struct Holds(Lease, i64);

impl Operation for Holds {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        tx.holds_lease(&self.0, at(self.1)).await
    }
}

struct Release(Lease);

impl Operation for Release {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        tx.release_lease(&self.0).await
    }
}

async fn take(house: &House, holder: &str, now_ms: i64) -> Option<Lease> {
    house.store.write(&workspace(holder), Take { holder: holder.to_owned(), now_ms }).await.unwrap()
}

async fn holds(house: &House, lease: &Lease, now_ms: i64) -> bool {
    house.store.read(Holds(lease.clone(), now_ms)).await.unwrap()
}

#[tokio::test]
async fn a_lease_is_extended_by_its_holder_and_taken_by_another_only_when_it_is_over() {
    let house = open_any().await;
    let first = take(&house, "a", 0).await.unwrap();
    assert_eq!(take(&house, "a", 5).await, Some(first.clone()), "extended to 15, the same holding");
    assert_eq!(take(&house, "b", 14).await, None);
    assert!(holds(&house, &first, 14).await && !holds(&house, &first, 15).await);
    let second = take(&house, "b", 15).await.unwrap();
    assert!(second.fence > first.fence);
    assert!(!holds(&house, &first, 16).await, "a late holder is found out by its number");
    assert_eq!(take(&house, "a", 16).await, None);
}

#[tokio::test]
async fn whoever_lets_a_lease_lapse_holds_another_one_afterwards() {
    let house = open_any().await;
    let first = take(&house, "a", 0).await.unwrap();
    let again = take(&house, "a", 20).await.unwrap();
    assert!(again.fence > first.fence, "somebody else could have held it in between");
}

#[tokio::test]
async fn a_released_lease_is_free_at_once_and_only_its_holder_releases_it() {
    let house = open_any().await;
    let first = take(&house, "a", 0).await.unwrap();
    let stale = Lease { fence: first.fence + 1, ..first.clone() };
    assert!(!house.store.write(&workspace("b"), Release(stale)).await.unwrap());
    assert!(house.store.write(&workspace("a"), Release(first.clone())).await.unwrap());
    let second = take(&house, "b", 1).await.unwrap();
    assert!(second.fence > first.fence);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_take_it_at_once_one_does_and_numbers_never_come_twice() {
    let house = open_any().await;
    let mut fences = Vec::new();
    for round in 0..5 {
        let tries: Vec<_> = (0..8)
            .map(|n| {
                let (store, take) = (house.store.clone(), Take { holder: format!("h{n}"), now_ms: round * 100 });
                tokio::spawn(async move { store.write(&workspace(&format!("w{n}")), take).await.unwrap() })
            })
            .collect();
        let mut held = Vec::new();
        for one in tries {
            held.extend(one.await.unwrap());
        }
        assert_eq!(held.len(), 1, "round {round}: {held:?}");
        fences.push(held[0].fence);
    }
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}
