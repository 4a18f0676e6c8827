//! People are told what waits for them: once, all of it or with fewer buttons, nobody else, and in the end what became of it.

use super::super::plugins::Casino;
use super::super::tool_calls::Bench;
use super::recorder::Recorder;
use super::telling::{
    ask, ask_later, button, declared_with_mary, declared_with_owner, house_with_owner, labels, on_a_shared_machine,
    press, pressed, stranger, with_deciders,
};
use serde_json::json;
use service::gateway;
use service::tool_calls::{end_overdue_calls_once, reconsider};
use std::sync::Arc;
use std::time::Duration;
use testkit::World;

#[tokio::test]
async fn who_does_not_answer_at_once_is_told_directly_and_once() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    assert_eq!(ask(&world, &outlet).await, 0);
    world.clock.advance_s(14);
    assert_eq!(ask(&world, &outlet).await, 0, "they may be at a terminal");
    world.clock.advance_s(1);
    assert_eq!(ask(&world, &outlet).await, 1);
    let (message, _) = outlet.last();
    assert_eq!(message.place.as_key(), "telegram:5555");
    for part in
        ["`personal-usr_owner`", "`garden`", "`agent_coder`", "`tool_write_file`", "`laptop`", "`notes.txt`", "MEDIUM"]
    {
        assert!(message.text.contains(part), "{part}: {}", message.text);
    }
    assert!(message.text.contains("```diff\n+hello\n```"), "{}", message.text);
    assert_eq!(labels(&outlet), ["Approve", "Reject"]);
    assert_eq!(message.buttons[0].data, button(&call, true));
    assert_eq!(ask_later(&world, &outlet).await, 0, "told once");
}

#[tokio::test]
async fn who_answers_at_once_is_not_written_to() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    world.clock.advance_s(14);
    bench.approve(&call).await;
    assert_eq!(ask_later(&world, &outlet).await, 0);
}

#[tokio::test]
async fn what_was_told_is_concluded_wherever_and_however_it_ended() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let (yes, no) = (bench.waiting_write("yes.txt").await, bench.waiting_write("no.txt").await);
    bench.waiting_write("never.txt").await;
    assert_eq!(ask_later(&world, &outlet).await, 3);
    bench.approve(&yes).await;
    assert_eq!(ask(&world, &outlet).await, 1);
    bench.answer(&bench.owner, &no, "reject", &json!({"reason": "not now"})).await.ok();
    assert_eq!(ask(&world, &outlet).await, 1);
    world.clock.advance_s(300);
    end_overdue_calls_once(&world.house).await.unwrap();
    assert_eq!(ask(&world, &outlet).await, 1);
    let endings = outlet.concluded.lock().unwrap().clone();
    for ((place, _, text), (beginning, path)) in endings.iter().zip([
        ("Approved by you.", "`yes.txt`"),
        ("Rejected by you.", "`no.txt`"),
        ("Nobody decided in time.", "`never.txt`"),
    ]) {
        assert!(place == "telegram:5555" && text.starts_with(beginning) && text.contains(path), "{text}");
    }
    let told: Vec<usize> = endings.iter().map(|(_, id, _)| id.parse::<usize>().unwrap() - 1).collect();
    let texts = outlet.texts();
    assert!(texts[told[0]].contains("yes.txt") && texts[told[1]].contains("no.txt"), "each its own message");
    assert_eq!(ask_later(&world, &outlet).await, 0, "once");
}

#[tokio::test]
async fn what_is_dangerous_long_or_hides_something_can_only_be_rejected_there() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let long: String = (0..400).map(|line| format!("+line {line}\n")).collect();
    let cases = [
        (bench.waiting_command().await, "HIGH"),
        (bench.waiting_change(".env", "+x").await, "HIGH"),
        (bench.waiting_change("long.txt", &long).await, "+line 1\n"),
        (bench.waiting_change("hidden.txt", "+a\u{202e}b\u{200b}").await, "+a\\u{202E}b\\u{200B}"),
        (bench.waiting_change("quote.txt", "+```\n+[x](http://y)").await, "+\\u{60}\\u{60}\\u{60}\n"),
    ];
    assert_eq!(ask_later(&world, &outlet).await, cases.len());
    let said = outlet.said.lock().unwrap().clone();
    for (call, part) in &cases {
        let reject = button(call, false);
        let at = said.iter().position(|one| one.buttons.iter().any(|button| button.data == reject)).unwrap();
        let (message, id) = (&said[at], (at + 1).to_string());
        assert!(message.text.contains(part) && !message.text.contains('\u{202e}'), "{part}: {}", message.text);
        let may_be = call["risk"]["level"] == "MEDIUM" && *part != "+line 1\n";
        assert_eq!(message.buttons.len(), if may_be { 2 } else { 1 }, "{}", message.text);
        assert_eq!(message.text.contains("longhouse approvals show apr_"), !may_be, "{}", message.text);
        if !may_be {
            // Whatever the button says, the message did not show it.
            let told = press(&world, &pressed("5555", &id, button(call, true))).await;
            assert!(told.starts_with("This one is decided where all of it is shown"), "{told}");
            assert_eq!(bench.call(call).await["status"], "waiting_approval");
            assert_eq!(press(&world, &pressed("5555", &id, reject)).await, "Rejected.");
        }
    }
    let long = said.iter().find(|message| message.text.contains("long.txt")).unwrap();
    assert!(long.text.contains("the rest is in the console") && long.text.len() < 2_000, "{}", long.text);
}

