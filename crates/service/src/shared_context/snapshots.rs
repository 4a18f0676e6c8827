//! Taking a snapshot, and turning back to one.

use super::changes::Action;
use super::scene::Scene;
use crate::Result;
use domain::answers::{Restored, RestoredKey};
use domain::entries::{Entry, may_read};
use domain::events::Event;
use domain::history::ChangeKind;
use domain::keys::Key;
use domain::sessions::SNAPSHOTS_MOST;
use domain::snapshots::{Label, Snapshot, may_restore, snapshot_not_found};
use domain::{Code, Refusal};
use std::collections::BTreeMap;

pub(super) struct Take {
    pub(super) label: Label,
}

impl Action for Take {
    type Output = Snapshot;

    async fn apply(&self, scene: &mut Scene<'_>) -> Result<Snapshot> {
        scene.session.require_active()?;
        let (workspace, session) = (scene.session.workspace.clone(), scene.session.id.clone());
        let taken = scene.tx.scope(&workspace).snapshots(&session).all().await?;
        if taken.iter().any(|snapshot| snapshot.label == self.label) {
            return Err(Refusal::new(Code::SnapshotExists, "this session has a snapshot of that label already").into());
        }
        if taken.len() as u64 >= SNAPSHOTS_MOST {
            let message = format!("this session has {SNAPSHOTS_MOST} snapshots, the most it may");
            return Err(Refusal::new(Code::StoreFull, message).with("max_snapshots", SNAPSHOTS_MOST).into());
        }
        let counters = &scene.session.counters;
        let snapshot = Snapshot {
            label: self.label.clone(),
            taken_at: scene.now,
            taken_by: scene.participant().clone(),
            rev: counters.rev,
            key_count: counters.keys,
            total_size_tokens: counters.total_tokens,
        };
        let now = scene.now;
        scene.tx.scope(&workspace).snapshots(&session).take(&snapshot, now).await?;
        let event = Event::snapshot(&scene.session, &snapshot);
        scene.tell(&event);
        scene.audit("context.snapshot", |record| {
            record
                .with("label", snapshot.label.as_str())
                .with("keys", snapshot.key_count)
                .with("tokens", snapshot.total_size_tokens)
                .with("rev", snapshot.rev)
        });
        Ok(snapshot)
    }
}

pub(super) struct Restore {
    pub(super) label: Label,
}

impl Action for Restore {
    type Output = Restored;

    async fn apply(&self, scene: &mut Scene<'_>) -> Result<Restored> {
        may_restore(&scene.session, scene.participant())?;
        let (workspace, session) = (scene.session.workspace.clone(), scene.session.id.clone());
        let mut snapshots = scene.tx.scope(&workspace).snapshots(&session);
        snapshots.get(&self.label).await?.ok_or_else(snapshot_not_found)?;
        let frozen = snapshots.entries(&self.label).await?;
        let frozen = frozen.into_iter().map(|frozen| frozen.entry);
        let current = scene.tx.scope(&workspace).entries(&session).all().await?;
        let mut current: BTreeMap<Key, Entry> = current.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        let (mut restored, mut deleted) = (Vec::new(), Vec::new());
        let (mut restored_count, mut deleted_count) = (0, 0);
        let now = scene.now;
        for was in frozen.filter(|entry| entry.is_live(now)) {
            let before = current.remove(&was.key);
            let entry = Entry {
                version: before.as_ref().map_or(0, |entry| entry.version) + 1,
                rev: scene.session.counters.rev + 1,
                written_by: scene.participant().clone(),
                written_at: now,
                ..was
            };
            scene.put(before.as_ref(), &entry).await?;
            restored_count += 1;
            if may_read(&scene.session, &entry.access, scene.participant()) {
                restored.push(RestoredKey { key: entry.key, version: entry.version, rev: entry.rev });
            }
        }
        for entry in current.into_values() {
            scene.remove(&entry, ChangeKind::Deleted).await?;
            deleted_count += 1;
            if may_read(&scene.session, &entry.access, scene.participant()) {
                deleted.push(entry.key);
            }
        }
        let counters = scene.session.counters.clone();
        scene.audit("context.restore", |record| {
            record
                .with("label", self.label.as_str())
                .with("restored", restored_count)
                .with("deleted", deleted_count)
                .with("tokens", counters.total_tokens)
                .with("rev", counters.rev)
        });
        let label = self.label.as_str().to_owned();
        Ok(Restored { label, restored, deleted, rev: counters.rev, total_size_tokens: counters.total_tokens })
    }
}
