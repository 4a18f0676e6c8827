//! Output that is not whole: nothing of it is acted on.

use super::house::House;
use super::scenes::{USAGE, asks_for, call, reply, says, turn};
use agent::{End, Outcome};
use domain::{Code, Refusal};
use llm::{Stop, ToolCall};

async fn failure(house: &House) -> Refusal {
    let End::Failed(refusal) = house.run(turn(house)).await else { panic!("it should have failed") };
    assert!(house.calls().is_empty() && house.steps().is_empty());
    refusal
}

#[tokio::test(start_paused = true)]
async fn only_a_normal_stop_lets_tools_be_called() {
    let good = [call("c1", "note_read", "{}")];
    for (text, calls, stop, says) in [
        ("", &good[..], Stop::Length, "max_tokens"),
        ("let me see", &good, Stop::Length, "max_tokens"),
        ("", &good, Stop::Other("content_filter".to_owned()), "content_filter"),
        ("I would", &[], Stop::Other("refusal".to_owned()), "refusal"),
        ("", &[], Stop::Other("pause\nturn".to_owned()), "pause turn"),
        ("", &[], Stop::Done, "answered nothing"),
        (" \n", &[], Stop::Done, "answered nothing"),
        ("", &[], Stop::Length, "before it said anything"),
    ] {
        let house = House::new([reply(text, calls, stop.clone())]);
        let refusal = failure(&house).await;
        assert_eq!(refusal.code, Code::OutputIncomplete, "{stop:?}");
        assert!(refusal.message.contains(says), "{}", refusal.message);
        assert_eq!(house.outcomes(), [Outcome::Used(USAGE)], "it was paid for");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_held_back_cannot_be_counted() {
    let house = House::new([reply("I", &[], Stop::Other("content_filter".to_owned())).without_usage()]);
    failure(&house).await;
    assert_eq!(house.outcomes(), [Outcome::Unknown]);
}

#[tokio::test(start_paused = true)]
async fn text_that_ran_into_its_limit_is_an_answer_and_marked() {
    let house = House::new([reply("once upon a", &[], Stop::Length)]);
    let End::Replied(answer) = house.run(turn(&house)).await else { panic!() };
    assert!(answer.truncated && answer.text == "once upon a");
}

#[tokio::test(start_paused = true)]
async fn one_call_of_no_known_form_keeps_all_from_being_made_and_the_model_may_try_again() {
    let good = call("c1", "note_read", "{}");
    let bad = |id: &str, name: &str, arguments: &str| vec![good.clone(), call(id, name, arguments)];
    let many: Vec<ToolCall> = (0..65).map(|n| call(&format!("c{n}"), "note_read", "{}")).collect();
    let large = format!(r#"{{"a": "{}"}}"#, "a".repeat(256 * 1024));
    for (calls, why) in [
        (bad("c2", "note_read", "{\"a\": "), "not JSON"),
        (bad("c2", "note_read", ""), "not JSON"),
        (bad("c2", "note_read", "[]"), "not a JSON object"),
        (bad("c2", "note_read", "{} {}"), "not JSON"),
        (bad("c2", "note_read", r#"{"a": 1, "a": 2}"#), "twice"),
        (bad("c2", "note_read", &large), "256 KiB"),
        (bad("c1", "note_read", "{}"), "another call"),
        (bad("", "note_read", "{}"), "its id"),
        (bad(&"c".repeat(257), "note_read", "{}"), "its id"),
        (bad("c2", "", "{}"), "name of the tool"),
        (bad("c2", &"n".repeat(129), "{}"), "name of the tool"),
        (many, "more than 64"),
    ] {
        let house = House::new([asks_for(&calls), asks_for(std::slice::from_ref(&good)), says("better")]);
        assert!(matches!(house.run(turn(&house)).await, End::Replied(_)), "{why}");
        assert_eq!(house.calls().len(), 1, "only that of the second try");
        let step = &house.steps()[0];
        assert_eq!(step.calls.len(), calls.len().min(64));
        let results: Vec<_> = step.calls.iter().map(|call| call.result.clone().unwrap()).collect();
        assert!(results.iter().all(|(text, is_error)| *is_error && text.starts_with("not called")), "{results:?}");
        assert!(results[1].0.contains(why), "{why}: {}", results[1].0);
    }
}

#[tokio::test(start_paused = true)]
async fn sixty_four_calls_are_not_too_many() {
    let many: Vec<ToolCall> = (0..64).map(|n| call(&format!("c{n}"), "note_read", "{}")).collect();
    let house = House::new([asks_for(&many), says("done")]);
    house.run(turn(&house)).await;
    assert_eq!(house.calls().len(), 64);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_gets_it_right_runs_out_of_steps() {
    let house = House::new((0..5).map(|_| asks_for(&[call("c1", "note_read", "nonsense")])));
    let End::Failed(refusal) = house.run(agent::Turn { steps_most: 5, ..turn(&house) }).await else { panic!() };
    assert_eq!(refusal.code, Code::StepLimit);
    assert_eq!((house.calls().len(), house.steps().len()), (0, 5));
}