#[tokio::test]
async fn a_call_of_a_plugin_that_waits_can_only_be_rejected_there() {
    let (world, outlet) = (World::new().await, Recorder::default());
    let casino = Casino::new(&world).await;
    let pairing = gateway::receive(&world.house, stranger("5555"), gateway::Door::Outlet).await.unwrap();
    let approve = format!("/admin/pairings/{}/approve", pairing.pairing_code.unwrap());
    world.post(&approve, &json!({"user": "owner"})).by(&casino.owner).send().await.ok();
    let call = casino.begin("dice.drop", json!({"sides": 6})).await;
    assert_eq!(call["status"], "waiting_approval", "{call}");
    assert_eq!(ask_later(&world, &outlet).await, 1);
    assert_eq!(labels(&outlet), ["Reject"]);
    let (message, _) = outlet.last();
    assert!(message.text.contains("`dice.drop`") && message.text.contains("\"sides\": 6"), "{}", message.text);
    let told = press(&world, &pressed("5555", "1", button(&call, true))).await;
    assert!(told.contains("longhouse approvals"), "{told}");
    assert_eq!(press(&world, &pressed("5555", "1", button(&call, false))).await, "Rejected.");
    assert!(casino.plugins.called().is_empty());
}

#[tokio::test]
async fn rights_are_looked_at_right_before_telling() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    world.declare(declared_with_mary("7777")).await;
    on_a_shared_machine(&world, &owner, &mary).await;
    // Owed, because the provider failed; then the account is another's.
    outlet.failing(1, true);
    assert_eq!(ask_later(&world, &outlet).await, 0);
    world.declare(declared_with_owner()).await;
    world.clock.advance_s(5);
    assert_eq!(ask(&world, &outlet).await, 0);
    // With another account she is told there, as a member; and not once she has left.
    world.declare(declared_with_mary("8888")).await;
    outlet.failing(1, true);
    assert_eq!(ask(&world, &outlet).await, 0);
    world.leave("den", "mary").await;
    world.clock.advance_s(5);
    assert_eq!(ask(&world, &outlet).await, 0);
    reconsider(&world.house).await.unwrap();
    assert_eq!(ask(&world, &outlet).await, 0);
    assert!(outlet.texts().is_empty() && outlet.endings().is_empty());
}

#[tokio::test]
async fn nothing_of_a_call_is_told_to_anybody_else() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    world.declare(with_deciders(declared_with_mary("7777"))).await;
    let bench = Bench::new(&world).await;
    bench.waiting_write("canary-of-owner.txt").await;
    let call = on_a_shared_machine(&world, &owner, &mary).await;
    assert_eq!(ask_later(&world, &outlet).await, 2, "sean and wife have accounts and hear nothing");
    for message in outlet.said.lock().unwrap().iter() {
        let (theirs, others) = match message.place.as_key().as_str() {
            "telegram:5555" => ("canary-of-owner", "canary-of-mary"),
            "telegram:7777" => ("canary-of-mary", "canary-of-owner"),
            place => panic!("told in {place}"),
        };
        assert!(message.text.contains(theirs) && !message.text.contains(others), "{}", message.text);
    }
    for (message_id, approves) in [("1", true), ("2", true), ("1", false), ("2", false)] {
        let told = press(&world, &pressed("5555", message_id, button(&call, approves))).await;
        assert!(told.starts_with("Nothing was done"), "nobody asked them here: {told}");
    }
    // Who may decide for others does so at the other doors, and is named to whoever was asked.
    let path = format!("/my/projects/shared/approvals/{}/approve", call["approval_id"].as_str().unwrap());
    world.post(&path, &json!({})).by(&owner).send().await.ok();
    assert_eq!(ask(&world, &outlet).await, 1);
    assert!(outlet.endings()[0].starts_with("Approved by usr_owner."), "{:?}", outlet.endings());
}

#[tokio::test]
async fn a_running_house_tells_as_it_is_asked_and_one_that_hangs_holds_up_nobody() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    world.declare(declared_with_mary("7777")).await;
    let bench = Bench::new(&world).await;
    bench.waiting_write("a.txt").await;
    let call = on_a_shared_machine(&world, &owner, &mary).await;
    world.clock.advance_s(15);
    *outlet.hanging.lock().unwrap() = Some("telegram:5555".to_owned());
    let running = tokio::spawn(gateway::ask_people(world.house.clone(), Arc::new(outlet.clone())));
    let until = async |is_so: &dyn Fn() -> bool| {
        let so = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(4), so).await.expect("without waiting for the next look");
    };
    until(&|| outlet.texts().len() == 1).await;
    assert_eq!(outlet.last().0.place.as_key(), "telegram:7777");
    let path = format!("/my/projects/shared/approvals/{}/reject", call["approval_id"].as_str().unwrap());
    world.post(&path, &json!({})).by(&mary).send().await.ok();
    until(&|| outlet.endings().len() == 1).await;
    running.abort();
}
