//! A person's answer. The first one stands; what was approved goes to its node in the same transaction.

use super::{Get, Inquiry, Looker, find};
use crate::tool_calls::{Judged, Mover, Moving, judge, on_own_feet, woken};
use crate::{Ctx, Error, Result, idempotency};
use domain::Refusal;
use domain::approvals::{Approval, ApprovalStatus, NOTE_LONGEST, may_decide};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::{ApprovalId, StandingRuleId, UserId, WorkspaceId};
use domain::node_tools::{NodeRequest, NodeTool};
use domain::nodes::Serves;
use domain::standing_rules::{Covers, Lasts, RulePlace, StandingRule, check};
use domain::times::Timestamp;
use domain::tool_calls::{CallStatus, ToolCall, is_of_a_plugin};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use store::{Operation, QueuedFor, Tx};

const DECIDED_AT_ONCE: usize = 100;
/// How long a standing rule may last.
const REMEMBERED_LONGEST_S: u64 = 30 * 24 * 3600;

#[derive(Debug, Clone)]
pub enum Answer {
    Approve {
        /// Of what was shown, if whoever decides says so.
        digest: Option<String>,
        remember: Option<Remember>,
    },
    Reject {
        note: Option<String>,
    },
}

/// What an answer is to stand for later, and for how long.
#[derive(Debug, Clone)]
pub struct Remember {
    pub what: RememberWhat,
    /// None = for this session.
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub enum RememberWhat {
    Call,
    Folder(String),
}

/// Takes a person's answer. `project`: where the approval has to be, if the caller says so.
pub async fn decide(ctx: &Ctx, project: Option<&str>, id: &str, answer: Answer) -> Result<Inquiry> {
    ctx.caller.require_person()?;
    let operation = Decide::new(ctx, project, ApprovalId::parse(id)?, answer).await?;
    carry_out(ctx, operation).await
}

/// The same for an answer that was given by a button in a channel, which the record names.
pub(crate) async fn decide_by_button(ctx: &Ctx, id: &str, answer: Answer, channel: &str) -> Result<Inquiry> {
    ctx.caller.require_person()?;
    let operation = Decide::new(ctx, None, ApprovalId::parse(id)?, answer).await?;
    carry_out(ctx, Decide { channel: Some(channel.to_owned()), ..operation }).await
}

async fn carry_out(ctx: &Ctx, operation: Decide) -> Result<Inquiry> {
    let turn = WorkspaceId::personal(&ctx.caller.user);
    let ctx = ctx.clone();
    on_own_feet(async move {
        let look = operation.look();
        let decided = idempotency::write(&ctx, &turn, operation).await?;
        woken(&ctx.house, decided.woken).await;
        ctx.house.store().read(look).await
    })
    .await
}

/// Takes the same answer to several, in one transaction. Each by itself: one that cannot be answered stops none of the others.
pub async fn decide_all(ctx: &Ctx, ids: &[String], answer: &Answer) -> Result<Vec<Result<Inquiry>>> {
    ctx.caller.require_person()?;
    if ids.is_empty() || ids.len() > DECIDED_AT_ONCE {
        return Err(Refusal::invalid_field("ids", format!("`ids` has 1 to {DECIDED_AT_ONCE} entries")).into());
    }
    let mut decisions = Vec::with_capacity(ids.len());
    let mut looks = Vec::with_capacity(ids.len());
    for id in ids {
        let decision = match ApprovalId::parse(id) {
            Ok(id) => Ok(Decide::new(ctx, None, id, answer.clone()).await?),
            Err(refusal) => Err(refusal),
        };
        looks.push(decision.as_ref().ok().map(Decide::look));
        decisions.push(decision);
    }
    let turn = WorkspaceId::personal(&ctx.caller.user);
    let ctx = ctx.clone();
    on_own_feet(async move {
        let outcomes = idempotency::write(&ctx, &turn, DecideAll { decisions }).await?;
        let mut told = Vec::with_capacity(outcomes.len());
        for (outcome, look) in outcomes.into_iter().zip(looks) {
            told.push(match (outcome, look) {
                (Ok(decided), Some(look)) => {
                    woken(&ctx.house, decided.woken).await;
                    ctx.house.store().read(look).await
                }
                (Err(refusal), _) => Err(refusal.into()),
                (Ok(_), None) => Err(Refusal::approval_not_found().into()),
            });
        }
        Ok(told)
    })
    .await
}

/// What is kept of an answer for a request that is repeated; the rest is in the rows.
#[derive(Serialize, Deserialize)]
struct Decided {
    woken: Option<QueuedFor>,
}

struct DecideAll {
    decisions: Vec<Result<Decide, Refusal>>,
}

impl Operation for DecideAll {
    type Output = Vec<Result<Decided, Refusal>>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let mut outcomes = Vec::with_capacity(self.decisions.len());
        for decision in &self.decisions {
            outcomes.push(match decision {
                Err(refusal) => Err(refusal.clone()),
                Ok(decide) => match tx.attempt(decide).await {
                    Ok(decided) => Ok(decided),
                    Err(Error::Refused(refusal)) => Err(refusal),
                    Err(error) => return Err(error),
                },
            });
        }
        Ok(outcomes)
    }
}

