//! Plugins, as the house sees them: what they offer, which of it somebody accepted, and a way to call it. Who starts and watches
//! them is behind `PluginHost`; whether a call may be made is decided where all calls are, in `tool_calls`.

mod accepting;
mod failing;
mod looks;
mod under_way;

pub use accepting::{Accept, accept, follow, settle};
pub(crate) use looks::check;
pub use looks::{Figures, PluginLook, Standing, ToolLook, figures, list};
pub(crate) use under_way::UnderWay;

use domain::messages::Failure;
use domain::plugins::{Fingerprint, Offer, Offers, Timeouts};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whoever runs the plugins of this process. It makes calls, each once; it decides nothing.
pub trait PluginHost: Send + Sync + 'static {
    /// How they stand and what they offer, at this moment.
    fn listing(&self) -> Arc<Listing>;

    /// Ends when there is a listing with another number than this.
    fn changed(&self, seen: u64) -> Boxed<'_, ()>;

    /// The last that a plugin's program wrote to its standard error, for admins. It is no part of the listing: that would be another
    /// one with every word.
    fn last_words(&self, plugin: &str) -> Option<String>;

    /// Makes a call within its time. It ends early when `cancel` does, and the plugin is told.
    fn call<'a>(&'a self, call: PluginCall<'a>, cancel: Boxed<'a, ()>) -> Boxed<'a, Result<PluginAnswer, PluginFault>>;
}

/// The words for how a plugin stands.
pub const STATES: [&str; 5] = ["starting", "ready", "restarting", "failed", "stopped"];

/// Plugins by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Another one whenever anything in it is.
    pub number: u64,
    pub plugins: BTreeMap<String, ListedPlugin>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedPlugin {
    /// One of `STATES`.
    pub state: &'static str,
    /// Whether what it offers was heard from it as it runs now.
    pub is_ready: bool,
    /// Why it is away.
    pub why: Option<String>,
    pub offers: Offers,
    /// It lists more than the house takes.
    pub is_cut: bool,
    /// How it calls itself.
    pub server: Option<String>,
    /// How often it has gone away or did not come up, and why the last time; also while it is well.
    pub times_away: u64,
    pub last_trouble: Option<String>,
    /// A digest of how the file says it is reached.
    pub reach: String,
    /// What a call may take.
    pub call_s: u64,
}

impl Listing {
    /// Which plugin has a tool of this name. No two do.
    pub fn find(&self, name: &str) -> Option<(&str, &Offer)> {
        self.plugins.iter().find_map(|(plugin, listed)| Some((plugin.as_str(), listed.offers.tools.get(name)?)))
    }

    pub(crate) fn tool(&self, plugin: &str, name: &str) -> Option<&Offer> {
        self.plugins.get(plugin)?.offers.tools.get(name)
    }

    pub(crate) fn call_s(&self, plugin: &str) -> u64 {
        self.plugins.get(plugin).map_or(Timeouts::default().call_s, |listed| listed.call_s)
    }

    /// What a plugin offers now, by name.
    pub(crate) fn fingerprints(&self, plugin: &str) -> BTreeMap<String, Fingerprint> {
        let tools = self.plugins.get(plugin).into_iter().flat_map(|listed| &listed.offers.tools);
        tools.map(|(name, offer)| (name.clone(), offer.fingerprint.clone())).collect()
    }
}

#[derive(Debug, Clone)]
pub struct PluginCall<'a> {
    pub plugin: &'a str,
    pub tool: &'a str,
    /// Of the tool that was accepted; another one of that name is not called.
    pub fingerprint: &'a Fingerprint,
    pub arguments: Map<String, Value>,
}

/// What a plugin answered: text of somebody else, bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginAnswer {
    pub text: String,
    /// The tool says of itself that it failed.
    pub is_error: bool,
    pub is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginFault {
    pub why: Failure,
    /// Where this is false, nothing was run.
    pub may_have_run: bool,
}

/// What one house holds of plugins.
#[derive(Default)]
pub(crate) struct Holding {
    host: OnceLock<Arc<dyn PluginHost>>,
    pub(crate) running: UnderWay,
}

impl Holding {
    pub(crate) fn host(&self) -> Option<&Arc<dyn PluginHost>> {
        self.host.get()
    }

    pub(crate) fn listing(&self) -> Arc<Listing> {
        self.host().map_or_else(Arc::default, |host| host.listing())
    }
}

impl crate::House {
    /// Gives the house its plugins; once.
    pub fn use_plugins(&self, host: Arc<dyn PluginHost>) {
        if self.plugins().host.set(host).is_err() {
            tracing::warn!("this house has its plugins already");
        }
    }
}
