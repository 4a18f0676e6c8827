//! What the house thinks of a call: whether it is well-formed, whether the rules allow it, how dangerous it is, and so
//! whether a person has to be asked. What is special about plugins is in `plugin_calls`.

use super::knowing::knows_the_file;
use super::moves::Moving;
use super::settings::{granted, request_of};
use crate::bus::standing_of;
use crate::plugins::Listing;
use crate::policy;
use crate::{Error, Result};
use domain::agents::Agent;
use domain::approvals::is_shown_in_part;
use domain::digests::{NOTHING_STARTED, Parties, Plan, Shown, digest};
use domain::ids::{ApprovalId, ProjectId, UserId, WorkspaceId};
use domain::node_tools::{NodeRequest, NodeTool, SCHEMA_VERSION};
use domain::nodes::{Node, Serves};
use domain::policy::{Question, Source};
use domain::projects::ProjectApproval;
use domain::risks::{Assessment, Known, assess};
use domain::rules::Rules;
use domain::times::Timestamp;
use domain::tool_calls::{CallStatus, Judgement, Preview, Risk, ToolCall, is_of_a_plugin};
use domain::{Code, Refusal};
use serde_json::Value;
use std::sync::Arc;
use store::{AcceptedTool, QueuedFor, Tx};

/// The rules that a call is judged by, and what a decision about it would be called.
#[derive(Clone)]
pub(crate) struct Judge {
    pub(crate) rules: Arc<Rules>,
    pub(crate) policy_epoch: u64,
    pub(crate) approval: ApprovalId,
    /// What plugins offer at this moment.
    pub(crate) plugins: Arc<Listing>,
    pub(crate) now: Timestamp,
}

/// What became of a call, and whose turn goes on because of it.
pub(crate) struct Judged {
    pub(crate) call: ToolCall,
    pub(crate) woken: Option<QueuedFor>,
}

/// A call that the house would make.
pub(super) struct Fit {
    pub(super) by: By,
    pub(super) arguments: Value,
    pub(super) wanted: ProjectApproval,
}

/// Who would make it.
pub(super) enum By {
    Node {
        request: NodeRequest,
        node: Node,
    },
    /// The house, of a plugin.
    Plugin {
        tool: AcceptedTool,
        waits_for_a_person: bool,
    },
}

impl By {
    /// Of a plugin's call there is nothing but its arguments, and they are shown.
    fn is_shown_in_part(&self, preview: Option<&Preview>) -> bool {
        matches!(self, Self::Node { request, .. } if is_shown_in_part(request, preview))
    }
}

impl Fit {
    /// Whether a call of that risk waits for a person.
    pub(super) fn asks(&self, risk: Risk) -> bool {
        matches!(self.by, By::Plugin { waits_for_a_person: true, .. }) || self.wanted.asks(risk)
    }
}

impl Judge {
    /// Takes a proposed call as far as it can go without a person or a node.
    pub(crate) async fn judge(
        &self,
        tx: &mut Tx,
        moving: &Moving<'_>,
        call: &ToolCall,
        preview: Option<Preview>,
    ) -> Result<Judged> {
        let fit = match self.fit(tx, moving.workspace, call, preview.as_ref()).await {
            Ok(fit) => fit,
            Err(Error::Refused(refusal)) => {
                let status = if is_denial(refusal.code) { CallStatus::Denied } else { CallStatus::Invalid };
                return moving.end(tx, call, status, refusal.into()).await;
            }
            Err(error) => return Err(error),
        };
        if let Some(refusal) = preview.as_ref().and_then(|preview| preview.refusal.clone()) {
            // Nobody need be asked about what the machine would refuse.
            let status = if is_denial(refusal.code) { CallStatus::Denied } else { CallStatus::Invalid };
            return moving.end(tx, call, status, refusal).await;
        }
        let (judgement, node) = match &fit.by {
            By::Node { request, node } => {
                let asked = (call, request, &fit.arguments);
                (self.judgement(tx, moving.workspace, asked, (node, fit.wanted), preview).await?, Some(node.id.clone()))
            }
            By::Plugin { tool, waits_for_a_person } => {
                (self.plugin_judgement(call, tool, *waits_for_a_person, &fit), None)
            }
        };
        let risk = judgement.risk;
        let validated = call.validated(judgement, node)?;
        let asks_nobody = !fit.asks(risk) || self.is_remembered(tx, moving.workspace, &validated, &fit.by).await?;
        let shown = validated.judgement.as_ref().and_then(|judgement| judgement.preview.as_ref());
        if !asks_nobody && fit.by.is_shown_in_part(shown) {
            let message = "the change is too large to be shown whole to a person: make it in smaller pieces";
            let why = Refusal::new(Code::ValueTooLarge, message);
            return moving.end(tx, call, CallStatus::Invalid, why.into()).await;
        }
        moving.put(tx, call, &validated).await?;
        if asks_nobody {
            let approved = validated.approved(self.now)?;
            moving.put(tx, &validated, &approved).await?;
            return self.dispatch(tx, moving, &approved).await;
        }
        let waiting = self.ask(tx, moving, &validated).await?;
        Ok(Judged { call: waiting, woken: None })
    }

    /// Whether a call is well-formed and allowed.
    pub(super) async fn is_fit(&self, tx: &mut Tx, workspace: &WorkspaceId, call: &ToolCall) -> Result<bool> {
        Ok(granted(self.fit(tx, workspace, call, None).await)?.is_ok())
    }

