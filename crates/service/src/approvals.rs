//! What people decide about calls: the inbox, the answers, and answers that stand for later calls.

mod deciding;
mod standing_rules;

pub use deciding::{Answer, Remember, RememberWhat, decide, decide_all};
pub use standing_rules::{list_rules, remove_rule};

use crate::paging::{Listed, Page};
use crate::{Ctx, Error, Result, rules};
use domain::Refusal;
use domain::approvals::{Approval, ApprovalStatus};
use domain::ids::{ApprovalId, UserId, WorkspaceId};
use domain::tool_calls::ToolCall;
use store::{Operation, Tx};

/// An approval with the call that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Inquiry {
    pub workspace: WorkspaceId,
    pub approval: Approval,
    pub call: ToolCall,
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

/// The approvals that the caller sees, newest first.
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
    let items = ctx.house.store().read(List { looker, status, before, limit: limit + 1 }).await?;
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
            let call = tx.scope(&workspace).tool_calls().get(&approval.project, &approval.call).await?;
            inquiries.extend(call.map(|call| Inquiry { workspace, approval, call }));
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

struct Get {
    looker: Looker,
    id: ApprovalId,
}

impl Operation for Get {
    type Output = Inquiry;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Inquiry> {
        find(tx, &self.looker, &self.id).await
    }
}

/// Finds an approval that somebody sees.
async fn find(tx: &mut Tx, looker: &Looker, id: &ApprovalId) -> Result<Inquiry> {
    let found = tx.approval_seen_by(&looker.user, id).await?;
    let is_seen = |approval: &Approval| approval.user == looker.user || looker.decides_for_others;
    let found = found.filter(|(_, approval)| is_seen(approval));
    let (workspace, approval) = found.ok_or_else(Refusal::approval_not_found)?;
    let call = tx.scope(&workspace).tool_calls().get(&approval.project, &approval.call).await?;
    Ok(Inquiry { workspace, approval, call: call.ok_or_else(Refusal::approval_not_found)? })
}
