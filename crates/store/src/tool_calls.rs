//! Calls of tools on people's machines. A move is written only if the row is still in the state and the telling it comes
//! from.

use crate::rows::{Param, Row, columns, from_json, params, to_json};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::ids::{AgentId, ApprovalId, NodeId, ProjectId, SessionId, TaskId, ToolCallId, UserId, WorkspaceId};
use domain::messages::NamedAgent;
use domain::participants::Participant;
use domain::times::Timestamp;
use domain::tool_calls::{CallOrigin, CallOutcome, CallStatus, CallTimes, Delivery, OpenCalls, ToolCall, Waiter, Wish};

pub struct ToolCalls<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// Changes of a session among which one is looked for that left a certain content.
const CHANGES_LOOKED_AT: u64 = 32;

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT project, id, session, agent, agent_name, user_id, participant, task, task_call, tool, params,
                    wished_node, status, judgement, approval, node, attempt, reason, result, consumed, created_at,
                    deadline_at, ended_at, sum
               FROM tool_calls ",
            $rest
        )
    };
}

/// What is kept as JSON.
struct Texts {
    judgement: Option<String>,
    reason: Option<String>,
}

impl Texts {
    fn of(call: &ToolCall) -> Result<Self> {
        Ok(Self {
            judgement: call.judgement.as_ref().map(to_json).transpose()?,
            reason: call.outcome.reason.as_ref().map(to_json).transpose()?,
        })
    }
}

fn read(mut row: Row, workspace: &WorkspaceId) -> Result<ToolCall> {
    let (project, id) = (ProjectId::from_trusted(row.text()?), ToolCallId::from_trusted(row.text()?));
    let session = row.optional_text()?.map(SessionId::from_trusted);
    let agent = NamedAgent { id: AgentId::from_trusted(row.text()?), name: row.text()? };
    let (user, participant) = (UserId::from_trusted(row.text()?), Participant::from_trusted(row.text()?));
    let (task, call) = (row.optional_text()?.map(TaskId::from_trusted), row.optional_text()?);
    let waiter = task.zip(call).map(|(task, call)| Waiter { task, call });
    let origin = CallOrigin { project, session, agent, user, participant, waiter };
    let wish = Wish { tool: row.text()?, params: row.text()?, node: row.optional_text()? };
    let status = CallStatus::parse(&row.text()?).ok_or_else(|| Error::BadRow("the status of a call".into()))?;
    let judgement = row.optional_text()?;
    let approval = row.optional_text()?.map(ApprovalId::from_trusted);
    let delivery = Delivery { node: row.optional_text()?.map(NodeId::from_trusted), attempt: row.count()? };
    let reason = row.optional_text()?;
    let outcome = CallOutcome {
        reason: reason.as_deref().map(from_json).transpose()?,
        result: row.optional_text()?,
        consumed: row.count()? != 0,
    };
    let times =
        CallTimes { created_at: row.time()?, deadline_at: row.optional_time()?, ended_at: row.optional_time()? };
    let judged = judgement.as_deref().map(from_json).transpose()?;
    let call = ToolCall { id, origin, wish, status, judgement: judged, approval, delivery, outcome, times };
    // As they are kept: a newer build may know more fields of them.
    let texts = Texts { judgement, reason };
    sums::check(row.optional_integer()?, || sum(workspace, &call, &texts), "a call of a tool")?;
    Ok(call)
}

fn sum(workspace: &WorkspaceId, call: &ToolCall, texts: &Texts) -> i64 {
    sums::of_row(&row(workspace, call, texts))
}

