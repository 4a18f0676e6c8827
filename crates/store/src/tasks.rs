//! Tasks: the record of the agent bus. A transition is written only if the row is still in the state it comes from.

use crate::rows::{Param, Row, columns, from_json, params, to_json};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::ids::{AgentId, MessageId, ProjectId, SessionId, TaskId, UserId, WorkspaceId};
use domain::messages::NamedAgent;
use domain::participants::Participant;
use domain::tasks::{Priority, Sender, Task, TaskStatus, TaskTalk, TaskTimes};
use domain::times::Timestamp;

pub struct Tasks<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// How many tasks of an agent are in which unfinished state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    pub queued: u64,
    pub running: u64,
    pub waiting: u64,
}

impl Unfinished {
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// An agent that has something to do.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct QueuedFor {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub agent: AgentId,
}

impl QueuedFor {
    /// The agent of a task.
    pub fn of(workspace: &WorkspaceId, task: &Task) -> Self {
        Self { workspace: workspace.clone(), project: task.project.clone(), agent: task.agent.id.clone() }
    }
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT project, id, session, agent, agent_name, message, message_number, reply_number, participant,
                    user_id, status, priority, hops, created_at, started_at, ended_at, deadline_at, holder, error, sum
               FROM tasks ",
            $rest
        )
    };
}

fn read(mut row: Row, workspace: &WorkspaceId) -> Result<Task> {
    let (project, id) = (ProjectId::from_trusted(row.text()?), TaskId::from_trusted(row.text()?));
    let session = SessionId::from_trusted(row.text()?);
    let agent = NamedAgent { id: AgentId::from_trusted(row.text()?), name: row.text()? };
    let talk = TaskTalk {
        message: MessageId::from_trusted(row.text()?),
        message_number: row.count()?,
        reply_number: row.optional_count()?,
    };
    let (participant, user) = (Participant::from_trusted(row.text()?), UserId::from_trusted(row.text()?));
    let status = TaskStatus::parse(&row.text()?).ok_or_else(|| Error::BadRow("the status of a task".into()))?;
    let priority = if row.count()? == 0 { Priority::Normal } else { Priority::High };
    let hops = row.count()?;
    let times = TaskTimes {
        created_at: row.time()?,
        started_at: row.optional_time()?,
        ended_at: row.optional_time()?,
        deadline_at: row.optional_time()?,
    };
    let holder = row.optional_text()?;
    let stored_error = row.optional_text()?;
    let error = stored_error.as_deref().map(from_json).transpose()?;
    let sender = Sender { user, participant };
    let task = Task { id, project, session, agent, talk, sender, status, priority, hops, times, holder, error };
    sums::check(row.optional_integer()?, || sum(workspace, &task, stored_error.as_deref()), "a task")?;
    Ok(task)
}

fn sum(workspace: &WorkspaceId, task: &Task, error: Option<&str>) -> i64 {
    sums::of_row(&row(workspace, task, error))
}

/// All columns but the sum, in the order of the table.
fn row<'a>(workspace: &'a WorkspaceId, task: &'a Task, error: Option<&'a str>) -> [Param<'a>; 20] {
    let Task { agent, talk, sender, times, .. } = task;
    columns![
        workspace.as_str(),
        task.project.as_str(),
        task.id.as_str(),
        task.session.as_str(),
        agent.id.as_str(),
        agent.name.as_str(),
        talk.message.as_str(),
        talk.message_number,
        talk.reply_number,
        sender.participant.as_str(),
        sender.user.as_str(),
        task.status.as_str(),
        u64::from(task.priority == Priority::High),
        task.hops,
        times.created_at,
        times.started_at,
        times.ended_at,
        times.deadline_at,
        task.holder.as_deref(),
        error,
    ]
}