struct Decide {
    caller: Arc<Caller>,
    looker: Looker,
    project: Option<String>,
    id: ApprovalId,
    answer: Answer,
    /// Where a button was pressed, if one was.
    channel: Option<String>,
    rule: StandingRuleId,
    judge: crate::tool_calls::Judge,
}

impl Operation for Decide {
    type Output = Decided;
    type Error = Error;

    fn is_small(&self) -> bool {
        true
    }

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let (workspace, approval) = find(tx, &self.looker, &self.id).await?;
        let call = tx.scope(&workspace).tool_calls().get(&approval.project, &approval.call).await?;
        let call = call.ok_or_else(Refusal::approval_not_found)?;
        if let Some(named) = &self.project {
            let project = tx.scope(&workspace).projects().get(&approval.project).await?;
            if !project.is_some_and(|project| project.id.as_str() == named || project.name == *named) {
                return Err(Refusal::approval_not_found().into());
            }
        }
        let owner = self.owner_of_node(tx, &workspace, &call).await?;
        may_decide(&self.caller, &approval.user, self.looker.decides_for_others, owner.as_ref())?;
        let mover = match &self.channel {
            Some(channel) => Mover::Presser(&self.caller, channel),
            None => Mover::Caller(&self.caller),
        };
        let moving = Moving { workspace: &workspace, mover, now: self.judge.now };
        let judged = match &self.answer {
            Answer::Approve { digest, remember } => {
                approval.require_digest(digest.as_deref())?;
                self.approve(tx, &moving, &approval, &call, remember.as_ref()).await?
            }
            Answer::Reject { note } => self.reject(tx, &moving, &approval, &call, note.clone()).await?,
        };
        Ok(Decided { woken: judged.woken })
    }
}

impl Decide {
    async fn new(ctx: &Ctx, project: Option<&str>, id: ApprovalId, answer: Answer) -> Result<Self> {
        if let Answer::Reject { note: Some(note) } = &answer {
            domain::sessions::check_text("reason", note, NOTE_LONGEST)?;
        }
        Ok(Self {
            caller: ctx.caller.clone(),
            looker: Looker::of(ctx).await?,
            project: project.map(str::to_owned),
            id,
            answer,
            channel: None,
            rule: StandingRuleId::generated(ctx.house.unique()),
            judge: judge(&ctx.house).await?,
        })
    }

    /// How whoever decides sees it afterwards.
    fn look(&self) -> Get {
        Get { looker: self.looker.clone(), id: self.id.clone() }
    }

    /// Whose own machine it would run on.
    async fn owner_of_node(&self, tx: &mut Tx, workspace: &WorkspaceId, call: &ToolCall) -> Result<Option<UserId>> {
        let Some(id) = &call.delivery.node else { return Ok(None) };
        let node = tx.scope(workspace).nodes().get(id).await?;
        Ok(node.filter(|node| node.serves != Serves::Members).map(|node| node.user))
    }

