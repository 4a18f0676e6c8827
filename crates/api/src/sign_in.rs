//! How a browser gets in and out.

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::signed::{COOKIE, Signed, peer};
use crate::{bodies, hosts};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{Code, Refusal};
use protocol::errors::ErrorBody;
use protocol::me::SignIn;
use service::sign_in;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(enter)).routes(routes!(leave))
}

/// Exchange a one-time code, or a token, for a browser's cookie.
#[utoipa::path(post, path = "/auth/sign-in", tag = "identity", request_body = SignIn, security(()),
    responses((status = 204, description = "Signed in: the cookie is set"), (status = 401, body = ErrorBody)))]
async fn enter(State(app): State<App>, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let address = peer(&parts);
    app.limits.may_sign_in(address)?;
    let input: SignIn = bodies::anonymous(&parts.headers, body).await?;
    let issued = match (&input.code, &input.token) {
        (Some(code), None) => sign_in::with_code(&app.house, code).await,
        (None, Some(token)) => sign_in::with_token(&app.house, token).await,
        _ => return Err(Refusal::invalid("give either `code` or `token`").into()),
    };
    let issued = match issued {
        Ok(issued) => issued,
        Err(error) => {
            if matches!(error.code(), Code::Unauthenticated | Code::Forbidden) {
                app.limits.failed_sign_in(address);
            }
            return Err(error.into());
        }
    };
    let seconds = (issued.token.expires_at.as_ms() - issued.token.created_at.as_ms()) / 1000;
    Ok(with_cookie(&app, &issued.text, seconds))
}

/// End this browser's credential.
#[utoipa::path(post, path = "/auth/sign-out", tag = "identity", responses((status = 204)))]
async fn leave(State(app): State<App>, Signed { ctx, signed_in }: Signed) -> Result<Response, Failure> {
    if let Some(id) = &signed_in.token {
        service::sign_in::leave(&ctx, id.clone()).await?;
    }
    Ok(with_cookie(&app, "", 0))
}

fn with_cookie(app: &App, value: &str, seconds: i64) -> Response {
    let secure = if hosts::is_https(&app.public_url) { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
