//! The ledger of a workspace and the sums of its days. Nothing here is ever deleted.

use crate::rows::{Param, Row, params};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::budgets::{Day, Tally, Told};
use domain::ids::{AgentId, ModelCallId, ProjectId, SessionId, UserId, WorkspaceId};
use domain::ledger::{CallOrigin, CallState, DayCounters, ModelCall};
use domain::money::Micros;
use domain::prices::Usage;
use domain::times::Timestamp;

pub struct Ledger<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// What was spent on behalf of one of several.
#[derive(Debug, Clone, PartialEq)]
pub struct Spending<T> {
    pub by: T,
    pub counters: DayCounters,
}

/// The sums of all together stand beside those of the members.
const EVERYBODY: &str = "";

fn sum(workspace: &WorkspaceId, call: &ModelCall) -> i64 {
    let ModelCall { id, origin, day, state, reserved, spent, usage, holder, opened_at, expires_at, closed_at } = call;
    // As the columns hold them, whatever a provider reported.
    let number = |number: Option<u64>| number.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    Sum::default()
        .text(workspace.as_str())
        .text(id.as_str())
        .text(origin.user.as_str())
        .text(origin.project.as_ref().map(ProjectId::as_str))
        .text(origin.agent.as_ref().map(AgentId::as_str))
        .text(origin.session.as_ref().map(SessionId::as_str))
        .text(origin.model.as_str())
        .text(day.to_string().as_str())
        .text(state.as_str())
        .integer(number(reserved.map(|sum| sum.0)))
        .integer(number(spent.map(|sum| sum.0)))
        .integer(number(usage.map(|usage| usage.input_tokens)))
        .integer(number(usage.map(|usage| usage.output_tokens)))
        .text(holder.as_str())
        .time(*opened_at)
        .time(*expires_at)
        .time(*closed_at)
        .finish()
}

fn optional_micros(row: &mut Row) -> Result<Option<Micros>> {
    row.optional_count().map(|sum| sum.map(Micros))
}

fn read_day(text: &str) -> Result<Day> {
    Day::parse(text).ok_or_else(|| Error::BadRow("a day".into()))
}

/// Reads `id, user_id, project, agent, session, model, day, state, reserved, spent, input_tokens, output_tokens, holder,
/// opened_at, expires_at, closed_at, sum`.
fn read(mut row: Row, workspace: &WorkspaceId) -> Result<ModelCall> {
    let id = ModelCallId::from_trusted(row.text()?);
    let origin = CallOrigin {
        user: UserId::from_trusted(row.text()?),
        project: row.optional_text()?.map(ProjectId::from_trusted),
        agent: row.optional_text()?.map(AgentId::from_trusted),
        session: row.optional_text()?.map(SessionId::from_trusted),
        model: row.text()?,
    };
    let day = read_day(&row.text()?)?;
    let state = CallState::parse(&row.text()?).ok_or_else(|| Error::BadRow("the state of a call".into()))?;
    let (reserved, spent) = (optional_micros(&mut row)?, optional_micros(&mut row)?);
    let tokens = row.optional_count()?.zip(row.optional_count()?);
    let usage = tokens.map(|(input_tokens, output_tokens)| Usage { input_tokens, output_tokens });
    let (holder, opened_at, expires_at) = (row.text()?, row.time()?, row.time()?);
    let closed_at = row.optional_time()?;
    let call = ModelCall { id, origin, day, state, reserved, spent, usage, holder, opened_at, expires_at, closed_at };
    sums::check(row.optional_integer()?, || sum(workspace, &call), "a call in the ledger")?;
    Ok(call)
}

/// Reads `spent, reserved, calls, unpriced_calls, warned, reached`.
fn read_counters(row: &mut Row) -> Result<DayCounters> {
    Ok(DayCounters {
        tally: Tally { spent: Micros(row.count()?), reserved: Micros(row.count()?) },
        calls: row.count()?,
        unpriced_calls: row.count()?,
        told: Told { warned: row.count()? != 0, reached: row.count()? != 0 },
    })
}

