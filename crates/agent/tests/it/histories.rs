//! How much of what was said a model is told.

use super::house::{Event, House, Method};
use super::scenes::{answered, asked, asks_for, call, kept, says, step, summary, turn};
use agent::{End, Past, PastStep, Turn};
use domain::Code;
use llm::{Message, Request};

/// A house that has no money for summaries.
fn house() -> House {
    House::new([says("ok")]).refusing(Method::SetAside, 1)
}

/// What is set aside fits into the window: the estimate of the prompt and all that may be said.
fn assert_within(house: &House, window_tokens: u64) {
    let sums = house.found(|event| match event {
        Event::SetAside { prompt_tokens, max_tokens } => Some(prompt_tokens + max_tokens),
        _ => None,
    });
    assert!(!sums.is_empty() && sums.iter().all(|sum| *sum <= window_tokens), "{sums:?} in {window_tokens}");
}

fn texts(request: &Request) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { text } | Message::Assistant { text, .. } => text.chars().take(12).collect(),
        Message::ToolResult { content, .. } => content.chars().take(12).collect(),
    };
    request.messages.iter().map(text).collect()
}

fn long(number: u64) -> Past {
    asked(number, &format!("{number:03} {}", "x".repeat(296)))
}

#[tokio::test(start_paused = true)]
async fn everything_is_told_in_order_while_there_is_room() {
    let house = House::new([says("ok")]);
    let history = vec![
        asked(1, "one"),
        step(2, "", vec![kept("c1", Some("result")), kept("c2", None)]),
        step(3, "three", vec![]),
        step(4, "", vec![kept("c3", None)]),
        asked(5, "five"),
    ];
    house.run(Turn { history, ..turn(&house) }).await;
    assert_eq!(texts(&house.requests()[0]), ["one", "", "result", "three", "five", "hello"]);
}

#[tokio::test(start_paused = true)]
async fn the_oldest_is_left_out_first_and_the_model_is_told_so() {
    let house = house();
    let history = (1..=100).map(long).collect();
    house.run(Turn { history, window_tokens: 5000, ..turn(&house) }).await;
    let request = &house.requests()[0];
    let told = texts(request);
    assert_eq!((told[0].as_str(), told.last().unwrap().as_str()), ("[earlier mes", "hello"));
    let numbers: Vec<u64> = told[1..told.len() - 1].iter().map(|text| text[..3].parse().unwrap()).collect();
    assert!(numbers.len() > 20 && numbers.is_sorted() && *numbers.last().unwrap() == 100, "{numbers:?}");
    assert_eq!(numbers.len() as u64, 100 - numbers[0] + 1, "no gap");
    assert_within(&house, 5000);
}

