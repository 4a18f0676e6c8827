//! A turn that goes well: what is asked, called, kept and handed back, and in which order.

use super::house::{Event, House};
use super::scenes::{USAGE, answered, asks_for, call, kept, reply, says, tool, turn};
use agent::{End, KeptCall, PastStep};
use domain::Code;
use domain::prices::Usage;
use llm::{Message, Stop};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn an_answer_without_tools_is_one_question() {
    let house = House::new([says("hello yourself")]);
    let End::Replied(answer) = house.run(turn(&house)).await else { panic!() };
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("hello yourself", "gpt-9-0101"));
    assert_eq!((answer.usage, answer.truncated), (USAGE, false));
    let request = &house.requests()[0];
    assert_eq!((request.model.as_str(), request.max_tokens, request.temperature), ("gpt-9", 1000, 0.5));
    assert_eq!(request.messages, [Message::User { text: "hello".to_owned() }]);
    assert_eq!(request.tools, [tool("note.write"), tool("note_read")]);
    assert!(matches!(
        &house.state().events[..],
        [Event::SetAside { prompt_tokens, max_tokens: 1000 }, Event::Asked(_), Event::Shown(shown)]
            if *prompt_tokens > 100 && shown == "hello yourself"
    ));
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_answered_is_kept_before_the_model_is_told_of_it() {
    let arguments = r#"{"key": "a",  "n": 1}"#;
    let scene = reply("let me see", &[call("c1", "note.write", arguments), call("c2", "note_read", "{}")], Stop::Done);
    let house = House::new([scene, says("done")]).with_results([answered("written"), answered("read")]);
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)));
    let calls = house.calls();
    assert_eq!(calls[0].arguments, *json!({"key": "a", "n": 1}).as_object().unwrap());
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    let events = house.state().events.clone();
    let [
        Event::SetAside { .. },
        Event::Asked(_),
        Event::Shown(_),
        Event::Called(_),
        Event::Called(_),
        Event::Kept(step),
        Event::SetAside { .. },
        Event::Asked(told),
        Event::Shown(_),
    ] = &events[..]
    else {
        panic!("{events:#?}")
    };
    assert_eq!((step.text.as_str(), step.model.as_str(), step.usage), ("let me see", "gpt-9-0101", USAGE));
    assert_eq!(step.calls[0].arguments, arguments, "as the model wrote it");
    assert_eq!(step.calls[1].result, Some(("read".to_owned(), false)));
    assert!(matches!(
        &told.messages[1..],
        [Message::Assistant { text, calls }, Message::ToolResult { call_id, content, is_error: false }, _]
            if text == "let me see" && calls.len() == 2 && call_id == "c1" && content == "written"
    ));
}

