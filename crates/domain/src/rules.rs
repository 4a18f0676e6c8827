//! The rules of the house: what the file declares, and what is in force once run-time changes are added.

use crate::capabilities::ToolSet;
use crate::commands::DeniedCommands;
use crate::ids::{UserId, WorkspaceId};
use crate::money::Micros;
use crate::nodes::{Node, Serves};
use crate::roles::{Right, Role, RoleRules};
use crate::skills::Skill;
use crate::tool_calls::Risk;
use crate::workspaces::{Binding, Identity, ToolRules, WorkspaceSettings, is_reserved, personal_defaults};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    /// As written; what the built-in ones are without it, `RoleRules::built_in` knows.
    pub roles: BTreeMap<String, RoleRules>,
    pub plugins: BTreeMap<String, Plugin>,
    pub models: Models,
    /// The template of everybody's own workspace, over the built-in one.
    pub personal: WorkspaceSettings,
    pub skills: BTreeMap<String, Skill>,
    pub worker_space: WorkerSpaceRules,
    pub alerts: AlertRules,
    pub approvals: ApprovalRules,
    pub channels: ChannelRules,
}

/// Which channels are open, as far as the file says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelRules {
    /// Whether bots with a channel token may post. Nobody has such a token unless somebody makes one.
    pub http: bool,
}

impl Default for ChannelRules {
    fn default() -> Self {
        Self { http: true }
    }
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
    pub providers: BTreeMap<String, Provider>,
    /// Pattern of model names to provider.
    pub routes: BTreeMap<String, String>,
    /// Pattern of model names to price, over the bundled table.
    pub prices: BTreeMap<String, Price>,
}

/// Who serves models, and how it is reached. The key itself is in the environment of the server, never here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    pub kind: ProviderKind,
    pub base_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
}

/// The protocol that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    Openai,
    Anthropic,
}

/// What holds for every worker space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerSpaceRules {
    pub idle_timeout_s: u64,
    pub cache_ttl_s: u64,
    /// How many tasks may wait for one agent.
    pub queue_size: u64,
}

impl Default for WorkerSpaceRules {
    fn default() -> Self {
        Self { idle_timeout_s: 30 * 60, cache_ttl_s: 5 * 60, queue_size: 100 }
    }
}

/// Who is told of alerts beside those who watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlertRules {
    /// An address that alerts are posted to.
    pub webhook: Option<String>,
}

/// How long people have to decide about calls, and what nobody decides about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApprovalRules {
    pub medium_timeout_s: u64,
    pub high_timeout_s: u64,
    /// Names of programs that are never run, besides the house's own list.
    pub denied_commands: Vec<String>,
}

impl ApprovalRules {
    pub const SHORTEST_S: u64 = 10;
    /// A node believes no decision that would hold for longer.
    pub const LONGEST_S: u64 = 24 * 3600;

    /// How long a person has to decide. A look is put before one only where its project wants that.
    pub fn decided_within_s(&self, risk: Risk) -> u64 {
        match risk {
            Risk::Low | Risk::Medium => self.medium_timeout_s,
            Risk::High => self.high_timeout_s,
        }
    }

