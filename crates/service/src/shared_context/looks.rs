//! Everything that only looks: listing, reading, history, snapshots, differences.

use crate::sessions::{self, SessionRef};
use crate::{Error, Result};
use domain::Refusal;
use domain::answers::{Answer, Batch, History, KeyListing, Listing, ReadEntry, SnapshotContent, SnapshotList};
use domain::callers::Caller;
use domain::diffs::{Mark, Marks, Moment, diff};
use domain::entries::{Access, Entry, key_not_found, may_read};
use domain::history::{ChangeKind, newest, select_versions, trimmed};
use domain::ids::{SessionId, WorkspaceId};
use domain::keys::Key;
use domain::requests::Request;
use domain::sessions::Session;
use domain::snapshots::{Label, snapshot_not_found};
use domain::times::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{Operation, Tx};

/// The most that one answer of history carries.
const HISTORY_BYTES_MOST: usize = 16 * 1024 * 1024;

#[derive(Clone)]
pub(super) struct Look {
    pub(super) caller: Arc<Caller>,
    pub(super) session: SessionRef,
    pub(super) now: Timestamp,
    pub(super) request: Request,
    /// Whether expired keys have been put on record for this look; what expired since is just left out.
    pub(super) settled: bool,
}

pub(super) enum Looked {
    Answer(Answer, Box<Session>),
    /// A key has expired and its end has to be recorded first.
    Overdue {
        workspace: WorkspaceId,
        session: SessionId,
    },
}

impl Operation for Look {
    type Output = Looked;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Looked> {
        let session = sessions::find(tx, &self.caller, &self.session).await?;
        if !self.settled && session.has_expired_keys(self.now) && session.archived_at.is_none() {
            return Ok(Looked::Overdue { workspace: session.workspace, session: session.id });
        }
        let mut view = View { tx, caller: &self.caller, now: session.expiry_time(self.now), session };
        let answer = view.answer(&self.request).await?;
        Ok(Looked::Answer(answer, Box::new(view.session)))
    }
}

/// A session as one participant sees it.
struct View<'t> {
    tx: &'t mut Tx,
    caller: &'t Caller,
    session: Session,
    now: Timestamp,
}

