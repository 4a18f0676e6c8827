//! Buttons: an answer where the person is, for what the message showed whole, by whoever was asked.

use super::super::tool_calls::Bench;
use super::recorder::Recorder;
use super::telling::{
    ask, ask_later, button, declared_with_mary, declared_with_owner, house_with_owner, on_a_shared_machine, press,
    pressed, with_deciders,
};
use domain::channels::{ChatType, InboundMessage};
use domain::ids::UserId;
use domain::roles::Role;
use serde_json::json;
use service::tool_calls::{end_overdue_calls_once, reconsider};

const NOT_YOURS: &str = "This is not for you to decide.";

#[tokio::test]
async fn a_button_answers_for_its_person_and_for_nobody_else() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    assert_eq!(ask_later(&world, &outlet).await, 1);
    let yes = button(&call, true);
    assert!(yes.len() <= domain::channels::BUTTON_LONGEST);
    for stranger in ["3333", "1111", "666"] {
        assert_eq!(press(&world, &pressed(stranger, "1", yes.clone())).await, NOT_YOURS);
    }
    let nobody = InboundMessage { sender_id: None, ..pressed("5555", "1", yes.clone()) };
    assert_eq!(press(&world, &nobody).await, NOT_YOURS);
    for odd in ["approve:", "approve:apr_1", "delete:all", "", "approve:../../x"] {
        press(&world, &pressed("5555", "1", odd.to_owned())).await;
    }
    assert_eq!(bench.call(&call).await["status"], "waiting_approval", "nothing has moved");
    assert_eq!(press(&world, &pressed("5555", "1", yes.clone())).await, "Approved.");
    assert_ne!(bench.call(&call).await["status"], "waiting_approval");
    let told = press(&world, &pressed("5555", "1", yes)).await;
    assert_eq!(told, "this was decided already: it is approved by usr_owner", "the first answer stands");
    let rows = world.get("/admin/audit?workspace=personal-usr_owner&limit=500").by(&bench.owner).send().await.ok();
    let row = rows["items"].as_array().unwrap().iter().find(|row| row["action"] == "tool_call.approve").unwrap();
    assert_eq!((&row["user"], &row["detail"]["channel"]), (&json!("usr_owner"), &json!("telegram")), "{row}");
    assert_eq!(ask(&world, &outlet).await, 1);
    assert!(outlet.endings()[0].starts_with("Approved by you."), "{:?}", outlet.endings());
}

#[tokio::test]
async fn a_button_in_a_group_or_under_another_message_does_nothing() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let (first, second) = (bench.waiting_write("a.txt").await, bench.waiting_write("b.txt").await);
    for approves in [true, false] {
        // Before anything was told there is no message that asks.
        let told = press(&world, &pressed("5555", "1", button(&first, approves))).await;
        assert!(told.starts_with("Nothing was done"), "{told}");
    }
    assert_eq!(ask_later(&world, &outlet).await, 2);
    for approves in [true, false] {
        let group = InboundMessage {
            chat: ChatType::Group,
            place: super::place("telegram", "-100"),
            ..pressed("5555", "1", button(&first, approves))
        };
        assert!(press(&world, &group).await.starts_with("Not here"));
        for (call, message_id) in [(&first, "2"), (&second, "1"), (&first, "3"), (&first, "")] {
            let told = press(&world, &pressed("5555", message_id, button(call, approves))).await;
            assert!(told.starts_with("Nothing was done"), "{told}");
        }
        let elsewhere =
            InboundMessage { place: super::place("telegram", "9"), ..pressed("5555", "1", button(&first, approves)) };
        assert!(press(&world, &elsewhere).await.starts_with("Nothing was done"));
    }
    for call in [&first, &second] {
        assert_eq!(bench.call(call).await["status"], "waiting_approval");
    }
    assert_eq!(press(&world, &pressed("5555", "2", button(&second, false))).await, "Rejected.");
    assert_eq!(bench.call(&second).await["status"], "rejected");
}

#[tokio::test]
async fn a_command_is_never_approved_by_a_button_but_can_be_rejected_by_one() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_command().await;
    ask_later(&world, &outlet).await;
    let told = press(&world, &pressed("5555", "1", button(&call, true))).await;
    assert!(told.contains("longhouse approvals"), "{told}");
    assert_eq!(bench.call(&call).await["status"], "waiting_approval");
    assert_eq!(press(&world, &pressed("5555", "1", button(&call, false))).await, "Rejected.");
    assert_eq!(bench.call(&call).await["status"], "rejected");
}

#[tokio::test]
async fn a_yes_that_comes_too_late_is_none() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a.txt").await;
    ask_later(&world, &outlet).await;
    let yes = pressed("5555", "1", button(&call, true));
    world.clock.advance_s(300);
    assert_eq!(press(&world, &yes).await, "the time to decide is over");
    end_overdue_calls_once(&world.house).await.unwrap();
    assert_eq!(press(&world, &yes).await, "this was decided already: it is expired");
    assert_eq!(bench.call(&call).await["status"], "expired");
}

#[tokio::test]
async fn whoever_left_or_lost_their_account_decides_nothing() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    world.declare(declared_with_mary("7777")).await;
    let call = on_a_shared_machine(&world, &owner, &mary).await;
    assert_eq!(ask_later(&world, &outlet).await, 1);
    let yes = pressed("7777", "1", button(&call, true));
    world.declare(declared_with_owner()).await;
    assert_eq!(press(&world, &yes).await, NOT_YOURS, "the account is nobody's now");
    // Nor does whoever has the account now, though they may decide for others.
    let mut moved = declared_with_owner();
    let accounts = super::user(Role::Admin, &[("telegram", "5555"), ("telegram", "7777")]);
    moved.users.insert(UserId::parse("owner").unwrap(), accounts);
    world.declare(with_deciders(moved)).await;
    assert!(press(&world, &yes).await.starts_with("Nothing was done"));
    world.leave("den", "mary").await;
    assert!(press(&world, &yes).await.starts_with("Nothing was done"));
    world.declare(declared_with_mary("7777")).await;
    assert_eq!(press(&world, &yes).await, NOT_YOURS, "no member any more");
    reconsider(&world.house).await.unwrap();
    assert_eq!(ask(&world, &outlet).await, 1);
    assert_eq!(outlet.endings(), ["This was withdrawn before anybody decided. Nothing was done."], "and no word more");
}

#[tokio::test]
async fn a_yes_is_to_what_the_message_showed() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a.txt").await;
    ask_later(&world, &outlet).await;
    world.tell_something_else("personal-usr_owner", call["approval_id"].as_str().unwrap()).await;
    let told = press(&world, &pressed("5555", "1", button(&call, true))).await;
    assert_eq!(told, "what you were shown is not what would be done: look at it again");
    assert_eq!(bench.call(&call).await["status"], "waiting_approval");
}