    async fn approve(
        &self,
        tx: &mut Tx,
        moving: &Moving<'_>,
        approval: &Approval,
        call: &ToolCall,
        remember: Option<&Remember>,
    ) -> Result<Judged> {
        let decided = approval.decided(&self.caller.user, ApprovalStatus::Approved, None, moving.now)?;
        let approved = call.approved(moving.now)?;
        moving.resolve(tx, &approved, &decided).await?;
        moving.put(tx, call, &approved).await?;
        if let Some(remember) = remember {
            self.remember(tx, moving, &approved, remember).await?;
        }
        self.judge.dispatch(tx, moving, &approved).await
    }

    async fn reject(
        &self,
        tx: &mut Tx,
        moving: &Moving<'_>,
        approval: &Approval,
        call: &ToolCall,
        note: Option<String>,
    ) -> Result<Judged> {
        let decided = approval.decided(&self.caller.user, ApprovalStatus::Rejected, note.clone(), moving.now)?;
        let message = note.unwrap_or_else(|| format!("{} said no", self.caller.user));
        let why = domain::messages::Failure { code: domain::Code::Forbidden, message };
        let rejected = call.ended(CallStatus::Rejected, Some(why), moving.now)?;
        moving.resolve(tx, &rejected, &decided).await?;
        let woken = moving.put(tx, call, &rejected).await?;
        Ok(Judged { call: rejected, woken })
    }

    /// The answer stands for later calls, too: a person's own, for themselves.
    async fn remember(&self, tx: &mut Tx, moving: &Moving<'_>, call: &ToolCall, remember: &Remember) -> Result<()> {
        let origin = &call.origin;
        if origin.user != self.caller.user {
            let message = "only the person it is done for lets an answer stand for later calls";
            return Err(Refusal::forbidden(message).into());
        }
        let arguments = serde_json::from_str(&call.wish.params).unwrap_or(Value::Null);
        if is_of_a_plugin(&call.wish.tool) {
            let message =
                "an answer about a plugin's tool stands for this call only: `approval` in the file says what is asked";
            return Err(Refusal::invalid_field("remember", message).into());
        }
        let tool = NodeTool::parse(&call.wish.tool).ok_or_else(Refusal::tool_call_not_found)?;
        let request = NodeRequest::parse(tool, &arguments)?;
        let covers = match &remember.what {
            RememberWhat::Call => Covers::Call { params: call.wish.params.clone() },
            RememberWhat::Folder(folder) => Covers::Folder { folder: domain::paths::normal(folder)? },
        };
        let network = call.judgement.as_ref().is_some_and(|judgement| judgement.network);
        check(&covers, (tool.as_str(), request.path()), tool.is_command(), network)?;
        let node = call.delivery.node.clone().ok_or_else(Refusal::node_not_found)?;
        let rule = StandingRule {
            id: self.rule.clone(),
            user: self.caller.user.clone(),
            place: RulePlace { project: origin.project.clone(), agent: origin.agent.id.clone(), node },
            tool: call.wish.tool.clone(),
            covers,
            lasts: self.lasts(call, remember)?,
            approval: self.id.clone(),
            created_at: moving.now,
        };
        tx.scope(moving.workspace).standing_rules().create(&rule).await?;
        let record = AuditRecord::new(&self.caller, "standing_rule.create", moving.now)
            .with("rule", rule.id.as_str())
            .with("tool", rule.tool.as_str())
            .with("approval", self.id.as_str());
        tx.scope(moving.workspace).audit().append(record);
        Ok(())
    }

    fn lasts(&self, call: &ToolCall, remember: &Remember) -> Result<Lasts> {
        match (remember.until, &call.origin.session) {
            (None, Some(session)) => Ok(Lasts::Session(session.clone())),
            (None, None) => {
                let message = "this call is of no session: say until when with `for`";
                Err(Refusal::invalid_field("remember", message).into())
            }
            (Some(until), _) => {
                let now = self.judge.now;
                if until <= now || until > now.plus_seconds(REMEMBERED_LONGEST_S) {
                    let message = "`for` is a time within the next 30 days";
                    return Err(Refusal::invalid_field("remember", message).into());
                }
                Ok(Lasts::Until(until))
            }
        }
    }
}
