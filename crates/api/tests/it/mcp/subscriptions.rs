//! Subscriptions in both generations of the protocol.

use super::clients::{ALL, Client, NEW, News, OLD, uri};
use axum::http::Method;
use serde_json::{Value, json};
use testkit::World;

#[tokio::test]
async fn a_subscriber_hears_of_writes_deletions_and_expiry_of_its_keys_and_of_no_others() {
    let world = World::new().await;
    let owner = world.owner().await;
    for (number, version) in ALL.into_iter().enumerate() {
        let session = format!("plans-{number}");
        world.session(&owner, &session, json!({})).await;
        let mut person = Client::new(&world, &owner, version).await;
        let mut news = person.subscribe(&[uri(&session, "a"), uri(&session, "b")]).await;
        world.write(&owner, &session, "other", "x").await;
        world.write(&owner, &session, "a", "one").await;
        assert_eq!(news.updated().await, uri(&session, "a"), "{version}");
        let short = json!({"action": "write", "key": "b", "value": "soon gone", "ttl_seconds": 5});
        world.context(&owner, &session, &short).send().await.ok();
        assert_eq!(news.updated().await, uri(&session, "b"));
        world.context(&owner, &session, &json!({"action": "delete", "key": "a"})).send().await.ok();
        assert_eq!(news.updated().await, uri(&session, "a"));
        world.clock.advance_s(6);
        // The clock of a test moves nobody: somebody has to look.
        world.context(&owner, &session, &json!({"action": "list_keys"})).send().await.ok();
        assert_eq!(news.updated().await, uri(&session, "b"));
        news.is_silent().await;
    }
}

#[tokio::test]
async fn those_who_asked_hear_that_keys_came_and_went() {
    let world = World::new().await;
    let owner = world.owner().await;
    for version in ALL {
        let session = format!("plans-{version}");
        world.session(&owner, &session, json!({})).await;
        let mut agent = Client::joins(&world, &owner, &session, "subagent:a", version).await;
        let mut news = match version {
            NEW => agent.listen(json!({"resourcesListChanged": true, "toolsListChanged": true})).await,
            _ => (agent.stream().await, json!({"resourcesListChanged": true})),
        };
        assert_eq!(news.1, json!({"resourcesListChanged": true}), "only what is offered is promised");
        let changed = |message: Option<Value>| {
            assert_eq!(message.expect("news")["method"], "notifications/resources/list_changed", "{version}");
        };
        world.write(&owner, &session, "a", "one").await;
        changed(news.0.next().await);
        world.write(&owner, &session, "a", "two").await;
        world.context(&owner, &session, &json!({"action": "delete", "key": "a"})).send().await.ok();
        changed(news.0.next().await);
        news.0.is_silent().await;
    }
}

#[tokio::test]
async fn nothing_is_missed_between_the_acknowledgment_and_the_first_news() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for version in ALL {
        for round in 0..20 {
            let mut person = Client::new(&world, &owner, version).await;
            let mut news = person.subscribe(&[uri("plans", "a")]).await;
            world.write(&owner, "plans", "a", &round.to_string()).await;
            assert_eq!(news.updated().await, uri("plans", "a"), "{version} {round}");
        }
    }
}

/// Whatever ends the right to see, ends the stream.
async fn a_stream_in(world: &World, owner: &str, session: &str, version: &'static str) -> (News, String) {
    let body = json!({"session": session, "participant": "subagent:a"});
    let issued = world.post("/my/tokens", &body).by(owner).send().await.ok();
    let mut agent = Client::new(world, issued["token"].as_str().expect("a token"), version).await;
    let news = agent.subscribe(&[uri(session, "a")]).await;
    (news, issued["id"].as_str().expect("an id").to_owned())
}

#[tokio::test]
async fn a_stream_ends_when_the_token_is_revoked() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for version in ALL {
        let (mut news, token) = a_stream_in(&world, &owner, "plans", version).await;
        world.delete(&format!("/my/tokens/{token}")).by(&owner).send().await.ok();
        world.write(&owner, "plans", "a", "after").await;
        news.ends().await;
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_session_and_with_the_house() {
    for version in ALL {
        let world = World::new().await;
        let owner = world.owner().await;
        world.session(&owner, "plans", json!({})).await;
        let (mut news, _) = a_stream_in(&world, &owner, "plans", version).await;
        world.delete("/sessions/plans").by(&owner).send().await.ok();
        news.ends().await;
        world.session(&owner, "others", json!({})).await;
        let (mut news, _) = a_stream_in(&world, &owner, "others", version).await;
        world.house.end_streams();
        news.ends().await;
    }
}

#[tokio::test]
async fn a_key_that_is_hidden_from_the_subscriber_makes_no_news() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({"acl": true})).await;
    for version in ALL {
        let mut agent = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        let mut news = match version {
            NEW => {
                let wanted = json!({"resourceSubscriptions": [uri("plans", "a")], "resourcesListChanged": true});
                agent.listen(wanted).await.0
            }
            _ => agent.subscribe(&[uri("plans", "a")]).await,
        };
        let write =
            |readable_by: Value| json!({"action": "write", "key": "a", "value": "x", "readable_by": readable_by});
        world.context(&owner, "plans", &write(json!(["orchestrator", "user:*"]))).send().await.ok();
        news.is_silent().await;
        world.context(&owner, "plans", &write(json!(["*"]))).send().await.ok();
        let told = [news.next().await.expect("news"), news.next().await.expect("news")];
        let methods: Vec<_> = told.iter().map(|one| one["method"].as_str().expect("a method")).collect();
        assert!(methods.contains(&"notifications/resources/updated"), "{methods:?}");
        assert!(methods.contains(&"notifications/resources/list_changed"), "it can be seen now: {methods:?}");
        world.context(&owner, "plans", &json!({"action": "delete", "key": "a"})).send().await.ok();
    }
}

