//! Calls that wait for a person while the client waits for them: what it hears meanwhile, and what happens if it goes.

use super::clients::{ALL, NEW, OLD, reply};
use super::desks::{Desk, Told, answer, progress};
use crate::it::tool_calls::Bench;
use axum::http::Method;
use serde_json::json;
use service::tool_calls::end_overdue_calls_once;
use testkit::World;

#[tokio::test]
async fn a_client_that_waits_hears_what_is_waited_for_and_then_the_outcome() {
    let world = World::new().await;
    let mut bench = Some(Bench::new(&world).await);
    for version in ALL {
        let mut desk = Desk::beside(bench.take().expect("a bench"), version).await;
        let (mut news, call) = desk.follows_a_waiting_write("notes.md", 100).await;
        desk.bench.approve(&call).await;
        let (_, said) = progress(&news.next().await.expect("a word"));
        assert!(said.starts_with("dispatched: "), "{said}");
        let call = desk.asked_for().await;
        desk.does(&call, &json!({"success": true, "size": 6})).await;
        let told = answer(&mut news).await;
        told.is("completed");
        assert_eq!((&told.content["call_id"], &told.content["result"]["size"]), (&call["id"], &json!(6)));
        bench = Some(desk.bench);
    }
}

#[tokio::test]
async fn a_no_and_an_answer_that_never_comes_are_errors_that_say_so() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let (mut news, call) = desk.follows_a_waiting_write("a", 1).await;
    desk.bench.answer(&desk.bench.owner, &call, "reject", &json!({"reason": "not that file"})).await.ok();
    let told = answer(&mut news).await;
    told.failed("rejected", "FORBIDDEN");
    assert_eq!(told.content["reason"]["message"], "not that file");
    let (mut news, _) = desk.follows_a_waiting_write("a", 2).await;
    world.clock.advance_s(300);
    end_overdue_calls_once(&world.house).await.unwrap();
    answer(&mut news).await.failed("expired", "EXPIRED");
}

#[tokio::test]
async fn a_client_that_goes_takes_back_what_has_not_begun() {
    let world = World::new().await;
    let mut bench = Some(Bench::new(&world).await);
    for version in ALL {
        let mut desk = Desk::beside(bench.take().expect("a bench"), version).await;
        let (news, call) = desk.follows_a_waiting_write("notes.md", 100).await;
        if version == NEW {
            drop(news);
        } else {
            let cancelled = json!({"requestId": 100, "reason": "enough"});
            let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled});
            assert_eq!(desk.client.post(&message).await.status, 202);
        }
        let ended = desk.ended(&call).await;
        assert_eq!(
            (&ended["status"], &ended["reason"]["code"]),
            (&json!("cancelled"), &json!("CANCELLED")),
            "{version}"
        );
        let inbox = world.get("/my/approvals?status=pending").by(&desk.bench.owner).send().await.ok();
        assert_eq!(inbox["items"], json!([]), "nobody is asked any more");
        desk.bench.answer(&desk.bench.owner, &call, "approve", &json!({})).await.refused(409, "ALREADY_DECIDED");
        assert!(desk.bench.node.open().await.is_empty());
        bench = Some(desk.bench);
    }
    assert!(bench.expect("a bench").actions().await.contains(&"tool_call.cancel".to_owned()));
}

#[tokio::test]
async fn a_client_that_ends_its_session_takes_back_what_has_not_begun() {
    let world = World::new().await;
    let mut bench = Some(Bench::new(&world).await);
    for version in OLD {
        let mut desk = Desk::beside(bench.take().expect("a bench"), version).await;
        let (news, call) = desk.follows_a_waiting_write("notes.md", 100).await;
        let ended = reply(desk.client.ask(Method::DELETE, None)).await;
        assert_eq!(ended.status, 204, "{version}");
        assert_eq!(desk.ended(&call).await["status"], "cancelled", "{version}");
        drop(news);
        bench = Some(desk.bench);
    }
}

#[tokio::test]
async fn a_client_that_hears_nothing_meanwhile_and_hangs_up_takes_it_back_too() {
    let world = World::new().await;
    let desk = Desk::new(&world, NEW).await;
    let params = json!({"name": "tool_write_file", "arguments": {"path": "a", "content": "x"}});
    let message = desk.client.message("tools/call", params, 7);
    let call = {
        let answer = desk.client.ask(Method::POST, Some(&message)).raw();
        let asked = async {
            let call = desk.asked_for().await;
            desk.bench.node.preview(&call, &json!({"exists": false})).await.ok()
        };
        tokio::pin!(answer, asked);
        tokio::select! {
            biased;
            call = &mut asked => call,
            _ = &mut answer => panic!("a person has to agree first"),
        }
    };
    assert_eq!(desk.ended(&call).await["status"], "cancelled");
}

#[tokio::test]
async fn who_only_looked_after_a_call_takes_nothing_back_by_going() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let told = desk.uses("tool_write_file", json!({"path": "a", "content": "", "wait_s": 0})).await;
    let call = desk.asked_for().await;
    desk.bench.node.preview(&call, &json!({"exists": false})).await.ok();
    let look = json!({"call_id": told.content["call_id"], "wait_s": 600});
    let mut news = desk.follows("tool_call_status", look, 7).await;
    assert!(progress(&news.next().await.expect("a word")).1.starts_with("waiting_approval: "));
    drop(news);
    // A second one waits as well, to its end.
    let look = json!({"call_id": told.content["call_id"], "wait_s": 600});
    let mut news = desk.follows("tool_call_status", look, 8).await;
    progress(&news.next().await.expect("a word"));
    let waiting = desk.bench.call(&call).await;
    desk.bench.approve(&waiting).await;
    let call = desk.asked_for().await;
    desk.does(&call, &json!({"success": true})).await;
    answer(&mut news).await.is("completed");
}

#[tokio::test]
async fn a_token_that_is_revoked_waits_no_longer_and_gets_nothing() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let (mut news, call) = desk.follows_a_waiting_write("a", 1).await;
    let path = format!("/my/tokens/{}", desk.token);
    assert_eq!(world.delete(&path).by(&desk.bench.owner).send().await.status, 204);
    let last = news.next().await.expect("an answer");
    let told = Told::of(&last["result"]);
    assert_eq!((&told.content["error"]["code"], told.is_error), (&json!("UNAVAILABLE"), true), "{last}");
    assert_eq!(desk.ended(&call).await["status"], "cancelled");
}

#[tokio::test]
async fn what_waits_when_the_house_closes_waits_when_it_is_back() {
    for version in ALL {
        let world = World::new().await;
        let (news, call) = {
            let mut desk = Desk::new(&world, version).await;
            desk.follows_a_waiting_write("a", 1).await
        };
        let world = world.reopened().await;
        drop(news);
        let owner = world.owner().await;
        let inbox = world.get("/my/approvals?status=pending").by(&owner).send().await.ok();
        assert_eq!(inbox["items"][0]["id"], call["approval_id"], "{version}: {inbox}");
    }
}
