//! Long histories: when they are summarised, of what, and what happens if that fails.

use super::house::{Event, House, Method, refusal};
use super::scenes::{Scene, USAGE, asked, call, fails, kept, reply, says, slow_down, step, summary, turn};
use agent::{End, Outcome, Past, Turn};
use domain::prices::Usage;
use llm::{Error, Message, Request, Stop};

const WINDOW: u64 = 6000;

/// Three hundred bytes, a hundred tokens and a little.
fn long(number: u64) -> Past {
    asked(number, &format!("{number:03} {}", "x".repeat(296)))
}

fn long_turn(house: &House) -> Turn<'_> {
    Turn { history: (1..=60).map(long).collect(), window_tokens: WINDOW, ..turn(house) }
}

fn kept_summaries(house: &House) -> Vec<(String, u64, Usage)> {
    house.found(|event| match event {
        Event::KeptSummary { text, up_to, usage } => Some((text.clone(), *up_to, *usage)),
        _ => None,
    })
}

fn user_texts(request: &Request) -> Vec<String> {
    let texts = request.messages.iter().map(|message| match message {
        Message::User { text } => text.clone(),
        other => panic!("{other:?}"),
    });
    texts.collect()
}

#[tokio::test(start_paused = true)]
async fn the_older_part_is_summarised_kept_and_told_instead() {
    let house = House::new([says("THE GIST"), says("answer")]);
    let End::Replied(answer) = house.run(long_turn(&house)).await else { panic!() };
    assert_eq!(answer.text, "answer");
    let [(text, up_to, usage)] = &kept_summaries(&house)[..] else { panic!() };
    assert_eq!((text.as_str(), *usage), ("THE GIST", USAGE));

    let [summarised, asked] = &house.requests()[..] else { panic!() };
    assert!(summarised.tools.is_empty() && summarised.max_tokens <= 1024 && summarised.system.starts_with("Summarise"));
    let record = user_texts(summarised).remove(0);
    assert!(record.contains(&format!("{up_to:03} x")) && !record.contains(&format!("{:03} x", up_to + 1)));

    let told = user_texts(asked);
    assert_eq!(told[0], "[summary of what was said before]\nTHE GIST");
    assert!(told[1].starts_with(&format!("{:03} ", up_to + 1)), "the newest follow without a gap");
    let newest: usize = told[1..told.len() - 1].iter().map(String::len).sum();
    assert!((3000..6000).contains(&newest), "about a third of the room: {newest}");

    let shown = house.found(|event| if let Event::Shown(text) = event { Some(text.clone()) } else { None });
    assert_eq!(shown, ["answer"], "a summary is not part of the answer");
}