    pub fn denied(&self) -> DeniedCommands {
        DeniedCommands::with_extra(self.denied_commands.iter().map(String::as_str))
    }
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self { medium_timeout_s: 5 * 60, high_timeout_s: 10 * 60, denied_commands: Vec::new() }
    }
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
    pub fn has_role(&self, role: &Role) -> bool {
        role.is_built_in() || self.house.roles.contains_key(role.as_str())
    }

    /// Whether a node may work: one that serves the members of a workspace has to be listed there.
    pub fn lets_serve(&self, node: &Node) -> bool {
        let listed = self.part(&node.workspace, |settings| settings.nodes.as_ref());
        node.serves != Serves::Members || listed.is_some_and(|names| names.contains(&node.name))
    }

    /// What a workspace sets: everybody's own follow the template.
    pub fn workspace(&self, id: &WorkspaceId) -> WorkspaceSettings {
        let own = self.workspaces.get(id).cloned().unwrap_or_default();
        if is_reserved(id.as_str()) { own.or(self.house.personal.clone()).or(personal_defaults()) } else { own }
    }

    /// One part of what a workspace sets, without copying the rest: asked for every call of a tool.
    fn part<'a, T>(&'a self, id: &WorkspaceId, part: impl Fn(&'a WorkspaceSettings) -> Option<&'a T>) -> Option<&'a T> {
        static PERSONAL: LazyLock<WorkspaceSettings> = LazyLock::new(personal_defaults);
        let own = self.workspaces.get(id).and_then(&part);
        if own.is_some() || !is_reserved(id.as_str()) {
            return own;
        }
        part(&self.house.personal).or_else(|| part(&PERSONAL))
    }

    /// What a workspace lets its agents use; nothing, if it says nothing.
    pub fn tools_of(&self, id: &WorkspaceId) -> Option<&ToolRules> {
        self.part(id, |settings| settings.tools.as_ref())
    }

    /// The skills of a workspace, in the order in which it names them.
    pub fn skills_of(&self, id: &WorkspaceId) -> Vec<&Skill> {
        let names = self.part(id, |settings| settings.skills.as_ref()).map_or(&[][..], Vec::as_slice);
        names.iter().filter_map(|name| self.house.skills.get(name)).collect()
    }

    /// One skill of a workspace.
    pub fn skill_of(&self, id: &WorkspaceId, name: &str) -> Option<&Skill> {
        let names = self.part(id, |settings| settings.skills.as_ref())?;
        names.iter().find(|listed| *listed == name).and_then(|name| self.house.skills.get(name))
    }

    /// What a role may use and what not, as far as the file or the house says so; `None` if there is no such role.
    /// Whether a role decides about calls that are made for others. No role does unless the file says so.
    pub fn may_approve(&self, role: &Role) -> bool {
        let rights = self.house.roles.get(role.as_str()).and_then(|declared| declared.rights.as_ref());
        rights.is_some_and(|rights| rights.contains(&Right::Approve))
    }

    pub fn tools_of_role(&self, role: &Role) -> Option<RoleTools<'_>> {
        let (declared, built_in) = (self.house.roles.get(role.as_str()), RoleRules::built_in(role));
        if declared.is_none() && built_in.is_none() {
            return None;
        }
        let part = |part: fn(&RoleRules) -> Option<&ToolSet>| declared.and_then(part).or(built_in.and_then(part));
        Some(RoleTools { tools: part(|rules| rules.tools.as_ref()), deny: part(|rules| rules.deny.as_ref()) })
    }
}

/// What the file says of a role's tools, and where it says nothing what is built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoleTools<'a> {
    pub tools: Option<&'a ToolSet>,
    pub deny: Option<&'a ToolSet>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_as_long_as_the_house_says_for_a_risk() {
        let usual = ApprovalRules::default();
        let own = ApprovalRules { medium_timeout_s: 10, high_timeout_s: 86_400, ..ApprovalRules::default() };
        for (risk, usual_s, own_s) in [(Risk::Low, 300, 10), (Risk::Medium, 300, 10), (Risk::High, 600, 86_400)] {
            assert_eq!((usual.decided_within_s(risk), own.decided_within_s(risk)), (usual_s, own_s), "{risk:?}");
        }
    }

    #[test]
    fn a_house_adds_to_what_is_denied() {
        let own = ApprovalRules { denied_commands: vec!["docker".to_owned()], ..ApprovalRules::default() };
        let is_denied = |rules: &ApprovalRules, program: &str| rules.denied().check(program, &[]).is_err();
        assert!(is_denied(&own, "docker") && is_denied(&own, "sudo") && !is_denied(&own, "ls"));
        assert!(!is_denied(&ApprovalRules::default(), "docker"));
    }
}
