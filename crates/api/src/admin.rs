//! The doors of those who run the house.

use crate::app::App;
use crate::bodies::{Nothing, Posted};
use crate::errors::Result;
use crate::health;
use crate::paths::Segment;
use crate::query::{InWorkspace, Paged, PagedInWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::ids::{TokenId, UserId};
use domain::roles::Role;
use protocol::admin::{
    AuditFault, AuditList, AuditVerdict, Backup, ConfigReport, ContextInspection, CreateBackup, CreateUser, PatchUser,
    SignInLink, User, UserList,
};
use protocol::errors::ErrorBody;
use protocol::health::Health;
use service::paging::Page;
use service::sessions::SessionRef;
use service::{audit, backups, doctor, rules, shared_context, sign_in, tokens, users};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(add_user, list_users))
        .routes(routes!(patch_user, remove_user))
        .routes(routes!(link_user))
        .routes(routes!(revoke_token))
        .routes(routes!(list_audit))
        .routes(routes!(verify_audit))
        .routes(routes!(back_up))
        .routes(routes!(inspect))
        .routes(routes!(examine))
        .routes(routes!(config))
}

/// Add a person.
#[utoipa::path(post, path = "/admin/users", tag = "admin", request_body = CreateUser,
    responses((status = 201, body = User), (status = 409, body = ErrorBody, description = "USER_EXISTS")))]
async fn add_user(Posted { ctx, input }: Posted<CreateUser>) -> Result<(StatusCode, Json<User>)> {
    let role = input.role.as_deref().map(Role::parse).transpose()?.unwrap_or(Role::Member);
    let user = users::add(&ctx, UserId::parse(&input.name)?, role, input.restore).await?;
    Ok((StatusCode::CREATED, Json(user.into())))
}

/// The people of the house.
#[utoipa::path(get, path = "/admin/users", tag = "admin", params(Paged), responses((status = 200, body = UserList)))]
async fn list_users(Signed { ctx, .. }: Signed, Params(query): Params<Paged>) -> Result<Json<UserList>> {
    let listed = users::list(&ctx, query.into()).await?;
    let items = listed.items.into_iter().map(Into::into).collect();
    Ok(Json(UserList { items, next_cursor: listed.next_cursor }))
}

/// Change a person's role.
#[utoipa::path(patch, path = "/admin/users/{user}", tag = "admin", params(("user" = String, Path)), request_body = PatchUser,
    responses((status = 200, body = User), (status = 404, body = ErrorBody, description = "USER_NOT_FOUND")))]
async fn patch_user(Segment(user): Segment, Posted { ctx, input }: Posted<PatchUser>) -> Result<Json<User>> {
    let user = users::set_role(&ctx, UserId::parse(&user)?, Role::parse(&input.role)?).await?;
    Ok(Json(user.into()))
}

/// Take a person out of the house, with everything that was only theirs.
#[utoipa::path(delete, path = "/admin/users/{user}", tag = "admin", params(("user" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "USER_NOT_FOUND")))]
async fn remove_user(Signed { ctx, .. }: Signed, Segment(user): Segment) -> Result<StatusCode> {
    users::remove(&ctx, UserId::parse(&user)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make a one-time link into the console.
#[utoipa::path(post, path = "/admin/users/{user}/link", tag = "admin", params(("user" = String, Path)),
    responses((status = 201, body = SignInLink)))]
async fn link_user(
    State(app): State<App>,
    Segment(user): Segment,
    Posted { ctx, .. }: Posted<Nothing>,
) -> Result<(StatusCode, Json<SignInLink>)> {
    let user = UserId::parse(&user)?;
    let code = sign_in::create_code(&ctx, user.clone()).await?;
    let url = format!("{}/#/sign-in/{code}", app.public_url);
    Ok((StatusCode::CREATED, Json(SignInLink { user: user.as_str().to_owned(), code, url })))
}