    /// Refuses what is not well-formed or not allowed.
    pub(super) async fn fit(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        call: &ToolCall,
        preview: Option<&Preview>,
    ) -> Result<Fit> {
        if is_of_a_plugin(&call.wish.tool) {
            return self.fit_of_plugin(tx, workspace, call).await;
        }
        let tool = NodeTool::parse(&call.wish.tool).ok_or_else(|| unknown_tool(call))?;
        self.require_allowed(tx, workspace, call, (Source::Node, tool.capability())).await?;
        let (request, arguments) = request_of(call, tool)?;
        self.require_not_denied(&request, preview)?;
        let node = self.node(tx, workspace, call).await?;
        let wanted = self.wanted_by_project(tx, workspace, call).await?;
        Ok(Fit { by: By::Node { request, node }, arguments, wanted })
    }

    /// Whether agent and person have this capability now. Asked when a call is judged, and whenever it is looked at again.
    pub(crate) async fn require_allowed(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        call: &ToolCall,
        (source, capability): (Source<'_>, &str),
    ) -> Result<()> {
        let origin = &call.origin;
        let role = standing_of(tx, workspace, &origin.user).await?;
        let found = tx.scope(workspace).agents(&origin.project).get(&origin.agent.id).await?;
        let agent: Agent = found.ok_or_else(|| Refusal::forbidden("the agent is no longer here"))?;
        let question = Question {
            tool: capability,
            source,
            workspace,
            role: &role,
            is_member: true,
            agent_tools: agent.settings.tools.as_deref(),
        };
        policy::require(&self.rules, &question)
    }

    async fn node(&self, tx: &mut Tx, workspace: &WorkspaceId, call: &ToolCall) -> Result<Node> {
        let serving = serving(tx, &self.rules, workspace, (&call.origin.user, &call.origin.project)).await?;
        let chosen = serving.into_iter().find(|node| Some(&node.id) == call.delivery.node.as_ref());
        Ok(chosen.ok_or_else(Refusal::node_not_found)?)
    }

    async fn judgement(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        (call, request, arguments): (&ToolCall, &NodeRequest, &Value),
        (node, wanted): (&Node, ProjectApproval),
        preview: Option<Preview>,
    ) -> Result<Judgement> {
        let shown = preview.as_ref();
        let network = self.has_network(tx, workspace, (call, request), shown).await?;
        let also_shown: Vec<&str> = shown.into_iter().flat_map(texts_of).collect();
        let known = Known {
            has_read: knows_the_file(tx, workspace, (call, request), shown).await?,
            exists: shown.and_then(|preview| preview.exists),
            resolved: shown.and_then(|preview| preview.path.as_deref()),
            is_unseen: shown.is_some_and(|preview| preview.no_diff.is_some()),
            network,
            is_always_asked: wanted == ProjectApproval::Always,
            also_shown: &also_shown,
        };
        let Assessment { risk, reasons } = assess(request, known);
        let expires_at = self.now.plus_seconds(self.rules.house.approvals.decided_within_s(risk));
        let digest = digest(&Shown {
            plan: Plan {
                tool: request.tool(),
                schema_version: SCHEMA_VERSION,
                arguments,
                program: shown.and_then(|preview| preview.program.as_deref()),
                starts: shown.map_or(NOTHING_STARTED, |preview| &preview.starts),
                cwd: shown.and_then(|preview| preview.cwd.as_deref()),
                environment: shown.map_or(&[], |preview| preview.environment.as_slice()),
                base_sha256: shown.and_then(|preview| preview.base_sha256.as_deref()),
                network,
            },
            parties: parties(call, Some(node)),
            policy_epoch: self.policy_epoch,
            expires_at,
        });
        Ok(Judgement {
            risk,
            reasons,
            digest,
            policy_epoch: self.policy_epoch,
            expires_at,
            network,
            preview,
            plugin: None,
            session_knew: None,
            for_deciders: node.serves == Serves::Members,
        })
    }
}

/// Where a call comes from, for whom it is, and who does it.
pub(super) fn parties<'a>(call: &'a ToolCall, node: Option<&'a Node>) -> Parties<'a> {
    let origin = &call.origin;
    Parties {
        call: call.id.as_str(),
        project: &origin.project,
        session: origin.session.as_ref(),
        agent: &origin.agent.id,
        user: &origin.user,
        node: node.map(|node| node.id.as_str()),
    }
}

/// What a node says beforehand that a person reads.
fn texts_of(preview: &Preview) -> impl Iterator<Item = &str> {
    let told = [preview.diff.as_deref(), preview.program.as_deref()].into_iter().flatten();
    told.chain(preview.starts.values().map(String::as_str))
}

pub(super) fn unknown_tool(call: &ToolCall) -> Refusal {
    Refusal::new(Code::ToolNotFound, format!("there is no tool `{}`", call.wish.tool))
}

/// What the rules say no to, as against what is not well-formed.
fn is_denial(code: Code) -> bool {
    matches!(code, Code::Forbidden | Code::CommandDenied | Code::BudgetExceeded)
}

/// The nodes that could make a call. One that serves members does so only while its workspace lists it.
pub(super) async fn serving(
    tx: &mut Tx,
    rules: &Rules,
    workspace: &WorkspaceId,
    (user, project): (&UserId, &ProjectId),
) -> Result<Vec<Node>> {
    let nodes = tx.scope(workspace).nodes().all().await?;
    Ok(nodes.into_iter().filter(|node| node.serves(user, project) && rules.lets_serve(node)).collect())
}
