//! Whether the house is well, and its figures.

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::router::Door;
use crate::signed::Signed;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use protocol::health::{Check, Health, Status};
use service::health;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The check that tells a server from a command that stands in for one.
pub const TEMPORARY: &str = "temporary_host";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(check)).routes(routes!(figures))
}

fn status(status: health::Status) -> Status {
    match status {
        health::Status::Healthy => Status::Healthy,
        health::Status::Degraded => Status::Degraded,
        health::Status::Unhealthy => Status::Unhealthy,
    }
}

/// Checks as they are shown; together they are as well as the worst of them.
pub(crate) fn render(checks: Vec<health::Check>) -> Health {
    let worst = checks.iter().map(|check| check.status).max().unwrap_or(health::Status::Healthy);
    let shown = |check: health::Check| Check {
        name: check.name.to_owned(),
        status: status(check.status),
        detail: check.detail,
    };
    Health {
        status: status(worst),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        checks: checks.into_iter().map(shown).collect(),
        address: None,
    }
}

/// Whether the house is well.
#[utoipa::path(get, path = "/health", tag = "house", security(()),
    responses((status = 200, body = Health), (status = 503, body = Health, description = "unhealthy")))]
async fn check(State(app): State<App>, Extension(door): Extension<Door>) -> (StatusCode, Json<Health>) {
    let mut checks = health::check(&app.house).checks;
    if app.temporary {
        let detail = "no server runs: a `longhouse mcp` holds this house open until it ends".to_owned();
        checks.push(health::Check { name: TEMPORARY, status: health::Status::Healthy, detail });
    }
    // A command that stands in for a server listens nowhere else.
    let address = (door == Door::Local && !app.temporary).then(|| app.public_url.clone());
    let health = Health { address, ..render(checks) };
    let code = if health.status == Status::Unhealthy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (code, Json(health))
}

/// Figures in Prometheus' text format. Admins only, unless opened in the settings.
#[utoipa::path(get, path = "/metrics", tag = "house",
    responses((status = 200, description = "Prometheus text", content_type = "text/plain", body = String)))]
async fn figures(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    if !app.metrics_open {
        let (mut parts, _) = request.into_parts();
        let Signed { ctx, .. } = Signed::from_request_parts(&mut parts, &app).await?;
        ctx.caller.require_admin()?;
    }
    let text = app.metrics.render(&app.house);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