#[tokio::test(start_paused = true)]
async fn tools_are_looked_up_again_at_every_step() {
    let ask = |id: &str| asks_for(&[call(id, "note_read", "{}")]);
    let house = House::new([ask("c1"), ask("c2"), says("I may not")]);
    house.state().offers = [vec![tool("note_read")], vec![tool("note.write")]].into();
    assert!(matches!(house.run(turn(&house)).await, End::Replied(_)));
    assert_eq!(house.calls().len(), 1);
    assert_eq!(house.requests()[1].tools, [tool("note.write")]);
    let (text, is_error) = house.steps()[1].calls[0].result.clone().unwrap();
    assert!(is_error && text.contains("there is no such tool"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_on_offer_does_not_keep_others_from_being_called() {
    let calls = [call("c1", "rm", "{}"), call("c2", "note_read", "{}")];
    let house = House::new([asks_for(&calls), says("done")]);
    house.run(turn(&house)).await;
    assert_eq!(house.calls().len(), 1);
    let results: Vec<_> = house.steps()[0].calls.iter().map(|call| call.result.clone().unwrap()).collect();
    assert_eq!(results, [("not called: there is no such tool".to_owned(), true), ("ok".to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn steps_have_an_end_and_those_kept_before_count() {
    let ask = || asks_for(&[call("c1", "note_read", "{}")]);
    let house = House::new([ask(), ask()]);
    let done = PastStep { text: String::new(), calls: vec![kept("c0", Some("ok"))] };
    let again = agent::Turn { steps: vec![done.clone(), done], steps_most: 4, ..turn(&house) };
    let End::Failed(refusal) = house.run(again).await else { panic!() };
    assert_eq!(refusal.code, Code::StepLimit);
    assert_eq!((house.requests().len(), house.steps().len()), (2, 2));

    let house = House::new([ask(), says("just in time")]);
    let End::Replied(_) = house.run(agent::Turn { steps_most: 2, ..turn(&house) }).await else { panic!() };
    let house = House::new([]);
    let End::Failed(refusal) = house.run(agent::Turn { steps_most: 0, ..turn(&house) }).await else { panic!() };
    assert_eq!(refusal.code, Code::StepLimit);
}

#[tokio::test(start_paused = true)]
async fn a_large_result_is_cut_and_says_so() {
    let large = "é".repeat(40_000);
    let house = House::new([asks_for(&[call("c1", "note_read", "{}")]), says("much")]).with_results([answered(&large)]);
    house.run(turn(&house)).await;
    let (kept, _) = house.steps()[0].calls[0].result.clone().unwrap();
    assert!(kept.len() <= 64 * 1024 && kept.len() > 65_000 && kept.ends_with(" more bytes]"), "{}", kept.len());
    assert!(matches!(&house.requests()[1].messages[2], Message::ToolResult { content, .. } if *content == kept));
}

#[tokio::test(start_paused = true)]
async fn an_id_that_comes_again_in_a_later_step_is_another_call() {
    let ask = |id: &str| asks_for(&[call(id, "note_read", "{}")]);
    let house = House::new([ask("call_0"), ask("call_0"), ask("call_0"), says("done")]);
    house.run(turn(&house)).await;
    let ids: Vec<String> = house.calls().into_iter().map(|call| call.id).collect();
    assert_eq!(ids, ["call_0", "call_0_2", "call_0_3"]);
    let kept: Vec<String> =
        house.steps().into_iter().flat_map(|step| step.calls).map(|call: KeptCall| call.id).collect();
    assert_eq!(kept, ids);
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_does_not_count_is_counted_here() {
    let arguments = r#"{"a": 1}"#;
    let ask = reply("abcdef", &[call("c1", "note_read", arguments)], Stop::Done).without_usage();
    let house = House::new([ask, reply("abc", &[], Stop::Length).without_usage()]);
    let End::Replied(answer) = house.run(turn(&house)).await else { panic!() };
    let set_aside = house.found(|event| match event {
        Event::SetAside { prompt_tokens, .. } => Some(*prompt_tokens),
        _ => None,
    });
    assert!(set_aside[1] > set_aside[0]);
    assert_eq!(house.steps()[0].usage, Usage { input_tokens: set_aside[0], output_tokens: 2 + 3 });
    assert_eq!(answer.usage, Usage { input_tokens: set_aside[1], output_tokens: 1000 }, "it used all it had");
}

#[tokio::test(start_paused = true)]
async fn a_figure_out_of_all_proportion_is_not_booked() {
    let reported = |input_tokens, output_tokens| {
        let mut scene = says("abc");
        scene.end.as_mut().unwrap().usage = Some(Usage { input_tokens, output_tokens });
        scene
    };
    for (input_tokens, output_tokens, is_believed) in
        [(3_000, 1_200, true), (20, u64::MAX, false), (1_000_000_000, 7, false), (0, 0, true)]
    {
        let house = House::new([reported(input_tokens, output_tokens)]);
        let End::Replied(answer) = house.run(turn(&house)).await else { panic!() };
        let booked = answer.usage == Usage { input_tokens, output_tokens };
        assert_eq!(booked, is_believed, "{:?}", answer.usage);
    }
}

#[tokio::test(start_paused = true)]
async fn the_prompt_says_who_what_and_that_the_rest_is_information() {
    let house = House::new([says("hi")]);
    let mut turn = turn(&house);
    turn.profile.system_prompt = Some("OWN".to_owned());
    turn.skills = "## Skills\nSKILLS".to_owned();
    turn.guide = "# Shared context\nGUIDE".to_owned();
    house.run(turn).await;
    let system = house.requests()[0].system.clone();
    let places = ["You are scout.", "finds things out", "are information", "OWN", "SKILLS", "GUIDE"];
    let places: Vec<usize> = places.iter().map(|part| system.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{system}");
}

#[test]
fn a_turn_can_be_run_anywhere() {
    fn is_send<T: Send>(_: &T) {}
    let house = House::new([]);
    is_send(&agent::run(turn(&house), &house));
}
