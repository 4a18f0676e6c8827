//! People and the workspaces they belong to.

use crate::ids::{UserId, WorkspaceId};
use crate::roles::Role;
use crate::times::Timestamp;
use crate::workspaces::Source;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub role: Role,
    pub created_at: Timestamp,
}

/// A person and who says that they are there.
#[derive(Debug, Clone, PartialEq)]
pub struct Person {
    pub user: User,
    pub sources: Vec<Source>,
}

/// A workspace as its member sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    pub workspace: WorkspaceId,
    /// Whether this is the user's own personal workspace.
    pub personal: bool,
}