/// End anybody's token. On the house's own machine only; `DELETE /my/tokens/{id}` ends your own.
#[utoipa::path(delete, path = "/admin/tokens/{token}", tag = "admin", params(("token" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "TOKEN_NOT_FOUND")))]
async fn revoke_token(Signed { ctx, .. }: Signed, Segment(token): Segment) -> Result<StatusCode> {
    ctx.caller.require_admin()?;
    tokens::revoke(&ctx, TokenId::parse(&token)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The audit log.
#[utoipa::path(get, path = "/admin/audit", tag = "admin", params(PagedInWorkspace), responses((status = 200, body = AuditList)))]
async fn list_audit(Signed { ctx, .. }: Signed, Params(query): Params<PagedInWorkspace>) -> Result<Json<AuditList>> {
    let page = Page { limit: query.limit, cursor: query.cursor };
    let listed = audit::list(&ctx, query.workspace, page).await?;
    let items = listed.items.into_iter().map(Into::into).collect();
    Ok(Json(AuditList { items, next_cursor: listed.next_cursor }))
}

/// Check every chain of the audit log.
#[utoipa::path(post, path = "/admin/audit/verify", tag = "admin", responses((status = 200, body = AuditVerdict)))]
async fn verify_audit(Posted { ctx, .. }: Posted<Nothing>) -> Result<Json<AuditVerdict>> {
    let verdict = audit::verify(&ctx).await?;
    let fault = verdict.fault.map(|fault| AuditFault {
        workspace: fault.workspace,
        seq: fault.seq,
        reason: fault.reason.to_owned(),
    });
    Ok(Json(AuditVerdict { intact: fault.is_none(), rows: verdict.rows, fault }))
}

/// Make a consistent backup while the house goes on working.
#[utoipa::path(post, path = "/admin/backup", tag = "admin", request_body = CreateBackup, responses((status = 201, body = Backup)))]
async fn back_up(Posted { ctx, input }: Posted<CreateBackup>) -> Result<(StatusCode, Json<Backup>)> {
    let path = backups::create(&ctx, input.path.map(Into::into)).await?;
    Ok((StatusCode::CREATED, Json(Backup { path: path.display().to_string() })))
}

/// A thorough look at the house: pages, audit chains, file modes, and settings less safe than the defaults.
#[utoipa::path(get, path = "/admin/doctor", tag = "admin", responses((status = 200, body = Health)))]
async fn examine(State(app): State<App>, Signed { ctx, .. }: Signed) -> Result<Json<Health>> {
    let mut checks = doctor::examine(&ctx).await?;
    checks.extend(app.deviations());
    Ok(Json(health::render(checks)))
}

/// What became of the configuration file: which one is in force, and why its newest state was refused, if it was.
#[utoipa::path(get, path = "/admin/config", tag = "admin", responses((status = 200, body = ConfigReport)))]
async fn config(Signed { ctx, .. }: Signed) -> Result<Json<ConfigReport>> {
    let (report, accepted) = rules::look(&ctx).await?;
    Ok(Json(ConfigReport {
        file: report.origin,
        in_force: accepted.origin,
        applied_at: accepted.applied_at,
        problems: report.problems,
        warnings: report.warnings,
    }))
}

/// The whole shared context of a session, for its creator and for admins. Looking is written down.
#[utoipa::path(get, path = "/admin/sessions/{session}/context", tag = "admin", params(("session" = String, Path), InWorkspace),
    responses((status = 200, body = ContextInspection)))]
async fn inspect(
    Signed { ctx, .. }: Signed,
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<Json<ContextInspection>> {
    let inspected = shared_context::inspect(&ctx, SessionRef::parse(&session, query.workspace)?).await?;
    Ok(Json(ContextInspection {
        session: inspected.session.into(),
        entries: inspected.entries.into_iter().map(Into::into).collect(),
        snapshots: inspected.snapshots,
    }))
}
