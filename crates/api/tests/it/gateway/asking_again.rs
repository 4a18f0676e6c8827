//! Providers that fail, servers that die, and time that passes: what is owed is told, what was told is concluded, and nothing twice
//! but for what a provider took from a server that died.

use super::super::tool_calls::Bench;
use super::recorder::Recorder;
use super::telling::{ask, ask_later, button, house_with_owner, on_a_shared_machine, press, pressed, stranger};
use domain::ids::{UserId, WorkspaceId};
use serde_json::json;
use service::gateway;
use service::tool_calls::{end_overdue_calls_once, reconsider};
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn a_restart_between_told_and_concluded_loses_nothing_and_says_nothing_twice() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    outlet.failing(1, true);
    assert_eq!(ask_later(&world, &outlet).await, 0, "owed, and not told yet");
    let owner = bench.owner.clone();
    let world = world.reopened().await;
    world.clock.advance_s(5);
    assert_eq!(ask(&world, &outlet).await, 1);
    let world = world.reopened().await;
    assert_eq!(ask(&world, &outlet).await, 0, "what was told stays told");
    let path = format!("/my/projects/garden/approvals/{}/reject", call["approval_id"].as_str().unwrap());
    world.post(&path, &json!({})).by(&owner).send().await.ok();
    let world = world.reopened().await;
    assert_eq!(ask(&world, &outlet).await, 1);
    assert!(outlet.endings()[0].starts_with("Rejected by you."));
    let world = world.reopened().await;
    assert_eq!((ask(&world, &outlet).await, outlet.texts().len()), (0, 1));
}

#[tokio::test]
async fn what_was_taken_and_not_marked_is_told_again_and_only_the_newest_counts() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    outlet.is_mute.store(true, Ordering::Relaxed);
    // The server dies after the provider took the message.
    let taken = async {
        while outlet.texts().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = ask_later(&world, &outlet) => panic!("it was answered"),
        () = taken => {}
    }
    let world = world.reopened().await;
    outlet.is_mute.store(false, Ordering::Relaxed);
    assert_eq!(ask(&world, &outlet).await, 0, "not at once");
    world.clock.advance_s(6);
    assert_eq!((ask(&world, &outlet).await, outlet.texts().len()), (1, 2));
    let told = press(&world, &pressed("5555", "1", button(&call, true))).await;
    assert!(told.starts_with("Nothing was done"), "{told}");
    assert_eq!(press(&world, &pressed("5555", "2", button(&call, true))).await, "Approved.");
}

#[tokio::test]
async fn a_project_that_goes_takes_the_buttons_along() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    bench.waiting_write("notes.txt").await;
    assert_eq!(ask_later(&world, &outlet).await, 1);
    let gone = world.delete("/my/projects/garden").by(&bench.owner).send().await;
    assert!(gone.status.is_success(), "{}", gone.text);
    assert_eq!(ask(&world, &outlet).await, 1);
    assert!(!outlet.endings()[0].contains("notes.txt"), "{:?}", outlet.endings());
}

#[tokio::test]
async fn a_provider_that_fails_is_tried_again_and_shown_to_admins() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.txt").await;
    outlet.failing(2, true);
    assert_eq!(ask_later(&world, &outlet).await, 0);
    let shown = world.get("/admin/deliveries").by(&bench.owner).send().await.ok();
    let item = &shown["items"][0];
    assert_eq!((&item["approval_id"], &item["attempts"]), (&call["approval_id"], &json!(1)), "{shown}");
    assert_eq!((&item["status"], &item["place"]), (&json!("pending"), &json!("telegram:5555")));
    assert_eq!(item["last_error"], "the provider failed with status 502");
    world.clock.advance_s(4);
    assert_eq!(ask(&world, &outlet).await, 0, "there is a pause");
    world.clock.advance_s(1);
    assert_eq!(ask(&world, &outlet).await, 0, "the second failure");
    world.clock.advance_s(10);
    assert_eq!(ask(&world, &outlet).await, 1);
    bench.approve(&call).await;
    outlet.failing(1, true);
    assert_eq!(ask(&world, &outlet).await, 0);
    world.clock.advance_s(5);
    assert_eq!(ask(&world, &outlet).await, 1);
    assert!(outlet.endings()[0].starts_with("Approved by you."));
    let shown = world.get("/admin/deliveries").by(&bench.owner).send().await.ok();
    assert_eq!(shown["items"], json!([]));
}

#[tokio::test]
async fn what_a_provider_refuses_for_good_is_given_up_with_an_alert() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    bench.waiting_write("notes.txt").await;
    outlet.failing(1, false);
    assert_eq!(ask_later(&world, &outlet).await, 0);
    world.clock.advance_s(60);
    assert_eq!(ask(&world, &outlet).await, 0, "not tried again");
    let shown = world.get("/admin/deliveries").by(&bench.owner).send().await.ok();
    assert_eq!(shown["items"][0]["status"], "failed");
    let personal = WorkspaceId::personal(&UserId::parse("owner").unwrap());
    let events = testkit::workspace_events(&world.house, &personal).await;
    assert!(events.iter().any(|(kind, _)| kind == "ALERT"), "{events:?}");
}

#[tokio::test]
async fn what_expired_is_not_told_any_more() {
    let (world, outlet) = (house_with_owner().await, Recorder::default());
    let bench = Bench::new(&world).await;
    bench.waiting_write("a.txt").await;
    outlet.failing(1, true);
    assert_eq!(ask_later(&world, &outlet).await, 0);
    bench.waiting_write("b.txt").await;
    world.clock.advance_s(300);
    // Before anybody has looked at the clock, and after.
    assert_eq!(ask(&world, &outlet).await, 0);
    end_overdue_calls_once(&world.house).await.unwrap();
    assert_eq!(ask_later(&world, &outlet).await, 0);
    assert!(outlet.texts().is_empty() && outlet.endings().is_empty());
}

#[tokio::test]
async fn a_person_or_a_workspace_that_goes_leaves_no_buttons_behind() {
    for gone in ["/admin/users/mary", "/admin/workspaces/den?with_data=true"] {
        let (world, outlet) = (house_with_owner().await, Recorder::default());
        let (owner, mary) = (world.owner().await, world.member("mary").await);
        let code = gateway::receive(&world.house, stranger("7777"), gateway::Door::Outlet).await.unwrap().pairing_code;
        let approve = format!("/admin/pairings/{}/approve", code.unwrap());
        world.post(&approve, &json!({"user": "mary"})).by(&owner).send().await.ok();
        on_a_shared_machine(&world, &owner, &mary).await;
        assert_eq!(ask_later(&world, &outlet).await, 1);
        let answer = world.delete(gone).by(&owner).send().await;
        assert!(answer.status.is_success(), "{gone}: {}", answer.text);
        reconsider(&world.house).await.unwrap();
        assert_eq!(ask(&world, &outlet).await, 1, "{gone}");
        assert!(!outlet.endings()[0].contains("canary"), "{:?}", outlet.endings());
        assert_eq!(ask(&world, &outlet).await, 0, "{gone}");
    }
}
