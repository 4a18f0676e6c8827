//! Plugins that were tried in vain so often that somebody should look.

use super::Listing;
use crate::House;
use crate::users::house_chain;
use crate::worker_spaces::alerts;
use domain::worker_spaces::Alert;
use std::collections::BTreeSet;

/// Those that fail and were told of.
#[derive(Default)]
pub(super) struct Failing(BTreeSet<String>);

impl Failing {
    /// Tells of each once, until it is well again.
    pub(super) async fn tell(&mut self, house: &House, listing: &Listing) {
        let fails = listing.plugins.iter().filter(|(_, listed)| listed.state == "failed");
        let failing: BTreeSet<String> = fails.map(|(name, _)| name.clone()).collect();
        for name in failing.difference(&self.0) {
            let text = format!("plugin `{name}` was tried in vain many times: see `longhouse plugin list`");
            alerts::raise(house, &house_chain(), None, Alert::PluginFailing, name, &text).await;
        }
        self.0 = failing;
    }
}
