//! Tells watchers in this process that something was committed. A hint and a short cut, never the record: whoever
//! falls behind reads the log.

use domain::events::RecordedEvent;
use domain::ids::{SessionId, WorkspaceId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// How many events a watcher may lag behind before it has to read the log.
const BACKLOG: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Topic {
    Session(WorkspaceId, SessionId),
    Workspace(WorkspaceId),
}

type Sender = broadcast::Sender<Arc<RecordedEvent>>;

#[derive(Default)]
pub(crate) struct FanOut {
    topics: Mutex<HashMap<Topic, Sender>>,
}

/// News of one session or workspace.
pub struct Watch(broadcast::Receiver<Arc<RecordedEvent>>);

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

impl FanOut {
    fn lock(&self) -> MutexGuard<'_, HashMap<Topic, Sender>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, topic: Topic) -> Watch {
        let mut topics = self.lock();
        // Watchers that left without a word are found when the next one comes.
        if topics.len() > 64 && topics.len().is_power_of_two() {
            topics.retain(|_, sender| sender.receiver_count() > 0);
        }
        Watch(topics.entry(topic).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe())
    }

    pub(crate) fn watch_session(&self, workspace: &WorkspaceId, session: &SessionId) -> Watch {
        self.watch(Topic::Session(workspace.clone(), session.clone()))
    }

    pub(crate) fn watch_workspace(&self, workspace: &WorkspaceId) -> Watch {
        self.watch(Topic::Workspace(workspace.clone()))
    }

    pub(crate) fn publish(&self, events: Vec<Arc<RecordedEvent>>) {
        let mut topics = self.lock();
        if topics.is_empty() {
            return;
        }
        for event in events {
            let session = Topic::Session(event.workspace.clone(), event.session.clone());
            for topic in [session, Topic::Workspace(event.workspace.clone())] {
                let nobody = topics.get(&topic).is_some_and(|sender| sender.send(event.clone()).is_err());
                if nobody {
                    topics.remove(&topic);
                }
            }
        }
    }
}
