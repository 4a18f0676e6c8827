//! A workspace `lab` of ann and bob with a budget, and a model of which a token costs a micro-dollar.

use domain::budgets::Tally;
use domain::callers::{Caller, Credential};
use domain::ids::{ModelCallId, UserId, WorkspaceId};
use domain::ledger::ModelCall;
use domain::money::Micros;
use domain::participants::Participant;
use domain::prices::Usage;
use domain::roles::Role;
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace, HouseRules, Models, Price};
use domain::times::Timestamp;
use domain::workspaces::{Budget, WorkspaceSettings};
use service::budgets::{self, BudgetView, Reservation, ReserveCall};
use service::{Ctx, House};
use std::sync::Arc;
use testkit::World;

pub(super) const LAB: &str = "lab";
/// One micro-dollar a token.
pub(super) const UNIT: &str = "unit";
/// Prices that never come out even.
pub(super) const ODD: Price = Price { input_per_mtok: Micros(333_333), output_per_mtok: Micros(1_777_777) };

pub(super) fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

pub(super) fn workspace(name: &str) -> WorkspaceId {
    WorkspaceId::parse(name).unwrap()
}

pub(super) fn at(text: &str) -> Timestamp {
    serde_json::from_str(&format!("\"{text}\"")).unwrap()
}

pub(super) fn daily(limit: u64) -> Budget {
    Budget { daily: Some(Micros(limit)), ..Budget::default() }
}

/// What the file says: people, prices, and one workspace.
pub(super) fn declaration(name: &str, budget: Option<Budget>) -> Declaration {
    let person = || DeclaredUser { role: Role::parse("member").unwrap(), identities: Vec::new() };
    let members = vec![user("ann"), user("bob")];
    let settings = WorkspaceSettings { budget, ..WorkspaceSettings::default() };
    let lab = DeclaredWorkspace { members: members.clone(), settings, ..DeclaredWorkspace::default() };
    let unit = Price { input_per_mtok: Micros(1_000_000), output_per_mtok: Micros(1_000_000) };
    let prices = [(UNIT, unit), ("odd", ODD), ("gratis", Price::FREE)];
    let prices = prices.into_iter().map(|(name, price)| (name.to_owned(), price)).collect();
    Declaration {
        users: members.into_iter().map(|member| (member, person())).collect(),
        workspaces: [(workspace(name), lab)].into(),
        house: HouseRules { models: Models { prices, ..Models::default() }, ..HouseRules::default() },
    }
}

pub(super) async fn lab(budget: Option<Budget>) -> World {
    let world = World::new().await;
    world.declare(declaration(LAB, budget)).await;
    world
}

pub(super) fn ctx(house: &House, name: &str) -> Ctx {
    let user = user(name);
    let participant = Participant::of_user(&user);
    let caller = Caller { participant, user, role: Role::parse("member").unwrap(), credential: Credential::User };
    Ctx { caller: Arc::new(caller), house: house.clone(), token: None, claim: None }
}

/// A call that may use so many tokens, one of them in the prompt.
pub(super) fn call(workspace_name: &str, model: &str, tokens: u64) -> ReserveCall {
    ReserveCall {
        workspace: workspace(workspace_name),
        project: None,
        agent: None,
        session: None,
        model: model.to_owned(),
        prompt_tokens: tokens.min(1),
        max_tokens: tokens.saturating_sub(1),
    }
}

pub(super) async fn reserve(house: &House, name: &str, tokens: u64) -> service::Result<Reservation> {
    budgets::reserve(&ctx(house, name), call(LAB, UNIT, tokens)).await
}

pub(super) fn used(tokens: u64) -> Usage {
    Usage { input_tokens: 0, output_tokens: tokens }
}

pub(super) async fn view(house: &House) -> BudgetView {
    budgets::look(&ctx(house, "ann"), LAB).await.unwrap()
}

/// What is spent and reserved today.
pub(super) async fn tally(house: &House) -> (u64, u64) {
    let Tally { spent, reserved } = view(house).await.today.tally;
    (spent.0, reserved.0)
}

pub(super) async fn row(house: &House, workspace: &WorkspaceId, id: &ModelCallId) -> Option<ModelCall> {
    testkit::ledger_row(house, workspace, id).await
}

/// The sums of every day are those of its calls.
pub(super) async fn assert_counted(house: &House) {
    assert_eq!(testkit::miscounted_days(house).await, [], "sums that are not those of the calls");
}

/// What the workspace was told, in order, with its number.
pub(super) async fn alerts(house: &House, workspace: &WorkspaceId) -> Vec<(String, u64)> {
    let told = testkit::workspace_events(house, workspace).await;
    told.into_iter().filter(|(kind, _)| kind.starts_with("BUDGET_")).collect()
}
