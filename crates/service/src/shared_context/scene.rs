//! A session's shared context in the middle of a transaction. Every change passes through here, so that value,
//! history, event, audit row and counters cannot part company.

use crate::Result;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::entries::Entry;
use domain::events::Event;
use domain::history::{Change, ChangeKind};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::keys::Key;
use domain::participants::Participant;
use domain::sessions::Session;
use domain::times::Timestamp;
use store::Tx;

pub(super) struct Scene<'t> {
    pub(super) tx: &'t mut Tx,
    pub(super) session: Session,
    pub(super) now: Timestamp,
    actor: Actor,
}

/// Whose name goes into the audit row.
struct Actor {
    user: UserId,
    participant: Participant,
}

impl<'t> Scene<'t> {
    pub(super) fn new(tx: &'t mut Tx, session: Session, caller: &Caller, now: Timestamp) -> Self {
        let actor = Actor { user: caller.user.clone(), participant: caller.participant.clone() };
        Self { tx, session, now, actor }
    }

    /// A scene in which the house itself acts.
    pub(super) fn of_house(tx: &'t mut Tx, session: Session, now: Timestamp) -> Self {
        let house = domain::audit::HOUSE.to_owned();
        let actor = Actor { user: UserId::from_trusted(house.clone()), participant: Participant::from_trusted(house) };
        Self { tx, session, now, actor }
    }

    pub(super) fn participant(&self) -> &Participant {
        &self.actor.participant
    }

    pub(super) fn parse_key(&self, text: &str) -> Result<Key> {
        Ok(Key::parse(text, self.session.config.namespaces)?)
    }

    fn place(&self) -> (WorkspaceId, SessionId) {
        (self.session.workspace.clone(), self.session.id.clone())
    }

    pub(super) async fn entry(&mut self, key: &Key) -> Result<Option<Entry>> {
        let now = self.now;
        let found = self.tx.scope(&self.session.workspace).entries(&self.session.id).get(key).await?;
        Ok(found.filter(|entry| entry.is_live(now)))
    }

    /// Puts an entry in the place of `before`, with its history and event.
    pub(super) async fn put(&mut self, before: Option<&Entry>, entry: &Entry) -> Result<()> {
        let (workspace, session) = self.place();
        self.tx.scope(&workspace).entries(&session).put(entry).await?;
        if self.session.config.acl && before.is_none_or(|before| before.access != entry.access) {
            self.tx.scope(&workspace).snapshots(&session).guard(&entry.key, &entry.access).await?;
        }
        let counters = &mut self.session.counters;
        counters.rev = entry.rev;
        counters.total_tokens =
            counters.total_tokens.saturating_sub(before.map_or(0, |entry| entry.tokens)) + entry.tokens;
        counters.keys += u64::from(before.is_none());
        counters.next_expiry = match (counters.next_expiry, entry.expires_at) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        if entry.expires_at.is_some() {
            self.tx.expiry_set();
        }
        self.remember(&Change::written(entry)).await?;
        let event = Event::written(&self.session, entry);
        self.tell(&event);
        Ok(())
    }

    /// Ends an entry, by somebody's wish or because its time is over.
    pub(super) async fn remove(&mut self, entry: &Entry, kind: ChangeKind) -> Result<Change> {
        let (workspace, session) = self.place();
        self.tx.scope(&workspace).entries(&session).remove(&entry.key).await?;
        let counters = &mut self.session.counters;
        counters.rev += 1;
        counters.total_tokens = counters.total_tokens.saturating_sub(entry.tokens);
        counters.keys = counters.keys.saturating_sub(1);
        // A key that expired did so at its own time, however much later that is noticed.
        let (by, at) = match (kind, entry.expires_at) {
            (ChangeKind::Expired, Some(at)) => (&entry.written_by, at),
            _ => (&self.actor.participant, self.now),
        };
        let change = Change::removed(entry, kind, self.session.counters.rev, by, at);
        self.remember(&change).await?;
        let event = Event::removed(&self.session, &change);
        self.tell(&event);
        Ok(change)
    }

    async fn remember(&mut self, change: &Change) -> Result<()> {
        let keep = self.session.config.history_keep;
        if keep == 0 {
            self.session.counters.history_floor = change.rev;
            return Ok(());
        }
        let (workspace, session) = self.place();
        let mut history = self.tx.scope(&workspace).history(&session);
        history.append(change).await?;
        // A key cannot have more records than the session has revs. Beyond that some slack saves most of the looking:
        // what is kept a little longer is not shown (`domain::history::newest`).
        let slack = keep / 4 + 1;
        let due = change.kind != ChangeKind::Written || change.version.is_multiple_of(slack);
        if change.rev > keep
            && due
            && let Some(floor) = history.trim(&change.key, keep).await?
        {
            let counters = &mut self.session.counters;
            counters.history_floor = counters.history_floor.max(floor);
        }
        Ok(())
    }

    pub(super) fn tell(&mut self, event: &Event) {
        let Session { workspace, id, counters, .. } = &mut self.session;
        self.tx.scope(workspace).events().append(id, counters, event);
    }

    /// Writes down who did it. The detail carries names and numbers, never a value.
    pub(super) fn audit(&mut self, action: &'static str, describe: impl FnOnce(AuditRecord) -> AuditRecord) {
        let record = AuditRecord {
            at: self.now,
            user: self.actor.user.clone(),
            participant: self.actor.participant.clone(),
            action,
            session: Some(self.session.id.clone()),
            detail: serde_json::Map::new(),
        };
        self.tx.scope(&self.session.workspace).audit().append(describe(record));
    }

    pub(super) async fn save(self) -> Result<()> {
        Ok(self.tx.scope(&self.session.workspace).sessions().save(&self.session).await?)
    }
}
