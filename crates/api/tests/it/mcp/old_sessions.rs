//! Sessions of the versions before 2026-07-28: whose they are, and how many there may be.

use super::clients::{Client, NEW, OLD, reply, uri};
use axum::http::Method;
use serde_json::json;
use testkit::World;

#[tokio::test]
async fn somebody_elses_session_is_as_unknown_as_one_that_never_was() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for version in OLD {
        let mut victim = Client::joins(&world, &owner, "plans", "subagent:victim", version).await;
        let mut news = victim.subscribe(&[uri("plans", "a")]).await;
        let same_seat = world.participant(&owner, "plans", "subagent:victim").await;
        let thieves = [
            owner.clone(),
            world.member(&format!("bea{}", version.replace('-', ""))).await,
            world.participant(&owner, "plans", "subagent:thief").await,
            same_seat,
        ];
        for thief in thieves {
            let mut with = Client::new(&world, &thief, version).await;
            let unknown = {
                with.session = Some("00000000-0000-4000-8000-000000000000".to_owned());
                answers_of(&with).await
            };
            with.session = victim.session.clone();
            assert_eq!(answers_of(&with).await, unknown, "{version}");
            assert!(unknown.iter().all(|(status, text)| *status == 404 && text.contains("-32001")), "{unknown:?}");
        }
        victim.write("a", "still mine").await;
        assert_eq!(news.updated().await, uri("plans", "a"), "and it still works");
    }
}

/// What each method says to this client's session.
async fn answers_of(client: &Client<'_>) -> Vec<(u16, String)> {
    let list = client.message("tools/list", json!({}), 7);
    let mut found = Vec::new();
    for (method, message) in [(Method::POST, Some(&list)), (Method::GET, None), (Method::DELETE, None)] {
        let got = reply(client.ask(method, message)).await;
        found.push((got.status.as_u16(), got.text));
    }
    found
}

#[tokio::test]
async fn a_session_that_was_ended_is_gone_and_so_is_one_whose_token_was_revoked() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let client = Client::new(&world, &owner, OLD[0]).await;
    assert_eq!(reply(client.ask(Method::DELETE, None)).await.status, 204);
    assert!(answers_of(&client).await.iter().all(|(status, _)| *status == 404));

    let issued = world.post("/my/tokens", &json!({})).by(&owner).send().await.ok();
    let token = issued["token"].as_str().expect("a token");
    let client = Client::new(&world, token, OLD[0]).await;
    let id = issued["id"].as_str().expect("an id");
    let mut news = client.stream().await;
    world.delete(&format!("/my/tokens/{id}")).by(&owner).send().await.ok();
    // That it is refused from now on is the token's end; that its stream ends is the session's.
    news.ends().await;
    assert!(answers_of(&client).await.iter().all(|(status, _)| *status == 401));
}

#[tokio::test]
async fn the_new_protocol_has_no_sessions_whatever_a_client_sends() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let victim = Client::joins(&world, &owner, "plans", "subagent:victim", OLD[0]).await;
    let mut client = Client::joins(&world, &owner, "plans", "subagent:a", NEW).await;
    for id in [victim.session.clone(), Some("made-up".to_owned())] {
        client.session = id;
        assert_eq!(client.write("a", "x").await["written_by"], "subagent:a");
        for method in [Method::GET, Method::DELETE] {
            let refused = reply(client.ask(method, None)).await;
            assert_eq!(refused.status, 405);
            assert_eq!(refused.headers["allow"], "POST");
        }
    }
    let message = client.message("tools/list", json!({}), 1);
    assert!(client.post(&message).await.headers.get("mcp-session-id").is_none());
}

#[tokio::test]
async fn a_person_has_at_most_a_hundred_sessions_and_the_longest_unused_goes_first() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mut first = Client::new(&world, &owner, OLD[0]).await;
    let second = Client::new(&world, &owner, OLD[0]).await;
    for _ in 0..98 {
        Client::new(&world, &owner, OLD[0]).await;
    }
    first.result("tools/list", json!({})).await;
    let hundred_and_first = Client::new(&world, &owner, OLD[0]).await;
    assert!(answers_of(&second).await.iter().all(|(status, _)| *status == 404), "it was the longest unused");
    first.result("tools/list", json!({})).await;
    drop(hundred_and_first);
    // Somebody else is not touched by that.
    let bea = world.member("bea").await;
    Client::new(&world, &bea, OLD[0]).await;
}

#[tokio::test]
async fn sessions_in_use_are_not_given_up() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(Client::new(&world, &owner, OLD[0]).await.stream().await);
    }
    let hello = json!({"protocolVersion": OLD[0], "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let ask = || super::clients::ask(&world, Method::POST, &owner).json(&message);
    ask().send().await.refused(429, "RATE_LIMITED");
    streams.pop();
    assert_eq!(reply(ask()).await.status, 200);
}
