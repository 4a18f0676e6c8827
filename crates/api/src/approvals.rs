//! What people decide about calls, over HTTP.

use crate::app::App;
use crate::bodies::Posted;
use crate::errors::Result;
use crate::paths::{Segment, Segments};
use crate::query::Params;
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::Refusal;
use domain::answers::SnapshotContent;
use domain::risks::{made_visible, made_visible_in_a_line};
use domain::times::Timestamp;
use protocol::approvals::{
    Approval, ApprovalList, Approve, DecideAll, DecidedAll, DecidedOne, Reject, Remember, SessionKnew, StandingRule,
    StandingRuleList, Why,
};
use protocol::errors::{ErrorBody, ErrorDetail};
use protocol::tool_calls::ToolCall;
use serde::Deserialize;
use service::approvals::{self, Answer, Inquiry, RememberWhat};
use service::paging::Page;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(context))
        .routes(routes!(decide))
        .routes(routes!(approve))
        .routes(routes!(reject))
        .routes(routes!(rules))
        .routes(routes!(remove_rule))
}

fn told(inquiry: Inquiry) -> Approval {
    let Inquiry { workspace, approval, call, why, node, cut } = inquiry;
    let knew = call.judgement.as_ref().and_then(|judgement| judgement.session_knew.as_ref());
    let session_knew = knew.map(|knew| SessionKnew { rev: knew.rev, keys: knew.keys, total_size_tokens: knew.tokens });
    let why = why.map(|why| Why { asked: made_visible(&why.asked), said: made_visible(&why.said) });
    let call = ToolCall::from(call).on(node.as_ref(), made_visible_in_a_line);
    let shown = Approval::new(workspace.as_str(), approval, call, made_visible);
    Approval { why, session_knew, cut, ..shown }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// Only those in this state: `pending`, `approved`, `rejected`, `expired` or `cancelled`.
    status: Option<String>,
    /// 1 to 500, default 50.
    limit: Option<u64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// What you are asked, newest first.
///
/// Of what is long you get the beginning, with `cut`; one by itself is whole.
#[utoipa::path(get, path = "/my/approvals", tag = "approvals", params(Asked), responses((status = 200, body = ApprovalList)))]
async fn list(Signed { ctx, .. }: Signed, Params(query): Params<Asked>) -> Result<Json<ApprovalList>> {
    let page = Page { limit: query.limit, cursor: query.cursor };
    let listed = approvals::list(&ctx, query.status.as_deref(), page).await?;
    let items = listed.items.into_iter().map(told).collect();
    Ok(Json(ApprovalList { items, next_cursor: listed.next_cursor }))
}

/// One of them.
#[utoipa::path(get, path = "/my/approvals/{approval}", tag = "approvals", params(("approval" = String, Path)),
    responses((status = 200, body = Approval), (status = 404, body = ErrorBody, description = "APPROVAL_NOT_FOUND")))]
async fn get(Signed { ctx, .. }: Signed, Segment(id): Segment) -> Result<Json<Approval>> {
    Ok(Json(told(approvals::get(&ctx, &id).await?)))
}

/// What the session of the call knew when you were asked: its shared context as it was then.
#[utoipa::path(get, path = "/my/approvals/{approval}/context", tag = "approvals", params(("approval" = String, Path)),
    responses((status = 200, description = "The entries as they were", body = Object), (status = 404, body = ErrorBody, description = "APPROVAL_NOT_FOUND, SNAPSHOT_NOT_FOUND"),
        (status = 410, body = ErrorBody, description = "EXPIRED")))]
async fn context(Signed { ctx, .. }: Signed, Segment(id): Segment) -> Result<Json<SnapshotContent>> {
    Ok(Json(approvals::session_knew(&ctx, &id).await?))
}

/// Answer several at once. Each by itself: one that cannot be answered stops none of the others.
#[utoipa::path(post, path = "/my/approvals/decide", tag = "approvals", request_body = DecideAll,
    responses((status = 200, body = DecidedAll)))]
