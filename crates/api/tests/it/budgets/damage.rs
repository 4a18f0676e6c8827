//! A row of the ledger that was damaged: its money stays set aside, and everybody else's does not.

use super::scene::*;
use domain::ids::{ModelCallId, WorkspaceId};
use domain::ledger::CallState;
use domain::money::Micros;
use service::House;
use service::budgets::{self, OVERDUE_AFTER_S};
use std::time::Duration;
use testkit::World;

/// Calls under way beside the damaged one: of the same workspace, and of one that comes after it.
struct Others([(WorkspaceId, ModelCallId); 2]);

impl Others {
    async fn assert_spent(&self, house: &House) {
        for (workspace, id) in &self.0 {
            let row = row(house, workspace, id).await.unwrap();
            assert_eq!((row.state, row.spent), (CallState::Assumed, Some(Micros(200))), "{workspace}");
        }
    }
}

/// Sets 100 aside for a call that is damaged then, and 200 for each of the others.
async fn damaged_lab() -> (World, Others) {
    let world = lab(Some(daily(1_000))).await;
    let house = &world.house;
    let damaged = reserve(house, "ann", 100).await.unwrap();
    let beside = reserve(house, "bob", 200).await.unwrap();
    let own = budgets::reserve(&ctx(house, "ann"), call("personal-usr_ann", UNIT, 200)).await.unwrap();
    testkit::damage_ledger_row(house, &workspace(LAB), &damaged.id).await;
    let others = [beside, own].map(|held| (held.workspace, held.id));
    (world, Others(others))
}

#[tokio::test]
async fn a_damaged_call_keeps_no_other_overdue_call_open() {
    let (world, others) = damaged_lab().await;
    world.clock.advance_s(OVERDUE_AFTER_S.cast_signed());
    for _ in 0..2 {
        let next = budgets::end_overdue_calls_once(&world.house).await.unwrap();
        assert_eq!(next, Some(Duration::from_secs(60)), "it is looked at again, and not at once");
        assert_eq!(tally(&world.house).await, (200, 100), "the safe side");
        others.assert_spent(&world.house).await;
    }
    assert_counted(&world.house).await;
}

#[tokio::test]
async fn a_damaged_call_keeps_no_other_call_of_a_house_that_stopped_open() {
    let (world, others) = damaged_lab().await;
    let world = world.reopened().await;
    assert_eq!(tally(&world.house).await, (200, 100));
    others.assert_spent(&world.house).await;
    assert_counted(&world.house).await;
}
