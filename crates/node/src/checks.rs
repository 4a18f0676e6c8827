//! What a node itself makes sure of before it does anything: that the call is for its person, that it is the very thing that
//! was approved, and that nothing it was told not to do is asked for. The server cannot lift any of this.

use crate::Fault;
use crate::journal::Effect;
use crate::undo::check_name;
use domain::commands::DeniedCommands;
use domain::digests::{NOTHING_STARTED, Parties, Plan, Shown, digest};
use domain::ids::{AgentId, ProjectId, SessionId, UserId};
use domain::node_tools::{NodeRequest, NodeTool, SCHEMA_VERSION};
use domain::rules::ApprovalRules;
use domain::times::Timestamp;
use protocol::tool_calls::ToolCall;
use std::collections::BTreeMap;

/// How much later than the end of the decision a call may come: it may have waited for this node, and clocks differ.
const LATEST_S: u64 = 10 * 60;

/// For whom a node works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub node: String,
    /// The one person that it works for; none if it serves all members of a workspace.
    pub user: Option<String>,
    /// The one project that it serves; none as above.
    pub project: Option<String>,
}

impl Identity {
    /// Of a node that no house knows yet: no call is for it.
    pub fn of_nobody() -> Self {
        Self { node: String::new(), user: None, project: None }
    }
}

/// What its person has ruled out when they started it, and what they have not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vetoes {
    /// Nothing is changed, and no command is run.
    pub read_only: bool,
    pub no_exec: bool,
    /// A command may use the network if the house says so; without this none does.
    pub allow_network: bool,
}

fn no(code: &'static str, message: impl Into<String>) -> Fault {
    Fault { code, message: message.into() }
}

/// The arguments of a call, read by the same rules as the server's.
pub(crate) fn request_of(call: &ToolCall) -> Result<NodeRequest, Fault> {
    let tool = NodeTool::parse(&call.tool).ok_or_else(|| no("TOOL_NOT_FOUND", "this node has no such tool"))?;
    NodeRequest::parse(tool, &call.params).map_err(|refusal| no("INVALID_REQUEST", refusal.message))
}

/// Refuses what this node does not do, whoever says yes to it.
pub(crate) fn check(
    call: &ToolCall,
    identity: &Identity,
    vetoes: Vetoes,
    now: Timestamp,
) -> Result<NodeRequest, Fault> {
    if identity.node.is_empty() || call.node.as_deref() != Some(identity.node.as_str()) {
        return Err(no("FORBIDDEN", "the call is for another node"));
    }
    if identity.user.as_ref().is_some_and(|user| *user != call.on_behalf_of) {
        return Err(no("FORBIDDEN", "this node works for the person who paired it, and for nobody else"));
    }
    if identity.project.as_ref().is_some_and(|project| *project != call.project) {
        return Err(no("FORBIDDEN", "this node serves another project"));
    }
    check_name(&call.id).map_err(|error| Fault::from(&error))?;
    let request = request_of(call)?;
    let tool = request.tool();
    check_vetoes(&request, vetoes)?;
    if call.network && !tool.is_command() {
        return Err(no("FORBIDDEN", "only a command uses the network"));
    }
    if call.network && !vetoes.allow_network {
        return Err(no("FORBIDDEN", "this node was started without --allow-network"));
    }
    if let NodeRequest::Execute(command) = &request {
        check_command(&command.program, &command.args, &BTreeMap::new())?;
    }
    check_digest(call, tool, now)?;
    Ok(request)
}

/// Refuses what its person has ruled out.
pub(crate) fn check_vetoes(request: &NodeRequest, vetoes: Vetoes) -> Result<(), Fault> {
    let tool = request.tool();
    if vetoes.read_only && !tool.only_looks() {
        return Err(no("FORBIDDEN", "this node was started with --read-only"));
    }
    if vetoes.no_exec && tool.is_command() {
        return Err(no("FORBIDDEN", "this node was started with --no-exec"));
    }
    Ok(())
}

/// Refuses a program that nobody can approve. `starts`: the files that words behind a wrapper mean.
pub(crate) fn check_command(program: &str, args: &[String], starts: &BTreeMap<String, String>) -> Result<(), Fault> {
    let checked = DeniedCommands::default().check_found(program, args, starts);
    checked.map_err(|refusal| no("COMMAND_DENIED", refusal.message))
}

fn check_digest(call: &ToolCall, tool: NodeTool, now: Timestamp) -> Result<(), Fault> {
    let mismatch = || no("DIGEST_MISMATCH", "what would be done is not what was approved");
    let (Some(policy_epoch), Some(expires_at)) = (call.policy_epoch, call.expires_at) else { return Err(mismatch()) };
    if now > latest(expires_at) {
        return Err(no("EXPIRED", "the decision about this call is too old"));
    }
    if expires_at > now.plus_seconds(ApprovalRules::LONGEST_S + LATEST_S) {
        return Err(no("FORBIDDEN", "the decision about this call would hold for longer than any may"));
    }
    let preview = call.preview.as_ref();
    let project = ProjectId::from_trusted(call.project.clone());
    let session = call.session.clone().map(SessionId::from_trusted);
    let agent = AgentId::from_trusted(call.agent_id.clone());
    let user = UserId::from_trusted(call.on_behalf_of.clone());
    let own = digest(&Shown {
        plan: Plan {
            tool,
            schema_version: SCHEMA_VERSION,
            arguments: &call.params,
            program: preview.and_then(|preview| preview.program.as_deref()),
            starts: preview.map_or(NOTHING_STARTED, |preview| &preview.starts),
            cwd: preview.and_then(|preview| preview.cwd.as_deref()),
            environment: preview.map_or(&[], |preview| preview.environment.as_slice()),
            base_sha256: preview.and_then(|preview| preview.base_sha256.as_deref()),
            network: call.network,
        },
        parties: Parties {
            call: &call.id,
            project: &project,
            session: session.as_ref(),
            agent: &agent,
            user: &user,
            node: call.node.as_deref(),
        },
        policy_epoch,
        expires_at,
    });
    if call.digest.as_deref() == Some(own.as_str()) { Ok(()) } else { Err(mismatch()) }
}

/// Until when a call may come whose decision ends then.
pub(crate) fn latest(expires_at: Timestamp) -> Timestamp {
    expires_at.plus_seconds(LATEST_S)
}

pub(crate) fn stale(message: &str) -> Fault {
    no("STALE_BASE", message)
}

/// Whether a change starts from what its person was shown, and where. `real_path`: behind all links.
pub(crate) fn starts_from_what_was_shown(call: &ToolCall, effect: &Effect, real_path: &str) -> Result<(), Fault> {
    let Some(preview) = &call.preview else { return Ok(()) };
    if preview.path.as_deref().is_some_and(|shown| shown != real_path) {
        return Err(stale("the path no longer leads where it did when the change was shown"));
    }
    let base = effect.base_sha256.map(|base| base.to_string());
    let shown = if preview.exists == Some(false) { None } else { preview.base_sha256.clone() };
    if preview.exists.is_none() || base == shown {
        return Ok(());
    }
    Err(stale("the file is not what it was when its change was shown"))
}
