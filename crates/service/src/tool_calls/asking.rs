//! A person who is put before a call, and what the session knew then.

use super::judging::Judge;
use super::moves::Moving;
use crate::Result;
use domain::Refusal;
use domain::approvals::{Approval, ApprovalStatus};
use domain::events::Event;
use domain::ids::WorkspaceId;
use domain::sessions::ContextCounters;
use domain::snapshots::{Label, Snapshot};
use domain::times::Timestamp;
use domain::tool_calls::{CallOrigin, SessionKnew, ToolCall};
use store::Tx;

/// What is kept of what a session knew: the newest moments at which somebody was asked.
const MOMENTS_KEPT: u64 = 50;

impl Judge {
    /// Puts a person before the call.
    pub(super) async fn ask(&self, tx: &mut Tx, moving: &Moving<'_>, validated: &ToolCall) -> Result<ToolCall> {
        let mut waiting = validated.waiting_for(self.approval.clone(), self.now)?;
        if let Some(judgement) = &mut waiting.judgement {
            judgement.session_knew = freeze(tx, moving.workspace, &validated.origin, self.now).await?;
        }
        let judgement = waiting.judgement.as_ref().ok_or_else(|| Refusal::invalid("it was not judged"))?;
        let approval = Approval {
            id: self.approval.clone(),
            project: waiting.origin.project.clone(),
            call: waiting.id.clone(),
            user: waiting.origin.user.clone(),
            digest: judgement.digest.clone(),
            status: ApprovalStatus::Pending,
            requested_at: self.now,
            expires_at: judgement.expires_at,
            decided: None,
        };
        tx.scope(moving.workspace).approvals().create(&approval).await?;
        moving.put(tx, validated, &waiting).await?;
        moving.tell(tx, &waiting, Event::approval_request(&waiting, &approval, self.now)).await?;
        Ok(waiting)
    }
}

/// Keeps what the session knows, so that whoever is asked can look at it then and later.
async fn freeze(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    origin: &CallOrigin,
    now: Timestamp,
) -> Result<Option<SessionKnew>> {
    let Some(id) = &origin.session else { return Ok(None) };
    let Some(session) = tx.scope(workspace).sessions().get(id).await? else { return Ok(None) };
    let ContextCounters { rev, keys, total_tokens: tokens, .. } = session.counters;
    let snapshot = Snapshot {
        label: Label::of_house(rev),
        taken_at: now,
        taken_by: origin.participant.clone(),
        rev,
        key_count: keys,
        total_size_tokens: tokens,
    };
    // Others may have asked when it was the same.
    if tx.scope(workspace).snapshots(id).get(&snapshot.label).await?.is_none() {
        tx.scope(workspace).snapshots(id).keep_newest_of_house(MOMENTS_KEPT - 1).await?;
        tx.scope(workspace).snapshots(id).take(&snapshot, now).await?;
    }
    Ok(Some(SessionKnew { rev, keys, tokens, label: snapshot.label }))
}
