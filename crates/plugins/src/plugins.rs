//! The handle: start them, change them, read what they offer, call them, stop them.

use crate::boards::{Board, Listing};
use crate::options::Options;
use crate::slots::Slot;
use crate::supervisors::Supervisor;
use domain::plugins::PluginDeclaration;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

/// All plugins of the house. Cheap to clone; when the last clone goes, their programs are ended at once.
#[derive(Clone)]
pub struct Plugins {
    pub(crate) board: Arc<Board>,
    pub(crate) options: Arc<Options>,
    running: Arc<Mutex<BTreeMap<String, Running>>>,
}

struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    async fn stop(mut self) {
        self.stop.send_replace(true);
        (&mut self.task).await.ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Plugins {
    /// Starts all of them, and waits for none. Within a runtime.
    pub async fn start(options: Options, declarations: BTreeMap<String, PluginDeclaration>) -> Self {
        let plugins = Self { board: Arc::default(), options: Arc::new(options), running: Arc::default() };
        plugins.apply(declarations).await;
        plugins
    }

    /// Makes it so. What runs stays, if only its grants or times changed; what is not declared any more is stopped first.
    pub async fn apply(&self, declarations: BTreeMap<String, PluginDeclaration>) {
        let mut running = self.running.lock().await;
        let stays = |name: &str| {
            let slot = self.board.slot(name)?;
            let declared = declarations.get(name)?;
            slot.declaration().runs_as(declared).then_some(())
        };
        let leaving: Vec<String> = running.keys().filter(|name| stays(name).is_none()).cloned().collect();
        let stopped: Vec<Running> = leaving.iter().filter_map(|name| running.remove(name)).collect();
        futures_util::future::join_all(stopped.into_iter().map(Running::stop)).await;
        for name in leaving.iter().filter(|name| !declarations.contains_key(*name)) {
            self.board.remove(name);
        }
        for (name, declaration) in declarations {
            match self.board.slot(&name).filter(|_| running.contains_key(&name)) {
                Some(slot) => {
                    slot.known().declaration = Arc::new(declaration);
                    self.board.refresh();
                }
                None => {
                    running.insert(name.clone(), self.begin(name, declaration));
                }
            }
        }
    }

    fn begin(&self, name: String, declaration: PluginDeclaration) -> Running {
        let slot = Arc::new(Slot::new(name, declaration, &self.options.limits));
        self.board.put(Arc::clone(&slot));
        let (stop, stopped) = watch::channel(false);
        let (board, options) = (Arc::clone(&self.board), Arc::clone(&self.options));
        let task = tokio::spawn(Supervisor::new(slot, board, options, stopped).run());
        Running { stop, task }
    }

    /// How they stand and what they offer, at this moment.
    pub fn listing(&self) -> Arc<Listing> {
        self.board.listing()
    }

    /// The last that its program wrote to its standard error, until this moment: for whoever looks after the house, not for logs or
    /// models.
    pub fn last_words(&self, plugin: &str) -> Option<String> {
        self.board.slot(plugin)?.last_words.shown()
    }

    /// Counts up with every change of the listing. A change that nobody looked at in between is one with the next.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.board.changes()
    }

    /// Stops all of them, each in kindness for a moment. They stay listed as stopped.
    pub async fn stop(&self) {
        let running = std::mem::take(&mut *self.running.lock().await);
        futures_util::future::join_all(running.into_values().map(Running::stop)).await;
    }
}
