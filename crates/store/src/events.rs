//! The outbox: events in the order they were committed, until they are too old.

use crate::connection::Insert;
use crate::rows::{Param, Row, columns, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::events::{Event, RecordedEvent, StreamId};
use domain::ids::{ProjectId, SessionId, UserId, WorkspaceId};
use domain::items::ItemScope;
use domain::sessions::ContextCounters;
use domain::times::Timestamp;
use std::sync::Arc;

pub struct Events<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// How long events are kept for those who reconnect.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    pub age_ms: i64,
    pub events: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age_ms: 24 * 3600 * 1000, events: 100_000 }
    }
}

/// Reads `seq, session_seq, workspace, session, kind, key, readable_by, data, project, sum`. The column `session` holds the
/// name of the stream, which for most is a session's id.
fn read(mut row: Row) -> Result<RecordedEvent> {
    let (seq, stream_seq) = (row.count()?, row.count()?);
    let workspace = WorkspaceId::from_trusted(row.text()?);
    let stream = StreamId::from_trusted(row.text()?);
    let (kind, key, readers, data) = (row.text()?, row.optional_text()?, row.optional_text()?, row.text()?);
    let readable_by = readers.as_deref().map(from_json).transpose()?;
    let project = row.optional_text()?.map(ProjectId::from_trusted);
    let event = RecordedEvent { seq, stream_seq, workspace, stream, project, kind, key, readable_by, data };
    sums::check(row.optional_integer()?, || sum(&event, readers.as_deref()), "an event")?;
    Ok(event)
}

/// The number in the house is left out: it is given by the insert itself.
fn sum(event: &RecordedEvent, readable_by: Option<&str>) -> i64 {
    Sum::default()
        .count(event.stream_seq)
        .text(event.workspace.as_str())
        .text(event.stream.as_str())
        .text(event.kind.as_str())
        .text(event.key.as_deref())
        .text(readable_by)
        .text(event.data.as_str())
        .added(event.project.as_ref().map(ProjectId::as_str))
        .finish()
}

/// An event on its way into the log; it gets its number just before the commit.
pub(crate) struct PendingEvent {
    event: RecordedEvent,
    at: Timestamp,
}

const INSERT: Insert = Insert {
    one_by_one: "INSERT INTO events (workspace, session, session_seq, kind, key, readable_by, at, data, project, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    at_once: "INSERT INTO events (workspace, session, session_seq, kind, key, readable_by, at, data, project, sum)
              SELECT workspace, session, session_seq, kind, key, readable_by, at, data, project, sum
                FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BIGINT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::BIGINT[],
                            $8::TEXT[], $9::TEXT[], $10::BIGINT[]) WITH ORDINALITY
                  AS rows (workspace, session, session_seq, kind, key, readable_by, at, data, project, sum, place)
               ORDER BY place RETURNING seq",
};

impl PendingEvent {
    fn row<'a>(&'a self, readable_by: Option<&'a str>) -> [Param<'a>; 10] {
        let event = &self.event;
        columns![
            event.workspace.as_str(),
            event.stream.as_str(),
            event.stream_seq,
            event.kind.as_str(),
            event.key.as_deref(),
            readable_by,
            self.at,
            event.data.as_str(),
            event.project.as_ref().map(ProjectId::as_str),
            sum(event, readable_by),
        ]
    }

    pub(crate) fn recorded(self) -> Arc<RecordedEvent> {
        Arc::new(self.event)
    }
}

// A stream reads the log after every event: it must not cost more the longer the log is, whatever else there is to choose
// from. By `workspace || ''` no index is searched.
const SEEN_BY: &str =
    "SELECT seq, session_seq, workspace, session, kind, key, readable_by, data, project, sum FROM events
      WHERE seq > $1 AND seq <= $2 AND (workspace || '') IN (SELECT workspace FROM members WHERE user_id = $3)
      ORDER BY seq LIMIT $4";
const OF_PROJECT: &str =
    "SELECT seq, session_seq, workspace, session, kind, key, readable_by, data, project, sum FROM events
      WHERE project = $1 AND project IS NOT NULL AND seq > $2 AND (workspace || '') = $3 ORDER BY seq LIMIT $4";
const BOUNDS: &str = "SELECT COALESCE((SELECT MIN(seq) FROM events), 1), COALESCE((SELECT MAX(seq) FROM events), 0)";

