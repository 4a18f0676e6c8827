//! What people decide about calls: the inbox, the answers, and answers that stand for later calls.

mod deciding;
mod standing_rules;

pub(crate) use deciding::decide_by_button;
pub use deciding::{Answer, Remember, RememberWhat, decide, decide_all};
pub use standing_rules::{list_rules, remove_rule};

use crate::paging::{Listed, Page};
use crate::sessions::SessionRef;
use crate::{Ctx, Error, Result, rules, shared_context};
use domain::answers::{self, SnapshotContent};
use domain::approvals::{Approval, ApprovalStatus};
use domain::history::trimmed;
use domain::ids::{ApprovalId, UserId, WorkspaceId};
use domain::nodes::Node;
use domain::requests::Request;
use domain::tool_calls::{Brief, ToolCall, cut_text};
use domain::{Code, Refusal};
use store::{Operation, Tx};

/// An approval with the call that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Inquiry {
    pub workspace: WorkspaceId,
    pub approval: Approval,
    pub call: ToolCall,
    pub why: Option<Why>,
    /// Where it would be done; none if that node is gone.
    pub node: Option<Node>,
    /// Whether something long was left out of it, as lists do.
    pub cut: bool,
}

/// What a call comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// What the person had asked for.
    pub asked: String,
    /// What the agent said when it wanted the call.
    pub said: String,
}

impl Inquiry {
    pub(crate) async fn new(tx: &mut Tx, workspace: WorkspaceId, approval: Approval) -> Result<Option<Self>> {
        let found = tx.scope(&workspace).tool_calls().get(&approval.project, &approval.call).await?;
        let Some(call) = found else { return Ok(None) };
        let why = why(tx, &workspace, &call).await?;
        let node = match &call.delivery.node {
            Some(id) => tx.scope(&workspace).nodes().get(id).await?,
            None => None,
        };
        Ok(Some(Self { workspace, approval, call, why, node, cut: false }))
    }

    fn in_brief(self) -> Self {
        let Self { workspace, approval, call, mut why, node, .. } = self;
        let Brief { call, mut cut } = call.in_brief();
        for text in why.iter_mut().flat_map(|why| [&mut why.asked, &mut why.said]) {
            cut |= cut_text(text);
        }
        Self { workspace, approval, call, why, node, cut }
    }
}

/// Looked up where it is kept: what nobody can see any more is not told here either.
async fn why(tx: &mut Tx, workspace: &WorkspaceId, call: &ToolCall) -> Result<Option<Why>> {
    let Some(waiter) = &call.origin.waiter else { return Ok(None) };
    let Some(task) = tx.scope(workspace).tasks().get(&call.origin.project, &waiter.task).await? else {
        return Ok(None);
    };
    let asked = tx.scope(workspace).messages(&task.session).get(task.talk.message_number).await?;
    let from = task.talk.message_number;
    let said = tx.scope(workspace).messages(&task.session).words_with_call(&task.id, from, &waiter.call).await?;
    let asked = asked.map(|message| message.content);
    Ok(Some(Why { asked: asked.unwrap_or_default(), said: said.unwrap_or_default() }))
}

/// Who looks, and whether they may decide for others: then they see what is for others, too.
#[derive(Clone)]
struct Looker {
    user: UserId,
    decides_for_others: bool,
}

impl Looker {
    async fn of(ctx: &Ctx) -> Result<Self> {
        let rules = rules::in_force(&ctx.house).await?;
        Ok(Self { user: ctx.caller.user.clone(), decides_for_others: rules.may_approve(&ctx.caller.role) })
    }
}

/// The approvals that the caller sees, newest first; of what is long in them, the beginning.
pub async fn list(ctx: &Ctx, status: Option<&str>, page: Page) -> Result<Listed<Inquiry>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let before = page.after(1)?.remove(0);
    let unknown = || {
        let names = ApprovalStatus::ALL.map(ApprovalStatus::as_str).join(", ");
        Refusal::invalid_field("status", format!("`status` is one of {names}"))
    };
    let status = status.map(|text| ApprovalStatus::parse(text).ok_or_else(unknown)).transpose()?;
    let looker = Looker::of(ctx).await?;
    let items = ctx.house.store().scan(List { looker, status, before, limit: limit + 1 }).await?;
    Ok(Listed::cut(items, limit, |inquiry| vec![inquiry.approval.id.as_str().to_owned()]))
}

struct List {
    looker: Looker,
    status: Option<ApprovalStatus>,
    before: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Inquiry>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Inquiry>> {
        let whose = (&self.looker.user, self.looker.decides_for_others);
        let found = tx.approvals_seen_by(whose, self.status, &self.before, self.limit).await?;
        let mut inquiries = Vec::with_capacity(found.len());
        for (workspace, approval) in found {
            // One after the other: each may be of many megabytes.
            inquiries.extend(Inquiry::new(tx, workspace, approval).await?.map(Inquiry::in_brief));
        }
        Ok(inquiries)
    }
}

/// One approval with everything that would be done.
pub async fn get(ctx: &Ctx, id: &str) -> Result<Inquiry> {
    ctx.caller.require_person()?;
    let id = ApprovalId::parse(id)?;
    ctx.house.store().read(Get { looker: Looker::of(ctx).await?, id }).await
}

/// What the session of a call knew when a person was asked about it, as far as the caller may see it.
pub async fn session_knew(ctx: &Ctx, id: &str) -> Result<SnapshotContent> {
    let Inquiry { workspace, call, .. } = get(ctx, id).await?;
    let knew = call.judgement.and_then(|judgement| judgement.session_knew);
    let (Some(id), Some(knew)) = (call.origin.session, knew) else {
        return Err(Refusal::new(Code::SnapshotNotFound, "this call is of no session").into());
    };
    let session = SessionRef { id, workspace: Some(workspace.as_str().to_owned()) };
    let read = Request::ReadSnapshot { label: knew.label, keys: None };
    match shared_context::execute(ctx, session, read).await {
        Ok(answers::Answer::SnapshotContent(content)) => Ok(content),
        Ok(_) => Err(store::Error::BadOperation("a look gave something else").into()),
        Err(error) if error.code() == Code::SnapshotNotFound => Err(trimmed().into()),
        Err(error) => Err(error),
    }
}

struct Get {
    looker: Looker,
    id: ApprovalId,
}

impl Operation for Get {
    type Output = Inquiry;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Inquiry> {
        let (workspace, approval) = find(tx, &self.looker, &self.id).await?;
        Ok(Inquiry::new(tx, workspace, approval).await?.ok_or_else(Refusal::approval_not_found)?)
    }
}

/// Finds an approval that somebody sees.
async fn find(tx: &mut Tx, looker: &Looker, id: &ApprovalId) -> Result<(WorkspaceId, Approval)> {
    let found = tx.approval_seen_by((&looker.user, looker.decides_for_others), id).await?;
    Ok(found.ok_or_else(Refusal::approval_not_found)?)
}
