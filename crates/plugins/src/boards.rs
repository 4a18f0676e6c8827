//! What all plugins offer, put together anew whenever something changed, and read without waiting.

use crate::slots::Slot;
use crate::states::State;
use domain::plugins::{Offer, Offers, PluginDeclaration, offers};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::watch;

/// Plugins by name.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub plugins: BTreeMap<String, ListedPlugin>,
}

#[derive(Debug, Clone)]
pub struct ListedPlugin {
    pub state: State,
    /// What it runs by: never that of another program than the one that said what is offered.
    pub declaration: Arc<PluginDeclaration>,
    /// What it last said, also while it is away.
    pub offers: Offers,
    /// It lists more than the house takes.
    pub is_cut: bool,
    /// How it calls itself.
    pub server: Option<String>,
    /// How often it has gone away or did not come up, and why the last time; also while it is well.
    pub times_away: u64,
    pub last_trouble: Option<String>,
}

impl Listing {
    pub fn tool(&self, plugin: &str, name: &str) -> Option<&Offer> {
        self.plugins.get(plugin)?.offers.tools.get(name)
    }

    /// Which plugin has a tool of this name. No two do.
    pub fn find(&self, name: &str) -> Option<(&str, &Offer)> {
        self.plugins.iter().find_map(|(plugin, listed)| Some((plugin.as_str(), listed.offers.tools.get(name)?)))
    }
}

#[derive(Default)]
pub(crate) struct Board {
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    listing: RwLock<Arc<Listing>>,
    version: watch::Sender<u64>,
}

impl Board {
    fn slots(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        self.slots().get(name).cloned()
    }

    pub(crate) fn put(&self, slot: Arc<Slot>) {
        self.slots().insert(slot.name.clone(), slot);
        self.refresh();
    }

    pub(crate) fn remove(&self, name: &str) {
        self.slots().remove(name);
        self.refresh();
    }

    pub(crate) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// After every change of a slot. Slots stay locked meanwhile, so that what is read last is what is shown last.
    pub(crate) fn refresh(&self) {
        let slots = self.slots();
        let known: Vec<_> = slots.values().map(|slot| (slot, seen(slot))).collect();
        let said: Vec<_> =
            known.iter().map(|(slot, seen)| (slot.name.as_str(), &seen.1.rules, seen.2.as_slice())).collect();
        let mut offers = offers(&said);
        let plugins = known.iter().map(|(slot, (listed, ..))| {
            let offers = offers.remove(&slot.name).unwrap_or_default();
            (slot.name.clone(), ListedPlugin { offers, ..listed.clone() })
        });
        let listing = Arc::new(Listing { plugins: plugins.collect() });
        *self.listing.write().unwrap_or_else(PoisonError::into_inner) = listing;
        self.version.send_modify(|version| *version += 1);
    }
}

type Seen = (ListedPlugin, Arc<PluginDeclaration>, Arc<Vec<domain::plugins::Listed>>);

fn seen(slot: &Slot) -> Seen {
    let known = slot.known();
    let listed = ListedPlugin {
        state: known.state.clone(),
        declaration: Arc::clone(&known.declaration),
        offers: Offers::default(),
        is_cut: known.tools.is_cut,
        server: known.server.clone(),
        times_away: known.times_away,
        last_trouble: known.last_trouble.clone(),
    };
    (listed, Arc::clone(&known.declaration), Arc::clone(&known.tools.listed))
}
