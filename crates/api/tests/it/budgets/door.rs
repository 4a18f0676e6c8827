//! `GET /workspaces/{workspace}/budget`.

use super::scene::*;
use domain::ids::AgentId;
use domain::money::Micros;
use domain::workspaces::Budget;
use serde_json::{Value, json};
use service::budgets;
use testkit::World;

async fn token(world: &World, name: &str) -> String {
    let issued = world.post("/my/tokens", &json!({"user": name})).locally().send().await.ok();
    issued["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_budget_shows_what_is_spent_and_by_whom() {
    let budget = Budget {
        members: [(user("ann"), Micros(600_000))].into(),
        timezone: Some("Europe/Berlin".into()),
        ..daily(1_000_000)
    };
    let world = lab(Some(budget)).await;
    world.clock.turn_to(at("2026-02-20T14:30:00Z"));
    let (house, ann) = (&world.house, token(&world, "ann").await);
    let mut by_agent = call(LAB, UNIT, 500_000);
    by_agent.agent = Some(AgentId::parse("agt_1").unwrap());
    let spent = budgets::reserve(&ctx(house, "ann"), by_agent).await.unwrap();
    budgets::settle(house, &spent, used(250_000)).await.unwrap();
    reserve(house, "bob", 100_001).await.unwrap();
    let mut shown = world.get("/workspaces/lab/budget").by(&ann).send().await.ok();
    let days: Vec<Value> = shown["by_day"].as_array().unwrap().clone();
    assert_eq!((days.len(), &days[0]["day"]), (30, &json!("2026-01-22")), "every day of thirty");
    shown["by_day"] = json!([days[28], days[29]]);
    let expected = json!({
        "workspace": "lab", "limit_usd": 1.0, "spent_usd": 0.25, "reserved_usd": 0.100_001,
        "remaining_usd": 0.649_999, "unpriced_calls": 0, "day": "2026-02-20",
        "resets_at": "2026-02-20T23:00:00.000Z", "timezone": "Europe/Berlin",
        "by_agent": [
            {"agent": null, "spent_usd": 0.0, "reserved_usd": 0.100_001, "calls": 0, "unpriced_calls": 0},
            {"agent": "agt_1", "spent_usd": 0.25, "reserved_usd": 0.0, "calls": 1, "unpriced_calls": 0},
        ],
        "by_member": [
            {"user": "usr_ann", "spent_usd": 0.25, "reserved_usd": 0.0, "limit_usd": 0.6, "remaining_usd": 0.35,
             "calls": 1, "unpriced_calls": 0},
            {"user": "usr_bob", "spent_usd": 0.0, "reserved_usd": 0.100_001, "limit_usd": null, "remaining_usd": null,
             "calls": 0, "unpriced_calls": 0},
        ],
        "by_day": [
            {"day": "2026-02-19", "spent_usd": 0.0, "calls": 0, "unpriced_calls": 0},
            {"day": "2026-02-20", "spent_usd": 0.25, "calls": 1, "unpriced_calls": 0},
        ],
    });
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn everybodys_own_workspace_has_five_dollars_and_one_without_a_budget_has_no_limit() {
    let world = lab(None).await;
    let ann = token(&world, "ann").await;
    let own = world.get("/workspaces/personal/budget").by(&ann).send().await.ok();
    let told = (&own["workspace"], &own["limit_usd"], &own["remaining_usd"], &own["timezone"]);
    assert_eq!(told, (&json!("personal-usr_ann"), &json!(5.0), &json!(5.0), &json!("UTC")));
    let lab = world.get("/workspaces/lab/budget").by(&ann).send().await.ok();
    assert_eq!((&lab["limit_usd"], &lab["remaining_usd"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn it_is_for_members_and_admins_and_for_others_there_is_no_such_workspace() {
    let world = lab(Some(daily(1_000))).await;
    let (owner, eve, bob) = (world.owner().await, world.member("eve").await, token(&world, "bob").await);
    for (path, who) in [("lab", &owner), ("lab", &bob), ("personal-usr_bob", &bob), ("personal-usr_bob", &owner)] {
        world.get(&format!("/workspaces/{path}/budget")).by(who).send().await.ok();
    }
    for path in ["lab", "personal-usr_bob", "nowhere", "No%20Name", "%00"] {
        let answer = world.get(&format!("/workspaces/{path}/budget")).by(&eve).send().await;
        answer.refused(404, "WORKSPACE_NOT_FOUND");
    }
    world.get("/workspaces/nowhere/budget").by(&owner).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    let session = world.session(&bob, "plans", json!({})).await;
    let inside = world.participant(&bob, session["id"].as_str().unwrap(), "subagent:review").await;
    world.get("/workspaces/lab/budget").by(&inside).send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn the_figures_count_what_was_granted_and_refused() {
    let world = lab(Some(daily(10))).await;
    let owner = world.owner().await;
    reserve(&world.house, "ann", 10).await.unwrap();
    assert!(reserve(&world.house, "ann", 10).await.is_err());
    let text = world.get("/metrics").by(&owner).send().await.text;
    for line in ["longhouse_reservations_granted_total 1", "longhouse_reservations_refused_total 1"] {
        assert!(text.contains(line), "{line}");
    }
}
