//! Calls of plugins, made by the house itself. That a call begins is on disk before anything is sent, so no call is made twice:
//! what was begun when a server died is `unknown`, and what was not is begun then.

use super::deadlines::{LYING_LONGEST_S, is_of_one_call, nobody_knows};
use super::delivering::{judge, woken};
use super::judging::{Judge, Judged};
use super::moves::{Mover, Moving};
use super::plugin_calls::{arguments_of, require_digest};
use super::settings::granted;
use super::unwanted::unwanted;
use crate::plugins::{PluginAnswer, PluginCall, PluginFault, PluginHost};
use crate::{Error, House, Result};
use domain::tool_calls::{CallStatus, Deliver, PluginUse, ToolCall};
use domain::{Code, Refusal};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::{LITTLE_BYTES, Operation, ToolCallPlace as Place, Tx};

const BEGUN_AT_ONCE: u64 = 64;
const LOOK_EVERY: Duration = Duration::from_secs(30);
const BETWEEN: Duration = Duration::from_secs(1);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// A disk that is full for a moment must not cost an outcome.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(250);
/// How long a call waits for a plugin that is just starting.
const STARTING_LONGEST: Duration = Duration::from_secs(30);

/// Makes every call that may begin, each once. Runs until it is dropped; does nothing where there are no plugins.
pub async fn call_plugins(house: &House) {
    let Some(host) = house.plugins().host().cloned() else { return };
    while !house.authority().is_closing() {
        let listing = host.listing();
        if listing.plugins.is_empty() {
            host.changed(listing.number).await;
            continue;
        }
        let pause = match begin_all(house, &host).await {
            Ok(true) => LOOK_EVERY,
            Ok(false) => BETWEEN,
            Err(_) if house.authority().is_closing() => return,
            Err(error) => {
                tracing::warn!(%error, "calls of plugins could not be begun yet");
                AFTER_FAILURE
            }
        };
        let _ = tokio::time::timeout(pause, house.plugins().running.bell.notified()).await;
    }
}

/// Waits for the calls that are under way, at most so long.
pub async fn finish_plugin_calls(house: &House, longest: Duration) {
    let _ = tokio::time::timeout(longest, house.plugins().running.all_ended()).await;
}

/// Whether these were all of them.
async fn begin_all(house: &House, host: &Arc<dyn PluginHost>) -> Result<bool> {
    // What waits for a plugin that does not come up is still to begin, and must not stand before the others.
    let most = BEGUN_AT_ONCE + house.plugins().running.count() as u64;
    let places = house.store().read(ToBegin { most }).await?;
    let are_all = (places.len() as u64) < most;
    for place in places {
        let (house, host) = (house.clone(), host.clone());
        tokio::spawn(async move {
            let Some(_turn) = house.plugins().running.begin(&place.2) else { return };
            if let Err(error) = make(&house, host.as_ref(), &place).await {
                tracing::warn!(call = %place.2, %error, "a call of a plugin could not be brought to its end");
            }
        });
    }
    Ok(are_all)
}

struct ToBegin {
    most: u64,
}

impl Operation for ToBegin {
    type Output = Vec<Place>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Place>> {
        Ok(tx.plugin_calls_to_begin(self.most).await?)
    }
}

/// One call, from its beginning on record to its end on record.
async fn make(house: &House, host: &dyn PluginHost, place: &Place) -> Result<()> {
    let Some(call) = house.store().read(Find { place: place.clone() }).await? else { return Ok(()) };
    let is_little = call.wish.params.len() <= LITTLE_BYTES;
    if let Some(plugin) = call.judgement.and_then(|judgement| judgement.plugin) {
        let _ = tokio::time::timeout(STARTING_LONGEST, has_started(host, &plugin.plugin)).await;
    }
    let (holder, judge) = (house.holder().to_owned(), judge(house).await?);
    let begin = Begin { place: place.clone(), holder, judge, is_little };
    let (call, plugin) = match house.store().write(&place.0, begin).await? {
        Began::Running(call, plugin) => (*call, plugin),
        Began::Ended(judged) => {
            woken(house, judged.woken).await;
            return Ok(());
        }
        Began::Nothing => return Ok(()),
    };
    let asked = PluginCall {
        plugin: &plugin.plugin,
        tool: &call.wish.tool,
        fingerprint: &plugin.fingerprint,
        arguments: arguments_of(&call)?,
    };
    let outcome = host.call(asked, unwanted(house, &place.0, &call)).await;
    finish(house, place, &call, outcome).await
}

async fn has_started(host: &dyn PluginHost, plugin: &str) {
    loop {
        let listing = host.listing();
        if listing.plugins.get(plugin).is_none_or(|listed| listed.state != "starting") {
            return;
        }
        host.changed(listing.number).await;
    }
}

struct Find {
    place: Place,
}

impl Operation for Find {
    type Output = Option<ToolCall>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<ToolCall>> {
        let (workspace, project, id) = &self.place;
        Ok(tx.scope(workspace).tool_calls().get(project, id).await?)
    }
}

/// How a call stands that was to begin.
enum Began {
    Running(Box<ToolCall>, PluginUse),
    Ended(Box<Judged>),
    /// Somebody else began it, or it has moved on.
    Nothing,
}

/// Puts on record that this server makes a call, after the rules were asked once more.
struct Begin {
    place: Place,
    holder: String,
    judge: Judge,
    /// Its arguments are read, and made into a digest again.
    is_little: bool,
}

impl Operation for Begin {
    type Output = Began;
    type Error = Error;

    fn is_small(&self) -> bool {
        self.is_little
    }