#[tokio::test(start_paused = true)]
async fn as_much_is_told_as_there_is_room_for() {
    let within = |window_tokens| async move {
        let house = house();
        house.run(Turn { history: (1..=40).map(long).collect(), window_tokens, ..turn(&house) }).await;
        assert_within(&house, window_tokens);
        let sum = house.found(|event| match event {
            Event::SetAside { prompt_tokens, max_tokens } => Some(prompt_tokens + max_tokens),
            _ => None,
        });
        window_tokens - sum[0]
    };
    for window_tokens in [3000, 3050, 3100, 4000, 5000] {
        let unused = within(window_tokens).await;
        assert!((window_tokens / 32..window_tokens / 32 + 140).contains(&unused), "{window_tokens}: {unused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_and_its_result_are_left_out_together() {
    for window_tokens in (2600..4200).step_by(50) {
        let house = house();
        let history = (1..=40).map(|n| step(n, "s", vec![kept(&format!("c{n}"), Some(&"r".repeat(300)))])).collect();
        house.run(Turn { history, window_tokens, ..turn(&house) }).await;
        assert_within(&house, window_tokens);
        let messages = house.requests()[0].messages.clone();
        assert!(matches!(messages[0], Message::User { .. }), "the model is spoken to first");
        for pair in messages[1..messages.len() - 1].chunks(2) {
            let [Message::Assistant { calls, .. }, Message::ToolResult { call_id, .. }] = pair else {
                panic!("{pair:?}")
            };
            assert_eq!(calls[0].id, *call_id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_told_as_long_as_it_fits() {
    let house = house();
    let history = std::iter::once(summary(500, "SO FAR")).chain((1..=100).map(long)).collect();
    house.run(Turn { history, window_tokens: 5000, ..turn(&house) }).await;
    assert_eq!(texts(&house.requests()[0])[..2], ["[summary of ", "[earlier mes"]);
    assert_within(&house, 5000);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_does_not_fit_is_missed() {
    let house = House::new([says("ok")]);
    let history = vec![summary(500, &"s".repeat(14_000)), asked(501, "and?")];
    house.run(Turn { history, window_tokens: 5000, ..turn(&house) }).await;
    assert_eq!(texts(&house.requests()[0]), ["[earlier mes", "and?", "hello"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_older_is_told_than_the_first_that_does_not_fit() {
    let house = house();
    let history = vec![asked(1, "small"), asked(2, &"x".repeat(14_000)), asked(3, "three")];
    house.run(Turn { history, window_tokens: 5000, ..turn(&house) }).await;
    assert_eq!(texts(&house.requests()[0]), ["[earlier mes", "three", "hello"]);
}

#[tokio::test(start_paused = true)]
async fn a_model_is_spoken_to_first_and_told_no_id_twice() {
    let house = House::new([says("ok")]);
    let calls = || vec![kept("call_0", Some("a")), kept("call_1", Some("b"))];
    house.run(Turn { history: vec![step(1, "", calls()), step(2, "", calls())], ..turn(&house) }).await;
    assert_eq!(texts(&house.requests()[0]), ["[earlier mes", "", "a", "b", "", "a", "b", "hello"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_does_not_fit_alone_is_refused_before_anything_is_paid() {
    let house = House::new([]);
    let large = Turn { message: asked(9, &"x".repeat(9000)), window_tokens: 4000, ..turn(&house) };
    let End::Failed(refusal) = house.run(large).await else { panic!() };
    assert_eq!(refusal.code, Code::ValueTooLarge);
    assert!(refusal.message.contains("the message does not fit"), "{}", refusal.message);
    assert!(house.state().events.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_message_goes_before_all_history() {
    let house = house();
    let message = asked(9, &"m".repeat(6000));
    house.run(Turn { history: (1..=8).map(long).collect(), message, window_tokens: 4000, ..turn(&house) }).await;
    assert_eq!(texts(&house.requests()[0]).last().unwrap(), "mmmmmmmmmmmm");
    assert_within(&house, 4000);
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_take_half_of_what_prompt_and_tools_leave() {
    let house = House::new([says("ok")]);
    let mut turn = Turn { window_tokens: 8000, ..turn(&house) };
    turn.profile.max_tokens = 8000;
    house.run(turn).await;
    let most = house.requests()[0].max_tokens;
    assert!((3000..4000).contains(&most), "{most}");
}

#[tokio::test(start_paused = true)]
async fn results_that_a_small_window_cannot_hold_are_cut_further_and_older_ones_first() {
    let ask = |id: &str| asks_for(&[call(id, "note_read", "{}")]);
    let house = House::new([ask("c1"), ask("c2"), says("ok")]);
    let house = house.with_results([answered(&"1".repeat(12_000)), answered(&"2".repeat(12_000))]);
    house.run(Turn { window_tokens: 8000, ..turn(&house) }).await;
    assert_within(&house, 8000);
    let result = |request: &Request, place: usize| match &request.messages[place] {
        Message::ToolResult { content, .. } => content.len(),
        other => panic!("{other:?}"),
    };
    let requests = house.requests();
    assert_eq!(result(&requests[1], 2), 12_000);
    assert_eq!((result(&requests[2], 2) <= 512, result(&requests[2], 4)), (true, 12_000));
    assert_eq!(house.steps()[0].calls[0].result.as_ref().unwrap().0.len(), 12_000, "what is kept is whole");

    let house = House::new([ask("c1"), says("ok")]).with_results([answered(&"1".repeat(60_000))]);
    house.run(Turn { window_tokens: 8000, ..turn(&house) }).await;
    assert_within(&house, 8000);
    assert!((8000..=16_384).contains(&result(&house.requests()[1], 2)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_outgrows_the_window_fails_and_says_so() {
    let house = House::new([]);
    let steps = vec![PastStep { text: "t".repeat(30_000), calls: vec![kept("c1", Some("ok"))] }];
    let End::Failed(refusal) = house.run(Turn { steps, window_tokens: 8000, ..turn(&house) }).await else { panic!() };
    assert_eq!(refusal.code, Code::ValueTooLarge);
    assert!(refusal.message.contains("grown"), "{}", refusal.message);
}
