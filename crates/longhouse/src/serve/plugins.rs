//! The plugins of a running server: started when it starts, in the background, changed with the file, stopped before it ends.
//! The house reaches them by the trait that it has for them.

use domain::messages::Failure;
use domain::plugins::{PluginDeclaration, Reach};
use plugins::{Call, Error, Options, Plugins, State};
use service::plugins::{Boxed, ListedPlugin, Listing, PluginAnswer, PluginCall, PluginFault, PluginHost};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle; every clone is the same plugins.
#[derive(Clone)]
pub(super) struct RunningPlugins(Arc<Inside>);

struct Inside {
    plugins: Plugins,
    /// What was told last, with its number: it is put together once for each change.
    told: Mutex<Arc<Listing>>,
}

impl RunningPlugins {
    /// Starts nothing yet. Programs run in the folder that the server was started in.
    pub(super) async fn none_yet() -> Self {
        let plugins = Plugins::start(Options::new("."), BTreeMap::new()).await;
        Self(Arc::new(Inside { plugins, told: Mutex::default() }))
    }

    /// Makes it so: what is new is started and not waited for, what is gone is stopped.
    pub(super) async fn apply(&self, declared: &BTreeMap<String, PluginDeclaration>) {
        self.0.plugins.apply(declared.clone()).await;
    }

    pub(super) async fn stop(&self) {
        self.0.plugins.stop().await;
    }

    fn put_together(&self, number: u64) -> Listing {
        let listing = self.0.plugins.listing();
        let listed = listing.plugins.iter().map(|(name, plugin)| {
            let why = match &plugin.state {
                State::Restarting { why, .. } | State::Failed { why, .. } => Some(why.clone()),
                State::Starting | State::Ready | State::Stopped => None,
            };
            let listed = ListedPlugin {
                state: plugin.state.as_str(),
                is_ready: plugin.state == State::Ready,
                why,
                offers: plugin.offers.clone(),
                is_cut: plugin.is_cut,
                server: plugin.server.clone(),
                times_away: plugin.times_away,
                last_trouble: plugin.last_trouble.clone(),
                reach: reach(&plugin.declaration),
                call_s: plugin.declaration.timeouts.call_s,
            };
            (name.clone(), listed)
        });
        Listing { number, plugins: listed.collect() }
    }
}

/// How it is reached, without a word of it: an address may hold a secret.
fn reach(declaration: &PluginDeclaration) -> String {
    let mut hash = Sha256::new();
    let (kind, parts) = match &declaration.reach {
        Reach::Command(words) => ("command", words.as_slice()),
        Reach::Url(url) => ("url", std::slice::from_ref(url)),
    };
    for part in std::iter::once(kind).chain(parts.iter().map(String::as_str)) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    data_encoding::HEXLOWER.encode(&hash.finalize())
}

impl PluginHost for RunningPlugins {
    fn listing(&self) -> Arc<Listing> {
        // Before it is read: what changes in between has the next number.
        let number = *self.0.plugins.changes().borrow();
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.number != number {
            *told = Arc::new(self.put_together(number));
        }
        Arc::clone(&told)
    }

    fn changed(&self, seen: u64) -> Boxed<'_, ()> {
        let mut changes = self.0.plugins.changes();
        Box::pin(async move { drop(changes.wait_for(|number| *number != seen).await) })
    }

    fn last_words(&self, plugin: &str) -> Option<String> {
        self.0.plugins.last_words(plugin)
    }

    fn call<'a>(&'a self, call: PluginCall<'a>, cancel: Boxed<'a, ()>) -> Boxed<'a, Result<PluginAnswer, PluginFault>> {
        let PluginCall { plugin, tool, fingerprint, arguments } = call;
        Box::pin(async move {
            let answered = self.0.plugins.call(Call { plugin, tool, fingerprint, arguments }, cancel).await;
            let answer = |outcome: plugins::Outcome| PluginAnswer {
                text: outcome.text,
                is_error: outcome.is_error,
                is_cut: outcome.is_cut,
            };
            answered.map(answer).map_err(|error: Error| PluginFault {
                may_have_run: error.may_have_run(),
                why: Failure { code: error.code(), message: error.to_string() },
            })
        })
    }
}
