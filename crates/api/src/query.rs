//! Query strings: typed, and with no parameter that is not known.

use crate::app::App;
use crate::errors::{Failure, Result};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use domain::Refusal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service::paging::Page;
use utoipa::IntoParams;

pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(_) => {
                Err(Refusal::invalid("a parameter of the query is unknown, given twice or of the wrong type").into())
            }
        }
    }
}

/// For routes about one session, project or agent.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InWorkspace {
    /// Where several that you can see have that id or name.
    pub(crate) workspace: Option<String>,
}

/// For lists of what has a state, in one project.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ByStatus {
    /// Only those in this state.
    pub(crate) status: Option<String>,
    /// 1 to 500, default 50.
    pub(crate) limit: Option<u64>,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
    /// Where several projects that you can see have that name.
    pub(crate) workspace: Option<String>,
}

/// For lists.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paged {
    /// 1 to 500, default 50.
    pub(crate) limit: Option<u64>,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
}

/// For lists that can be narrowed to a workspace.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PagedInWorkspace {
    /// 1 to 500, default 50.
    pub(crate) limit: Option<u64>,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
    pub(crate) workspace: Option<String>,
}

impl From<Paged> for Page {
    fn from(paged: Paged) -> Self {
        Self { limit: paged.limit, cursor: paged.cursor }
    }
}
