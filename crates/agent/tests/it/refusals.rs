//! A house that says no: the turn is over, for that reason, and no money stays set aside.

use super::house::{House, Method, refusal};
use super::scenes::{USAGE, answered, asks_for, call, fails, reply, says, turn};
use agent::{End, Outcome};
use llm::{Error, Stop};

#[tokio::test(start_paused = true)]
async fn without_tools_or_money_the_model_is_not_asked() {
    for method in [Method::Tools, Method::SetAside] {
        let house = House::new([]).refusing(method, 1);
        assert_eq!(house.run(turn(&house)).await, End::Failed(refusal()), "{method:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_stopped_among_its_calls_leaves_them_readable() {
    let calls = ["c1", "c2", "c3"].map(|id| call(id, "note.write", "{}"));
    let house = House::new([asks_for(&calls)]).with_results([answered("one")]).refusing(Method::Call, 2);
    assert_eq!(house.run(turn(&house)).await, End::Failed(refusal()));
    assert_eq!(house.calls().len(), 2);
    let results: Vec<_> = house.steps()[0].calls.iter().map(|call| call.result.clone().unwrap()).collect();
    assert_eq!(results[0], ("one".to_owned(), false));
    assert!(results[1].1 && results[1].0.contains("somebody cancelled it"), "{results:?}");
    assert!(results[2].1 && results[2].0.starts_with("not called"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_cannot_be_kept_is_still_paid_for() {
    let house = House::new([asks_for(&[call("c1", "note.write", "{}")])]).refusing(Method::Keep, 1);
    assert_eq!(house.run(turn(&house)).await, End::Failed(refusal()));
    assert_eq!(house.outcomes(), [Outcome::Used(USAGE)]);

    let both = House::new([asks_for(&[call("c1", "note.write", "{}")])]);
    let both = both.refusing(Method::Call, 1).refusing(Method::Keep, 1).refusing(Method::Settle, 1);
    assert_eq!(both.run(turn(&both)).await, End::Failed(refusal()));
    assert_eq!(both.outcomes(), [Outcome::Used(USAGE)]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_to_settle_ends_the_turn() {
    let failing = Error::Failing { status: 500, retry_after: None };
    for scene in [fails(failing), reply("", &[], Stop::Done)] {
        let house = House::new([scene]).refusing(Method::Settle, 1);
        assert_eq!(house.run(turn(&house)).await, End::Failed(refusal()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_at_a_later_step_leaves_the_earlier_ones() {
    for method in [Method::Tools, Method::SetAside] {
        let house = House::new([asks_for(&[call("c1", "note_read", "{}")]), says("never")]).refusing(method, 2);
        assert_eq!(house.run(turn(&house)).await, End::Failed(refusal()));
        assert_eq!((house.steps().len(), house.requests().len()), (1, 1));
    }
}
