//! One worker space: its state, who works in it, and what it has done.

use super::telling::Tell;
use crate::{Error, House, Result};
use domain::events::Event;
use domain::ids::{AgentId, ProjectId, TaskId, WorkspaceId};
use domain::times::Timestamp;
use domain::worker_spaces::SpaceStatus;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OnceCell};

/// How long a fault of the house leaves its mark.
const CRASH_REMEMBERED_S: i64 = 300;
pub(crate) const CRASHED: &str = "a worker ended with a fault of the house";
pub(crate) const PROVIDER_FAILING: &str = "the model provider is failing";
/// Calls of a provider that fail one after another before it counts as failing.
pub(crate) const FAILURES_TELLING: u64 = 3;

pub(crate) struct Space {
    workspace: WorkspaceId,
    project: ProjectId,
    begun: OnceCell<()>,
    /// Whether people have seen an earlier one end.
    is_another: bool,
    state: Mutex<State>,
    /// Rung when a task ends.
    quiet: Notify,
}

struct State {
    status: SpaceStatus,
    /// What is wrong, and since when.
    reasons: BTreeMap<&'static str, Timestamp>,
    last_active_at: Timestamp,
    lines: HashMap<AgentId, Line>,
    provider_failures: u64,
    durations: Durations,
    running: HashSet<TaskId>,
}

/// Who looks for tasks of one agent.
#[derive(Default)]
struct Line {
    workers: u64,
    /// Whether there may be something that no worker has looked for yet.
    rung: bool,
    retired: bool,
}

/// How long tasks took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Durations {
    pub count: u64,
    pub total_ms: u64,
    pub longest_ms: u64,
}

pub(crate) enum Begun {
    Ready,
    Ended,
}

