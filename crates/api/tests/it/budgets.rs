//! Money is set aside, settled, released; never more than the day's limit.

mod alerts;
mod damage;
mod door;
mod kill;
mod model;
mod scene;

use domain::Code;
use domain::ids::{AgentId, SessionId, WorkspaceId};
use domain::ledger::CallState;
use domain::money::Micros;
use domain::prices::Usage;
use domain::workspaces::Budget;
use scene::*;
use service::budgets::{self, OVERDUE_AFTER_S, Reservation};
use std::time::Duration;

fn code<T: std::fmt::Debug>(outcome: service::Result<T>) -> Code {
    outcome.expect_err("refused").code()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_at_once_on_a_budget_for_ten_are_ten_and_no_more() {
    let world = lab(Some(daily(1_000))).await;
    let asked = (0..50).map(|number| {
        let house = world.house.clone();
        tokio::spawn(async move { reserve(&house, if number % 2 == 0 { "ann" } else { "bob" }, 100).await })
    });
    let mut granted = Vec::new();
    for asked in asked.collect::<Vec<_>>() {
        match asked.await.unwrap() {
            Ok(reservation) => granted.push(reservation),
            Err(error) => assert_eq!(error.code(), Code::BudgetExceeded),
        }
    }
    assert_eq!(granted.len(), 10);
    assert_eq!(tally(&world.house).await, (0, 1_000));
    let ended = granted.into_iter().map(|reservation| {
        let house = world.house.clone();
        tokio::spawn(async move { budgets::settle(&house, &reservation, used(100)).await })
    });
    for ended in ended.collect::<Vec<_>>() {
        assert_eq!(ended.await.unwrap().unwrap(), Some(Micros(100)));
    }
    assert_eq!(tally(&world.house).await, (1_000, 0));
    assert_eq!(code(reserve(&world.house, "ann", 1).await), Code::BudgetExceeded);
    assert_counted(&world.house).await;
}

#[tokio::test]
async fn what_a_call_really_cost_is_booked_once_also_if_it_is_more_than_was_set_aside() {
    let world = lab(Some(daily(1_000))).await;
    let house = &world.house;
    let (less, more) = (reserve(house, "ann", 400).await.unwrap(), reserve(house, "bob", 600).await.unwrap());
    assert_eq!(tally(house).await, (0, 1_000));
    assert_eq!(budgets::settle(house, &less, used(150)).await.unwrap(), Some(Micros(150)));
    assert_eq!(tally(house).await, (150, 600));
    assert_eq!(budgets::settle(house, &less, used(399)).await.unwrap(), Some(Micros(150)), "said twice");
    budgets::release(house, &less).await.unwrap();
    assert_eq!(tally(house).await, (150, 600), "nothing changes it any more");
    assert_eq!(budgets::settle(house, &more, used(5_000)).await.unwrap(), Some(Micros(5_000)));
    assert_eq!(tally(house).await, (5_150, 0), "more than the limit, because it is true");
    let view = view(house).await;
    assert_eq!((view.remaining(), view.today.calls), (Some(Micros(0)), 2));
    assert_counted(house).await;
}

#[tokio::test]
async fn what_was_not_asked_costs_nothing() {
    let world = lab(Some(daily(1_000))).await;
    let house = &world.house;
    let reservation = reserve(house, "ann", 1_000).await.unwrap();
    assert_eq!(code(reserve(house, "bob", 1).await), Code::BudgetExceeded);
    budgets::release(house, &reservation).await.unwrap();
    budgets::release(house, &reservation).await.unwrap();
    assert_eq!(budgets::settle(house, &reservation, used(7)).await.unwrap(), None, "it was not asked");
    assert_eq!(tally(house).await, (0, 0));
    reserve(house, "bob", 1_000).await.unwrap();
    assert_counted(house).await;
}

#[tokio::test]
async fn a_member_has_a_limit_of_their_own_and_a_new_limit_holds_for_the_next_call() {
    let budget = Budget { member_daily: Some(Micros(300)), ..daily(1_000) };
    let world = lab(Some(budget.clone())).await;
    let house = &world.house;
    reserve(house, "ann", 300).await.unwrap();
    let refusal = reserve(house, "ann", 1).await.unwrap_err().into_refusal();
    assert_eq!((refusal.code, &refusal.details["whose"]), (Code::BudgetExceeded, &"member".into()));
    reserve(house, "bob", 300).await.unwrap();
    let more = Budget { members: [(user("ann"), Micros(500))].into(), ..budget };
    world.declare(declaration(LAB, Some(more))).await;
    reserve(house, "ann", 200).await.unwrap();
    assert_eq!(code(reserve(house, "bob", 1).await), Code::BudgetExceeded, "that was for ann");
    world.declare(declaration(LAB, Some(daily(100)))).await;
    assert_eq!(code(reserve(house, "bob", 1).await), Code::BudgetExceeded);
    world.declare(declaration(LAB, None)).await;
    reserve(house, "bob", 1_000_000).await.unwrap();
}

#[tokio::test]
async fn a_refusal_says_whose_limit_it_is_what_is_left_and_when_it_starts_anew() {
    let world = lab(Some(Budget { timezone: Some("Europe/Berlin".into()), ..daily(5_000_000) })).await;
    world.clock.turn_to(at("2026-02-20T14:30:00Z"));
    let house = &world.house;
    let spent = reserve(house, "ann", 4_000_000).await.unwrap();
    budgets::settle(house, &spent, used(4_000_000)).await.unwrap();
    reserve(house, "ann", 580_000).await.unwrap();
    let refusal = reserve(house, "bob", 610_000).await.unwrap_err().into_refusal();
    assert_eq!(
        refusal.message,
        "the workspace's budget for today has 0.42 of 5.00 USD left (0.58 USD of it is set aside for calls under way), \
         and this call may cost up to 0.61 USD; it starts anew at 2026-02-20T23:00:00.000Z"
    );
    assert_eq!(refusal.details["remaining_usd"], 0.42);
    assert_eq!(refusal.details["resets_at"], "2026-02-20T23:00:00.000Z");
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_where_there_is_a_limit_and_shown_where_there_is_none() {
    let world = lab(Some(Budget { member_daily: Some(Micros(9)), ..Budget::default() })).await;
    let unheard_of = |house| async move { budgets::reserve(&ctx(house, "ann"), call(LAB, "unheard-of", 5)).await };
    let refusal = unheard_of(&world.house).await.unwrap_err().into_refusal();
    assert_eq!(refusal.code, Code::PriceUnknown);
    assert!(refusal.message.contains("models.prices") && refusal.message.contains("0 is allowed"));
    world.declare(declaration(LAB, None)).await;
    let reservation = unheard_of(&world.house).await.unwrap();
    assert_eq!(reservation.reserved, None);
    assert_eq!(budgets::settle(&world.house, &reservation, used(5)).await.unwrap(), None);
    let view = view(&world.house).await;
    assert_eq!((view.today.tally.spent, view.today.calls, view.today.unpriced_calls), (Micros(0), 1, 1));
    let row = row(&world.house, &workspace(LAB), &reservation.id).await.unwrap();
    assert_eq!((row.state, row.spent, row.usage), (CallState::Settled, None, Some(used(5))));
}

#[tokio::test]
async fn what_costs_nothing_is_never_refused() {
    let world = lab(Some(daily(10))).await;
    let house = &world.house;
    let over = reserve(house, "ann", 10).await.unwrap();
    budgets::settle(house, &over, used(50)).await.unwrap();
    for model in ["demo", "gratis"] {
        let free = budgets::reserve(&ctx(house, "ann"), call(LAB, model, 1_000_000)).await.unwrap();
        assert_eq!(budgets::settle(house, &free, used(1_000_000)).await.unwrap(), Some(Micros(0)));
    }
    assert_eq!(view(house).await.today.calls, 3);
}

#[tokio::test]
async fn no_number_is_too_large() {
    let world = lab(Some(daily(Micros::MOST.0))).await;
    let house = &world.house;
    let most = u64::MAX;
    let absurd = || budgets::ReserveCall { prompt_tokens: most, max_tokens: most, ..call(LAB, UNIT, 0) };
    let spent = reserve(house, "ann", 1).await.unwrap();
    assert_eq!(code(budgets::reserve(&ctx(house, "ann"), absurd()).await), Code::BudgetExceeded);
    let reported = Usage { input_tokens: most, output_tokens: most };
    assert_eq!(budgets::settle(house, &spent, reported).await.unwrap(), Some(Micros::MOST));
    world.declare(declaration(LAB, None)).await;
    for _ in 0..3 {
        let held = budgets::reserve(&ctx(house, "ann"), absurd()).await.unwrap();
        assert_eq!(held.reserved, Some(Micros::MOST));
    }
    let view = view(house).await;
    assert_eq!(view.by_agent[0].counters.tally, view.today.tally);
    assert_counted(house).await;
}

#[tokio::test]
async fn only_members_spend_and_a_strangers_workspace_is_not_found() {
    let world = lab(Some(daily(1_000))).await;
    world.member("eve").await;
    let house = &world.house;
    assert_eq!(code(reserve(house, "eve", 1).await), Code::WorkspaceNotFound);
    let nowhere = budgets::reserve(&ctx(house, "ann"), call("nowhere", UNIT, 1)).await;
    assert_eq!(code(nowhere), Code::WorkspaceNotFound);
    assert_eq!(code(budgets::look(&ctx(house, "eve"), LAB).await), Code::WorkspaceNotFound);
    let held = reserve(house, "bob", 1).await.unwrap();
    let mut without_bob = declaration(LAB, Some(daily(1_000)));
    without_bob.workspaces.get_mut(&workspace(LAB)).unwrap().members = vec![user("ann")];
    world.declare(without_bob).await;
    assert_eq!(code(reserve(house, "bob", 1).await), Code::WorkspaceNotFound);
    budgets::settle(house, &held, used(1)).await.unwrap();
    assert_eq!(tally(house).await, (1, 0), "what was begun is booked all the same");
}

#[tokio::test]
async fn a_house_that_stopped_counts_what_was_under_way_as_spent() {
    let world = lab(Some(daily(1_000))).await;
    let settled = reserve(&world.house, "ann", 100).await.unwrap();
    let left = reserve(&world.house, "bob", 200).await.unwrap();
    budgets::settle(&world.house, &settled, used(10)).await.unwrap();
    let world = world.reopened().await;
    assert_eq!(tally(&world.house).await, (210, 0));
    let row = row(&world.house, &workspace(LAB), &left.id).await.unwrap();
    assert_eq!((row.state, row.spent), (CallState::Assumed, Some(Micros(200))));
    assert_counted(&world.house).await;
    let world = world.reopened().await;
    assert_eq!(tally(&world.house).await, (210, 0), "once");
}

#[tokio::test]
async fn a_call_that_nobody_ends_counts_as_spent_after_a_quarter_of_an_hour_until_somebody_knows_better() {
    let world = lab(Some(Budget { timezone: Some("Europe/Berlin".into()), ..daily(1_000) })).await;
    world.clock.turn_to(at("2026-02-20T14:30:00Z"));
    let house = &world.house;
    let calls: Vec<Reservation> = vec![
        reserve(house, "ann", 100).await.unwrap(),
        reserve(house, "bob", 200).await.unwrap(),
        reserve(house, "bob", 300).await.unwrap(),
    ];
    let first = budgets::end_overdue_calls_once(house).await.unwrap();
    assert_eq!(first, Some(Duration::from_secs(OVERDUE_AFTER_S)));
    world.clock.advance_s(OVERDUE_AFTER_S.cast_signed() - 1);
    budgets::end_overdue_calls_once(house).await.unwrap();
    assert_eq!(tally(house).await, (0, 600));
    world.clock.advance_s(1);
    assert_eq!(budgets::end_overdue_calls_once(house).await.unwrap(), None);
    assert_eq!(tally(house).await, (600, 0));
    budgets::settle(house, &calls[0], used(130)).await.unwrap();
    budgets::release(house, &calls[1]).await.unwrap();
    assert_eq!(tally(house).await, (430, 0), "what was assumed is corrected");
    assert_counted(house).await;
}

#[tokio::test]
async fn a_call_counts_against_the_day_it_was_made_on() {
    let world = lab(Some(Budget { timezone: Some("Europe/Berlin".into()), ..daily(1_000) })).await;
    world.clock.turn_to(at("2026-03-28T22:59:59Z"));
    let house = &world.house;
    let late = reserve(house, "ann", 1_000).await.unwrap();
    world.clock.advance_s(1);
    assert_eq!(view(house).await.resets_at, at("2026-03-29T22:00:00Z"), "a day of 23 hours");
    reserve(house, "ann", 1_000).await.unwrap();
    budgets::settle(house, &late, used(700)).await.unwrap();
    let view = view(house).await;
    assert_eq!((view.today.tally.spent, view.today.tally.reserved), (Micros(0), Micros(1_000)));
    let yesterday = &view.by_day[28];
    assert_eq!((yesterday.day.to_string(), yesterday.counters.tally.spent), ("2026-03-28".to_owned(), Micros(700)));
}

#[tokio::test]
async fn the_ledger_stays_when_people_agents_sessions_and_workspaces_go() {
    let world = lab(Some(daily(1_000))).await;
    let eve = world.member("eve").await;
    let project = world.project(&eve, "garden").await;
    let agent = world.agent(&eve, "garden", serde_json::json!({"name": "spender"})).await;
    world.session(&eve, "plans", serde_json::json!({})).await;
    let mut personal = call("personal-usr_eve", UNIT, 100);
    personal.agent = Some(AgentId::parse(agent["id"].as_str().unwrap()).unwrap());
    personal.project = Some(domain::ids::ProjectId::parse(project["id"].as_str().unwrap()).unwrap());
    personal.session = Some(SessionId::parse("plans").unwrap());
    let (house, own) = (&world.house, workspace("personal-usr_eve"));
    let spent = budgets::reserve(&ctx(house, "eve"), personal).await.unwrap();
    let open = budgets::reserve(&ctx(house, "eve"), call("personal-usr_eve", UNIT, 7)).await.unwrap();
    budgets::settle(house, &spent, used(42)).await.unwrap();
    world.delete("/my/projects/garden").by(&eve).send().await;
    world.delete("/sessions/plans").by(&eve).send().await;
    world.delete("/admin/users/eve").locally().send().await;
    let kept = row(house, &own, &spent.id).await.unwrap();
    assert_eq!((kept.spent, kept.origin.agent.unwrap().as_str()), (Some(Micros(42)), agent["id"].as_str().unwrap()));
    budgets::settle(house, &open, used(7)).await.unwrap();
    assert_eq!(row(house, &own, &open.id).await.unwrap().spent, Some(Micros(7)), "and is still written");
    world
        .post("/admin/workspaces", &serde_json::json!({"name": "den", "members": ["ann"]}))
        .locally()
        .send()
        .await
        .ok();
    let in_den = budgets::reserve(&ctx(house, "ann"), call("den", UNIT, 9)).await.unwrap();
    world.delete("/admin/workspaces/den").locally().send().await;
    let den = WorkspaceId::from_trusted(format!("den@{}", house.now().as_ms()));
    assert_eq!(budgets::settle(house, &in_den, used(3)).await.unwrap(), None, "it has gone where nobody reaches it");
    world.clock.advance_s(OVERDUE_AFTER_S.cast_signed());
    budgets::end_overdue_calls_once(house).await.unwrap();
    let retired = row(house, &den, &in_den.id).await.unwrap();
    assert_eq!((retired.state, retired.spent), (CallState::Assumed, Some(Micros(9))), "and ends there");
    assert_eq!(code(budgets::look(&ctx(house, "ann"), "den").await), Code::WorkspaceNotFound);
    let lab_call = reserve(house, "ann", 5).await.unwrap();
    world.declare(domain::rules::Declaration::default()).await;
    assert_eq!(code(reserve(house, "ann", 5).await), Code::WorkspaceNotFound, "the workspace is shut");
    budgets::settle(house, &lab_call, used(5)).await.unwrap();
    assert_eq!(row(house, &workspace(LAB), &lab_call.id).await.unwrap().spent, Some(Micros(5)));
    assert_counted(house).await;
}

#[tokio::test]
async fn a_copy_of_the_house_has_the_ledger_and_ends_what_was_under_way_in_time() {
    let world = lab(Some(daily(1_000))).await;
    let settled = reserve(&world.house, "ann", 100).await.unwrap();
    budgets::settle(&world.house, &settled, used(77)).await.unwrap();
    reserve(&world.house, "bob", 200).await.unwrap();
    let backup = world.folder().join("backup");
    world.post("/admin/backup", &serde_json::json!({"path": backup})).locally().send().await.ok();
    let copy = world.restored(&backup, &world.folder().join("restored")).await;
    assert_eq!(tally(&copy).await, (77, 200), "another server's call: it may still be under way");
    world.clock.advance_s(OVERDUE_AFTER_S.cast_signed());
    budgets::end_overdue_calls_once(&copy).await.unwrap();
    assert_counted(&copy).await;
    let day: u64 = view(&copy).await.by_day.iter().map(|day| day.counters.tally.spent.0).sum();
    assert_eq!(day, 277);
}
