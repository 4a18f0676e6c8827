//! Faults of a provider: when a question is asked again, how long that waits, and what it costs.

use super::house::{House, Method};
use super::scenes::{Scene, asks_for, call, fails, says, slow_down, turn};
use agent::{End, Outcome};
use domain::Code;
use llm::Error;
use std::time::Duration;
use tokio::time::Instant;

fn timeout() -> Error {
    Error::Timeout { stage: "first byte", limit: Duration::from_secs(60) }
}

fn failing() -> Error {
    Error::Failing { status: 503, retry_after: None }
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_may_pass_is_waited_out_and_each_try_settled() {
    let unreachable = Error::Unreachable("no route".to_owned());
    let house = House::new([fails(timeout()), fails(failing()), fails(unreachable), says("at last")]);
    let begun = Instant::now();
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)));
    let waited = begun.elapsed().as_millis();
    assert!((3500..=5250).contains(&waited), "{waited}");
    assert_eq!(house.outcomes(), [Outcome::Unknown, Outcome::NotAsked, Outcome::NotAsked]);
}

#[tokio::test(start_paused = true)]
async fn three_retries_and_no_more() {
    let house = House::new((0..4).map(|_| fails(failing())));
    let End::Failed(refusal) = house.run(turn(&house)).await else { panic!() };
    assert_eq!(refusal.code, Code::ProviderFailed);
    assert!(refusal.message.contains("503"), "{}", refusal.message);
    assert_eq!(house.requests().len(), 4);
    assert_eq!(house.outcomes(), [Outcome::NotAsked; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_may_ask_for_a_longer_pause_up_to_half_a_minute() {
    for (wish, least, most) in [(Some(9), 9.0, 9.1), (Some(3600), 30.0, 30.1), (Some(0), 0.5, 0.75), (None, 0.5, 0.75)]
    {
        let house = House::new([fails(slow_down(wish)), says("here")]);
        let begun = Instant::now();
        house.run(turn(&house)).await;
        let waited = begun.elapsed().as_secs_f64();
        assert!((least..=most + 0.01).contains(&waited), "{wish:?}: {waited}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_not_asked_again() {
    let refused = Error::Refused { status: 400, excerpt: "no such model".to_owned() };
    for (error, code, outcome) in [
        (refused, Code::ProviderRefused, Outcome::NotAsked),
        (Error::Cut, Code::ProviderFailed, Outcome::Unknown),
        (Error::Garbled("not JSON"), Code::ProviderFailed, Outcome::Unknown),
        (Error::TooLarge, Code::ProviderFailed, Outcome::Unknown),
    ] {
        let house = House::new([fails(error.clone())]);
        let End::Failed(refusal) = house.run(turn(&house)).await else { panic!() };
        assert_eq!((refusal.code, refusal.message), (code, error.to_string()));
        assert_eq!(house.outcomes(), [outcome]);
    }
}

#[tokio::test(start_paused = true)]
async fn once_a_word_was_shown_nothing_is_asked_again() {
    for error in [timeout(), failing()] {
        let house = House::new([Scene { deltas: vec![String::new(), "On".to_owned()], end: Err(error.clone()) }]);
        let End::Failed(refusal) = house.run(turn(&house)).await else { panic!() };
        assert_eq!(refusal.code, error.code());
        assert_eq!(house.outcomes(), [Outcome::Unknown], "who spoke has worked");
    }
    let silent = Scene { deltas: vec![String::new()], end: Err(timeout()) };
    let house = House::new([silent, says("fine")]);
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)), "nothing at all is not a word");
}

#[tokio::test(start_paused = true)]
async fn a_retry_repeats_the_question_and_nothing_that_a_tool_did() {
    let house =
        House::new([asks_for(&[call("c1", "note.write", "{}")]), fails(failing()), fails(failing()), says("ok")]);
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)));
    assert_eq!(house.calls().len(), 1);
    let requests = house.requests();
    assert_eq!(requests[1], requests[2]);
    assert_eq!(requests[2], requests[3]);
}

#[tokio::test(start_paused = true)]
async fn every_step_has_retries_of_its_own() {
    let ask = |id: &str| asks_for(&[call(id, "note_read", "{}")]);
    let faults = || (0..3).map(|_| fails(failing()));
    let scenes = faults().chain([ask("c1")]).chain(faults()).chain([says("ok")]);
    let house = House::new(scenes);
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)));
}

#[tokio::test(start_paused = true)]
async fn when_the_money_is_gone_there_is_no_retry() {
    let house = House::new([fails(failing())]).refusing(Method::SetAside, 2);
    assert_eq!(house.run(turn(&house)).await, End::Failed(super::house::refusal()));
    assert_eq!(house.requests().len(), 1);
}
