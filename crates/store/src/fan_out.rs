//! Tells watchers in this process that something was committed. A hint and a short cut, never the record: whoever
//! falls behind reads the log.

use crate::sync::{BACKLOG, Mutex, MutexGuard};
use domain::events::{RecordedEvent, StreamId};
use domain::ids::WorkspaceId;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};
use tokio::sync::{Notify, broadcast};

type Topic = (WorkspaceId, StreamId);
type Sender = broadcast::Sender<Arc<RecordedEvent>>;

#[derive(Default)]
pub(crate) struct FanOut {
    topics: Mutex<Topics>,
}

#[derive(Default)]
struct Topics {
    streams: HashMap<Topic, Sender>,
    bells: HashMap<WorkspaceId, Vec<Weak<Notify>>>,
}

/// News of one stream, with the events themselves.
pub struct Watch(broadcast::Receiver<Arc<RecordedEvent>>);

/// Rings when something was committed in one of several workspaces; what it was is in the log.
pub struct Bell(Arc<Notify>);

/// What a watcher hears.
pub enum News {
    Event(Arc<RecordedEvent>),
    /// Some were missed: read the log.
    Missed,
}

impl Watch {
    pub async fn next(&mut self) -> News {
        match self.0.recv().await {
            Ok(event) => News::Event(event),
            Err(broadcast::error::RecvError::Lagged(_)) => News::Missed,
            // The sender lives as long as a receiver does; nothing more can come.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Bell {
    /// Waits for a ring; one that came since the last wait counts.
    pub async fn rung(&self) {
        self.0.notified().await;
    }
}

impl FanOut {
    fn lock(&self) -> MutexGuard<'_, Topics> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watch(&self, workspace: &WorkspaceId, stream: &StreamId) -> Watch {
        let streams = &mut self.lock().streams;
        // Watchers that left without a word are cleared away now and then.
        if streams.len() >= 64 && streams.len().is_power_of_two() {
            streams.retain(|_, sender| sender.receiver_count() > 0);
        }
        let topic = (workspace.clone(), stream.clone());
        Watch(streams.entry(topic).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe())
    }

    pub(crate) fn bell(&self, workspaces: &[WorkspaceId]) -> Bell {
        let bell = Arc::new(Notify::new());
        let bells = &mut self.lock().bells;
        for workspace in workspaces {
            let line = bells.entry(workspace.clone()).or_default();
            line.retain(|other| other.strong_count() > 0);
            line.push(Arc::downgrade(&bell));
        }
        Bell(bell)
    }

    pub(crate) fn publish(&self, events: Vec<Arc<RecordedEvent>>) {
        let mut topics = self.lock();
        for event in events {
            if let Some(bells) = topics.bells.get(&event.workspace) {
                bells.iter().filter_map(Weak::upgrade).for_each(|bell| bell.notify_one());
            }
            if topics.streams.is_empty() {
                continue;
            }
            let topic = (event.workspace.clone(), event.stream.clone());
            let nobody = topics.streams.get(&topic).is_some_and(|sender| sender.send(event).is_err());
            if nobody {
                topics.streams.remove(&topic);
            }
        }
    }
}
