//! The rules of the house: what the file declares, and what is in force once run-time changes are added.

use crate::capabilities::ToolSet;
use crate::ids::{UserId, WorkspaceId};
use crate::money::Micros;
use crate::roles::{Role, RoleRules};
use crate::skills::Skill;
use crate::workspaces::{Binding, Identity, WorkspaceSettings, is_reserved, personal_defaults};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the configuration file says about people, rights and money. Everything it names was checked to exist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Declaration {
    pub users: BTreeMap<UserId, DeclaredUser>,
    pub workspaces: BTreeMap<WorkspaceId, DeclaredWorkspace>,
    pub house: HouseRules,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeclaredUser {
    pub role: Role,
    pub identities: Vec<Identity>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeclaredWorkspace {
    pub members: Vec<UserId>,
    pub bindings: Vec<Binding>,
    pub settings: WorkspaceSettings,
}

/// What holds for the whole house and only the file can say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HouseRules {
    /// As written; `RoleRules::of` knows what the built-in ones are without it.
    pub roles: BTreeMap<String, RoleRules>,
    pub plugins: BTreeMap<String, Plugin>,
    pub models: Models,
    /// The template of everybody's own workspace, over the built-in one.
    pub personal: WorkspaceSettings,
    pub skills: BTreeMap<String, Skill>,
}

/// A source of tools, and what it may offer at most.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plugin {
    pub caps: ToolSet,
    /// Which of its tools wait for a person.
    pub approval: ToolSet,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Models {
    /// Pattern of model names to provider.
    pub routes: BTreeMap<String, String>,
    /// Pattern of model names to price, over the bundled table.
    pub prices: BTreeMap<String, Price>,
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input_per_mtok: Micros,
    pub output_per_mtok: Micros,
}

/// What is in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    pub house: HouseRules,
    /// What file and admins say, joined; personal workspaces are here only where an admin changed one.
    pub workspaces: BTreeMap<WorkspaceId, WorkspaceSettings>,
}

impl Rules {
    /// What a role may do; nothing, if there is no such role any more.
    pub fn role(&self, role: &Role) -> RoleRules {
        RoleRules::in_force(role, self.house.roles.get(role.as_str()))
    }

    pub fn has_role(&self, role: &Role) -> bool {
        role.is_built_in() || self.house.roles.contains_key(role.as_str())
    }

    /// What a workspace sets: everybody's own follow the template.
    pub fn workspace(&self, id: &WorkspaceId) -> WorkspaceSettings {
        let own = self.workspaces.get(id).cloned().unwrap_or_default();
        if is_reserved(id.as_str()) { own.or(self.house.personal.clone()).or(personal_defaults()) } else { own }
    }
}
