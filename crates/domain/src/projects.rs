//! Projects: a unit of work inside one workspace, which owns agents.

use crate::agents::Visibility;
use crate::ids::{ProjectId, UserId, WorkspaceId};
use crate::sessions::{KeyConvention, check_conventions, check_text};
use crate::times::Timestamp;
use crate::tool_calls::Risk;
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
    #[serde(default)]
    pub approval: ProjectApproval,
    pub created_by: UserId,
    pub created_at: Timestamp,
}

/// Which calls of its agents wait for a person: a project can ask for more than the risk does, never for less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectApproval {
    #[default]
    ByRisk,
    Always,
}

impl ProjectApproval {
    pub const ALL: [Self; 2] = [Self::ByRisk, Self::Always];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByRisk => "by_risk",
            Self::Always => "always",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|approval| approval.as_str() == text)
    }

    /// Whether a call of that risk waits for a person.
    pub fn asks(self, risk: Risk) -> bool {
        self == Self::Always || risk > Risk::Low
    }
}

/// What a change of a project says; what it leaves out stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectChange {
    pub name: Option<String>,
    /// `Some(None)` takes them away.
    pub key_conventions: Option<Option<Vec<KeyConvention>>>,
    pub approval: Option<ProjectApproval>,
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
        let approval = change.approval.unwrap_or(self.approval);
        Ok(Self { name: change.name.unwrap_or(self.name), key_conventions, approval, ..self })
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
    #[test]
    fn a_project_can_ask_for_more_than_the_risk_does_and_never_for_less() {
        use ProjectApproval::{Always, ByRisk};
        for (risk, by_risk) in [(Risk::Low, false), (Risk::Medium, true), (Risk::High, true)] {
            assert_eq!((ByRisk.asks(risk), Always.asks(risk)), (by_risk, true), "{risk:?}");
        }
        for approval in ProjectApproval::ALL {
            assert_eq!(ProjectApproval::parse(approval.as_str()), Some(approval));
        }
        for other in ["", "never", "Always", "always ", "by risk"] {
            assert_eq!(ProjectApproval::parse(other), None, "{other:?}");
        }
    }
}
