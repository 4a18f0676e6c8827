//! Workers: who runs the tasks of an agent. Rows say what there is to do (ADR 0024); this only sees to it that somebody
//! looks. Never more workers of an agent than its limit, and none while there is nothing to do.

mod starting;

use crate::worker_spaces::{Space, alerts};
use crate::{House, tasks, turns};
use domain::ids::{AgentId, TaskId};
use domain::tasks::interrupted;
use domain::worker_spaces::Alert;
use futures_util::FutureExt;
use starting::start_next;
pub(crate) use starting::{Started, standing};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// After the store did not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The tasks that run in this process, and how each is told to stop.
#[derive(Default)]
pub struct Bus {
    running: Mutex<HashMap<TaskId, Arc<Notify>>>,
}

/// Takes a task off the list when it is over, however it ends.
struct Listed<'b> {
    bus: &'b Bus,
    task: TaskId,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.bus.lock().remove(&self.task);
    }
}

impl Bus {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Arc<Notify>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, task: &TaskId) -> (Listed<'_>, Arc<Notify>) {
        let stop = Arc::new(Notify::new());
        self.lock().insert(task.clone(), stop.clone());
        (Listed { bus: self, task: task.clone() }, stop)
    }

    /// Tells whoever runs a task here to stop. Its row has moved already; one that is only beginning finds that itself.
    pub(crate) fn stop(&self, task: &TaskId) {
        if let Some(stop) = self.lock().get(task) {
            stop.notify_one();
        }
    }

    pub fn running(&self) -> usize {
        self.lock().len()
    }
}

/// Has somebody look for tasks of an agent, unless enough do already.
pub(crate) fn ring(house: &House, space: &Arc<Space>, agent: &AgentId, limit: u64) {
    if space.enlist(agent, limit) {
        tokio::spawn(work(house.clone(), space.clone(), agent.clone()));
    }
}

/// One worker: runs tasks until there is none it may start.
async fn work(house: House, space: Arc<Space>, agent: AgentId) {
    loop {
        space.heard(&agent);
        match start_next(&house, &space, &agent).await {
            Ok(Some(started)) => {
                if started.more {
                    ring(&house, &space, &agent, started.agent.settings.concurrency_limit);
                }
                run(&house, &space, started).await;
            }
            Ok(None) if space.discharge(&agent) => return,
            Ok(None) => {}
            Err(_) if house.authority().is_closing() => {
                space.dismiss(&agent);
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "the tasks of an agent cannot be looked at yet");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Runs one task to its end, or until it is told to stop. A turn that panics harms nobody else.
async fn run(house: &House, space: &Arc<Space>, started: Started) {
    let (task, workspace) = (started.task.clone(), started.session.workspace.clone());
    let (_listed, stop) = house.bus().list(&task.id);
    let begun = std::time::Instant::now();
    space.begun();
    let turn = AssertUnwindSafe(turns::take(house, space, started, stop)).catch_unwind();
    let outcome = turn.await;
    space.ended(begun.elapsed(), house.now());
    if outcome.is_ok() {
        return;
    }
    tracing::error!(task = %task.id, "a turn panicked");
    let place = (workspace.clone(), task.project.clone(), task.id.clone());
    if let Err(error) = tasks::recovery::abandon(house, place, interrupted()).await {
        tracing::error!(task = %task.id, %error, "a task whose turn panicked could not be ended");
    }
    space.crashed(house).await;
    let text = format!("a turn of {} ended with a fault of the house; the log says where", task.agent.name);
    alerts::raise(house, &workspace, &task.project, Alert::WorkerCrashed, task.agent.id.as_str(), &text).await;
}