async fn decide(Posted { ctx, input }: Posted<DecideAll>) -> Result<Json<DecidedAll>> {
    let answer = match input.decision.as_str() {
        "approve" => Answer::Approve { digest: None, remember: None },
        "reject" => Answer::Reject { note: None },
        _ => return Err(Refusal::invalid_field("decision", "`decision` is approve or reject").into()),
    };
    let outcomes = approvals::decide_all(&ctx, &input.ids, &answer).await?;
    let one = |(id, outcome): (String, service::Result<Inquiry>)| match outcome {
        Ok(inquiry) => DecidedOne { id, status: Some(inquiry.approval.status.as_str().to_owned()), error: None },
        Err(error) => {
            let Refusal { code, message, details } = error.into_refusal();
            let error = ErrorDetail { code: code.as_str().to_owned(), message, details };
            DecidedOne { id, status: None, error: Some(error) }
        }
    };
    Ok(Json(DecidedAll { items: input.ids.into_iter().zip(outcomes).map(one).collect() }))
}

/// Say yes to a call. The first answer stands.
#[utoipa::path(post, path = "/my/projects/{project}/approvals/{approval}/approve", tag = "approvals",
    params(("project" = String, Path), ("approval" = String, Path)), request_body = Approve,
    responses((status = 200, body = Approval), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody, description = "APPROVAL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "ALREADY_DECIDED, DIGEST_MISMATCH"), (status = 410, body = ErrorBody, description = "EXPIRED")))]
async fn approve(
    Segments((project, id)): Segments<(String, String)>,
    Posted { ctx, input }: Posted<Approve>,
) -> Result<Json<Approval>> {
    let remember = input.remember.map(remembered).transpose()?;
    let answer = Answer::Approve { digest: input.digest, remember };
    Ok(Json(told(approvals::decide(&ctx, Some(&project), &id, answer).await?)))
}

fn remembered(input: Remember) -> Result<approvals::Remember> {
    let what = match (input.kind.as_str(), input.folder) {
        ("call", None) => RememberWhat::Call,
        ("folder", Some(folder)) => RememberWhat::Folder(folder),
        _ => {
            let message = "`remember` has `kind` call, or `kind` folder with a `folder`";
            return Err(Refusal::invalid_field("remember", message).into());
        }
    };
    let until = match input.lasts.as_str() {
        "session" => None,
        time => {
            let refusal =
                || Refusal::invalid_field("remember", "`for` is `session` or a time such as 2027-01-31T12:00:00Z");
            let time = serde_json::from_value::<Timestamp>(time.into()).map_err(|_| refusal())?;
            Some(time)
        }
    };
    Ok(approvals::Remember { what, until })
}

/// Say no to a call. The first answer stands.
#[utoipa::path(post, path = "/my/projects/{project}/approvals/{approval}/reject", tag = "approvals",
    params(("project" = String, Path), ("approval" = String, Path)), request_body = Reject,
    responses((status = 200, body = Approval), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody, description = "APPROVAL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "ALREADY_DECIDED"), (status = 410, body = ErrorBody, description = "EXPIRED")))]
async fn reject(
    Segments((project, id)): Segments<(String, String)>,
    Posted { ctx, input }: Posted<Reject>,
) -> Result<Json<Approval>> {
    let answer = Answer::Reject { note: input.reason };
    Ok(Json(told(approvals::decide(&ctx, Some(&project), &id, answer).await?)))
}

/// Your answers that stand for later calls.
#[utoipa::path(get, path = "/my/standing-rules", tag = "approvals", responses((status = 200, body = StandingRuleList)))]
async fn rules(Signed { ctx, .. }: Signed) -> Result<Json<StandingRuleList>> {
    let rules = approvals::list_rules(&ctx).await?;
    let items = rules.into_iter().map(|(workspace, rule)| StandingRule::new(workspace.as_str(), rule)).collect();
    Ok(Json(StandingRuleList { items, next_cursor: None }))
}

/// Take one back: you are asked again from now on.
#[utoipa::path(delete, path = "/my/standing-rules/{rule}", tag = "approvals", params(("rule" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "STANDING_RULE_NOT_FOUND")))]
async fn remove_rule(Signed { ctx, .. }: Signed, Segment(id): Segment) -> Result<StatusCode> {
    approvals::remove_rule(&ctx, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
