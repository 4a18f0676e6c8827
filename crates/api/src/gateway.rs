//! The gateway over HTTP: the http channel, what Telegram posts, routings explained, senders who wait, how channels stand.

use crate::app::App;
use crate::bodies::{self, Nothing, Posted};
use crate::errors::Result;
use crate::messages::{replied, wait};
use crate::paths::Segment;
use crate::signed::{Signed, peer};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use domain::ids::UserId;
use domain::workspaces::ChannelPlace;
use domain::{Code, Refusal};
use protocol::errors::ErrorBody;
use protocol::gateway::{
    ApprovePairing, ApprovedPairing, AskRoute, Channel, ChannelList, ChannelReply, Delivery, DeliveryList,
    ExplainedRoute, PostMessage, SenderPairing, SenderPairingList,
};
use protocol::gateway::{ChatType, Posted as Answered};
use serde_json::{Value, json};
use service::gateway::{self, Asked, InTrouble, Received, WebhookAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What Telegram vouches for itself with.
const TELEGRAM_SECRET: &str = "x-telegram-bot-api-secret-token";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(post_message))
        .routes(routes!(telegram))
        .routes(routes!(channels))
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

/// Where Telegram tells its updates, if the file says `mode: webhook`.
///
/// Takes the header `X-Telegram-Bot-Api-Secret-Token` for a credential.
#[utoipa::path(post, path = "/channels/telegram/webhook", tag = "gateway", security(()), request_body = Object,
    responses((status = 200, body = Object, description = "Taken"), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody, description = "No bot is told its updates here"),
        (status = 503, body = ErrorBody, description = "UNAVAILABLE: to be told again")))]
async fn telegram(State(app): State<App>, request: Request) -> Result<Json<Value>> {
    let (parts, body) = request.into_parts();
    let secret = parts.headers.get(TELEGRAM_SECRET).map(HeaderValue::as_bytes);
    let strangers = || Refusal::new(Code::Unauthenticated, "whoever posts here has to know the secret of the webhook");
    match gateway::is_telegram(&app.house, secret) {
        None => {
            let message = "no bot is told its updates here: `channels: { telegram: { mode: webhook } }`";
            return Err(Refusal::new(Code::RouteNotFound, message).into());
        }
        Some(false) => {
            app.limits.invalid_bearer(peer(&parts))?;
            return Err(strangers().into());
        }
        Some(true) => {}
    }
    let bytes = bodies::read(&parts.headers, body, bodies::LARGEST).await?;
    match gateway::telegram_posts(&app.house, secret, &bytes).await {
        WebhookAnswer::Taken => Ok(Json(json!({}))),
        WebhookAnswer::NotNow => {
            Err(Refusal::new(Code::Unavailable, "this cannot be taken now: tell it again in a moment").into())
        }
        WebhookAnswer::Forbidden => Err(strangers().into()),
    }
}

/// The channels of the file and how they stand.
#[utoipa::path(get, path = "/admin/channels", tag = "gateway", responses((status = 200, body = ChannelList)))]
async fn channels(Signed { ctx, .. }: Signed) -> Result<Json<ChannelList>> {
    let shown =
        |one: gateway::ListedChannel| Channel { name: one.name.to_owned(), state: one.state.to_owned(), why: one.why };
    let items = gateway::list_channels(&ctx)?.into_iter().map(shown).collect();
    Ok(Json(ChannelList { items, next_cursor: None }))
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
