//! What is known of one plugin at this moment. Its supervisor writes it, calls and listings read it.

use crate::closings::Closing;
use crate::listings::Tools;
use crate::options::Limits;
use crate::states::State;
use crate::stderr::LastWords;
use domain::plugins::PluginDeclaration;
use rmcp::RoleClient;
use rmcp::service::Peer;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

pub(crate) struct Slot {
    pub(crate) name: String,
    known: Mutex<Known>,
    pub(crate) last_words: LastWords,
    /// Calls at once.
    pub(crate) turns: Semaphore,
    pub(crate) waiting: AtomicUsize,
}

pub(crate) struct Known {
    pub(crate) declaration: Arc<PluginDeclaration>,
    pub(crate) state: State,
    /// The last that it said. They stay while it is away, so that a call finds its tool and is told that it is away.
    pub(crate) tools: Tools,
    /// There while it can be called; always of the same moment as `tools`.
    pub(crate) link: Option<Link>,
    pub(crate) server: Option<String>,
    /// How often it has gone away or did not come up, since it was declared.
    pub(crate) times_away: u64,
    /// Why, the last time; kept while it is well.
    pub(crate) last_trouble: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) closing: Closing,
}

impl Slot {
    pub(crate) fn new(name: String, declaration: PluginDeclaration, limits: &Limits) -> Self {
        let known = Known {
            declaration: Arc::new(declaration),
            state: State::Starting,
            tools: Tools::default(),
            link: None,
            server: None,
            times_away: 0,
            last_trouble: None,
        };
        Self {
            name,
            known: Mutex::new(known),
            last_words: LastWords::default(),
            turns: Semaphore::new(limits.calls_at_once),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn declaration(&self) -> Arc<PluginDeclaration> {
        Arc::clone(&self.known().declaration)
    }
}
