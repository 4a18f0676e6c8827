//! Projects: a unit of work inside one workspace, which owns agents.

use crate::agents::Visibility;
use crate::ids::{ProjectId, UserId, WorkspaceId};
use crate::sessions::{KeyConvention, check_conventions, check_text};
use crate::times::Timestamp;
use crate::workspaces::is_reserved;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

pub const PROJECTS_MOST: u64 = 1_000;
const NAME_LONGEST: usize = 100;
/// The project that belongs to the workspace itself.
pub const HOME: &str = "home";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub workspace: WorkspaceId,
    pub id: ProjectId,
    pub name: String,
    /// What the agents of its sessions are told about keys, where a session says nothing itself.
    pub key_conventions: Option<Vec<KeyConvention>>,
    pub created_by: UserId,
    pub created_at: Timestamp,
}

/// What a change of a project says; what it leaves out stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectChange {
    pub name: Option<String>,
    /// `Some(None)` takes them away.
    pub key_conventions: Option<Option<Vec<KeyConvention>>>,
}

pub fn check_name(name: &str) -> Result<()> {
    check_text("name", name, NAME_LONGEST)?;
    let trimmed = name.trim() == name && !name.is_empty();
    // `.` and `..` would mean another place in an address.
    let is_place = matches!(name, "." | "..");
    if !trimmed || is_place || name.starts_with(ProjectId::PREFIX) || name.contains('/') {
        let message = "a project's name is 1 to 100 characters without `/`, with no space around it, and does not \
                       begin with `prj_`";
        return Err(Refusal::invalid_field("name", message));
    }
    if name == HOME {
        let message = "`home` is the workspace's own project: take another name";
        return Err(Refusal::new(Code::ProjectExists, message));
    }
    Ok(())
}

pub fn check_key_conventions(conventions: Vec<KeyConvention>) -> Result<Vec<KeyConvention>> {
    check_conventions("key_conventions", conventions)
}

pub fn exists() -> Refusal {
    Refusal::new(Code::ProjectExists, "this workspace has a project of that name already")
}

pub fn too_many() -> Refusal {
    Refusal::new(Code::StoreFull, format!("a workspace has at most {PROJECTS_MOST} projects: delete one first"))
}

/// In whose memory the agents of a home project work: in a workspace of several in one of their own.
pub fn home_visibility(workspace: &WorkspaceId) -> Visibility {
    if is_reserved(workspace.as_str()) { Visibility::Private } else { Visibility::Shared }
}

impl Project {
    /// Whether it is the workspace's own.
    pub fn is_home(&self) -> bool {
        self.name == HOME
    }

    pub fn change(self, change: ProjectChange) -> Result<Self> {
        if let Some(name) = change.name.as_ref().filter(|name| **name != self.name) {
            check_name(name)?;
            if self.is_home() {
                return Err(Refusal::forbidden("the home project keeps its name"));
            }
        }
        let key_conventions = match change.key_conventions {
            Some(new) => new.map(check_key_conventions).transpose()?,
            None => self.key_conventions,
        };
        Ok(Self { name: change.name.unwrap_or(self.name), key_conventions, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_a_name_on_one_line_that_cannot_be_taken_for_an_id() {
        for good in ["alpha", "Ünïcode work", "x", &"é".repeat(100)] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
        for bad in ["", " ", " a", "a ", "a\nb", "prj_x", "a/b", ".", "..", "a\0", &"é".repeat(101)] {
            assert_eq!(check_name(bad).unwrap_err().code, Code::InvalidRequest, "{bad:?}");
        }
        assert_eq!(check_name("home").unwrap_err().code, Code::ProjectExists);
    }
}
