//! Answers that are owed to a place, on their way out.
//!
//! At least once: that an answer is tried is put down before, and that it was sent after the provider took it. If the server
//! dies in between, it is tried again after a pause; if it dies before, the row is still owed. What a place is owed leaves in the order in which it was asked for, as far
//! as turns are over; one that fails is tried again before the next. Right before it leaves, the place, the person and
//! the workspace are looked at again: what no longer belongs together is not said.

use super::lines::{self, Held, Line};
use super::looking::leads_to;
use super::outlets::{Outlet, SendFailed};
use crate::{Ctx, Error, House, Result};
use domain::channels::{OutboundMessage, split};
use domain::deliveries::{Delivery, DeliveryStatus};
use domain::notices::Notice;
use domain::tasks::{Task, TaskStatus};
use domain::times::Timestamp;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Operation, Tx};

const LOOKED_AT_ONCE: u64 = 1_000;
const SHOWN_MOST: u64 = 100;

/// Sends what is owed as it becomes ready, until the house closes. A place where a provider hangs holds up no other.
pub async fn deliver(house: House, outlet: Arc<dyn Outlet>) {
    let bell = house.store().task_ended();
    let see_to = |line| deliver_line(house.clone(), outlet.clone(), line);
    lines::run(&house, bell, || ready(&house, outlet.as_ref()), see_to).await;
}

/// Sends all that is ready now; answers how many were sent.
pub async fn deliver_once(house: &House, outlet: Arc<dyn Outlet>) -> Result<usize> {
    lines::once(ready(house, outlet.as_ref()).await?, |line| deliver_line(house.clone(), outlet.clone(), line)).await
}

/// What each place is owed and can be told now.
async fn ready(house: &House, outlet: &dyn Outlet) -> Result<Vec<Line<Delivery>>> {
    let mut lines: Vec<Line<Delivery>> = Vec::new();
    for channel in lines::connected(outlet) {
        for delivery in house.store().scan(Ready { channel, now: house.now() }).await? {
            let place = delivery.target.place.as_key();
            match lines.last_mut().filter(|(of, _)| *of == place) {
                Some((_, line)) => line.push(delivery),
                None => lines.push((place, vec![delivery])),
            }
        }
    }
    Ok(lines)
}

/// One place's answers in their order; the first that cannot leave now holds the others back.
async fn deliver_line(house: House, outlet: Arc<dyn Outlet>, line: Vec<Delivery>) -> Result<usize> {
    let mut sent = 0;
    for delivery in line {
        // The words of one may take a while; meanwhile the house may have begun to close.
        if house.authority().is_closing() {
            break;
        }
        let Some(after) = attempt(&house, outlet.as_ref(), delivery).await? else { continue };
        match after.status {
            DeliveryStatus::Sent => sent += 1,
            DeliveryStatus::Pending => break,
            DeliveryStatus::Failed | DeliveryStatus::Dropped => {}
        }
    }
    Ok(sent)
}

/// None if it is owed no more. That it is tried is put down before, so nothing is said again and again that cannot be
/// put down.
async fn attempt(house: &House, outlet: &dyn Outlet, delivery: Delivery) -> Result<Option<Delivery>> {
    let words = house.store().read(Words { delivery: delivery.clone() }).await?;
    let delivery = match &words {
        Ok(_) => delivery.begun(house.now()),
        Err(why) => delivery.dropped(why, house.now()),
    };
    if !put_down(house, &delivery).await? {
        return Ok(None);
    }
    let Ok(text) = words else { return Ok(Some(delivery)) };
    let after = match say(house, outlet, delivery, &text).await? {
        Ok(said) => said.sent(house.now()),
        Err((held, failed)) => held.failed(&failed, house.now()),
    };
    let figures = house.heard();
    let count = if after.status == DeliveryStatus::Sent { &figures.sent } else { &figures.send_failures };
    count.fetch_add(1, Ordering::Relaxed);
    put_down(house, &after).await?;
    let held = Held {
        workspace: &after.workspace,
        project: &after.project,
        channel: &after.target.place.channel,
        attempts: after.attempts,
        is_given_up: after.status == DeliveryStatus::Failed,
    };
    if after.status != DeliveryStatus::Sent {
        lines::worry(house, held, "an answer").await;
    }
    Ok(Some(after))
}

