//! Who the caller is, and how a browser becomes one.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// `usr_<name>`.
    pub user: String,
    pub role: String,
    /// The name under which the caller writes in sessions.
    pub participant: String,
    pub workspaces: Vec<MyWorkspace>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MyWorkspace {
    pub id: String,
    pub personal: bool,
}

/// Either a one-time code or a person's token.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub code: Option<String>,
    pub token: Option<String>,
}