impl View<'_> {
    async fn answer(&mut self, request: &Request) -> Result<Answer> {
        match request {
            Request::ListKeys { prefix } => self.list(prefix.as_deref()).await.map(Answer::Listing),
            Request::Read { key } => self.read(key).await.map(Answer::Entry),
            Request::ReadBatch { keys } => self.batch(keys).await.map(Answer::Batch),
            Request::ReadHistory { key, versions } => self.history(key, versions.as_deref()).await.map(Answer::History),
            Request::ListSnapshots => self.snapshots().await.map(Answer::Snapshots),
            Request::ReadSnapshot { label, keys } => {
                self.snapshot(label, keys.as_deref()).await.map(Answer::SnapshotContent)
            }
            Request::Diff { from, to } => self.diff(from, to).await.map(Answer::Diff),
            Request::Write(_) | Request::Delete { .. } | Request::Snapshot { .. } | Request::RestoreSnapshot { .. } => {
                Err(store::Error::BadOperation("a change was sent where only looking is done").into())
            }
        }
    }

    fn sees(&self, access: &Access) -> bool {
        may_read(&self.session, access, &self.caller.participant)
    }

    fn key(&self, text: &str) -> Result<Key> {
        Ok(Key::parse(text, self.session.config.namespaces)?)
    }

    async fn entry(&mut self, key: &Key) -> Result<Option<Entry>> {
        let found = self.tx.scope(&self.session.workspace).entries(&self.session.id).get(key).await?;
        Ok(found.filter(|entry| entry.is_live(self.now) && self.sees(&entry.access)))
    }

    /// Every live entry, seen or not, without values.
    async fn live(&mut self) -> Result<Vec<Entry>> {
        let now = self.now;
        let mut all = self.tx.scope(&self.session.workspace).entries(&self.session.id).all_without_values().await?;
        all.retain(|entry| entry.is_live(now));
        Ok(all)
    }

    async fn list(&mut self, prefix: Option<&str>) -> Result<Listing> {
        let prefix = prefix.unwrap_or("");
        let mut keys = self.live().await?;
        keys.retain(|entry| entry.key.as_str().starts_with(prefix) && self.sees(&entry.access));
        Ok(Listing {
            keys: keys.into_iter().map(listed).collect(),
            total_size_tokens: self.session.counters.total_tokens,
            max_store_tokens: self.session.config.max_store_tokens,
        })
    }

    async fn read(&mut self, key: &str) -> Result<ReadEntry> {
        let key = self.key(key)?;
        Ok(self.entry(&key).await?.ok_or_else(key_not_found)?.into())
    }

    async fn batch(&mut self, keys: &[String]) -> Result<Batch> {
        let mut batch = Batch { entries: Vec::new(), missing: Vec::new() };
        for key in self.distinct(keys)? {
            match self.entry(&key).await? {
                Some(entry) => batch.entries.push(entry.into()),
                None => batch.missing.push(key),
            }
        }
        Ok(batch)
    }

    /// The asked-for keys in their order, each once.
    fn distinct(&self, keys: &[String]) -> Result<Vec<Key>> {
        let mut seen = BTreeSet::new();
        let parsed: Vec<Key> = keys.iter().map(|key| self.key(key)).collect::<Result<_>>()?;
        Ok(parsed.into_iter().filter(|key| seen.insert(key.clone())).collect())
    }

    async fn history(&mut self, key: &str, versions: Option<&[u64]>) -> Result<History> {
        let key = self.key(key)?;
        let current = self.tx.scope(&self.session.workspace).entries(&self.session.id).get(&key).await?;
        let stored = self.tx.scope(&self.session.workspace).history(&self.session.id).of_key(&key).await?;
        let mut changes = newest(stored, self.session.config.history_keep);
        // The key's present list decides first, then each record's own: what was hidden when it was written stays so.
        let present = current.as_ref().map(|entry| &entry.access).or(changes.last().map(|change| &change.access));
        match present {
            Some(access) if self.sees(access) => {}
            _ => return Err(key_not_found().into()),
        }
        changes.retain(|change| self.sees(&change.access));
        let newest_version =
            current.map_or(0, |entry| entry.version).max(changes.last().map_or(0, |change| change.version));
        let chosen = select_versions(changes, versions, newest_version)?;
        let bytes: usize = chosen.iter().filter_map(|change| change.value.as_ref()).map(String::len).sum();
        if bytes > HISTORY_BYTES_MOST {
            let message = "that much history does not fit into one answer: ask for fewer `versions`";
            return Err(Refusal::invalid_field("versions", message).into());
        }
        Ok(History { key, history: chosen.into_iter().map(Into::into).collect() })
    }

    async fn snapshots(&mut self) -> Result<SnapshotList> {
        let snapshots = self.tx.scope(&self.session.workspace).snapshots(&self.session.id).all().await?;
        Ok(SnapshotList { snapshots })
    }

    /// The entries of a snapshot that this participant may see: by the list they had, and by the one they have.
    async fn frozen(&mut self, label: &Label) -> Result<Vec<Entry>> {
        let frozen = self.tx.scope(&self.session.workspace).snapshots(&self.session.id).entries(label).await?;
        let (acl, participant) = (self.session.config.acl, &self.caller.participant);
        let seen = frozen.into_iter().filter(|frozen| {
            let later = frozen.later_readable_by.as_ref();
            self.sees(&frozen.entry.access) && (!acl || later.is_none_or(|patterns| patterns.admits(participant)))
        });
        Ok(seen.map(|frozen| frozen.entry).collect())
    }

    /// Keys whose newest record this participant may not see, live or gone.
    async fn hidden_now(&mut self) -> Result<BTreeSet<Key>> {
        if !self.session.config.acl {
            return Ok(BTreeSet::new());
        }
        let rev = self.session.counters.rev;
        let newest = self.tx.scope(&self.session.workspace).history(&self.session.id).as_of(rev).await?;
        Ok(newest.into_iter().filter(|change| !self.sees(&change.access)).map(|change| change.key).collect())
    }

    async fn snapshot(&mut self, label: &Label, keys: Option<&[String]>) -> Result<SnapshotContent> {
        let found = self.tx.scope(&self.session.workspace).snapshots(&self.session.id).get(label).await?;
        let snapshot = found.ok_or_else(snapshot_not_found)?;
        let frozen = self.frozen(label).await?;
        let Some(keys) = keys else {
            let entries = frozen.into_iter().map(Into::into).collect();
            return Ok(SnapshotContent { snapshot, entries, missing: Vec::new() });
        };
        let mut by_key: BTreeMap<Key, Entry> = frozen.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        let mut content = SnapshotContent { snapshot, entries: Vec::new(), missing: Vec::new() };
        for key in self.distinct(keys)? {
            match by_key.remove(&key) {
                Some(entry) => content.entries.push(entry.into()),
                None => content.missing.push(key),
            }
        }
        Ok(content)
    }

    async fn diff(&mut self, from: &Moment, to: &Moment) -> Result<domain::diffs::Diff> {
        let (from, to) = (self.marks(from).await?, self.marks(to).await?);
        Ok(diff(&from, &to))
    }

    async fn marks(&mut self, moment: &Moment) -> Result<Marks> {
        match moment {
            Moment::Now => self.marks_now().await,
            Moment::Rev(rev) if *rev == self.session.counters.rev => self.marks_now().await,
            Moment::Rev(rev) => self.marks_at(*rev).await,
            Moment::Label(label) => {
                let found = self.tx.scope(&self.session.workspace).snapshots(&self.session.id).get(label).await?;
                match (found, label.as_str().parse::<u64>()) {
                    (Some(_), _) => Ok(marks(self.frozen(label).await?)),
                    // Command lines and models often send a rev as text.
                    (None, Ok(rev)) if rev == self.session.counters.rev => self.marks_now().await,
                    (None, Ok(rev)) => self.marks_at(rev).await,
                    (None, Err(_)) => Err(snapshot_not_found().into()),
                }
            }
        }
    }

    async fn marks_now(&mut self) -> Result<Marks> {
        let mut live = self.live().await?;
        live.retain(|entry| self.sees(&entry.access));
        Ok(marks(live))
    }

    async fn marks_at(&mut self, rev: u64) -> Result<Marks> {
        let counters = &self.session.counters;
        if rev > counters.rev {
            let message = format!("the session is at rev {}, it has not reached that one", counters.rev);
            return Err(Refusal::invalid(message).with("current_rev", counters.rev).into());
        }
        if rev < counters.history_floor {
            return Err(trimmed().with("oldest_rev", counters.history_floor).into());
        }
        let hidden = self.hidden_now().await?;
        let changes = self.tx.scope(&self.session.workspace).history(&self.session.id).as_of(rev).await?;
        let there = changes.into_iter().filter(|change| {
            change.kind == ChangeKind::Written && self.sees(&change.access) && !hidden.contains(&change.key)
        });
        Ok(there.map(|change| (change.key, Mark { version: change.version, rev: change.rev })).collect())
    }
}

fn listed(entry: Entry) -> KeyListing {
    KeyListing {
        key: entry.key,
        written_by: entry.written_by,
        written_at: entry.written_at,
        version: entry.version,
        rev: entry.rev,
        value_size_tokens: entry.tokens,
        expires_at: entry.expires_at,
    }
}

fn marks(entries: Vec<Entry>) -> Marks {
    entries.into_iter().map(|entry| (entry.key, Mark { version: entry.version, rev: entry.rev })).collect()
}
