//! The task behind a channel, and how it is asked to end.

use crate::states::Health;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Ends with the value.
pub(crate) struct Running {
    health: Health,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The task's side of it.
#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Running {
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(health: Health, work: impl FnOnce(Stop) -> F) -> Self {
        let stop = watch::Sender::new(false);
        let task = Mutex::new(Some(tokio::spawn(work(Stop(stop.subscribe())))));
        Self { health, stop, task }
    }

    /// Lets a message that is being taken be taken, and ends the rest.
    pub(crate) async fn stop(&self) {
        self.stop.send_replace(true);
        let task = self.task();
        if let Some(task) = task {
            // A task that panicked has ended too.
            let _ = task.await;
        }
        self.health.stopped();
    }

    fn task(&self) -> Option<JoinHandle<()>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = self.task() {
            task.abort();
        }
        self.health.stopped();
    }
}

impl Stop {
    pub(crate) async fn asked(&mut self) {
        // An error says that the other side is gone, which asks for the same.
        let _ = self.0.wait_for(|is_asked| *is_asked).await;
    }

    /// What the work comes to, or none if it was to end before.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.asked() => None,
            done = work => Some(done),
        }
    }

    /// Waits; none if it was to end before.
    pub(crate) async fn sleep(&mut self, pause: Duration) -> Option<()> {
        self.or(tokio::time::sleep(pause)).await
    }
}
