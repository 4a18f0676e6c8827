//! Which tools of plugins somebody accepted. What a plugin lists first after it was declared came with the declaration, which an
//! admin wrote; whatever is new or other after that is off until an admin has looked at it.

use super::failing::Failing;
use super::{ListedPlugin, Listing};
use crate::audit::by_house;
use crate::users::house_chain;
use crate::{Ctx, Error, House, Result};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::events::Event;
use domain::plugins::{Change, Fingerprint, Offer, compare};
use domain::times::Timestamp;
use domain::worker_spaces::Alert;
use domain::{Code, Refusal};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{AcceptedTool, Described, KnownPlugin, Operation, Tx};

/// A plugin that says something else every second is told of no oftener than this.
const TOLD_AGAIN_AFTER_MS: i64 = 60_000;
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// What the newest listing has may be too new to be told of: it is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Compares what plugins list with what was accepted, whenever it changes. Runs until it is dropped.
pub async fn follow(house: &House) {
    let Some(host) = house.plugins().host().cloned() else { return };
    let mut failing = Failing::default();
    loop {
        // Before it is looked at: what changes meanwhile is seen.
        let listing = host.listing();
        let seen = listing.number;
        failing.tell(house, &listing).await;
        if listing.plugins.is_empty() {
            host.changed(seen).await;
            continue;
        }
        let pause = match settle(house).await {
            Ok(()) => LOOK_AGAIN,
            Err(_) if house.authority().is_closing() => return,
            Err(error) => {
                tracing::warn!(%error, "what plugins list could not be compared with what was accepted");
                AFTER_FAILURE
            }
        };
        let _ = tokio::time::timeout(pause, host.changed(seen)).await;
    }
}

/// Looks once: takes in what is declared anew, and tells of what has to be looked at.
pub async fn settle(house: &House) -> Result<()> {
    let listing = house.plugins().listing();
    if !house.store().read(Look { listing: listing.clone(), now: house.now() }).await? {
        return Ok(());
    }
    let told = house.store().write(&house_chain(), Settle { listing, now: house.now() }).await?;
    for plugin in told {
        tracing::warn!(plugin, "a plugin lists tools that nobody accepted: see `longhouse plugin list`");
    }
    Ok(())
}

/// What is to be done about one plugin.
enum Due {
    Nothing,
    /// It was not known, or is reached in another way by now: the file says so, and an admin wrote it.
    First,
    /// There is something that nobody was told of.
    Notice(KnownPlugin, BTreeMap<String, Fingerprint>),
}

fn due(
    name: &str,
    listed: &ListedPlugin,
    listing: &Listing,
    known: Option<&KnownPlugin>,
    accepted: &BTreeMap<String, Fingerprint>,
    now: Timestamp,
) -> Due {
    if !listed.is_ready {
        return Due::Nothing;
    }
    let Some(known) = known.filter(|known| known.reach == listed.reach) else { return Due::First };
    let offered = listing.fingerprints(name);
    let changes = compare(accepted, &offered);
    let is_off = |tool: &str| matches!(changes.get(tool), Some(Change::New | Change::Changed));
    let off: BTreeMap<String, Fingerprint> = offered.iter().filter(|(tool, _)| is_off(tool)).map(owned).collect();
    let was_told_lately = known.noticed_at.is_some_and(|at| now < at.plus_ms(TOLD_AGAIN_AFTER_MS));
    if off == known.noticed || (was_told_lately && !off.is_empty()) {
        return Due::Nothing;
    }
    Due::Notice(known.clone(), off)
}

fn owned((tool, fingerprint): (&String, &Fingerprint)) -> (String, Fingerprint) {
    (tool.clone(), fingerprint.clone())
}

/// What is known and accepted, in one transaction.
async fn kept(tx: &mut Tx) -> Result<(BTreeMap<String, KnownPlugin>, BTreeMap<String, BTreeMap<String, Fingerprint>>)> {
    let known = tx.known_plugins().await?.into_iter().map(|plugin| (plugin.name.clone(), plugin)).collect();
    let mut accepted: BTreeMap<String, BTreeMap<String, Fingerprint>> = BTreeMap::new();
    for tool in tx.accepted_tools().await? {
        accepted.entry(tool.plugin).or_default().insert(tool.tool, tool.fingerprint);
    }
    Ok((known, accepted))
}

/// Whether there is anything to do, without a write for it.
struct Look {
    listing: Arc<Listing>,
    now: Timestamp,
}

impl Operation for Look {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let (known, accepted) = kept(tx).await?;
        let none = BTreeMap::new();
        let is_due = |(name, listed): (&String, &ListedPlugin)| {
            let accepted = accepted.get(name).unwrap_or(&none);
            !matches!(due(name, listed, &self.listing, known.get(name), accepted, self.now), Due::Nothing)
        };
        Ok(self.listing.plugins.iter().any(is_due))
    }
}

struct Settle {
    listing: Arc<Listing>,
    now: Timestamp,
}