impl Tasks<'_> {
    fn read_all(&self, rows: Vec<Row>) -> Result<Vec<Task>> {
        rows.into_iter().map(|row| read(row, self.workspace)).collect()
    }

    pub async fn create(&mut self, task: &Task) -> Result<()> {
        let error = task.error.as_ref().map(to_json).transpose()?;
        let mut all = row(self.workspace, task, error.as_deref()).to_vec();
        all.push(sum(self.workspace, task, error.as_deref()).into());
        self.tx
            .execute(
                "INSERT INTO tasks (workspace, project, id, session, agent, agent_name, message, message_number,
                                    reply_number, participant, user_id, status, priority, hops, created_at, started_at,
                                    ended_at, deadline_at, holder, error, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)",
                &all,
            )
            .await?;
        Ok(())
    }

    /// Writes how a task stands now, if it is still in the state `from`; answers whether it was.
    pub async fn advance(&mut self, task: &Task, from: TaskStatus) -> Result<bool> {
        let error = task.error.as_ref().map(to_json).transpose()?;
        let changed = self
            .tx
            .execute(
                "UPDATE tasks SET status = $1, reply_number = $2, started_at = $3, ended_at = $4, deadline_at = $5,
                                  holder = $6, error = $7, sum = $8
                  WHERE workspace = $9 AND project = $10 AND id = $11 AND status = $12",
                params![
                    task.status.as_str(),
                    task.talk.reply_number,
                    task.times.started_at,
                    task.times.ended_at,
                    task.times.deadline_at,
                    task.holder.as_deref(),
                    error.as_deref(),
                    sum(self.workspace, task, error.as_deref()),
                    self.workspace.as_str(),
                    task.project.as_str(),
                    task.id.as_str(),
                    from.as_str(),
                ],
            )
            .await?;
        if task.status.has_ended() {
            self.tx.task_ended();
        }
        Ok(changed == 1)
    }

    pub async fn get(&mut self, project: &ProjectId, id: &TaskId) -> Result<Option<Task>> {
        let row = self
            .tx
            .query_one(
                selected!("WHERE workspace = $1 AND project = $2 AND id = $3"),
                params![self.workspace.as_str(), project.as_str(), id.as_str()],
            )
            .await?;
        row.map(|row| read(row, self.workspace)).transpose()
    }

    /// The tasks of a project before an id, newest first; of one status, if one is named.
    pub async fn page(
        &mut self,
        project: &ProjectId,
        status: Option<TaskStatus>,
        before: &str,
        limit: u64,
    ) -> Result<Vec<Task>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND project = $2 AND ($3 = '' OR id < $3)
                    AND (CAST($4 AS TEXT) IS NULL OR status = $4)
                  ORDER BY id DESC LIMIT $5"
                ),
                params![self.workspace.as_str(), project.as_str(), before, status.map(TaskStatus::as_str), limit],
            )
            .await?;
        self.read_all(rows)
    }

    /// How many tasks of an agent are not over.
    pub async fn unfinished(&mut self, agent: &AgentId) -> Result<Unfinished> {
        let rows = self
            .tx
            .query(
                "SELECT status, COUNT(*) FROM tasks WHERE workspace = $1 AND agent = $2 AND ended_at IS NULL
                  GROUP BY status",
                params![self.workspace.as_str(), agent.as_str()],
            )
            .await?;
        read_unfinished(rows)
    }

    /// How many tasks of a project are not over.
    pub async fn unfinished_of_project(&mut self, project: &ProjectId) -> Result<Unfinished> {
        let rows = self
            .tx
            .query(
                // Counted among those that are not over; by the name of the project SQLite would look at all there ever were.
                "SELECT status, COUNT(*) FROM tasks WHERE workspace = $1 AND ended_at IS NULL AND (project || '') = $2
                  GROUP BY status",
                params![self.workspace.as_str(), project.as_str()],
            )
            .await?;
        read_unfinished(rows)
    }

    /// How many tasks wait for the agent of a project that most wait for.
    pub async fn longest_queue(&mut self, project: &ProjectId) -> Result<u64> {
        let row = self
            .tx
            .query_one(
                "SELECT COUNT(*) AS waiting FROM tasks
                  WHERE workspace = $1 AND ended_at IS NULL AND status = 'queued' AND project = $2
                  GROUP BY agent ORDER BY waiting DESC LIMIT 1",
                params![self.workspace.as_str(), project.as_str()],
            )
            .await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    /// The tasks of an agent that are next: those of the highest priority first, then the oldest.
    pub async fn next_of(&mut self, agent: &AgentId, limit: u64) -> Result<Vec<Task>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND agent = $2 AND status = 'queued' AND ended_at IS NULL
                  ORDER BY priority DESC, id LIMIT $3"
                ),
                params![self.workspace.as_str(), agent.as_str(), limit],
            )
            .await?;
        self.read_all(rows)
    }

    /// Tasks of an agent that are not over, oldest first.
    pub async fn open_of_agent(&mut self, agent: &AgentId) -> Result<Vec<Task>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE workspace = $1 AND agent = $2 AND ended_at IS NULL ORDER BY id"),
                params![self.workspace.as_str(), agent.as_str()],
            )
            .await?;
        self.read_all(rows)
    }

    /// Tasks of a project that are not over, oldest first.
    pub async fn open_of_project(&mut self, project: &ProjectId) -> Result<Vec<Task>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE workspace = $1 AND ended_at IS NULL AND project = $2 ORDER BY id"),
                params![self.workspace.as_str(), project.as_str()],
            )
            .await?;
        self.read_all(rows)
    }

    /// Tasks of a session that are not over, oldest first.
    pub async fn open_of_session(&mut self, session: &SessionId) -> Result<Vec<Task>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE workspace = $1 AND session = $2 AND ended_at IS NULL ORDER BY id"),
                params![self.workspace.as_str(), session.as_str()],
            )
            .await?;
        self.read_all(rows)
    }

    /// The newest tasks of a session, newest first.
    pub async fn newest_of_session(&mut self, session: &SessionId, limit: u64) -> Result<Vec<Task>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE workspace = $1 AND session = $2 ORDER BY id DESC LIMIT $3"),
                params![self.workspace.as_str(), session.as_str(), limit],
            )
            .await?;
        self.read_all(rows)
    }
}

