//! Budgets over HTTP.

use crate::app::App;
use crate::errors::Result;
use crate::paths::Segment;
use crate::signed::Signed;
use axum::Json;
use domain::money::Micros;
use protocol::budgets as wire;
use protocol::errors::ErrorBody;
use service::budgets::{self, BudgetView};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(look))
}

/// What a workspace may spend today, what it has spent, and who spent it. For its members and for admins.
#[utoipa::path(get, path = "/workspaces/{workspace}/budget", tag = "workspaces", params(("workspace" = String, Path)),
    responses((status = 200, body = wire::WorkspaceBudget),
        (status = 404, body = ErrorBody, description = "WORKSPACE_NOT_FOUND")))]
async fn look(Signed { ctx, .. }: Signed, Segment(workspace): Segment) -> Result<Json<wire::WorkspaceBudget>> {
    Ok(Json(render(&budgets::look(&ctx, &workspace).await?)))
}

fn render(view: &BudgetView) -> wire::WorkspaceBudget {
    let (limit_usd, remaining_usd) = (view.limit.map(Micros::as_usd), view.remaining().map(Micros::as_usd));
    let tally = view.today.tally;
    wire::WorkspaceBudget {
        workspace: view.workspace.as_str().to_owned(),
        limit_usd,
        spent_usd: tally.spent.as_usd(),
        reserved_usd: tally.reserved.as_usd(),
        remaining_usd,
        unpriced_calls: view.today.unpriced_calls,
        day: view.day.to_string(),
        resets_at: view.resets_at,
        timezone: view.timezone.clone(),
        by_agent: view.by_agent.iter().map(by_agent).collect(),
        by_member: view.by_member.iter().map(by_member).collect(),
        by_day: view.by_day.iter().map(by_day).collect(),
    }
}

fn by_agent(spent: &budgets::AgentSpending) -> wire::AgentSpending {
    let counters = spent.counters;
    wire::AgentSpending {
        agent: spent.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        spent_usd: counters.tally.spent.as_usd(),
        reserved_usd: counters.tally.reserved.as_usd(),
        calls: counters.calls,
        unpriced_calls: counters.unpriced_calls,
    }
}

fn by_member(spent: &budgets::MemberSpending) -> wire::MemberSpending {
    let counters = spent.counters;
    wire::MemberSpending {
        user: spent.user.as_str().to_owned(),
        spent_usd: counters.tally.spent.as_usd(),
        reserved_usd: counters.tally.reserved.as_usd(),
        limit_usd: spent.limit.map(Micros::as_usd),
        remaining_usd: spent.limit.map(|limit| counters.tally.left(limit).as_usd()),
        calls: counters.calls,
        unpriced_calls: counters.unpriced_calls,
    }
}

fn by_day(spent: &budgets::DaySpending) -> wire::DaySpending {
    wire::DaySpending {
        day: spent.day.to_string(),
        spent_usd: spent.counters.tally.spent.as_usd(),
        calls: spent.counters.calls,
        unpriced_calls: spent.counters.unpriced_calls,
    }
}
