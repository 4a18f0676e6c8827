//! Those who should get nothing.

use super::clients::{ALL, Client, NEW, OLD, ask, reply, uri};
use axum::http::Method;
use serde_json::{Value, json};
use testkit::World;

const CANARY: &str = "canary_1c77";

/// The owner with a session that nobody else may see into.
async fn secrets(world: &World) -> String {
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", CANARY, CANARY).await;
    owner
}

#[tokio::test]
async fn without_a_good_token_nobody_gets_in() {
    let world = World::new().await;
    let owner = secrets(&world).await;
    let client = Client::new(&world, &owner, NEW).await;
    let list = client.message("tools/list", json!({}), 1);
    let channel = world.post("/my/tokens", &json!({"channel": "http"})).locally().send().await.ok();
    let channel = channel["token"].as_str().expect("a token").to_owned();
    let tampered = format!("{}x", &owner[..owner.len() - 1]);
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let with = |token: &str| {
            let ask = ask(&world, method.clone(), token).header("mcp-protocol-version", NEW);
            if method == Method::POST { ask.json(&list) } else { ask }
        };
        with(&owner).without("authorization").send().await.refused(401, "UNAUTHENTICATED");
        with(&tampered).send().await.refused(401, "UNAUTHENTICATED");
        with("nonsense").send().await.refused(401, "UNAUTHENTICATED");
        with(&channel).send().await.refused(403, "FORBIDDEN");
        let answer = with(&owner).without("authorization").send().await;
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let in_the_address = world.ask(Method::POST, &format!("/mcp?token={owner}")).json(&list);
    in_the_address.send().await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn pages_of_other_sites_and_other_names_for_this_server_are_refused_bearer_or_not() {
    let world = World::new().await;
    let owner = secrets(&world).await;
    let client = Client::new(&world, &owner, NEW).await;
    let list = client.message("tools/list", json!({}), 1);
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://", ""] {
        client.ask(Method::POST, Some(&list)).header("origin", origin).send().await.refused(403, "FORBIDDEN");
        client.ask(Method::GET, None).header("origin", origin).send().await.refused(403, "FORBIDDEN");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io"] {
        client.ask(Method::POST, Some(&list)).header("host", host).send().await.refused(421, "FOREIGN_HOST");
    }
    for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:7700"] {
        client.ask(Method::POST, Some(&list)).header("origin", origin).send().await.ok();
    }
}

#[tokio::test]
async fn a_configured_public_name_is_answered_to_by_the_library_too() {
    let hosts = api::Hosts::new(["House.Example".to_owned()]);
    let world = World::with(api::Options { hosts, ..api::Options::default() }).await;
    let owner = secrets(&world).await;
    for version in ALL {
        let client = Client::new(&world, &owner, version).await;
        let list = client.message("tools/list", json!({}), 1);
        for (host, origin) in
            [("house.example", "https://house.example"), ("HOUSE.example:8443", "http://house.example:9")]
        {
            let ask = client.ask(Method::POST, Some(&list)).header("host", host).header("origin", origin);
            assert_eq!(reply(ask).await.status, 200, "{host} {origin}");
        }
    }
}

#[tokio::test]
async fn a_stranger_learns_nothing_by_any_method() {
    let world = World::new().await;
    let owner = secrets(&world).await;
    world.session(&owner, "elsewhere", json!({})).await;
    let bea = world.member("bea").await;
    let inside_another = world.participant(&owner, "elsewhere", "subagent:a").await;
    let arguments = |action: &str| json!({"action": action, "key": CANARY, "session": "plans"});
    for version in ALL {
        for token in [&bea, &inside_another] {
            let mut stranger = Client::new(&world, token, version).await;
            let mut told: Vec<Value> = Vec::new();
            for action in ["read", "delete", "read_history"] {
                let refused = stranger.context(arguments(action)).await;
                assert_eq!(refused["error"]["code"], "SESSION_NOT_FOUND");
                told.push(refused);
            }
            told.push(stranger.request("resources/list", json!({})).await);
            let guide = json!({"name": "shared_context_guide", "arguments": {"session": "plans"}});
            told.push(stranger.request("prompts/get", guide).await);
            told.push(stranger.error("resources/read", json!({"uri": uri("plans", CANARY)})).await);
            assert!(told.iter().all(|one| !one.to_string().contains(CANARY)), "{told:?}");
        }
    }
    let left = world.context(&owner, "plans", &json!({"action": "read", "key": CANARY})).send().await.ok();
    assert_eq!(left["version"], 1);
}

#[tokio::test]
async fn an_old_session_gives_nobody_the_rights_of_who_opened_it() {
    let world = World::new().await;
    let owner = secrets(&world).await;
    // Two tokens of one person, for two participants: the identity is that of each request's token.
    let first = world.participant(&owner, "plans", "subagent:first").await;
    let second = world.participant(&owner, "plans", "subagent:second").await;
    let mut client = Client::new(&world, &first, OLD[1]).await;
    client.write("mine", "x").await;
    client.token = second;
    let message =
        client.message("tools/call", json!({"name": "shared_context", "arguments": {"action": "list_keys"}}), 9);
    assert_eq!(client.post(&message).await.status, 404);
}

#[tokio::test]
async fn how_often_one_may_ask_counts_here_too() {
    let rate_limit = api::RateLimit::PerSecond { rate: 5.try_into().unwrap(), burst: 5.try_into().unwrap() };
    let world = World::with(api::Options { rate_limit, ..api::Options::default() }).await;
    let owner = world.owner().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut limited = 0;
    for _ in 0..20 {
        let answer = ask(&world, Method::POST, &owner).json(&list).send().await;
        limited += usize::from(answer.status == 429);
    }
    assert!(limited >= 10, "{limited}");
}