/// All columns but the sum, in the order of the table.
fn row<'a>(workspace: &'a WorkspaceId, call: &'a ToolCall, texts: &'a Texts) -> [Param<'a>; 24] {
    let ToolCall { origin, wish, delivery, outcome, times, .. } = call;
    let waiter = origin.waiter.as_ref();
    columns![
        workspace.as_str(),
        origin.project.as_str(),
        call.id.as_str(),
        origin.session.as_ref().map(SessionId::as_str),
        origin.agent.id.as_str(),
        origin.agent.name.as_str(),
        origin.user.as_str(),
        origin.participant.as_str(),
        waiter.map(|waiter| waiter.task.as_str()),
        waiter.map(|waiter| waiter.call.as_str()),
        wish.tool.as_str(),
        wish.params.as_str(),
        wish.node.as_deref(),
        call.status.as_str(),
        texts.judgement.as_deref(),
        call.approval.as_ref().map(ApprovalId::as_str),
        delivery.node.as_ref().map(NodeId::as_str),
        delivery.attempt,
        texts.reason.as_deref(),
        outcome.result.as_deref(),
        u64::from(outcome.consumed),
        times.created_at,
        times.deadline_at,
        times.ended_at,
    ]
}

impl ToolCalls<'_> {
    fn read_all(&self, rows: Vec<Row>) -> Result<Vec<ToolCall>> {
        rows.into_iter().map(|row| read(row, self.workspace)).collect()
    }

    pub async fn create(&mut self, call: &ToolCall) -> Result<()> {
        let texts = Texts::of(call)?;
        let mut all = row(self.workspace, call, &texts).to_vec();
        all.push(sum(self.workspace, call, &texts).into());
        self.tx
            .execute(
                "INSERT INTO tool_calls (workspace, project, id, session, agent, agent_name, user_id, participant, task,
                                         task_call, tool, params, wished_node, status, judgement, approval, node,
                                         attempt, reason, result, consumed, created_at, deadline_at, ended_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                         $22, $23, $24, $25)",
                &all,
            )
            .await?;
        Ok(())
    }

    /// Writes how a call stands now, if it still stands as `from` did; answers whether that was so.
    pub async fn advance(&mut self, call: &ToolCall, from: &ToolCall) -> Result<bool> {
        let texts = Texts::of(call)?;
        let changed = self
            .tx
            .execute(
                "UPDATE tool_calls SET status = $1, judgement = $2, approval = $3, node = $4, attempt = $5, reason = $6,
                                       result = $7, consumed = $8, deadline_at = $9, ended_at = $10, sum = $11
                  WHERE workspace = $12 AND project = $13 AND id = $14 AND status = $15 AND attempt = $16
                    AND consumed = $17",
                params![
                    call.status.as_str(),
                    texts.judgement.as_deref(),
                    call.approval.as_ref().map(ApprovalId::as_str),
                    call.delivery.node.as_ref().map(NodeId::as_str),
                    call.delivery.attempt,
                    texts.reason.as_deref(),
                    call.outcome.result.as_deref(),
                    u64::from(call.outcome.consumed),
                    call.times.deadline_at,
                    call.times.ended_at,
                    sum(self.workspace, call, &texts),
                    self.workspace.as_str(),
                    call.origin.project.as_str(),
                    call.id.as_str(),
                    from.status.as_str(),
                    from.delivery.attempt,
                    u64::from(from.outcome.consumed),
                ],
            )
            .await?;
        Ok(changed == 1)
    }

    pub async fn get(&mut self, project: &ProjectId, id: &ToolCallId) -> Result<Option<ToolCall>> {
        let row = self
            .tx
            .query_one(
                selected!("WHERE workspace = $1 AND project = $2 AND id = $3"),
                params![self.workspace.as_str(), project.as_str(), id.as_str()],
            )
            .await?;
        row.map(|row| read(row, self.workspace)).transpose()
    }

    /// The calls that were made for somebody in a project, before an id, newest first; of one status, if one is named.
    pub async fn page(
        &mut self,
        project: &ProjectId,
        user: &UserId,
        status: Option<CallStatus>,
        before: &str,
        limit: u64,
    ) -> Result<Vec<ToolCall>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND project = $2 AND user_id = $3 AND ($4 = '' OR id < $4)
                    AND (CAST($5 AS TEXT) IS NULL OR status = $5)
                  ORDER BY id DESC LIMIT $6"
                ),
                params![
                    self.workspace.as_str(),
                    project.as_str(),
                    user.as_str(),
                    before,
                    status.map(CallStatus::as_str),
                    limit
                ],
            )
            .await?;
        self.read_all(rows)
    }

    /// What a node has to do, or has not told the end of, oldest first; not what waits for a person.
    pub async fn open_of_node(&mut self, node: &NodeId, limit: u64) -> Result<Vec<ToolCall>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND node = $2 AND ended_at IS NULL AND status <> 'waiting_approval'
                  ORDER BY id LIMIT $3"
                ),
                params![self.workspace.as_str(), node.as_str(), limit],
            )
            .await?;
        self.read_all(rows)
    }

    /// How much is under way for somebody in a project, on machines and of plugins.
    pub async fn open_of_user(&mut self, project: &ProjectId, user: &UserId) -> Result<OpenCalls> {
        let row = self
            .tx
            .query_one(
                // Among those under way; by the name of the project SQLite would look at all there ever were.
                "SELECT COUNT(*), CAST(COALESCE(SUM(OCTET_LENGTH(params)), 0) AS BIGINT) FROM tool_calls
                  WHERE workspace = $1 AND ended_at IS NULL AND (project || '') = $2 AND user_id = $3",
                params![self.workspace.as_str(), project.as_str(), user.as_str()],
            )
            .await?;
        let Some(mut row) = row else { return Ok(OpenCalls::default()) };
        Ok(OpenCalls { calls: row.count()?, bytes: row.count()? })
    }

    /// Whether something is approved and not on its way to the node yet.
    pub async fn has_approved_for(&mut self, node: &NodeId) -> Result<bool> {
        let row = self
            .tx
            .query_one(
                "SELECT id FROM tool_calls
                  WHERE workspace = $1 AND node = $2 AND ended_at IS NULL AND status = 'approved' LIMIT 1",
                params![self.workspace.as_str(), node.as_str()],
            )
            .await?;
        Ok(row.is_some())
    }

    /// The calls of a turn that still run, or whose outcome nobody has yet, oldest first.
    pub async fn unconsumed_of_task(&mut self, task: &TaskId) -> Result<Vec<ToolCall>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND task = $2 AND consumed = 0
                  ORDER BY id"
                ),
                params![self.workspace.as_str(), task.as_str()],
            )
            .await?;
        self.read_all(rows)
    }

    /// The newest calls of a tool that came to their end for an agent in a session, newest first: their ids and arguments.
    pub async fn completed_of_session(
        &mut self,
        session: &SessionId,
        (agent, tool): (&AgentId, &str),
        limit: u64,
    ) -> Result<Vec<(ToolCallId, String)>> {
        let rows = self
            .tx
            .query(
                "SELECT id, params FROM tool_calls
                  WHERE workspace = $1 AND session = $2 AND agent = $3 AND tool = $4 AND status = 'completed'
                  ORDER BY id DESC LIMIT $5",
                params![self.workspace.as_str(), session.as_str(), agent.as_str(), tool, limit],
            )
            .await?;
        let read = |mut row: Row| Ok((ToolCallId::from_trusted(row.text()?), row.text()?));
        rows.into_iter().map(read).collect()
    }

    /// The newest calls of such a kind whose result may have this hash. Only of tools whose results are small.
    pub async fn completed_with_hash(
        &mut self,
        session: &SessionId,
        (agent, tool): (&AgentId, &str),
        sha256: &str,
        limit: u64,
    ) -> Result<Vec<ToolCallId>> {
        // What a node calls a hash may hold anything: whoever asks compares the results again. Results lie behind arguments,
        // which may be long: only those of the newest are walked through.
        let pattern = format!("%\"sha256\":\"{sha256}\"%");
        let rows = self
            .tx
            .query(
                "SELECT id FROM tool_calls
                  WHERE workspace = $1 AND session = $2
                    AND id IN (SELECT id FROM tool_calls WHERE workspace = $1 AND session = $2 AND agent = $3 AND tool = $4
                                ORDER BY id DESC LIMIT $5)
                    AND status = 'completed' AND result LIKE $6
                  ORDER BY id DESC LIMIT $7",
                params![
                    self.workspace.as_str(),
                    session.as_str(),
                    agent.as_str(),
                    tool,
                    CHANGES_LOOKED_AT,
                    pattern.as_str(),
                    limit
                ],
            )
            .await?;
        rows.into_iter().map(|mut row| Ok(ToolCallId::from_trusted(row.text()?))).collect()
    }

    /// Removes the calls of a session that goes.
    pub async fn delete_of_session(&mut self, session: &SessionId) -> Result<u64> {
        self.tx
            .execute(
                "DELETE FROM tool_calls WHERE workspace = $1 AND session = $2",
                params![self.workspace.as_str(), session.as_str()],
            )
            .await
    }

    /// Removes the calls of a project that goes.
    pub async fn delete_of_project(&mut self, project: &ProjectId) -> Result<u64> {
        self.tx
            .execute(
                "DELETE FROM tool_calls WHERE workspace = $1 AND project = $2",
                params![self.workspace.as_str(), project.as_str()],
            )
            .await
    }
}

