//! Messages of a session, in the order in which they were said. Nothing here changes one, but for the results of calls
//! that were waited for.

use crate::rows::{Param, Row, columns, params, to_json};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::ids::{AgentId, MessageId, SessionId, TaskId, UserId, WorkspaceId};
use domain::messages::{Author, MadeBy, Message, NamedAgent, Role, ToolUse};
use domain::money::Micros;
use domain::participants::Participant;
use domain::prices::Usage;

pub struct Messages<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
    pub(crate) session: &'t SessionId,
}

/// What of a message is kept as JSON, as the row has it.
struct Texts {
    calls: Option<String>,
    error: Option<String>,
}

impl Texts {
    fn of(message: &Message) -> Result<Self> {
        let calls = (!message.calls.is_empty()).then(|| to_json(&message.calls)).transpose()?;
        Ok(Self { calls, error: message.error.as_ref().map(to_json).transpose()? })
    }
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT number, id, role, content, participant, user_id, agent, agent_name, task, in_reply_to, model,
                    input_tokens, output_tokens, cost, truncated, calls, error, covers, created_at, sum
               FROM messages ",
            $rest
        )
    };
}

fn read(mut row: Row, workspace: &WorkspaceId, session: &SessionId) -> Result<Message> {
    let (number, id) = (row.count()?, MessageId::from_trusted(row.text()?));
    let role = Role::parse(&row.text()?).ok_or_else(|| Error::BadRow("the role of a message".into()))?;
    let content = row.text()?;
    let (participant, user) = (Participant::from_trusted(row.text()?), UserId::from_trusted(row.text()?));
    let (agent, name) = (row.optional_text()?.map(AgentId::from_trusted), row.optional_text()?);
    let agent = agent.zip(name).map(|(id, name)| NamedAgent { id, name });
    let task = row.optional_text()?.map(TaskId::from_trusted);
    let in_reply_to = row.optional_text()?.map(MessageId::from_trusted);
    let made_by = read_made_by(&mut row)?;
    let texts = Texts { calls: row.optional_text()?, error: row.optional_text()? };
    let calls: Option<Vec<ToolUse>> = texts.calls.as_deref().map(crate::rows::from_json).transpose()?;
    let error = texts.error.as_deref().map(crate::rows::from_json).transpose()?;
    let message = Message {
        number,
        id,
        session: session.clone(),
        role,
        content,
        author: Author { participant, user, agent },
        task,
        in_reply_to,
        made_by,
        calls: calls.unwrap_or_default(),
        error,
        covers: row.optional_count()?,
        created_at: row.time()?,
    };
    sums::check(row.optional_integer()?, || sum(workspace, &message, &texts), "a message")?;
    Ok(message)
}

fn read_made_by(row: &mut Row) -> Result<Option<MadeBy>> {
    let model = row.optional_text()?;
    let tokens = row.optional_count()?.zip(row.optional_count()?);
    let (cost, truncated) = (row.optional_count()?.map(Micros), row.count()? != 0);
    Ok(model.zip(tokens).map(|(model, (input_tokens, output_tokens))| MadeBy {
        model,
        usage: Usage { input_tokens, output_tokens },
        cost,
        truncated,
    }))
}

fn sum(workspace: &WorkspaceId, message: &Message, texts: &Texts) -> i64 {
    sums::of_row(&row(workspace, message, texts))
}

/// All columns but the sum, in the order of the table.
fn row<'a>(workspace: &'a WorkspaceId, message: &'a Message, texts: &'a Texts) -> [Param<'a>; 21] {
    let Message { author, made_by, .. } = message;
    let agent = author.agent.as_ref();
    let made_by = made_by.as_ref();
    columns![
        workspace.as_str(),
        message.session.as_str(),
        message.number,
        message.id.as_str(),
        message.role.as_str(),
        message.content.as_str(),
        author.participant.as_str(),
        author.user.as_str(),
        agent.map(|agent| agent.id.as_str()),
        agent.map(|agent| agent.name.as_str()),
        message.task.as_ref().map(TaskId::as_str),
        message.in_reply_to.as_ref().map(MessageId::as_str),
        made_by.map(|made| made.model.as_str()),
        made_by.map(|made| made.usage.input_tokens),
        made_by.map(|made| made.usage.output_tokens),
        made_by.and_then(|made| made.cost).map(|cost| cost.0),
        u64::from(made_by.is_some_and(|made| made.truncated)),
        texts.calls.as_deref(),
        texts.error.as_deref(),
        message.covers,
        message.created_at,
    ]
}