impl Ledger<'_> {
    pub async fn get(&mut self, id: &ModelCallId) -> Result<Option<ModelCall>> {
        let row = self
            .tx
            .query_one(
                "SELECT id, user_id, project, agent, session, model, day, state, reserved, spent, input_tokens,
                        output_tokens, holder, opened_at, expires_at, closed_at, sum
                   FROM ledger WHERE workspace = $1 AND id = $2",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        row.map(|row| read(row, self.workspace)).transpose()
    }

    pub async fn open(&mut self, call: &ModelCall) -> Result<()> {
        self.tx
            .execute(
                "INSERT INTO ledger (workspace, id, user_id, project, agent, session, model, day, state, reserved,
                                     holder, opened_at, expires_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                params![
                    self.workspace.as_str(),
                    call.id.as_str(),
                    call.origin.user.as_str(),
                    call.origin.project.as_ref().map(ProjectId::as_str),
                    call.origin.agent.as_ref().map(AgentId::as_str),
                    call.origin.session.as_ref().map(SessionId::as_str),
                    call.origin.model.as_str(),
                    call.day.to_string().as_str(),
                    call.state.as_str(),
                    call.reserved.map(|sum| sum.0),
                    call.holder.as_str(),
                    call.opened_at,
                    call.expires_at,
                    sum(self.workspace, call),
                ],
            )
            .await?;
        Ok(())
    }

    /// Writes how a call ended, if it is still in the state `from`; answers whether it was.
    pub async fn close(&mut self, call: &ModelCall, from: CallState) -> Result<bool> {
        let changed = self
            .tx
            .execute(
                "UPDATE ledger SET state = $1, spent = $2, input_tokens = $3, output_tokens = $4, closed_at = $5,
                                   sum = $6
                  WHERE workspace = $7 AND id = $8 AND state = $9",
                params![
                    call.state.as_str(),
                    call.spent.map(|sum| sum.0),
                    call.usage.map(|usage| usage.input_tokens),
                    call.usage.map(|usage| usage.output_tokens),
                    call.closed_at,
                    sum(self.workspace, call),
                    self.workspace.as_str(),
                    call.id.as_str(),
                    from.as_str(),
                ],
            )
            .await?;
        Ok(changed == 1)
    }

    /// The sums of a day: of one member, or of all together.
    pub async fn counters(&mut self, day: Day, user: Option<&UserId>) -> Result<DayCounters> {
        let row = self
            .tx
            .query_one(
                "SELECT spent, reserved, calls, unpriced_calls, warned, reached FROM budget_days
                  WHERE workspace = $1 AND day = $2 AND user_id = $3",
                params![self.workspace.as_str(), day.to_string().as_str(), user.map_or(EVERYBODY, UserId::as_str)],
            )
            .await?;
        row.map_or(Ok(DayCounters::default()), |mut row| read_counters(&mut row))
    }

    pub async fn save_counters(&mut self, day: Day, user: Option<&UserId>, counters: &DayCounters) -> Result<()> {
        let DayCounters { tally, calls, unpriced_calls, told } = counters;
        self.tx
            .execute(
                "INSERT INTO budget_days (workspace, day, user_id, spent, reserved, calls, unpriced_calls, warned, reached)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                 ON CONFLICT (workspace, day, user_id) DO UPDATE SET
                   spent = excluded.spent, reserved = excluded.reserved, calls = excluded.calls,
                   unpriced_calls = excluded.unpriced_calls, warned = excluded.warned, reached = excluded.reached",
                params![
                    self.workspace.as_str(),
                    day.to_string().as_str(),
                    user.map_or(EVERYBODY, UserId::as_str),
                    tally.spent.0,
                    tally.reserved.0,
                    *calls,
                    *unpriced_calls,
                    u64::from(told.warned),
                    u64::from(told.reached),
                ],
            )
            .await?;
        Ok(())
    }

    /// Who spent what on a day.
    pub async fn by_member(&mut self, day: Day) -> Result<Vec<Spending<UserId>>> {
        let rows = self
            .tx
            .query(
                "SELECT user_id, spent, reserved, calls, unpriced_calls, warned, reached FROM budget_days
                  WHERE workspace = $1 AND day = $2 AND user_id <> '' ORDER BY user_id",
                params![self.workspace.as_str(), day.to_string().as_str()],
            )
            .await?;
        let read =
            |mut row: Row| Ok(Spending { by: UserId::from_trusted(row.text()?), counters: read_counters(&mut row)? });
        rows.into_iter().map(read).collect()
    }

    /// What was spent on each day from `first` to `last` that had calls.
    pub async fn by_day(&mut self, first: Day, last: Day) -> Result<Vec<Spending<Day>>> {
        let rows = self
            .tx
            .query(
                "SELECT day, spent, reserved, calls, unpriced_calls, warned, reached FROM budget_days
                  WHERE workspace = $1 AND day >= $2 AND day <= $3 AND user_id = '' ORDER BY day",
                params![self.workspace.as_str(), first.to_string().as_str(), last.to_string().as_str()],
            )
            .await?;
        let read = |mut row: Row| Ok(Spending { by: read_day(&row.text()?)?, counters: read_counters(&mut row)? });
        rows.into_iter().map(read).collect()
    }

    /// On behalf of which agent what was spent on a day; calls of no agent come first.
    pub async fn by_agent(&mut self, day: Day) -> Result<Vec<Spending<Option<AgentId>>>> {
        let rows = self
            .tx
            .query(
                "SELECT agent, CAST(COALESCE(SUM(spent), 0) AS BIGINT),
                        CAST(SUM(CASE WHEN state = 'open' THEN COALESCE(reserved, 0) ELSE 0 END) AS BIGINT),
                        CAST(SUM(CASE WHEN state = 'open' THEN 0 ELSE 1 END) AS BIGINT),
                        CAST(SUM(CASE WHEN state <> 'open' AND spent IS NULL THEN 1 ELSE 0 END) AS BIGINT),
                        CAST(0 AS BIGINT), CAST(0 AS BIGINT)
                   FROM ledger WHERE workspace = $1 AND day = $2 AND state <> 'released'
                  GROUP BY agent ORDER BY COALESCE(agent, '')",
                params![self.workspace.as_str(), day.to_string().as_str()],
            )
            .await?;
        let read = |mut row: Row| {
            let by = row.optional_text()?.map(AgentId::from_trusted);
            Ok(Spending { by, counters: read_counters(&mut row)? })
        };
        rows.into_iter().map(read).collect()
    }
}

