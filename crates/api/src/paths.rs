//! The named parts of a path.

use crate::app::App;
use crate::errors::{Failure, Result};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use domain::Refusal;

/// The one parameter of a route, decoded.
pub(crate) struct Segment(pub(crate) String);

impl FromRequestParts<App> for Segment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(text)) => Ok(Self(text)),
            Err(_) => Err(Refusal::invalid("the path is not valid UTF-8").into()),
        }
    }
}