impl Messages<'_> {
    fn read_all(&self, rows: Vec<Row>) -> Result<Vec<Message>> {
        rows.into_iter().map(|row| read(row, self.workspace, self.session)).collect()
    }

    /// The number of the newest one; 0 if there is none.
    pub async fn newest_number(&mut self) -> Result<u64> {
        let row = self
            .tx
            .query_one(
                "SELECT COALESCE(MAX(number), CAST(0 AS BIGINT)) FROM messages WHERE workspace = $1 AND session = $2",
                params![self.workspace.as_str(), self.session.as_str()],
            )
            .await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    /// Writes down a message that has its number already.
    pub async fn append(&mut self, message: &Message) -> Result<()> {
        let texts = Texts::of(message)?;
        let sum = sum(self.workspace, message, &texts);
        let columns = row(self.workspace, message, &texts);
        let mut all = columns.to_vec();
        all.push(sum.into());
        self.tx
            .execute(
                "INSERT INTO messages (workspace, session, number, id, role, content, participant, user_id, agent,
                                       agent_name, task, in_reply_to, model, input_tokens, output_tokens, cost,
                                       truncated, calls, error, covers, created_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                         $21, $22)",
                &all,
            )
            .await?;
        Ok(())
    }

    /// Writes down what became of the calls of a step.
    pub async fn save_calls(&mut self, message: &Message) -> Result<()> {
        let texts = Texts::of(message)?;
        self.tx
            .execute(
                "UPDATE messages SET calls = $1, sum = $2 WHERE workspace = $3 AND session = $4 AND number = $5",
                params![
                    texts.calls.as_deref(),
                    sum(self.workspace, message, &texts),
                    self.workspace.as_str(),
                    self.session.as_str(),
                    message.number,
                ],
            )
            .await?;
        Ok(())
    }

    /// Those after a number, oldest first.
    pub async fn after(&mut self, number: u64, limit: u64) -> Result<Vec<Message>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE workspace = $1 AND session = $2 AND number > $3 ORDER BY number LIMIT $4"),
                params![self.workspace.as_str(), self.session.as_str(), number, limit],
            )
            .await?;
        self.read_all(rows)
    }

    /// Those before a number, newest first.
    pub async fn before(&mut self, number: u64, limit: u64) -> Result<Vec<Message>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE workspace = $1 AND session = $2 AND number < $3 ORDER BY number DESC LIMIT $4"),
                params![self.workspace.as_str(), self.session.as_str(), number, limit],
            )
            .await?;
        self.read_all(rows)
    }

    /// The one of that number.
    pub async fn get(&mut self, number: u64) -> Result<Option<Message>> {
        Ok(self.before(number.saturating_add(1), 1).await?.pop().filter(|message| message.number == number))
    }

    /// The newest summary.
    pub async fn newest_summary(&mut self) -> Result<Option<Message>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND session = $2 AND role = 'summary'
                  ORDER BY number DESC LIMIT 1"
                ),
                params![self.workspace.as_str(), self.session.as_str()],
            )
            .await?;
        Ok(self.read_all(rows)?.pop())
    }

    /// The newest message of a task from a number on that asked for tools.
    pub async fn newest_with_calls(&mut self, task: &TaskId, from: u64) -> Result<Option<Message>> {
        let row = self
            .tx
            .query_one(
                selected!(
                    "WHERE workspace = $1 AND session = $2 AND number >= $3 AND task = $4 AND calls IS NOT NULL
                  ORDER BY number DESC LIMIT 1"
                ),
                params![self.workspace.as_str(), self.session.as_str(), from, task.as_str()],
            )
            .await?;
        Ok(row.map(|row| self.read_all(vec![row])).transpose()?.and_then(|mut read| read.pop()))
    }

    /// What a task said, from a number on, when it asked for this call.
    pub async fn words_with_call(&mut self, task: &TaskId, from: u64, call: &str) -> Result<Option<String>> {
        let id = to_json(&call)?.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let row = self
            .tx
            .query_one(
                "SELECT content FROM messages
                  WHERE workspace = $1 AND session = $2 AND number >= $3 AND task = $4 AND calls LIKE $5 ESCAPE '\\'
                  ORDER BY number LIMIT 1",
                params![
                    self.workspace.as_str(),
                    self.session.as_str(),
                    from,
                    task.as_str(),
                    format!("%\"id\":{id}%").as_str()
                ],
            )
            .await?;
        row.map(|mut row| row.text()).transpose()
    }

    /// What one task has said in the session, between two numbers and with both.
    pub async fn of_task(&mut self, task: &TaskId, (from, to): (u64, u64)) -> Result<Vec<Message>> {
        let rows = self
            .tx
            .query(
                selected!(
                    "WHERE workspace = $1 AND session = $2 AND number >= $3 AND number <= $4 AND task = $5
                  ORDER BY number"
                ),
                params![self.workspace.as_str(), self.session.as_str(), from, to, task.as_str()],
            )
            .await?;
        self.read_all(rows)
    }
}