/// Where a call is.
pub type ToolCallPlace = (WorkspaceId, ProjectId, ToolCallId);

pub(crate) fn read_place(mut row: Row) -> Result<ToolCallPlace> {
    let (workspace, project) = (WorkspaceId::from_trusted(row.text()?), ProjectId::from_trusted(row.text()?));
    Ok((workspace, project, ToolCallId::from_trusted(row.text()?)))
}

/// The house's own view, for what it does by itself.
impl Tx {
    /// Calls whose state is over.
    pub async fn tool_calls_overdue(&mut self, now: Timestamp, limit: u64) -> Result<Vec<ToolCallPlace>> {
        let rows = self
            .query(
                "SELECT workspace, project, id FROM tool_calls WHERE deadline_at IS NOT NULL AND deadline_at <= $1
                  ORDER BY deadline_at, workspace, id LIMIT $2",
                params![now, limit],
            )
            .await?;
        rows.into_iter().map(read_place).collect()
    }

    /// Calls that have not ended, by their ids, after one.
    pub async fn tool_calls_open(&mut self, after: &str, limit: u64) -> Result<Vec<ToolCallPlace>> {
        let rows = self
            .query(
                "SELECT workspace, project, id FROM tool_calls WHERE deadline_at IS NOT NULL AND id > $1
                  ORDER BY id LIMIT $2",
                params![after, limit],
            )
            .await?;
        rows.into_iter().map(read_place).collect()
    }