impl Space {
    pub(crate) fn new(workspace: WorkspaceId, project: ProjectId, is_another: bool) -> Self {
        let state = State {
            status: SpaceStatus::Initializing,
            reasons: BTreeMap::new(),
            last_active_at: Timestamp::from_ms(0),
            lines: HashMap::new(),
            provider_failures: 0,
            durations: Durations::default(),
            running: HashSet::new(),
        };
        Self { workspace, project, begun: OnceCell::new(), is_another, state: Mutex::new(state), quiet: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    pub(crate) fn project(&self) -> &ProjectId {
        &self.project
    }

    pub(crate) fn status(&self) -> SpaceStatus {
        self.lock().status
    }

    pub(crate) fn reasons(&self, now: Timestamp) -> Vec<String> {
        self.lock().forget_old(now);
        self.lock().reasons.keys().map(|reason| (*reason).to_owned()).collect()
    }

    pub(crate) fn last_active_at(&self) -> Timestamp {
        self.lock().last_active_at
    }

    pub(crate) fn durations(&self) -> Durations {
        self.lock().durations
    }

    /// How many agents have somebody looking for their tasks.
    pub(crate) fn active_agents(&self) -> u64 {
        self.lock().lines.values().filter(|line| line.workers > 0).count() as u64
    }

    /// The tasks that run here.
    pub(crate) fn running(&self) -> HashSet<TaskId> {
        self.lock().running.clone()
    }

    pub(crate) fn runs_nothing(&self) -> bool {
        self.lock().running.is_empty()
    }

    pub(crate) fn takes_no_more(&self) -> bool {
        matches!(self.status(), SpaceStatus::Cleaning | SpaceStatus::Stopped)
    }

    pub(crate) fn touch(&self, now: Timestamp) {
        let mut state = self.lock();
        state.last_active_at = state.last_active_at.max(now);
    }

    /// Makes it ready, once.
    pub(crate) async fn begin(self: &Arc<Self>, house: &House) -> Result<Begun> {
        self.begun
            .get_or_try_init(|| async {
                house.spaces().cache.load(house, self).await?;
                self.touch(house.now());
                if self.is_another {
                    self.move_to(house, SpaceStatus::Ready);
                } else {
                    // To those who watch nothing has changed: it was said to be there.
                    self.lock().move_to(SpaceStatus::Ready);
                }
                house.spaces().began.notify_one();
                Ok::<_, Error>(())
            })
            .await?;
        Ok(if self.takes_no_more() { Begun::Ended } else { Begun::Ready })
    }

    /// Moves on to another state and tells of it; answers whether that could be.
    pub(crate) fn move_to(self: &Arc<Self>, house: &House, status: SpaceStatus) -> bool {
        let moved = self.lock().move_to(status);
        self.moved(house, status, moved)
    }

    /// Begins to end, but only if nothing runs here.
    pub(crate) fn close_if_quiet(self: &Arc<Self>, house: &House) -> bool {
        let moved = {
            let mut state = self.lock();
            state.running.is_empty() && state.move_to(SpaceStatus::Cleaning)
        };
        self.moved(house, SpaceStatus::Cleaning, moved)
    }

    fn moved(self: &Arc<Self>, house: &House, status: SpaceStatus, moved: bool) -> bool {
        if moved {
            tracing::debug!(project = %self.project, status = status.as_str(), "a worker space has moved on");
            // Told beside the work: nobody waits for it, and what is lost with the process was about the process.
            let (house, space) = (house.clone(), self.clone());
            tokio::spawn(async move { space.tell(&house, status).await });
        }
        moved
    }

    /// Takes nothing more, with nobody left to be told.
    pub(crate) fn shut(&self) {
        self.lock().status = SpaceStatus::Stopped;
    }

    async fn tell(&self, house: &House, status: SpaceStatus) {
        let event = Event::worker_space(&self.project, status, &self.reasons(house.now()), house.now());
        let tell = Tell { workspace: self.workspace.clone(), event };
        if let Err(error) = house.store().write(&self.workspace, tell).await {
            tracing::debug!(%error, "the state of a worker space could not be told");
        }
    }

    /// Whether another worker of an agent is to begin; none if nobody begins here any more.
    pub(crate) fn enlist(&self, agent: &AgentId, limit: u64) -> Option<bool> {
        let mut state = self.lock();
        if matches!(state.status, SpaceStatus::Cleaning | SpaceStatus::Stopped) {
            return None;
        }
        let line = state.lines.entry(agent.clone()).or_default();
        line.rung = true;
        let wanted = line.workers < limit && !line.retired;
        line.workers += u64::from(wanted);
        Some(wanted)
    }

    /// A worker looks now: what was rung for until here is seen to.
    pub(crate) fn heard(&self, agent: &AgentId) {
        if let Some(line) = self.lock().lines.get_mut(agent) {
            line.rung = false;
        }
    }

    /// A worker found nothing. Answers whether it may go: not if somebody rang meanwhile.
    pub(crate) fn discharge(&self, agent: &AgentId) -> bool {
        let mut state = self.lock();
        let ended = matches!(state.status, SpaceStatus::Cleaning | SpaceStatus::Stopped);
        let Some(line) = state.lines.get_mut(agent) else { return true };
        if line.rung && !ended && !line.retired {
            return false;
        }
        state.let_go(agent);
        true
    }

    pub(crate) fn dismiss(&self, agent: &AgentId) {
        self.lock().let_go(agent);
    }

    /// An agent that is no more gets no new workers.
    pub(crate) fn retire(&self, agent: &AgentId) {
        if let Some(line) = self.lock().lines.get_mut(agent) {
            line.retired = true;
        }
    }

    pub(crate) fn begun(&self, task: &TaskId) {
        self.lock().running.insert(task.clone());
    }

    /// A turn is over; `took` if its task is, too.
    pub(crate) fn ended(&self, task: &TaskId, took: Option<Duration>, now: Timestamp) {
        let mut state = self.lock();
        state.running.remove(task);
        state.last_active_at = state.last_active_at.max(now);
        if let Some(took) = took {
            let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            let Durations { count, total_ms, longest_ms } = state.durations;
            state.durations = Durations {
                count: count + 1,
                total_ms: total_ms.saturating_add(took_ms),
                longest_ms: longest_ms.max(took_ms),
            };
        }
        drop(state);
        self.quiet.notify_waiters();
    }

    /// Waits until nothing runs here.
    pub(crate) async fn is_quiet(&self) {
        loop {
            let ended = self.quiet.notified();
            if self.runs_nothing() {
                return;
            }
            ended.await;
        }
    }

    pub(crate) async fn crashed(self: &Arc<Self>, house: &House) {
        self.lock().reasons.insert(CRASHED, house.now());
        self.move_to(house, SpaceStatus::Degraded);
    }

    /// Notes how a call of the provider went; answers whether it has just begun to count as failing.
    pub(crate) fn provider_answered(self: &Arc<Self>, house: &House, well: bool) -> bool {
        let now = house.now();
        let (began, is_well) = {
            let mut state = self.lock();
            state.provider_failures = if well { 0 } else { state.provider_failures + 1 };
            let began = state.provider_failures == FAILURES_TELLING;
            if began {
                state.reasons.insert(PROVIDER_FAILING, now);
            } else if well {
                state.reasons.remove(PROVIDER_FAILING);
            }
            state.forget_old(now);
            (began, state.reasons.is_empty())
        };
        if began {
            self.move_to(house, SpaceStatus::Degraded);
        } else if is_well {
            self.move_to(house, SpaceStatus::Ready);
        }
        began
    }
}

impl State {
    fn move_to(&mut self, status: SpaceStatus) -> bool {
        let may = self.status.may_become(status);
        if may {
            self.status = status;
        }
        may
    }

    fn let_go(&mut self, agent: &AgentId) {
        let Some(line) = self.lines.get_mut(agent) else { return };
        line.workers = line.workers.saturating_sub(1);
        if line.workers == 0 && !line.rung {
            self.lines.remove(agent);
        }
    }

    fn forget_old(&mut self, now: Timestamp) {
        self.reasons.retain(|reason, since| *reason != CRASHED || now < since.plus_ms(CRASH_REMEMBERED_S * 1000));
    }
}
