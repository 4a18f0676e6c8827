//! Whether a tool may be used: one function, asked by every door. Default deny; a decision allocates nothing, and its
//! sentence is written only when somebody wants to read it.

use crate::Refusal;
use crate::capabilities::ToolSet;
use crate::ids::WorkspaceId;
use crate::participants::glob;
use crate::platform_tools;
use crate::roles::Role;
use crate::rules::Rules;
use std::fmt;

/// What a paired node offers; there is no other way to a person's files.
pub const NODE_CAPABILITIES: [&str; 5] =
    ["filesystem.read", "filesystem.write", "filesystem.list", "exec.sandboxed", NETWORK];
/// What a command needs besides, to use the network. No tool is called so: it is asked for with each command.
pub const NETWORK: &str = "exec.network";

/// Who would run the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// Whoever has it: the platform, a node, or a plugin.
    Any,
    Platform,
    Node,
    Plugin(&'a str),
}

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub tool: &'a str,
    pub source: Source<'a>,
    pub workspace: &'a WorkspaceId,
    pub role: &'a Role,
    pub is_member: bool,
    /// The only tools that the agent at work was given, if it was given a list. Narrows, never widens.
    pub agent_tools: Option<&'a [String]>,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Platform,
    Plugin,
    Workspace,
    Role,
    Deny,
    Agent,
}

impl Layer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Plugin => "plugin",
            Self::Workspace => "workspace",
            Self::Role => "role",
            Self::Deny => "deny",
            Self::Agent => "agent",
        }
    }
}

/// Who offers a tool, and by which of the capabilities it was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer<'a> {
    Node,
    Plugin { name: &'a str, capability: &'a str },
}

/// Why; everything that is said of a decision follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason<'a> {
    OfThePlatform,
    Allowed { offer: Offer<'a>, allow: &'a str, role: &'a str },
    NotAMember,
    NotOffered,
    NotAllowed,
    NoSuchRole,
    NotOfTheRole,
    DeniedByWorkspace(&'a str),
    DeniedByRole(&'a str),
    NotOfTheAgent,
}

#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    pub(super) question: Question<'a>,
    pub reason: Reason<'a>,
}

/// `plugin.caps ∋ tool ∧ workspace.tools.allow ∋ tool ∧ role.tools ∋ tool ∧ ¬(workspace.tools.deny ∋ tool ∨ role.deny ∋
/// tool)`, for members; the platform's own tools are always on. An agent's list narrows both.
pub fn decide<'a>(rules: &'a Rules, question: &Question<'a>) -> Decision<'a> {
    let reason = match reason(rules, question) {
        Ok(reason) if is_of_the_agent(question) => reason,
        Ok(_) => Reason::NotOfTheAgent,
        Err(reason) => reason,
    };
    Decision { question: *question, reason }
}

/// The layers in their order: the first that fails is the one that is told.
fn reason<'a>(rules: &'a Rules, question: &Question<'a>) -> Result<Reason<'a>, Reason<'a>> {
    let tool = question.tool;
    if !question.is_member {
        return Err(Reason::NotAMember);
    }
    // A plugin cannot make a tool the platform's by giving it such a name.
    if matches!(question.source, Source::Any | Source::Platform) && platform_tools::find(tool).is_some() {
        return Ok(Reason::OfThePlatform);
    }
    let offer = offer(rules, question.source, tool).ok_or(Reason::NotOffered)?;
    let workspace = rules.tools_of(question.workspace).ok_or(Reason::NotAllowed)?;
    let allow = workspace.allow.find(tool).ok_or(Reason::NotAllowed)?;
    let of_role = rules.tools_of_role(question.role).ok_or(Reason::NoSuchRole)?;
    let role = of_role.tools.and_then(|tools| tools.find(tool)).ok_or(Reason::NotOfTheRole)?;
    if let Some(pattern) = workspace.deny.find(tool) {
        return Err(Reason::DeniedByWorkspace(pattern));
    }
    if let Some(pattern) = of_role.deny.and_then(|deny| deny.find(tool)) {
        return Err(Reason::DeniedByRole(pattern));
    }
    Ok(Reason::Allowed { offer, allow, role })
}

fn offer<'a>(rules: &'a Rules, source: Source<'a>, tool: &str) -> Option<Offer<'a>> {
    let plugins = &rules.house.plugins;
    let by_node = || NODE_CAPABILITIES.contains(&tool).then_some(Offer::Node);
    let by_plugin =
        |name: &'a str, caps: &'a ToolSet| caps.find(tool).map(|capability| Offer::Plugin { name, capability });
    match source {
        Source::Platform => None,
        Source::Node => by_node(),
        Source::Plugin(name) => plugins.get(name).and_then(|plugin| by_plugin(name, &plugin.caps)),
        Source::Any => by_node().or_else(|| plugins.iter().find_map(|(name, plugin)| by_plugin(name, &plugin.caps))),
    }
}