    /// Forgets calls that ended before a time, with what was asked about them. Answers how many there were.
    pub async fn purge_tool_calls(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        let rows = self
            .query(
                "SELECT workspace, project, id FROM tool_calls
                  WHERE ended_at IS NOT NULL AND ended_at < $1 AND consumed = 1 ORDER BY ended_at LIMIT $2",
                params![before, limit],
            )
            .await?;
        let places: Vec<ToolCallPlace> = rows.into_iter().map(read_place).collect::<Result<_>>()?;
        for (workspace, project, id) in &places {
            let of_call = params![workspace.as_str(), project.as_str(), id.as_str()];
            self.execute("DELETE FROM approvals WHERE workspace = $1 AND project = $2 AND call = $3", of_call).await?;
            self.execute("DELETE FROM tool_calls WHERE workspace = $1 AND project = $2 AND id = $3", of_call).await?;
        }
        Ok(places.len() as u64)
    }

    /// When the next state of a call is over.
    pub async fn next_tool_call_deadline(&mut self) -> Result<Option<Timestamp>> {
        let row = self
            .query_one(
                "SELECT deadline_at FROM tool_calls WHERE deadline_at IS NOT NULL ORDER BY deadline_at LIMIT 1",
                params![],
            )
            .await?;
        row.map(|mut row| row.time()).transpose()
    }
}