fn read_unfinished(rows: Vec<Row>) -> Result<Unfinished> {
    let mut unfinished = Unfinished::default();
    for mut row in rows {
        let (status, count) = (row.text()?, row.count()?);
        match TaskStatus::parse(&status) {
            Some(TaskStatus::Queued) => unfinished.queued = count,
            Some(TaskStatus::Running) => unfinished.running = count,
            Some(TaskStatus::Waiting) => unfinished.waiting = count,
            _ => return Err(Error::BadRow("an unfinished task has ended".into())),
        }
    }
    Ok(unfinished)
}

/// Reads `workspace, project, id`.
fn read_place(mut row: Row) -> Result<(WorkspaceId, ProjectId, TaskId)> {
    let (workspace, project) = (WorkspaceId::from_trusted(row.text()?), ProjectId::from_trusted(row.text()?));
    Ok((workspace, project, TaskId::from_trusted(row.text()?)))
}

/// The house's own view, for what it does by itself.
impl Tx {
    /// Every task that this server was running.
    pub async fn tasks_held_by(&mut self, holder: &str) -> Result<Vec<(WorkspaceId, ProjectId, TaskId)>> {
        // What is held has a deadline. It is asked for once at a start, and not worth an index that every turn has to keep.
        let rows = self
            .query(
                "SELECT workspace, project, id FROM tasks WHERE deadline_at IS NOT NULL AND deadline_at > 0 AND holder = $1
                  ORDER BY deadline_at, workspace, id",
                params![holder],
            )
            .await?;
        rows.into_iter().map(read_place).collect()
    }

    /// Every agent that tasks wait for.
    pub async fn agents_with_queued_tasks(&mut self) -> Result<Vec<QueuedFor>> {
        let rows = self
            .query(
                "SELECT DISTINCT workspace, project, agent FROM tasks WHERE ended_at IS NULL AND status = 'queued'
                  ORDER BY workspace, project, agent",
                params![],
            )
            .await?;
        let read = |mut row: Row| {
            let (workspace, project) = (WorkspaceId::from_trusted(row.text()?), ProjectId::from_trusted(row.text()?));
            Ok(QueuedFor { workspace, project, agent: AgentId::from_trusted(row.text()?) })
        };
        rows.into_iter().map(read).collect()
    }

    /// Running tasks whose time is over.
    pub async fn tasks_overdue(&mut self, now: Timestamp, limit: u64) -> Result<Vec<(WorkspaceId, ProjectId, TaskId)>> {
        let rows = self
            .query(
                "SELECT workspace, project, id FROM tasks WHERE deadline_at IS NOT NULL AND deadline_at <= $1
                  ORDER BY deadline_at, workspace, id LIMIT $2",
                params![now, limit],
            )
            .await?;
        rows.into_iter().map(read_place).collect()
    }

    /// When the next running task is overdue.
    pub async fn next_task_deadline(&mut self) -> Result<Option<Timestamp>> {
        let row = self
            .query_one(
                "SELECT deadline_at FROM tasks WHERE deadline_at IS NOT NULL ORDER BY deadline_at LIMIT 1",
                params![],
            )
            .await?;
        row.map(|mut row| row.time()).transpose()
    }
}