fn is_of_the_agent(question: &Question<'_>) -> bool {
    let matches = |pattern: &String| glob(pattern.as_bytes(), question.tool.as_bytes());
    question.agent_tools.is_none_or(|tools| tools.iter().any(matches))
}

impl<'a> Decision<'a> {
    pub fn is_allowed(&self) -> bool {
        matches!(self.reason, Reason::OfThePlatform | Reason::Allowed { .. })
    }

    pub fn layer(&self) -> Layer {
        match self.reason {
            Reason::OfThePlatform => Layer::Platform,
            Reason::NotOffered => Layer::Plugin,
            Reason::Allowed { .. } | Reason::NotAMember | Reason::NotAllowed => Layer::Workspace,
            Reason::NoSuchRole | Reason::NotOfTheRole => Layer::Role,
            Reason::DeniedByWorkspace(_) | Reason::DeniedByRole(_) => Layer::Deny,
            Reason::NotOfTheAgent => Layer::Agent,
        }
    }

    /// The pattern that decided, or the word of the configuration that would have to change; absent where nothing
    /// matched.
    pub fn rule(&self) -> Option<&'a str> {
        match self.reason {
            Reason::Allowed { allow: pattern, .. }
            | Reason::DeniedByWorkspace(pattern)
            | Reason::DeniedByRole(pattern) => Some(pattern),
            Reason::NotAMember => Some("members"),
            Reason::NoSuchRole => Some("roles"),
            Reason::OfThePlatform | Reason::NotOffered | Reason::NotAllowed | Reason::NotOfTheRole => None,
            Reason::NotOfTheAgent => Some("tools"),
        }
    }

    /// Refuses whoever asked, without naming rules: a model may be told this.
    pub fn require(&self) -> crate::Result<()> {
        if self.is_allowed() {
            return Ok(());
        }
        let message = match self.reason {
            Reason::NotOfTheAgent => "this agent's own list of tools does not have this one",
            _ => "the rules of this workspace do not let you use this tool; `policy explain` says which of them",
        };
        Err(Refusal::forbidden(message).with("layer", self.layer().as_str()))
    }

    /// One sentence that somebody who manages the house can act on. It names rules: for people, not for models.
    pub fn detail(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Decision<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Question { tool, workspace, role, source, .. } = self.question;
        let role = role.as_str();
        match self.reason {
            Reason::OfThePlatform => write!(out, "`{tool}` is one of the platform's own tools, which are always on"),
            Reason::Allowed { offer, allow, role: pattern } => {
                write!(out, "{offer}, workspace `{workspace}` allows `{allow}`, role `{role}` may use `{pattern}`, ")?;
                write!(out, "and nothing denies `{tool}`")
            }
            Reason::NotAMember => write!(out, "the person is not among the members of workspace `{workspace}`"),
            Reason::NotOffered => match source {
                Source::Plugin(name) => write!(out, "the `caps` of plugin `{name}` do not have `{tool}`"),
                Source::Node => write!(out, "nodes do not offer `{tool}`"),
                Source::Platform => write!(out, "`{tool}` is not one of the platform's own tools"),
                Source::Any => write!(out, "no plugin has `{tool}` in its `caps`, and nodes do not offer it"),
            },
            Reason::NotAllowed => {
                write!(out, "nothing in `tools.allow` of workspace `{workspace}` stands for `{tool}`")
            }
            Reason::NoSuchRole => write!(out, "the person's role, `{role}`, is not defined any more"),
            Reason::NotOfTheRole => write!(out, "nothing in `tools` of role `{role}` stands for `{tool}`"),
            Reason::DeniedByWorkspace(pattern) => {
                write!(out, "`tools.deny` of workspace `{workspace}` has `{pattern}`, which stands for `{tool}`")
            }
            Reason::DeniedByRole(pattern) => {
                write!(out, "`deny` of role `{role}` has `{pattern}`, which stands for `{tool}`")
            }
            Reason::NotOfTheAgent => write!(out, "the agent's own list of tools does not have `{tool}`"),
        }
    }
}

impl fmt::Display for Offer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => out.write_str("nodes offer it"),
            Self::Plugin { name, capability } => write!(out, "plugin `{name}` offers `{capability}`"),
        }
    }
}