#[tokio::test]
async fn a_session_that_is_not_ones_own_makes_no_news() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.session(&bea, "private", json!({})).await;
    world.session(&owner, "plans", json!({})).await;
    for version in OLD {
        let mut agent = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        let unseen = agent.error("resources/subscribe", json!({"uri": uri("private", "a")})).await;
        let unknown = agent.error("resources/subscribe", json!({"uri": uri("nowhere", "a")})).await;
        assert_eq!((&unseen["code"], &unseen), (&json!(-32002), &unknown));
    }
    let mut agent = Client::joins(&world, &owner, "plans", "subagent:a", NEW).await;
    let (mut news, _) = agent.listen(json!({"resourceSubscriptions": [uri("private", "a")]})).await;
    world.write(&bea, "private", "a", "CANARY").await;
    news.is_silent().await;
}

#[tokio::test]
async fn an_old_client_can_unsubscribe_and_a_new_one_hangs_up() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let mut old = Client::new(&world, &owner, OLD[0]).await;
    let mut news = old.subscribe(&[uri("plans", "a"), uri("plans", "b")]).await;
    old.result("resources/unsubscribe", json!({"uri": uri("plans", "a")})).await;
    world.write(&owner, "plans", "a", "x").await;
    world.write(&owner, "plans", "b", "x").await;
    assert_eq!(news.updated().await, uri("plans", "b"));
    assert_eq!(old.error("subscriptions/listen", json!({"notifications": {}})).await["code"], -32601);
    let mut new = Client::new(&world, &owner, NEW).await;
    assert_eq!(new.error("resources/subscribe", json!({"uri": uri("plans", "a")})).await["code"], -32601);
    let open = |text: String| text.lines().find(|line| line.starts_with("longhouse_event_streams ")).map(str::to_owned);
    drop(news);
    let news = new.subscribe(&[uri("plans", "a")]).await;
    let counted = world.get("/metrics").by(&owner).send().await.text;
    assert_eq!(open(counted).as_deref(), Some("longhouse_event_streams 1"));
    drop(news);
    let counted = world.get("/metrics").by(&owner).send().await.text;
    assert_eq!(open(counted).as_deref(), Some("longhouse_event_streams 0"));
}

#[tokio::test]
async fn ten_thousand_subscriptions_are_a_few_hundred() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let many: Vec<String> = (0..10_000).map(|number| uri("plans", &format!("k{number}"))).collect();
    let mut new = Client::new(&world, &owner, NEW).await;
    let (mut news, accepted) = new.listen(json!({"resourceSubscriptions": many})).await;
    let accepted = accepted["resourceSubscriptions"].as_array().expect("addresses").clone();
    assert_eq!(accepted.len(), 256);
    world.write(&owner, "plans", "k9999", "beyond").await;
    world.write(&owner, "plans", "k255", "within").await;
    assert_eq!(news.updated().await, uri("plans", "k255"));
    let sessions: Vec<String> = (0..100).map(|number| uri(&format!("s{number}"), "a")).collect();
    let (_news, accepted) = new.listen(json!({"resourceSubscriptions": sessions})).await;
    assert_eq!(accepted["resourceSubscriptions"].as_array().map(Vec::len), Some(16));

    let mut old = Client::new(&world, &owner, OLD[0]).await;
    let mut refused = 0;
    for address in &many[..300] {
        let answer = old.request("resources/subscribe", json!({"uri": address})).await;
        refused += usize::from(answer["error"].is_object());
    }
    assert_eq!(refused, 300 - 256);
}

#[tokio::test]
async fn a_person_has_at_most_a_hundred_streams_of_subscriptions() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mut client = Client::new(&world, &owner, NEW).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(client.listen(json!({})).await.0);
    }
    let message = client.message("subscriptions/listen", json!({"notifications": {}}), 1);
    client.ask(Method::POST, Some(&message)).send().await.refused(429, "RATE_LIMITED");
    open.pop();
    client.listen(json!({})).await;
}
