//! Operations stand as if they had run one after another, whatever the engine does at the same time.

use super::operations::{House, open_any, workspace};
use domain::ids::{UserId, WorkspaceId};
use domain::roles::Role;
use domain::times::Timestamp;
use domain::users::User;
use store::{Claim, Error, Operation, Result, Tx};

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

struct Add(&'static str);

impl Operation for Add {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        tx.create_user(&User { id: user(self.0), role: Role::Admin, created_at: Timestamp::from_ms(1) }).await
    }
}

/// Steps down if somebody else stays admin: two rows are read, one is changed.
struct StepDown(&'static str);

impl Operation for StepDown {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let may = tx.has_other_admin(Some(&user(self.0))).await?;
        // Room for the other one to do the same in between.
        linger(tx).await?;
        if may {
            tx.set_role(&user(self.0), &Role::Member).await?;
        }
        Ok(may)
    }
}

/// Lets others run by asking the database something.
async fn linger(tx: &mut Tx) -> Result<()> {
    for _ in 0..3 {
        tx.has_sign_in_codes().await?;
    }
    Ok(())
}

/// Adds one to a number that is kept as text: the sum shows every lost update.
struct Increment;

fn claim() -> Claim {
    Claim { caller: "c".into(), route: "r".into(), key: "sum".into(), body_hash: String::new() }
}

async fn sum(tx: &mut Tx) -> Result<u64> {
    let found = tx.outcome(&claim(), Timestamp::from_ms(0)).await?;
    Ok(found.map_or(0, |stored| stored.outcome.parse().unwrap()))
}

impl Operation for Increment {
    type Output = u64;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        let next = sum(tx).await? + 1;
        tx.keep_outcome(&claim(), &next.to_string(), false, Timestamp::from_ms(1)).await?;
        // One chain for all, whatever line they wait in.
        tx.scope(&workspace("chain")).audit().append(super::operations::record("test.increment"));
        Ok(next)
    }
}

struct Sum;

impl Operation for Sum {
    type Output = u64;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        sum(tx).await
    }
}

async fn at_once<O: Operation<Output: std::fmt::Debug, Error: std::fmt::Debug>>(
    house: &House,
    operations: Vec<(WorkspaceId, O)>,
) -> Vec<O::Output> {
    let tasks: Vec<_> = operations
        .into_iter()
        .map(|(turn, operation)| {
            let store = house.store.clone();
            tokio::spawn(async move { store.write(&turn, operation).await.expect("it is done in the end") })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.expect("a task"));
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_is_lost_between_workspaces_that_write_the_same_row() {
    let house = open_any().await;
    let turns = (0..60).map(|n| workspace(&format!("w{}", n % 6)));
    let mut seen = at_once(&house, turns.map(|turn| (turn, Increment)).collect()).await;
    seen.sort_unstable();
    assert_eq!(seen, (1..=60).collect::<Vec<_>>(), "each saw a number of its own");
    assert_eq!(house.store.read(Sum).await.unwrap(), 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_each_rely_on_the_other_do_not_both_go() {
    for _ in 0..10 {
        let house = open_any().await;
        for name in ["ada", "bob"] {
            assert!(house.store.write(&workspace("any"), Add(name)).await.unwrap());
        }
        let steps = vec![(workspace("w1"), StepDown("ada")), (workspace("w2"), StepDown("bob"))];
        let went = at_once(&house, steps).await;
        assert_eq!(went.iter().filter(|gone| **gone).count(), 1, "exactly one may go");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_the_same_name_one_gets_it() {
    let house = open_any().await;
    let wishes = (0..12).map(|n| (workspace(&format!("w{n}")), Add("ada"))).collect();
    let got = at_once(&house, wishes).await;
    assert_eq!(got.iter().filter(|got| **got).count(), 1);
}
