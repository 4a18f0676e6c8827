//! One's own tokens over HTTP.

use crate::app::App;
use crate::bodies::Posted;
use crate::errors::Result;
use crate::paths::Segment;
use crate::query::{Paged, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::Refusal;
use domain::ids::{AgentId, TokenId, UserId};
use domain::participants::Participant;
use domain::tokens::{TTL_DEFAULT_S, parse_ttl};
use protocol::errors::ErrorBody;
use protocol::tokens::{CreateToken, IssuedToken, TokenList};
use service::sessions::SessionRef;
use service::tokens::{self, Wanted};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(revoke))
}

fn wanted(input: &CreateToken) -> Result<Wanted> {
    let session = input.session.as_deref().map(|id| SessionRef::parse(id, input.workspace.clone())).transpose()?;
    let participant = input.participant.as_deref().map(Participant::parse_agent).transpose()?;
    match (&input.channel, input.agent.as_deref(), session) {
        (None, Some(agent), session) => Ok(Wanted::Agent { agent: AgentId::parse(agent)?, session, participant }),
        (None, None, Some(session)) => Ok(Wanted::Session { session, participant }),
        (_, None, None) if participant.is_some() => {
            Err(Refusal::invalid_field("participant", "`participant` goes with `session` or `agent`").into())
        }
        (Some(channel), None, None) => Ok(Wanted::Channel { channel: channel.clone() }),
        (None, None, None) => Ok(Wanted::User),
        (Some(_), ..) => {
            Err(Refusal::invalid_field("channel", "a token is for a session, an agent or a channel, not both").into())
        }
    }
}

/// Make a token: your own, one for a participant of a session, or one for an agent.
#[utoipa::path(post, path = "/my/tokens", tag = "tokens", request_body = CreateToken,
    responses((status = 201, body = IssuedToken), (status = 403, body = ErrorBody, description = "FORBIDDEN")))]
async fn create(Posted { ctx, input }: Posted<CreateToken>) -> Result<(StatusCode, Json<IssuedToken>)> {
    let wanted = wanted(&input)?;
    let ttl_seconds = input.ttl.as_deref().map(parse_ttl).transpose()?.unwrap_or(TTL_DEFAULT_S);
    let user = input.user.as_deref().map(UserId::parse).transpose()?;
    let input = tokens::CreateToken { user, wanted, ttl_seconds, label: input.label };
    let issued = tokens::create(&ctx, input).await?;
    Ok((StatusCode::CREATED, Json(IssuedToken { token: issued.text, about: issued.token.into() })))
}

/// Your tokens that are still good.
#[utoipa::path(get, path = "/my/tokens", tag = "tokens", params(Paged), responses((status = 200, body = TokenList)))]
async fn list(Signed { ctx, .. }: Signed, Params(query): Params<Paged>) -> Result<Json<TokenList>> {
    let listed = tokens::list(&ctx, query.into()).await?;
    let items = listed.items.into_iter().map(Into::into).collect();
    Ok(Json(TokenList { items, next_cursor: listed.next_cursor }))
}

/// End a token at once.
#[utoipa::path(delete, path = "/my/tokens/{token}", tag = "tokens", params(("token" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "TOKEN_NOT_FOUND")))]
async fn revoke(Signed { ctx, .. }: Signed, Segment(token): Segment) -> Result<StatusCode> {
    tokens::revoke(&ctx, TokenId::parse(&token)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
