//! Members hear at four fifths and at all, once a day each.

use super::scene::*;
use service::budgets;
use testkit::World;

async fn spend(world: &World, tokens: u64) {
    let reservation = reserve(&world.house, "ann", tokens).await.unwrap();
    budgets::settle(&world.house, &reservation, used(tokens)).await.unwrap();
}

async fn heard(world: &World) -> Vec<String> {
    alerts(&world.house, &workspace(LAB)).await.into_iter().map(|(kind, _)| kind).collect()
}

#[tokio::test]
async fn members_are_warned_at_four_fifths_and_told_at_all_once_a_day() {
    let world = lab(Some(daily(1_000))).await;
    world.clock.turn_to(at("2026-02-20T14:30:00Z"));
    spend(&world, 799).await;
    assert_eq!(heard(&world).await, [""; 0]);
    spend(&world, 1).await;
    assert_eq!(heard(&world).await, ["BUDGET_WARNING"]);
    spend(&world, 199).await;
    assert_eq!(heard(&world).await, ["BUDGET_WARNING"]);
    spend(&world, 1).await;
    assert_eq!(heard(&world).await, ["BUDGET_WARNING", "BUDGET_REACHED"]);
    for _ in 0..3 {
        assert!(reserve(&world.house, "bob", 1).await.is_err());
    }
    assert_eq!(heard(&world).await.len(), 2, "once");
    world.clock.turn_to(at("2026-02-21T00:00:00Z"));
    spend(&world, 1_000).await;
    assert_eq!(heard(&world).await[2..], ["BUDGET_WARNING", "BUDGET_REACHED"]);
    let numbers: Vec<u64> = alerts(&world.house, &workspace(LAB)).await.into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [1, 3, 5, 7], "each with an alert beside it");
}

#[tokio::test]
async fn a_call_that_is_refused_is_no_news_and_takes_none_away() {
    let world = lab(Some(daily(1_000))).await;
    assert!(reserve(&world.house, "bob", 1_000_000).await.is_err(), "one member asks for too much");
    let held = reserve(&world.house, "ann", 1_000).await.unwrap();
    assert!(reserve(&world.house, "bob", 1).await.is_err(), "all is set aside, and nothing spent");
    assert_eq!(heard(&world).await, [""; 0]);
    budgets::settle(&world.house, &held, used(800)).await.unwrap();
    assert!(reserve(&world.house, "bob", 201).await.is_err());
    assert_eq!(heard(&world).await, ["BUDGET_WARNING"]);
    let world = world.reopened().await;
    spend(&world, 200).await;
    assert_eq!(heard(&world).await, ["BUDGET_WARNING", "BUDGET_REACHED"], "when all is spent");
}

#[tokio::test]
async fn a_limit_that_is_set_below_what_is_spent_is_told_when_more_is() {
    let world = lab(Some(daily(1_000))).await;
    spend(&world, 500).await;
    let held = reserve(&world.house, "ann", 100).await.unwrap();
    world.declare(declaration(LAB, Some(daily(400)))).await;
    assert!(reserve(&world.house, "bob", 1).await.is_err());
    assert_eq!(heard(&world).await, [""; 0]);
    budgets::settle(&world.house, &held, used(1)).await.unwrap();
    assert_eq!(heard(&world).await, ["BUDGET_WARNING", "BUDGET_REACHED"]);
}

#[tokio::test]
async fn a_members_own_limit_is_nobody_elses_news() {
    let own = Some(domain::money::Micros(100));
    let world = lab(Some(domain::workspaces::Budget { member_daily: own, ..daily(1_000) })).await;
    spend(&world, 100).await;
    assert!(reserve(&world.house, "ann", 1).await.is_err());
    assert_eq!(heard(&world).await, [""; 0]);
}

#[tokio::test]
async fn a_later_workspace_of_the_same_name_was_told_nothing() {
    let world = lab(None).await;
    let made = serde_json::json!({"name": "den", "members": ["ann"], "budget": {"daily_usd": 0.001}});
    for _ in 0..2 {
        world.post("/admin/workspaces", &made).locally().send().await.ok();
        assert_eq!(alerts(&world.house, &workspace("den")).await, []);
        let held = budgets::reserve(&ctx(&world.house, "ann"), call("den", UNIT, 1_000)).await.unwrap();
        budgets::settle(&world.house, &held, used(1_000)).await.unwrap();
        let told = alerts(&world.house, &workspace("den")).await;
        assert_eq!(told, [("BUDGET_WARNING".to_owned(), 1), ("BUDGET_REACHED".to_owned(), 3)]);
        assert_eq!(world.delete("/admin/workspaces/den").locally().send().await.status, 204);
        world.clock.advance_s(1);
    }
}

#[tokio::test]
async fn alerts_come_in_the_streams_of_the_members_and_in_nobody_elses() {
    let world = lab(Some(daily(1_000))).await;
    let eve = world.member("eve").await;
    let token = |name: &'static str| {
        let ask = world.post("/my/tokens", &serde_json::json!({"user": name})).locally();
        async move { ask.send().await.ok()["token"].as_str().unwrap().to_owned() }
    };
    let (ann, bob) = (token("ann").await, token("bob").await);
    let mut streams = Vec::new();
    for member in [&ann, &bob] {
        streams.push(world.get("/my/events").by(member).stream().await);
    }
    let mut strangers = world.get("/my/events").by(&eve).stream().await;
    spend(&world, 1_000).await;
    for stream in &mut streams {
        let told = stream.take(4).await;
        let kinds: Vec<&str> = told.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["BUDGET_WARNING", "ALERT", "BUDGET_REACHED", "ALERT"]);
        assert_eq!([&told[1].data["alert"], &told[3].data["alert"]], ["budget_warning", "budget_reached"]);
        let data = &told[2].data;
        assert_eq!(
            (&data["workspace"], &data["limit_usd"], &data["spent_usd"]),
            (&LAB.into(), &0.001.into(), &0.001.into())
        );
        assert!(data["session"].is_null() && data["resets_at"].is_string() && data["day"].is_string());
    }
    world.session(&eve, "own", serde_json::json!({})).await;
    world.write(&eve, "own", "key", "value").await;
    assert_eq!(strangers.next().await.unwrap().kind, "CONTEXT_WRITTEN", "her own, and not the money of others");
}