impl Operation for Settle {
    /// The plugins that somebody has to look at.
    type Output = Vec<String>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<String>> {
        let (known, accepted) = kept(tx).await?;
        let none = BTreeMap::new();
        let mut told = Vec::new();
        for (name, listed) in &self.listing.plugins {
            let accepted = accepted.get(name).unwrap_or(&none);
            match due(name, listed, &self.listing, known.get(name), accepted, self.now) {
                Due::Nothing => {}
                Due::First => self.take_in(tx, name, listed).await?,
                Due::Notice(known, off) => {
                    if !off.is_empty() {
                        self.tell(tx, name, &off).await?;
                        told.push(name.clone());
                    }
                    let known = KnownPlugin { noticed: off, noticed_at: Some(self.now), ..known };
                    tx.save_plugin(&known).await?;
                }
            }
        }
        Ok(told)
    }
}

impl Settle {
    async fn take_in(&self, tx: &mut Tx, name: &str, listed: &ListedPlugin) -> Result<()> {
        // The file may have lost it while it was starting: then nobody declares it.
        if !tx.accepted_rules().await?.rules.plugins.contains_key(name) {
            return Ok(());
        }
        tx.forget_plugin(name).await?;
        for offer in listed.offers.tools.values() {
            tx.accept_tool(&accepted(name, offer, None, self.now)).await?;
        }
        let reach = listed.reach.clone();
        let noticed = BTreeMap::new();
        let known = KnownPlugin { name: name.to_owned(), reach, accepted_at: self.now, noticed, noticed_at: None };
        tx.save_plugin(&known).await?;
        let tools: Vec<&String> = listed.offers.tools.keys().collect();
        let record = by_house("plugin.declare", self.now).with("plugin", name).with("tools", serde_json::json!(tools));
        tx.scope(&house_chain()).audit().append(record);
        Ok(())
    }

    async fn tell(&self, tx: &mut Tx, name: &str, off: &BTreeMap<String, Fingerprint>) -> Result<()> {
        let tools: Vec<&String> = off.keys().collect();
        let record = by_house("plugin.notice", self.now).with("plugin", name).with("tools", serde_json::json!(tools));
        tx.scope(&house_chain()).audit().append(record);
        let text = format!("plugin `{name}` lists {} tools that an admin has not accepted as they are now", off.len());
        let event = Event::alert(Alert::PluginChanged, name, &text, None, self.now);
        Ok(tx.scope(&house_chain()).events().append_workspace(&event).await?)
    }
}

fn accepted(plugin: &str, offer: &Offer, by: Option<&Caller>, now: Timestamp) -> AcceptedTool {
    AcceptedTool {
        plugin: plugin.to_owned(),
        tool: offer.name.clone(),
        fingerprint: offer.fingerprint.clone(),
        described: Described { description: offer.description.clone(), schema: offer.schema.clone() },
        accepted_by: by.map(|caller| caller.user.clone()),
        accepted_at: now,
    }
}

/// An admin's yes to a tool as it is now.
#[derive(Debug, Clone)]
pub struct Accept {
    pub plugin: String,
    pub tool: String,
    /// Of what the admin was shown: a tool that changed meanwhile is not accepted by it.
    pub fingerprint: String,
}

pub async fn accept(ctx: &Ctx, accept: Accept) -> Result<()> {
    ctx.caller.require_admin()?;
    let listing = ctx.house.plugins().listing();
    let Some(offer) = listing.tool(&accept.plugin, &accept.tool) else {
        return Err(Refusal::new(Code::ToolNotFound, "no plugin of that name offers such a tool now").into());
    };
    if offer.fingerprint.as_str() != accept.fingerprint {
        let message = "the tool is not what you were shown any more: look at it again";
        return Err(Refusal::new(Code::DigestMismatch, message).with("fingerprint", offer.fingerprint.as_str()).into());
    }
    let accepted = accepted(&accept.plugin, offer, Some(&ctx.caller), ctx.now());
    let write = Write { caller: ctx.caller.clone(), accepted };
    ctx.house.store().write(&house_chain(), write).await
}

struct Write {
    caller: Arc<Caller>,
    accepted: AcceptedTool,
}

impl Operation for Write {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let (plugin, tool) = (&self.accepted.plugin, &self.accepted.tool);
        // Its first listing is accepted by the house, as a whole; before that there is nothing to compare with.
        let found = tx.known_plugins().await?.into_iter().find(|known| known.name == *plugin);
        let Some(mut known) = found else {
            return Err(Refusal::new(Code::PluginUnavailable, "this plugin has not been taken in yet").into());
        };
        tx.accept_tool(&self.accepted).await?;
        known.noticed.remove(tool);
        tx.save_plugin(&known).await?;
        let record = AuditRecord::new(&self.caller, "plugin.accept", self.accepted.accepted_at)
            .with("plugin", plugin.as_str())
            .with("tool", tool.as_str())
            .with("fingerprint", self.accepted.fingerprint.as_str());
        tx.scope(&house_chain()).audit().append(record);
        Ok(())
    }
}
