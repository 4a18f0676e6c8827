//! The gateway over HTTP: the http channel, routings explained, senders who wait, answers that do not arrive.

use crate::app::App;
use crate::bodies::{Nothing, Posted};
use crate::errors::Result;
use crate::messages::{replied, wait};
use crate::paths::Segment;
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::ids::UserId;
use domain::workspaces::ChannelPlace;
use protocol::errors::ErrorBody;
use protocol::gateway::{
    ApprovePairing, ApprovedPairing, AskRoute, ChannelReply, Delivery, DeliveryList, ExplainedRoute, PostMessage,
    SenderPairing, SenderPairingList,
};
use protocol::gateway::{ChatType, Posted as Answered};
use service::gateway::{self, Asked, InTrouble, Received};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(post_message))
        .routes(routes!(explain))
        .routes(routes!(pairings))
        .routes(routes!(approve))
        .routes(routes!(reject))
        .routes(routes!(deliveries))
}

/// Hand over what somebody wrote to a bot of your own. Takes a token of kind `channel`.
///
/// The same message again is `DUPLICATE`, with the ids of the first time, and with `wait_s` its answer.
#[utoipa::path(post, path = "/channels/http/messages", tag = "gateway", request_body = PostMessage,
    responses((status = 200, body = Answered), (status = 403, body = ErrorBody),
        (status = 503, body = ErrorBody, description = "QUEUE_FULL")))]
async fn post_message(Posted { ctx, input }: Posted<PostMessage>) -> Result<Json<Answered>> {
    let wait = input.wait_s.as_ref().map(wait).transpose()?;
    let post = gateway::PostMessage {
        chat_id: input.chat_id.into_text(),
        chat: input.chat_type.into(),
        sender_id: input.sender_id.into_text(),
        display_name: input.sender_name.unwrap_or_default(),
        message_id: input.message_id.into_text(),
        text: input.text,
        is_addressed: input.addressed,
    };
    let (message, received) = gateway::post(&ctx, post).await?;
    let finished = match (wait, &received.taken) {
        (Some(wait), Some(taken)) => gateway::answer(&ctx.house, &message, taken, wait).await?,
        _ => None,
    };
    let mut answered = rendered(received);
    if let Some(finished) = finished {
        let (status, reply, error) = replied(finished);
        (answered.status, answered.reply, answered.error) = (Some(status), reply.map(Into::into), error);
    }
    Ok(Json(answered))
}

fn rendered(received: Received) -> Answered {
    let Received { routing, taken, say, pairing_code } = received;
    let decision = routing.as_ref().map(|routing| routing.decision.as_ref().map(|_| ()).map_err(|reason| *reason));
    let is_routed = decision == Some(Ok(()));
    let reason = decision.and_then(Result::err).map(|reason| reason.as_str().to_owned());
    let answered = Answered {
        decision: if is_routed { "routed" } else { "refused" }.to_owned(),
        reason_code: reason,
        pairing_code,
        ..Answered::default()
    };
    let answered = if is_routed {
        Answered { reply: say.map(ChannelReply::of_house), ..answered }
    } else {
        Answered { message: say, ..answered }
    };
    let Some(taken) = taken else { return answered };
    Answered {
        workspace: Some(taken.workspace.as_str().to_owned()),
        user: Some(taken.user.as_str().to_owned()),
        session_id: taken.session.map(|session| session.as_str().to_owned()),
        message_id: taken.turn.as_ref().map(|turn| turn.message.as_str().to_owned()),
        task_id: taken.turn.map(|turn| turn.task.as_str().to_owned()),
        ..answered
    }
}

/// Explain where a message would go, without sending one.
#[utoipa::path(post, path = "/gateway/route", tag = "gateway", request_body = AskRoute,
    responses((status = 200, body = ExplainedRoute), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn explain(Posted { ctx, input }: Posted<AskRoute>) -> Result<Json<ExplainedRoute>> {
    let text = |id: Option<protocol::workspaces::ProviderId>| id.map(protocol::workspaces::ProviderId::into_text);
    let place = ChannelPlace {
        channel: input.channel,
        chat_id: text(input.chat_id),
        guild_id: text(input.guild_id),
        channel_id: text(input.channel_id),
    };
    let chat = input.chat_type.unwrap_or(ChatType::Group).into();
    let asked = Asked { place, chat, sender: Some(input.sender_id.into_text()) };
    Ok(Json(gateway::explain(&ctx, asked).await?.routing.into()))
}

/// Senders who wait to be let in.
#[utoipa::path(get, path = "/admin/pairings", tag = "gateway", responses((status = 200, body = SenderPairingList)))]
async fn pairings(Signed { ctx, .. }: Signed) -> Result<Json<SenderPairingList>> {
    let shown = |waiting: gateway::WaitingSender| SenderPairing {
        code: waiting.code,
        channel: waiting.identity.channel,
        sender_id: waiting.identity.id,
        sender_name: waiting.display_name,
        asked_at: waiting.asked_at,
        expires_at: waiting.expires_at,
    };
    let items = gateway::pairings(&ctx).await?.into_iter().map(shown).collect();
    Ok(Json(SenderPairingList { items, next_cursor: None }))
}

/// Let a sender in: as the person you name, or as a new member.
#[utoipa::path(post, path = "/admin/pairings/{code}/approve", tag = "gateway", params(("code" = String, Path)),
    request_body = ApprovePairing,
    responses((status = 200, body = ApprovedPairing),
        (status = 404, body = ErrorBody, description = "PAIRING_NOT_FOUND, USER_NOT_FOUND")))]
async fn approve(
    Segment(code): Segment,
    Posted { ctx, input }: Posted<ApprovePairing>,
) -> Result<Json<ApprovedPairing>> {
    let user = input.user.as_deref().map(UserId::parse).transpose()?;
    let approved = gateway::approve(&ctx, &code, user).await?;
    Ok(Json(ApprovedPairing {
        user: approved.user.as_str().to_owned(),
        channel: approved.identity.channel,
        sender_id: approved.identity.id,
        is_new: approved.is_new,
    }))
}

/// Send a sender away.
#[utoipa::path(post, path = "/admin/pairings/{code}/reject", tag = "gateway", params(("code" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "PAIRING_NOT_FOUND")))]
async fn reject(Segment(code): Segment, Posted { ctx, .. }: Posted<Nothing>) -> Result<StatusCode> {
    gateway::reject(&ctx, &code).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers, and words about approvals, that do not reach their channel: tried in vain so far, or given up.
#[utoipa::path(get, path = "/admin/deliveries", tag = "gateway", responses((status = 200, body = DeliveryList)))]
async fn deliveries(Signed { ctx, .. }: Signed) -> Result<Json<DeliveryList>> {
    let InTrouble { answers, notices } = gateway::in_trouble(&ctx).await?;
    let answers = answers.into_iter().map(Delivery::from);
    let mut items: Vec<Delivery> = answers.chain(notices.into_iter().map(Delivery::from)).collect();
    items.sort_by_key(|item| std::cmp::Reverse(item.created_at));
    Ok(Json(DeliveryList { items, next_cursor: None }))
}