impl Tx {
    /// Puts the ledger of a workspace that is deleted under a name that no workspace can have, so that a later one of the
    /// same name begins without it. The sums over the rows go: they hold the name.
    pub async fn retire_ledger(&mut self, workspace: &WorkspaceId, at: Timestamp) -> Result<()> {
        let retired = format!("{workspace}@{}", at.as_ms());
        let moves = [
            "UPDATE ledger SET workspace = $1, sum = NULL WHERE workspace = $2",
            "UPDATE budget_days SET workspace = $1 WHERE workspace = $2",
        ];
        for sql in moves {
            self.execute(sql, params![&*retired, workspace.as_str()]).await?;
        }
        self.execute("DELETE FROM workspace_streams WHERE workspace = $1", params![workspace.as_str()]).await?;
        Ok(())
    }

    /// Calls under way of one server, in any workspace. Only their names, which a damaged row has too.
    pub async fn calls_held_by(&mut self, holder: &str) -> Result<Vec<(WorkspaceId, ModelCallId)>> {
        // Among those under way, by the index that finds the overdue ones.
        let sql = "SELECT workspace, id FROM ledger WHERE expires_at > 0 AND state = 'open' AND holder = $1
                    ORDER BY expires_at, workspace, id";
        self.calls_of(sql, params![holder]).await
    }

    /// Calls of any workspace that should have ended by now, the oldest first. Only their names.
    pub async fn calls_overdue(&mut self, now: Timestamp) -> Result<Vec<(WorkspaceId, ModelCallId)>> {
        // In the order of the index of open calls: by workspace, SQLite would walk through all that ever were.
        let sql = "SELECT workspace, id FROM ledger WHERE expires_at <= $1 AND state = 'open'
                    ORDER BY expires_at, workspace, id";
        self.calls_of(sql, params![now]).await
    }

    async fn calls_of(&mut self, sql: &'static str, of: &[Param<'_>]) -> Result<Vec<(WorkspaceId, ModelCallId)>> {
        let read = |mut row: Row| Ok((WorkspaceId::from_trusted(row.text()?), ModelCallId::from_trusted(row.text()?)));
        self.query(sql, of).await?.into_iter().map(read).collect()
    }

    /// When the next call under way that is not overdue yet will be.
    pub async fn next_overdue(&mut self, now: Timestamp) -> Result<Option<Timestamp>> {
        let sql = "SELECT expires_at FROM ledger WHERE expires_at > $1 AND state = 'open' ORDER BY expires_at LIMIT 1";
        self.query_one(sql, params![now]).await?.map(|mut row| row.time()).transpose()
    }

    /// Days whose sums are not those of their calls. There should be none.
    pub async fn miscounted_days(&mut self) -> Result<Vec<(WorkspaceId, String)>> {
        let rows = self
            .query(
                "SELECT d.workspace, d.day FROM budget_days d
                  WHERE d.spent <> (SELECT COALESCE(SUM(l.spent), 0) FROM ledger l
                                     WHERE l.workspace = d.workspace AND l.day = d.day
                                       AND (d.user_id = '' OR l.user_id = d.user_id))
                     OR d.reserved <> (SELECT COALESCE(SUM(l.reserved), 0) FROM ledger l
                                        WHERE l.workspace = d.workspace AND l.day = d.day AND l.state = 'open'
                                          AND (d.user_id = '' OR l.user_id = d.user_id))
                     OR d.calls <> (SELECT COUNT(*) FROM ledger l
                                     WHERE l.workspace = d.workspace AND l.day = d.day
                                       AND l.state IN ('assumed', 'settled')
                                       AND (d.user_id = '' OR l.user_id = d.user_id))
                  ORDER BY d.workspace, d.day",
                params![],
            )
            .await?;
        rows.into_iter().map(|mut row| Ok((WorkspaceId::from_trusted(row.text()?), row.text()?))).collect()
    }
}