#[tokio::test(start_paused = true)]
async fn a_history_is_summarised_when_a_quarter_of_the_room_is_left() {
    // A hundred and eight tokens each: the room is a little below 4500.
    let asks = |count: u64| async move {
        let house = House::new([says("GIST"), says("answer")]);
        house.run(Turn { history: (1..=count).map(long).collect(), window_tokens: WINDOW, ..turn(&house) }).await;
        house.requests().len()
    };
    assert_eq!((asks(28).await, asks(34).await), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_leaves_little_room_makes_a_summary_due() {
    let house = House::new([says("GIST"), says("answer")]);
    let message = asked(99, &"m".repeat(9000));
    house.run(Turn { history: (1..=20).map(long).collect(), message, window_tokens: WINDOW, ..turn(&house) }).await;
    assert_eq!(kept_summaries(&house).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_summary_before_goes_into_the_next() {
    let house = House::new([says("NEW GIST"), says("answer")]);
    let history = std::iter::once(summary(500, "OLD GIST")).chain((1..=200).map(long)).collect();
    house.run(Turn { history, window_tokens: WINDOW, ..turn(&house) }).await;
    let record = user_texts(&house.requests()[0]).remove(0);
    assert!(record.contains("OLD GIST") && record.len() < 3 * WINDOW as usize);
    let (_, up_to, _) = kept_summaries(&house)[0];
    assert!(up_to < 200, "a summary's own number is not what it stands for: {up_to}");
    assert_eq!(user_texts(&house.requests()[1])[0], "[summary of what was said before]\nNEW GIST");
}

#[tokio::test(start_paused = true)]
async fn a_summary_alone_is_not_summarised_again() {
    let house = House::new([says("answer")]);
    let history = vec![summary(500, &"s".repeat(14_000)), asked(501, "and?")];
    house.run(Turn { history, window_tokens: WINDOW, ..turn(&house) }).await;
    assert_eq!(house.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_record_tells_what_was_said_and_nothing_that_tools_brought() {
    let house = House::new([says("GIST"), says("answer")]);
    let mut history = vec![step(1, "I look", vec![kept("c1", Some(&"r".repeat(5000)))])];
    history.extend((2..=40).map(long));
    house.run(Turn { history, window_tokens: WINDOW, ..turn(&house) }).await;
    let record = user_texts(&house.requests()[0]).remove(0);
    assert!(record.starts_with("[scout] I look\n002 "), "{}", &record[..80]);
    assert!(!record.contains("note.write") && !record.contains("rrr"));
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_the_oldest_is_left_out_and_the_turn_goes_on() {
    let cases: [(Scene, Outcome); 6] = [
        (fails(slow_down(None)), Outcome::NotAsked),
        (fails(Error::Cut), Outcome::Unknown),
        (says(" \n"), Outcome::Used(USAGE)),
        (reply("GIST", &[], Stop::Other("content_filter".to_owned())), Outcome::Used(USAGE)),
        (reply("GIST", &[], Stop::Other("content_filter".to_owned())).without_usage(), Outcome::Unknown),
        (reply("GIST", &[call("c1", "note.write", "{}")], Stop::Done), Outcome::Used(USAGE)),
    ];
    for (scene, outcome) in cases {
        let house = House::new([scene, says("answer")]);
        assert!(matches!(house.run(long_turn(&house)).await, End::Replied(_)));
        assert_eq!(house.outcomes(), [outcome]);
        assert!(kept_summaries(&house).is_empty() && house.calls().is_empty());
        let told = user_texts(&house.requests()[1]);
        assert_eq!(told[0], "[earlier messages are left out here]");
        assert_eq!(told.last().unwrap(), "hello");
    }
}

#[tokio::test(start_paused = true)]
async fn no_money_for_a_summary_is_no_reason_to_stop() {
    let house = House::new([says("answer")]).refusing(Method::SetAside, 1);
    assert!(matches!(house.run(long_turn(&house)).await, End::Replied(_)));
    assert_eq!(house.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_cannot_be_kept_ends_the_turn_and_is_paid_for() {
    let house = House::new([says("GIST")]).refusing(Method::KeepSummary, 1);
    assert_eq!(house.run(long_turn(&house)).await, End::Failed(refusal()));
    assert_eq!(house.outcomes(), [Outcome::Used(USAGE)]);
}

#[tokio::test(start_paused = true)]
async fn a_history_is_summarised_once_in_a_turn() {
    let ask = |id: &str| reply("", &[call(id, "note_read", "{}")], Stop::Done);
    let house = House::new([says(" "), ask("c1"), ask("c2"), says("answer")]);
    assert!(matches!(house.run(long_turn(&house)).await, End::Replied(_)));
    assert_eq!(house.requests().iter().filter(|request| request.tools.is_empty()).count(), 1);
    assert_eq!(house.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_kept_no_longer_than_it_may_be() {
    let house = House::new([says(&"g".repeat(100_000)), says("answer")]);
    house.run(long_turn(&house)).await;
    let (text, ..) = &kept_summaries(&house)[0];
    assert!(text.len() <= 4 * 1024, "{}", text.len());
}
