//! Workers: who runs the tasks of an agent. Rows say what there is to do (ADR 0024); this only sees to it that somebody
//! looks. Never more workers of an agent than its limit, and none while there is nothing to do.

mod picking;
mod starting;

use crate::tasks::recovery::{self, Place};
use crate::worker_spaces::{Space, alerts};
use crate::{House, turns, worker_spaces};
use domain::ids::{AgentId, ProjectId, SessionId, TaskId, WorkspaceId};
use domain::tasks::{Task, TaskStatus, interrupted};
use domain::worker_spaces::Alert;
use futures_util::FutureExt;
pub(crate) use picking::Picked;
use picking::pick_next;
pub(crate) use starting::{Start, standing, standing_of};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// After the store did not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// For a turn that was told to stop to settle its money.
const TO_STOP: Duration = Duration::from_secs(2);

/// The tasks that run in this process, and how each is told to stop.
#[derive(Default)]
pub struct Bus {
    running: Mutex<HashMap<TaskId, Running>>,
    /// Rung when a task is over.
    over: Notify,
}

struct Running {
    workspace: WorkspaceId,
    task: Task,
    stop: Arc<Notify>,
}

/// A task that is one worker's and nobody else's in this process, until this is dropped.
pub(crate) struct Claim {
    house: House,
    task: TaskId,
    stop: Arc<Notify>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let bus = self.house.bus();
        bus.lock().remove(&self.task);
        bus.over.notify_waiters();
    }
}

impl Bus {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of an agent that somebody works on.
    fn claimed(&self, agent: &AgentId) -> HashSet<TaskId> {
        let of_agent = |running: &&Running| running.task.agent.id == *agent;
        self.lock().values().filter(of_agent).map(|running| running.task.id.clone()).collect()
    }

    /// Tells whoever runs a task here to stop. Its row has moved already; one that is only beginning finds that itself.
    pub(crate) fn stop(&self, task: &TaskId) {
        if let Some(running) = self.lock().get(task) {
            running.stop.notify_one();
        }
    }

    /// The same for all tasks of a session.
    pub(crate) fn stop_session(&self, workspace: &WorkspaceId, session: &SessionId) {
        self.stop_all(|running| running.workspace == *workspace && running.task.session == *session);
    }

    /// The same for all tasks of a project.
    pub(crate) fn stop_project(&self, project: &ProjectId) {
        self.stop_all(|running| running.task.project == *project);
    }

    fn stop_all(&self, which: impl Fn(&Running) -> bool) {
        self.lock().values().filter(|running| which(running)).for_each(|running| running.stop.notify_one());
    }

    fn places(&self) -> Vec<Place> {
        let place =
            |Running { workspace, task, .. }: &Running| (workspace.clone(), task.project.clone(), task.id.clone());
        self.lock().values().map(place).collect()
    }

    /// Waits until nothing runs.
    async fn is_quiet(&self) {
        loop {
            let over = self.over.notified();
            if self.running() == 0 {
                return;
            }
            over.await;
        }
    }

    pub fn running(&self) -> usize {
        self.lock().len()
    }
}

/// Claims a task for one worker; none if another has it.
fn claim(house: &House, workspace: &WorkspaceId, task: &Task) -> Option<Claim> {
    let stop = Arc::new(Notify::new());
    let running = Running { workspace: workspace.clone(), task: task.clone(), stop: stop.clone() };
    match house.bus().lock().entry(task.id.clone()) {
        Entry::Occupied(_) => return None,
        Entry::Vacant(place) => place.insert(running),
    };
    Some(Claim { house: house.clone(), task: task.id.clone(), stop })
}

/// Lets what runs finish for a while before the house closes. What does not is failed as interrupted, or waits for what goes
/// on without it: whoever waits is told, and nothing is left to be found out at the next start.
pub async fn drain(house: &House, patience: Duration) {
    if tokio::time::timeout(patience, house.bus().is_quiet()).await.is_ok() {
        return;
    }
    for place in house.bus().places() {
        let id = place.2.clone();
        match recovery::interrupt(house, place).await {
            Ok(_) => house.bus().stop(&id),
            Err(error) => tracing::warn!(task = %id, %error, "a task could not be ended; the next start will"),
        }
    }
    let _ = tokio::time::timeout(TO_STOP, house.bus().is_quiet()).await;
}

/// Has somebody look for tasks of an agent, unless enough do already. Answers whether that is so: not in a space that has
/// ended.
pub(crate) fn ring(house: &House, space: &Arc<Space>, agent: &AgentId, limit: u64) -> bool {
    let Some(is_wanted) = space.enlist(agent, limit) else { return false };
    if is_wanted {
        tokio::spawn(work(house.clone(), space.clone(), agent.clone()));
    }
    true
}

/// One worker: runs tasks until there is none it may start.
async fn work(house: House, space: Arc<Space>, agent: AgentId) {
    loop {
        space.heard(&agent);
        if house.authority().is_closing() {
            return space.dismiss(&agent);
        }
        match pick_next(&house, &space, &agent).await {
            Ok(Some((picked, claim))) => {
                if picked.more {
                    ring(&house, &space, &agent, picked.agent.settings.concurrency_limit);
                }
                if !run(&house, &space, picked, &claim).await {
                    // Its row may be as it was: to pick it again at once would only do the same again.
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            Ok(None) if space.discharge(&agent) => return worker_spaces::hand_over(&house, &space, &agent).await,
            Ok(None) => {}
            Err(_) if house.authority().is_closing() => return space.dismiss(&agent),
            Err(error) => {
                tracing::warn!(%error, "the tasks of an agent cannot be looked at yet");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Runs one task to its end, or until it is told to stop; answers whether that is on record. A turn that panics harms
/// nobody else.
async fn run(house: &House, space: &Arc<Space>, picked: Picked, claim: &Claim) -> bool {
    let (task, workspace) = (picked.task.clone(), picked.session.workspace.clone());
    space.begun(&task.id);
    let begun = std::time::Instant::now();
    let outcome = AssertUnwindSafe(turns::take(house, space, picked, &claim.stop)).catch_unwind().await;
    let has_ended = outcome.as_ref().map_or(true, |left| left.has_ended);
    space.ended(&task.id, has_ended.then(|| begun.elapsed()), house.now());
    if let Ok(left) = outcome {
        return left.is_kept;
    }
    tracing::error!(task = %task.id, "a turn panicked");
    let place = (workspace.clone(), task.project.clone(), task.id.clone());
    // It may not even have started: what is still queued would be tried again for ever.
    let ended = recovery::fail(house, place, &[TaskStatus::Queued, TaskStatus::Running], interrupted()).await;
    if let Err(error) = &ended {
        tracing::error!(task = %task.id, %error, "a task whose turn panicked could not be ended");
    }
    space.crashed(house).await;
    let text = format!("a turn of {} ended with a fault of the house; the log says where", task.agent.name);
    alerts::raise(house, &workspace, &task.project, Alert::WorkerCrashed, task.agent.id.as_str(), &text).await;
    ended.is_ok()
}
