//! Turns that wait for somebody, and begin again.

use super::house::{Event, House, Method, refusal};
use super::scenes::{answered, asks_for, call, kept, says, turn};
use agent::{Called, End, KeptCall, PastStep, Turn};
use llm::Message;

fn begun_again(house: &House, calls: Vec<KeptCall>) -> Turn<'_> {
    let earlier = PastStep { text: "first".to_owned(), calls: vec![kept("c0", Some("ok"))] };
    Turn { steps: vec![earlier, PastStep { text: "then".to_owned(), calls }], ..turn(house) }
}

fn kept_results(house: &House) -> Vec<Vec<KeptCall>> {
    house.found(|event| if let Event::KeptResults(calls) = event { Some(calls.clone()) } else { None })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_parks_the_turn_and_later_calls_are_not_begun() {
    let calls = ["c1", "c2", "c3"].map(|id| call(id, "note.write", "{}"));
    let house = House::new([asks_for(&calls)]).with_results([answered("one"), Called::Waits]);
    assert_eq!(house.run(turn(&house)).await, End::Parked);
    assert_eq!(house.calls().len(), 2);
    let results: Vec<_> = house.steps()[0].calls.iter().map(|call| call.result.clone()).collect();
    assert_eq!(results, [Some(("one".to_owned(), false)), None, None]);
}

#[tokio::test(start_paused = true)]
async fn begun_again_it_goes_on_with_just_the_open_calls() {
    let house = House::new([says("done")]).with_results([answered("two"), answered("three")]);
    let turn = begun_again(&house, vec![kept("c1", Some("one")), kept("c2", None), kept("c3", None)]);
    assert!(matches!(house.run(turn).await, End::Replied(_)));
    assert_eq!(house.calls().iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c2", "c3"]);
    let whole = vec![kept("c1", Some("one")), kept("c2", Some("two")), kept("c3", Some("three"))];
    assert_eq!(kept_results(&house), [whole], "all calls of the step, once");
    assert!(house.steps().is_empty(), "it is no new step");
    assert_eq!(house.requests()[0].messages.len(), 1 + 2 + 4);
    assert!(matches!(&house.requests()[0].messages[6], Message::ToolResult { content, .. } if content == "three"));
}

#[tokio::test(start_paused = true)]
async fn begun_again_it_may_have_to_wait_again() {
    let house = House::new([]).with_results([answered("two"), Called::Waits]);
    let open = || vec![kept("c1", Some("one")), kept("c2", None), kept("c3", None)];
    assert_eq!(house.run(begun_again(&house, open())).await, End::Parked);
    assert_eq!(kept_results(&house), [vec![kept("c1", Some("one")), kept("c2", Some("two")), kept("c3", None)]]);

    let house = House::new([]).with_results([Called::Waits]);
    assert_eq!(house.run(begun_again(&house, open())).await, End::Parked);
    assert!(kept_results(&house).is_empty(), "there is nothing new to keep");
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_open_calls_begins_with_a_question() {
    let house = House::new([says("done")]);
    house.run(begun_again(&house, vec![kept("c1", Some("one"))])).await;
    assert!(house.calls().is_empty() && kept_results(&house).is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_open_call_that_cannot_be_read_is_not_made() {
    let house = House::new([says("done")]);
    let odd = KeptCall { arguments: "{".to_owned(), ..kept("c1", None) };
    house.run(begun_again(&house, vec![odd])).await;
    assert!(house.calls().is_empty());
    assert!(kept_results(&house)[0][0].result.as_ref().unwrap().1);
}

#[tokio::test(start_paused = true)]
async fn a_house_that_stops_a_turn_begun_again_finds_what_was_done_kept() {
    let house = House::new([]).with_results([answered("one")]).refusing(Method::Call, 2);
    let turn = begun_again(&house, vec![kept("c1", None), kept("c2", None), kept("c3", None)]);
    assert_eq!(house.run(turn).await, End::Failed(refusal()));
    let results: Vec<_> = kept_results(&house)[0].iter().map(|call| call.result.clone().unwrap()).collect();
    assert_eq!(results[0], ("one".to_owned(), false));
    assert!(results[1].0.contains("stopped during this call") && results[2].0.starts_with("not called"), "{results:?}");

    let house = House::new([]).refusing(Method::KeepResults, 1);
    assert_eq!(house.run(begun_again(&house, vec![kept("c1", None)])).await, End::Failed(refusal()));
}

#[tokio::test(start_paused = true)]
async fn a_step_is_on_record_before_a_call_that_outlives_the_turn() {
    let calls = [("c1", "note_read"), ("c2", "note.write"), ("c3", "note.write"), ("c4", "note_read")];
    let house = House::new([asks_for(&calls.map(|(id, tool)| call(id, tool, "{}"))), says("done")])
        .with_results(["one", "two", "three", "four"].map(answered));
    house.state().lasting = vec!["note.write"];
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)));
    let story: Vec<String> = house.found(|event| match event {
        Event::Called(call) => Some(format!("call {}", call.id)),
        Event::Kept(step) => Some(format!("keep {}", open(&step.calls))),
        Event::KeptResults(calls) => Some(format!("results {}", open(calls))),
        _ => None,
    });
    let expected = ["call c1", "keep c2 c3 c4", "call c2", "call c3", "results c4", "call c4", "results "];
    assert_eq!(story, expected);
}

fn open(calls: &[KeptCall]) -> String {
    let open: Vec<&str> = calls.iter().filter(|call| call.result.is_none()).map(|call| call.id.as_str()).collect();
    open.join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_house_that_does_not_keep_the_step_sees_no_call_that_outlives_it() {
    let house = House::new([asks_for(&[call("c1", "note.write", "{}")])]).refusing(Method::Keep, 1);
    house.state().lasting = vec!["note.write"];
    assert_eq!(house.run(turn(&house)).await, End::Failed(refusal()));
    assert!(house.calls().is_empty());
}
