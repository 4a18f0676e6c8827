//! The named parts of a path.

use crate::app::App;
use crate::errors::{Failure, Result};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use domain::Refusal;
use serde::de::DeserializeOwned;

/// The one parameter of a route, decoded.
pub(crate) struct Segment(pub(crate) String);

impl FromRequestParts<App> for Segment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        Segments::from_request_parts(parts, app).await.map(|Segments(text)| Self(text))
    }
}

/// Several parameters in the order of the path, decoded.
pub(crate) struct Segments<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Segments<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        match Path::<T>::from_request_parts(parts, app).await {
            Ok(Path(segments)) => Ok(Self(segments)),
            Err(_) => Err(Refusal::invalid("the path is not valid UTF-8").into()),
        }
    }
}