    async fn run(&self, tx: &mut Tx) -> Result<Began> {
        let (workspace, project, id) = &self.place;
        let found = tx.scope(workspace).tool_calls().get(project, id).await?;
        let Some(call) = found.filter(|call| call.status == CallStatus::Dispatched) else { return Ok(Began::Nothing) };
        let moving = Moving { workspace, mover: Mover::For(&call), now: self.judge.now };
        let plugin = match granted(self.require_ready(tx, &call).await)? {
            Ok(plugin) => plugin,
            Err(why) => {
                let moving = Moving { mover: Mover::House, ..moving };
                let judged = moving.end(tx, &call, CallStatus::Cancelled, why).await?;
                return Ok(Began::Ended(Box::new(judged)));
            }
        };
        let by = Deliver { node: None, attempt: call.delivery.attempt };
        // By the file as it is now, which is what the call is made by.
        let call_s = self.judge.plugins.call_s(&plugin.plugin);
        let accepted = call.accepted(by, call_s, self.judge.now)?;
        moving.put(tx, &call, &accepted).await?;
        let running = accepted.running(by)?;
        moving.put(tx, &accepted, &running).await?;
        tx.begin_plugin_run(&self.place, &self.holder).await?;
        Ok(Began::Running(Box::new(running), plugin))
    }
}

impl Begin {
    /// What was allowed when it was judged may not be any more, and a decision does not hold for ever.
    async fn require_ready(&self, tx: &mut Tx, call: &ToolCall) -> Result<PluginUse> {
        let judgement = call.judgement.as_ref().ok_or_else(|| Refusal::invalid("it was not judged"))?;
        let plugin = judgement.plugin.clone().ok_or_else(|| Refusal::invalid("it is no call of a plugin"))?;
        if self.judge.now >= judgement.expires_at.plus_seconds(LYING_LONGEST_S) {
            return Err(Refusal::new(Code::Expired, "the decision about it is too old").into());
        }
        self.judge.require_standing(tx, &self.place.0, call).await?;
        require_digest(call, judgement, &plugin)?;
        Ok(plugin)
    }
}

type Outcome = std::result::Result<PluginAnswer, PluginFault>;

/// Puts the end on record, and wakes whoever waits for it.
async fn finish(house: &House, place: &Place, call: &ToolCall, outcome: Outcome) -> Result<()> {
    let mut tries = 1;
    loop {
        let finish =
            Finish { place: place.clone(), attempt: call.delivery.attempt, outcome: outcome.clone(), now: house.now() };
        match house.store().write(&place.0, finish).await {
            Ok(judged) => {
                if let Some(judged) = judged {
                    house.plugins().running.has_ended(judged.call.status);
                    woken(house, judged.woken).await;
                }
                return Ok(());
            }
            Err(error) if tries < TRIES && !is_of_one_call(&error) => {
                tracing::warn!(%error, "the end of a call is not on disk yet");
                tokio::time::sleep(PAUSE * (1 << tries)).await;
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

struct Finish {
    place: Place,
    attempt: u64,
    outcome: Outcome,
    now: domain::times::Timestamp,
}

impl Operation for Finish {
    /// None if it has ended without this.
    type Output = Option<Judged>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Judged>> {
        let (workspace, project, id) = &self.place;
        tx.end_plugin_run(&self.place).await?;
        let found = tx.scope(workspace).tool_calls().get(project, id).await?;
        let is_it = |call: &ToolCall| call.status == CallStatus::Running && call.delivery.attempt == self.attempt;
        let Some(call) = found.filter(is_it) else { return Ok(None) };
        let ended = match &self.outcome {
            Ok(PluginAnswer { text, is_error, is_cut }) => {
                let result = json!({"success": !is_error, "text": text, "truncated": is_cut}).to_string();
                call.brought_back(Deliver { node: None, attempt: self.attempt }, result, false, self.now)?
            }
            Err(PluginFault { why, may_have_run }) => call.came_to_nothing(*may_have_run, why.clone(), self.now)?,
        };
        let moving = Moving { workspace, mover: Mover::For(&call), now: self.now };
        let woken = moving.put(tx, &call, &ended).await?;
        Ok(Some(Judged { call: ended, woken }))
    }
}

/// What an earlier process of this data directory had begun may have been done, or not.
pub(crate) async fn recover(house: &House) -> Result<()> {
    let begun = house.store().read(BegunBy { holder: house.holder().to_owned() }).await?;
    for place in begun {
        let workspace = place.0.clone();
        match house.store().write(&workspace, Lose { place, now: house.now() }).await {
            Ok(()) => {}
            Err(error) if is_of_one_call(&error) => tracing::warn!(%error, "a call of a plugin could not be ended"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct BegunBy {
    holder: String,
}

impl Operation for BegunBy {
    type Output = Vec<Place>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Place>> {
        Ok(tx.plugin_runs_of(&self.holder).await?)
    }
}

struct Lose {
    place: Place,
    now: domain::times::Timestamp,
}

impl Operation for Lose {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let (workspace, project, id) = &self.place;
        tx.end_plugin_run(&self.place).await?;
        let found = tx.scope(workspace).tool_calls().get(project, id).await?;
        let was_begun = |call: &ToolCall| matches!(call.status, CallStatus::Accepted | CallStatus::Running);
        if let Some(call) = found.filter(was_begun) {
            let moving = Moving { workspace, mover: Mover::House, now: self.now };
            moving.end(tx, &call, CallStatus::Unknown, nobody_knows()).await?;
        }
        Ok(())
    }
}
