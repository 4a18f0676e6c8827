//! How plugins stand, for whoever looks after the house.

use super::ListedPlugin;
use crate::health::{Check, Status};
use crate::{Ctx, Error, House, Result, rules};
use domain::ids::UserId;
use domain::plugins::LeftOut;
use std::collections::BTreeMap;
use store::{AcceptedTool, Operation, Tx};

/// A plugin of the file, whether or not it runs here.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginLook {
    pub name: String,
    pub listed: ListedPlugin,
    pub last_words: Option<String>,
    pub tools: Vec<ToolLook>,
    pub left_out: Vec<LeftOut>,
}

/// What became of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Accepted,
    /// Nobody accepted one of this name.
    New,
    /// It was accepted in other words.
    Changed,
    /// It was accepted, and is not listed now.
    Gone,
}

impl Standing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolLook {
    pub name: String,
    pub standing: Standing,
    /// As it is now; of one that is gone, as it was accepted.
    pub description: String,
    pub fingerprint: String,
    /// What was accepted, where that is something else.
    pub accepted_description: Option<String>,
    pub accepted_by: Option<UserId>,
    pub waits_for_a_person: bool,
}

/// All plugins that the file declares.
pub async fn list(ctx: &Ctx) -> Result<Vec<PluginLook>> {
    ctx.caller.require_admin()?;
    let (rules, listing) = (rules::in_force(&ctx.house).await?, ctx.house.plugins().listing());
    let mut accepted: BTreeMap<String, Vec<AcceptedTool>> = BTreeMap::new();
    for tool in ctx.house.store().read(AllAccepted).await? {
        accepted.entry(tool.plugin.clone()).or_default().push(tool);
    }
    let look = |(name, declared): (&String, &domain::rules::Plugin)| {
        let away = || ListedPlugin { state: "stopped", ..ListedPlugin::default() };
        let listed = listing.plugins.get(name).cloned().unwrap_or_else(away);
        let tools = tools(&listed, &accepted.remove(name).unwrap_or_default(), declared);
        let last_words = ctx.house.plugins().host().and_then(|host| host.last_words(name));
        PluginLook { name: name.clone(), left_out: listed.offers.left_out.clone(), tools, last_words, listed }
    };
    Ok(rules.house.plugins.iter().map(look).collect())
}

fn tools(listed: &ListedPlugin, accepted: &[AcceptedTool], declared: &domain::rules::Plugin) -> Vec<ToolLook> {
    let known: BTreeMap<&str, &AcceptedTool> = accepted.iter().map(|tool| (tool.tool.as_str(), tool)).collect();
    let mut looks = Vec::new();
    for (name, offer) in &listed.offers.tools {
        let before = known.get(name.as_str());
        let standing = match before {
            None => Standing::New,
            Some(before) if before.fingerprint == offer.fingerprint => Standing::Accepted,
            Some(_) => Standing::Changed,
        };
        looks.push(ToolLook {
            name: name.clone(),
            standing,
            description: offer.description.clone(),
            fingerprint: offer.fingerprint.as_str().to_owned(),
            accepted_description: before
                .filter(|_| standing == Standing::Changed)
                .map(|before| before.described.description.clone()),
            accepted_by: before.and_then(|before| before.accepted_by.clone()),
            waits_for_a_person: declared.waits_for_a_person(name),
        });
    }
    let gone = accepted.iter().filter(|tool| !listed.offers.tools.contains_key(&tool.tool));
    looks.extend(gone.map(|tool| ToolLook {
        name: tool.tool.clone(),
        standing: Standing::Gone,
        description: tool.described.description.clone(),
        fingerprint: tool.fingerprint.as_str().to_owned(),
        accepted_description: None,
        accepted_by: tool.accepted_by.clone(),
        waits_for_a_person: declared.waits_for_a_person(&tool.tool),
    }));
    looks
}

struct AllAccepted;

impl Operation for AllAccepted {
    type Output = Vec<AcceptedTool>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<AcceptedTool>> {
        Ok(tx.accepted_tools().await?)
    }
}

/// Plugins and their calls, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many are in each state.
    pub states: BTreeMap<&'static str, u64>,
    pub times_away: u64,
    pub calls_running: u64,
    /// Calls that ended, by their end.
    pub calls_ended: [(&'static str, u64); 3],
}

pub fn figures(house: &House) -> Figures {
    let mut figures = Figures::default();
    for listed in house.plugins().listing().plugins.values() {
        *figures.states.entry(listed.state).or_default() += 1;
        figures.times_away += listed.times_away;
    }
    let running = &house.plugins().running;
    Figures { calls_running: running.count() as u64, calls_ended: running.ends(), ..figures }
}

/// Whether they run. None where there are none. Names are for admins, so only numbers are told.
pub(crate) fn check(house: &House) -> Option<Check> {
    let listing = house.plugins().listing();
    // One that is tried again is nothing to worry about; one that was tried in vain so often is.
    let away = listing.plugins.values().filter(|listed| listed.state == "failed").count();
    let detail = format!("{} of {} plugins do not start", away, listing.plugins.len());
    let status = if away > 0 { Status::Degraded } else { Status::Healthy };
    (!listing.plugins.is_empty()).then_some(Check { name: "plugins", status, detail })
}