/// Says it part by part. What was taken of a long one is put down, and not said again.
async fn say(
    house: &House,
    outlet: &dyn Outlet,
    mut delivery: Delivery,
    text: &str,
) -> Result<Result<Delivery, (Delivery, SendFailed)>> {
    let parts = split(text, outlet.longest(&delivery.target.place.channel));
    for (number, part) in parts.iter().enumerate().skip(delivery.target.parts_sent) {
        let target = &delivery.target;
        let message = OutboundMessage {
            thread_id: target.thread_id.clone(),
            reply_to: target.reply_to.clone().filter(|_| number == 0),
            ..OutboundMessage::to(target.place.clone(), part.as_str())
        };
        if let Err(failed) = outlet.send(&message).await {
            return Ok(Err((delivery, failed)));
        }
        delivery = delivery.part_sent();
        if number + 1 < parts.len() {
            put_down(house, &delivery).await?;
        }
    }
    Ok(Ok(delivery))
}

/// Whether it was still owed.
async fn put_down(house: &House, delivery: &Delivery) -> Result<bool> {
    house.store().write(&delivery.workspace, Advance { delivery: delivery.clone() }).await
}

struct Ready {
    channel: &'static str,
    now: Timestamp,
}

impl Operation for Ready {
    type Output = Vec<Delivery>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Delivery>> {
        Ok(tx.deliveries_ready(self.channel, self.now, LOOKED_AT_ONCE).await?)
    }
}

/// The words of an answer, if the place may still hear them; else why not.
struct Words {
    delivery: Delivery,
}

impl Operation for Words {
    type Output = Result<String, &'static str>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let Delivery { workspace, target, user, project, task, .. } = &self.delivery;
        if !leads_to(tx, target, workspace, user).await? {
            return Ok(Err("the place, the person and the workspace belong together no more"));
        }
        let Some(task) = tx.scope(workspace).tasks().get(project, task).await? else {
            return Ok(Err("the session was deleted"));
        };
        let reply = match task.talk.reply_number {
            Some(number) => tx.scope(workspace).messages(&task.session).get(number).await?,
            None => None,
        };
        let words = reply.filter(|reply| reply.error.is_none()).map(|reply| reply.content);
        let words = words.filter(|words| !words.trim().is_empty());
        Ok(words.or_else(|| ending(&task)).ok_or("there was nothing to say"))
    }
}

/// What is said of a turn without an answer. Whoever stopped it knows.
fn ending(task: &Task) -> Option<String> {
    if task.status == TaskStatus::Cancelled {
        return None;
    }
    let why = task.error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
    Some(format!("I could not answer that. {why}").trim().to_owned())
}

struct Advance {
    delivery: Delivery,
}

impl Operation for Advance {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        Ok(tx.scope(&self.delivery.workspace).deliveries().advance(&self.delivery).await?)
    }
}

/// What does not reach its channel.
pub struct InTrouble {
    pub answers: Vec<Delivery>,
    pub notices: Vec<Notice>,
}

/// What is tried in vain, or was given up: for admins.
pub async fn in_trouble(ctx: &Ctx) -> Result<InTrouble> {
    ctx.caller.require_admin()?;
    ctx.house.store().scan(FindTrouble).await
}

struct FindTrouble;

impl Operation for FindTrouble {
    type Output = InTrouble;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<InTrouble> {
        let answers = tx.deliveries_in_trouble(SHOWN_MOST).await?;
        Ok(InTrouble { answers, notices: tx.notices_in_trouble(SHOWN_MOST).await? })
    }
}