impl Events<'_> {
    /// Records an event as the session's next; it is told to others when the transaction has committed.
    pub fn append(&mut self, session: &SessionId, counters: &mut ContextCounters, event: &Event) {
        counters.event_seq += 1;
        self.push(StreamId::of_session(session), counters.event_seq, event);
    }

    /// Records the change of a scope that has this number.
    pub fn append_item(&mut self, scope: &ItemScope, number: u64, event: &Event) {
        self.push(StreamId::of_items(scope), number, event);
    }

    /// Records an event as the workspace's next.
    pub async fn append_workspace(&mut self, event: &Event) -> Result<()> {
        let row = self
            .tx
            .query_one(
                "INSERT INTO workspace_streams (workspace, seq) VALUES ($1, 1)
                 ON CONFLICT (workspace) DO UPDATE SET seq = workspace_streams.seq + 1 RETURNING seq",
                params![self.workspace.as_str()],
            )
            .await?;
        let number = row.map_or(Err(Error::BadRow("a number is missing".into())), |mut row| row.count())?;
        self.push(StreamId::of_workspace(), number, event);
        Ok(())
    }

    fn push(&mut self, stream: StreamId, stream_seq: u64, event: &Event) {
        let recorded = RecordedEvent {
            seq: 0,
            stream_seq,
            workspace: self.workspace.clone(),
            stream,
            project: event.project.clone(),
            kind: event.kind.as_str().to_owned(),
            key: event.key.clone(),
            readable_by: event.readable_by.clone(),
            data: event.render(self.workspace),
        };
        self.tx.events.push(PendingEvent { event: recorded, at: event.at });
    }

    /// Forgets what a stream has told.
    pub async fn remove(&mut self, stream: &StreamId) -> Result<()> {
        // Those that wait to be written have to be there to be removed.
        self.tx.write_events().await?;
        let deletions = [
            // The newest event of the house keeps its number, or the number would be given again.
            "UPDATE events SET workspace = '', session = '', session_seq = seq, kind = '', key = NULL,
                               readable_by = NULL, data = '', project = NULL, sum = NULL
              WHERE workspace = $1 AND session = $2 AND seq = (SELECT MAX(seq) FROM events)",
            "DELETE FROM events WHERE workspace = $1 AND session = $2",
        ];
        for sql in deletions {
            self.tx.execute(sql, params![self.workspace.as_str(), stream.as_str()]).await?;
        }
        Ok(())
    }

    /// A stream's events after the one of that number.
    pub async fn after(&mut self, stream: &StreamId, number: u64, limit: u64) -> Result<Vec<RecordedEvent>> {
        let rows = self
            .tx
            .query(
                "SELECT seq, session_seq, workspace, session, kind, key, readable_by, data, project, sum FROM events
                  WHERE workspace = $1 AND session = $2 AND session_seq > $3 ORDER BY session_seq LIMIT $4",
                params![self.workspace.as_str(), stream.as_str(), number, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }
}

impl Tx {
    /// Writes the events that were gathered and not written yet.
    pub(crate) async fn write_events(&mut self) -> Result<()> {
        if self.events_written == self.events.len() {
            return Ok(());
        }
        self.reserve_event_numbers().await?;
        let mut events = std::mem::take(&mut self.events);
        let written = self.insert_events(&mut events[self.events_written..]).await;
        self.events = events;
        if written.is_ok() {
            self.events_written = self.events.len();
        }
        written
    }

    async fn insert_events(&mut self, pending: &mut [PendingEvent]) -> Result<()> {
        let readers = |pending: &PendingEvent| pending.event.readable_by.as_ref().map(to_json).transpose();
        let lists: Vec<Option<String>> = pending.iter().map(readers).collect::<Result<_>>()?;
        let rows: Vec<_> = pending.iter().zip(&lists).map(|(pending, list)| pending.row(list.as_deref())).collect();
        let numbers = self.insert(&INSERT, &rows).await?;
        for (pending, number) in pending.iter_mut().zip(numbers) {
            pending.event.seq = number;
        }
        Ok(())
    }

    /// Events after one number and up to another in every workspace that `user` is a member of.
    pub async fn events_seen_by(
        &mut self,
        user: &UserId,
        (after, up_to): (u64, u64),
        limit: u64,
    ) -> Result<Vec<RecordedEvent>> {
        self.query(SEEN_BY, params![after, up_to, user.as_str(), limit]).await?.into_iter().map(read).collect()
    }

    /// Events after `seq` of one project, as its workspace sees them.
    pub async fn events_of_project(
        &mut self,
        workspace: &WorkspaceId,
        project: &ProjectId,
        seq: u64,
        limit: u64,
    ) -> Result<Vec<RecordedEvent>> {
        let of = params![project.as_str(), seq, workspace.as_str(), limit];
        self.query(OF_PROJECT, of).await?.into_iter().map(read).collect()
    }

    /// The oldest number still retained and the newest.
    pub async fn event_bounds(&mut self) -> Result<(u64, u64)> {
        let row = self.query_one(BOUNDS, params![]).await?;
        row.map_or(Ok((1, 0)), |mut row| Ok((row.count()?, row.count()?)))
    }

    /// Forgets at most `limit` events that are too old or too many. The newest stays: it tells where the log is.
    pub async fn purge_events(&mut self, retention: Retention, now: Timestamp, limit: u64) -> Result<u64> {
        self.execute(
            "DELETE FROM events WHERE seq IN (
               SELECT seq FROM events
                WHERE seq < (SELECT MAX(seq) FROM events)
                  AND (at < $1 OR seq <= (SELECT MAX(seq) FROM events) - $2) ORDER BY seq LIMIT $3)",
            params![now.plus_ms(-retention.age_ms), retention.events, limit],
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrations::MIGRATIONS;
    use crate::sqlite::{migrations, open_writer};

    #[test]
    fn what_a_stream_reads_is_found_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.db");
        let mut connection = open_writer(&path).unwrap();
        migrations::migrate(&mut connection, &path, MIGRATIONS).unwrap();
        for (sql, expected) in [
            (SEEN_BY, "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            (OF_PROJECT, "SEARCH events USING INDEX events_by_project (project=? AND seq>?)"),
            (BOUNDS, "SEARCH events"),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>();
            let of_events: Vec<_> = steps.unwrap().into_iter().filter(|step| step.contains(" events")).collect();
            assert!(!of_events.is_empty() && of_events.iter().all(|step| step.starts_with(expected)), "{of_events:?}");
        }
    }
}
