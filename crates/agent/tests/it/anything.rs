//! Whatever models, providers and the house do, in any order: the house of these stories checks itself that money is set
//! aside and settled once and that no call is made but a whole one on offer; here it is given anything to check.

use super::house::{House, Method};
use super::scenes::{Scene, USAGE, asked, call, fails, kept, reply, slow_down, step, turn};
use agent::{Called, End, Past, PastStep, Turn};
use llm::{Error, Stop, ToolCall};
use proptest::prelude::*;
use std::time::Duration;

fn any_error() -> impl Strategy<Value = Error> {
    prop_oneof![
        Just(slow_down(None)),
        Just(slow_down(Some(100))),
        Just(Error::Failing { status: 500, retry_after: None }),
        Just(Error::Timeout { stage: "idle", limit: Duration::from_secs(60) }),
        Just(Error::Refused { status: 400, excerpt: "no".to_owned() }),
        Just(Error::Cut),
    ]
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let id = prop_oneof![9 => "c[0-9]{1,3}", 1 => Just(String::new())];
    let name = prop_oneof![8 => Just("note.write"), 4 => Just("note_read"), 1 => Just("rm"), 1 => Just("a b")];
    let arguments = prop_oneof![
        12 => "\\{\"a\": [0-9]\\}",
        1 => Just("{\"a\":".to_owned()),
        1 => Just("{\"a\": 1, \"a\": 2}".to_owned()),
        1 => Just("[]".to_owned()),
    ];
    (id, name, arguments).prop_map(|(id, name, arguments)| call(&id, name, &arguments))
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let stop = prop_oneof![8 => Just(Stop::Done), 1 => Just(Stop::Length), 1 => Just(Stop::Other("filter".to_owned()))];
    let calls = prop_oneof![1 => Just(vec![]), 6 => prop::collection::vec(any_call(), 1..4)];
    let replies =
        (prop_oneof!["", "[a-z]{1,9}"], calls, stop, any::<bool>()).prop_map(|(text, calls, stop, counted)| {
            let scene = reply(&text, &calls, stop);
            if counted { scene } else { scene.without_usage() }
        });
    let faults = (any_error(), prop::bool::weighted(0.2)).prop_map(|(error, shown)| {
        let deltas = if shown { vec!["On".to_owned()] } else { vec![] };
        Scene { deltas, ..fails(error) }
    });
    prop_oneof![3 => replies, 1 => faults]
}

fn any_result() -> impl Strategy<Value = Called> {
    prop_oneof![
        12 => ("[a-z]{0,9}", any::<bool>()).prop_map(|(content, is_error)| Called::Answered { content, is_error }),
        1 => Just(Called::Answered { content: "é".repeat(50_000), is_error: false }),
        1 => Just(Called::Waits),
    ]
}

fn any_refusals() -> impl Strategy<Value = Vec<(Method, usize)>> {
    let method = prop::sample::select(vec![
        Method::Tools,
        Method::Call,
        Method::SetAside,
        Method::Settle,
        Method::Keep,
        Method::KeepResults,
        Method::KeepSummary,
    ]);
    prop::collection::vec((method, 1..6_usize), 0..3)
}

fn any_past(number: u64) -> impl Strategy<Value = Past> {
    prop_oneof![
        (0..2000_usize).prop_map(move |length| asked(number, &"x".repeat(length))),
        (0..3000_usize, any::<bool>()).prop_map(move |(length, open)| {
            let result = "r".repeat(length);
            step(number, "s", vec![kept("c1", (!open).then_some(result.as_str())), kept("c1", Some("b"))])
        }),
    ]
}

fn any_history() -> impl Strategy<Value = Vec<Past>> {
    (0..30_u64).prop_flat_map(|count| (1..=count).map(any_past).collect::<Vec<_>>())
}

fn any_steps() -> impl Strategy<Value = Vec<PastStep>> {
    let call = prop::option::of("[a-z]{1,9}");
    let calls = prop::collection::vec(call, 1..4);
    let last = prop::option::of(calls).prop_map(|calls| {
        let step = |calls: Vec<Option<String>>| PastStep {
            text: "t".to_owned(),
            calls: calls.iter().zip(1..).map(|(result, n)| kept(&format!("c{n}"), result.as_deref())).collect(),
        };
        calls.into_iter().map(step).collect()
    });
    prop_oneof![2 => Just(vec![]), 1 => last]
}

const STEPS_MOST: u32 = 6;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_happens_a_turn_ends_and_every_ticket_is_settled_once(
        scenes in prop::collection::vec(any_scene(), 30),
        results in prop::collection::vec(any_result(), 0..12),
        refusing in any_refusals(),
        history in any_history(),
        steps in any_steps(),
        lasting in prop::sample::subsequence(vec!["note.write", "note_read"], 0..=2),
        window_tokens in prop_oneof![Just(100_000_u64), 0..12_000_u64],
    ) {
        let house = House::new(scenes).with_results(results);
        house.state().refusing = refusing.clone();
        house.state().lasting = lasting;
        let before = steps.len();
        let open = steps.last().is_some_and(|step| step.calls.iter().any(|call| call.result.is_none()));
        let turn = Turn { history, steps, window_tokens, steps_most: STEPS_MOST, ..turn(&house) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let end = runtime.block_on(house.run(turn));

        // Four tries for each step that was left, and one summary.
        prop_assert!(house.requests().len() <= (STEPS_MOST as usize - before) * 4 + 1);
        prop_assert!(house.steps().len() + before <= STEPS_MOST as usize);
        if let End::Replied(answer) = &end {
            prop_assert!(!answer.text.is_empty());
            prop_assert!(answer.usage == USAGE || answer.usage.input_tokens > 0);
        }
        if end == End::Parked {
            let waits = house.steps().last().map(|step| step.calls.iter().any(|call| call.result.is_none()));
            prop_assert!(waits.unwrap_or(open), "somebody is waited for");
        }
        if let End::Failed(refusal) = &end && refusing.is_empty() {
            prop_assert_ne!(refusal, &super::house::refusal());
        }
        for request in house.requests() {
            prop_assert!(request.max_tokens > 0 && request.max_tokens <= window_tokens);
        }
    }
}
