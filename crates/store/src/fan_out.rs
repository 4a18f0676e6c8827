//! Tells watchers in this process that something was committed. A hint and a short cut, never the record: whoever
//! falls behind reads the log. Whispers go the same ways and are in no log: whoever falls behind has missed them.

use crate::sync::{BACKLOG, Mutex, MutexGuard};
use domain::events::{Earshot, EventKind, RecordedEvent, StreamId, Whisper};
use domain::ids::{ProjectId, WorkspaceId};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, Weak};
use tokio::sync::{Notify, broadcast};

type Topic = (WorkspaceId, StreamId);
type Sender = broadcast::Sender<Said>;

#[derive(Default)]
pub(crate) struct FanOut {
    topics: Mutex<Topics>,
}

#[derive(Default)]
struct Topics {
    streams: HashMap<Topic, Sender>,
    bells: HashMap<WorkspaceId, Vec<Weak<Line>>>,
    /// Whoever follows the alerts of the whole house.
    alerts: Option<Sender>,
    /// The number in the house of the newest event that anybody here knows of.
    newest: u64,
}

/// News of one stream, with the events themselves.
pub struct Watch(broadcast::Receiver<Said>);

/// Rings when something was committed in one of several workspaces; what it was is in the log.
pub struct Bell(Arc<Line>);

/// What a watcher hears.
#[derive(Debug)]
pub enum News {
    Event(Arc<RecordedEvent>),
    Whisper(Heard),
    /// Some were missed, or were committed and are not told of here: read the log.
    Missed,
}

/// A whisper, and when it was said.
#[derive(Debug, Clone)]
pub struct Heard {
    pub whisper: Arc<Whisper>,
    /// The number in the house of the newest event before it. Whoever has seen a later one hears it too late.
    pub after: u64,
}

#[derive(Clone)]
enum Said {
    Event(Arc<RecordedEvent>),
    Whisper(Heard),
}

impl Watch {
    pub async fn next(&mut self) -> News {
        match self.0.recv().await {
            Ok(Said::Event(event)) => News::Event(event),
            Ok(Said::Whisper(heard)) => News::Whisper(heard),
            Err(broadcast::error::RecvError::Lagged(_)) => News::Missed,
            // The sender lives as long as a receiver does; nothing more can come.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Bell {
    /// Waits for a ring or a whisper; what came since the last wait counts.
    pub async fn next(&self) -> News {
        loop {
            if let Some(news) = self.0.waiting().take() {
                return news;
            }
            self.0.wake.notified().await;
        }
    }
}

/// What leads to one bell.
struct Line {
    /// Whose whispers are wanted; of all projects and of none if not said.
    project: Option<ProjectId>,
    waiting: Mutex<Waiting>,
    wake: Notify,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carries(&self, earshot: &Earshot) -> bool {
        self.project.is_none() || self.project == earshot.project
    }

    fn ring(&self) {
        self.waiting().ring();
        self.wake.notify_one();
    }

    fn whisper(&self, heard: Heard) {
        self.waiting().whisper(heard);
        self.wake.notify_one();
    }
}

/// What has not been taken yet, in the order in which it came: whispers, few of them, and at most one ring.
#[derive(Default)]
struct Waiting {
    whispers: VecDeque<Heard>,
    /// If it rang: how many of the whispers were before.
    rung_after: Option<usize>,
}

impl Waiting {
    fn ring(&mut self) {
        self.rung_after.get_or_insert(self.whispers.len());
    }

    fn whisper(&mut self, heard: Heard) {
        if self.whispers.len() == BACKLOG {
            self.pop();
        }
        self.whispers.push_back(heard);
    }

    fn take(&mut self) -> Option<News> {
        if self.rung_after == Some(0) {
            self.rung_after = None;
            return Some(News::Missed);
        }
        self.pop().map(News::Whisper)
    }

    fn pop(&mut self) -> Option<Heard> {
        self.rung_after = self.rung_after.map(|before| before.saturating_sub(1));
        self.whispers.pop_front()
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

    /// The alerts of every workspace, for the house itself.
    pub(crate) fn watch_alerts(&self) -> Watch {
        Watch(self.lock().alerts.get_or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe())
    }

    pub(crate) fn bell(&self, workspaces: &[WorkspaceId], project: Option<ProjectId>) -> Bell {
        let line = Arc::new(Line { project, waiting: Mutex::new(Waiting::default()), wake: Notify::new() });
        let bells = &mut self.lock().bells;
        for workspace in workspaces {
            let lines = bells.entry(workspace.clone()).or_default();
            lines.retain(|other| other.strong_count() > 0);
            lines.push(Arc::downgrade(&line));
        }
        Bell(line)
    }

    pub(crate) fn publish(&self, events: Vec<Arc<RecordedEvent>>) {
        let mut topics = self.lock();
        for event in events {
            topics.newest = topics.newest.max(event.seq);
            if let Some(bells) = topics.bells.get(&event.workspace) {
                bells.iter().filter_map(Weak::upgrade).for_each(|bell| bell.ring());
            }
            if let Some(alerts) = topics.alerts.as_ref().filter(|_| event.kind == EventKind::Alert.as_str()) {
                // Whoever followed may have gone.
                let _ = alerts.send(Said::Event(event.clone()));
            }
            if topics.streams.is_empty() {
                continue;
            }
            let topic = (event.workspace.clone(), event.stream.clone());
            let nobody = topics.streams.get(&topic).is_some_and(|sender| sender.send(Said::Event(event)).is_err());
            if nobody {
                topics.streams.remove(&topic);
            }
        }
    }

    /// Somebody read this event in the log, maybe before it was published: what is whispered from now on comes after it.
    pub(crate) fn read(&self, seq: u64) {
        let mut topics = self.lock();
        topics.newest = topics.newest.max(seq);
    }

    /// What is said is made only if somebody hears it, and without holding others up.
    pub(crate) fn whisper(&self, earshot: &Earshot, make: impl FnOnce() -> Whisper) {
        if self.lock().hearers(earshot).is_none() {
            return;
        }
        let whisper = Arc::new(make());
        let topics = self.lock();
        let Some(hearers) = topics.hearers(earshot) else { return };
        let heard = Heard { whisper, after: topics.newest };
        hearers.bells.iter().for_each(|bell| bell.whisper(heard.clone()));
        if let Some(sender) = hearers.stream {
            // Whoever listened may have gone this moment.
            let _ = sender.send(Said::Whisper(heard));
        }
    }
}

struct Hearers<'t> {
    stream: Option<&'t Sender>,
    bells: Vec<Arc<Line>>,
}

impl Topics {
    /// Who is within earshot, if anybody is.
    fn hearers(&self, earshot: &Earshot) -> Option<Hearers<'_>> {
        let topic = || (earshot.workspace.clone(), earshot.stream());
        let stream = if self.streams.is_empty() { None } else { self.streams.get(&topic()) };
        let stream = stream.filter(|sender| sender.receiver_count() > 0);
        let bells = self.bells.get(&earshot.workspace).into_iter().flatten().filter_map(Weak::upgrade);
        let bells: Vec<_> = bells.filter(|bell| bell.carries(earshot)).collect();
        (stream.is_some() || !bells.is_empty()).then_some(Hearers { stream, bells })
    }
}

#[cfg(all(test, not(feature = "interleavings")))]
mod tests;
