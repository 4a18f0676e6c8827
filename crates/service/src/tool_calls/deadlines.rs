//! States of calls whose time is over. Every one of them is a column, so a restart forgets none.

use super::delivering::{judge, woken};
use super::judging::{Judge, Judged};
use super::moves::{Mover, Moving};
use crate::{Error, House, Result};
use domain::Code;
use domain::ids::{ProjectId, ToolCallId, WorkspaceId};
use domain::messages::Failure;
use domain::nodes::Node;
use domain::times::Timestamp;
use domain::tool_calls::{CallStatus, ToolCall, is_of_a_plugin};
use std::time::Duration;
use store::{Operation, ToolCallPlace, Tx};
use tokio::sync::Notify;

const LOOKED_AT_ONCE: u64 = 64;
const SLEEP_LONGEST: Duration = Duration::from_secs(60);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
const A_LITTLE: Duration = Duration::from_millis(2);
/// How long after the end of its decision a call may lie with a node that is there; a person may be asked at its terminal.
pub(super) const LYING_LONGEST_S: u64 = 10 * 60;
/// How long an offline node is waited for.
const OFFLINE_LONGEST_S: u64 = 5 * 60;

/// Wakes whoever sleeps until the next deadline, because there may be an earlier one.
#[derive(Default)]
pub struct Alarm(Notify);

impl Alarm {
    pub(crate) fn rouse(&self) {
        self.0.notify_one();
    }
}

/// Runs until it is dropped.
pub async fn end_overdue_calls(house: &House) {
    loop {
        let pause = match end_overdue_calls_once(house).await {
            Ok(next) => next.map_or(SLEEP_LONGEST, |next| next.min(SLEEP_LONGEST)) + A_LITTLE,
            Err(_) if house.authority().is_closing() => return,
            Err(error) => {
                tracing::warn!(%error, "calls whose time is over could not be moved on yet");
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = house.tool_calls().0.notified() => {}
        }
    }
}

/// Moves on what is over; answers how long it is until there is more to do.
pub async fn end_overdue_calls_once(house: &House) -> Result<Option<Duration>> {
    loop {
        let now = house.now();
        let (due, next) = house.store().read(Due { now }).await?;
        if due.is_empty() {
            return Ok(next.map(|at| Duration::from_millis(u64::try_from(at.as_ms() - now.as_ms()).unwrap_or(0))));
        }
        let mut moved = 0;
        for (workspace, project, id) in due {
            let operation = MoveOn { workspace: workspace.clone(), project, id, judge: judge(house).await? };
            match house.store().write(&workspace, operation).await {
                Ok(Some(judged)) => {
                    moved += 1;
                    woken(house, judged.woken).await;
                }
                Ok(None) => {}
                // One that cannot be moved must not hold up the others.
                Err(error) if is_of_one_call(&error) => {
                    tracing::warn!(%error, "a call could not be moved on");
                }
                Err(error) => return Err(error),
            }
        }
        if moved == 0 {
            return Ok(Some(AFTER_FAILURE));
        }
    }
}

/// Whether something is wrong with one call, and not with the house.
pub(super) fn is_of_one_call(error: &Error) -> bool {
    matches!(error, Error::Refused(_) | Error::Store(store::Error::BadRow(_)))
}

struct Due {
    now: Timestamp,
}

impl Operation for Due {
    type Output = (Vec<ToolCallPlace>, Option<Timestamp>);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        Ok((tx.tool_calls_overdue(self.now, LOOKED_AT_ONCE).await?, tx.next_tool_call_deadline().await?))
    }
}

struct MoveOn {
    workspace: WorkspaceId,
    project: ProjectId,
    id: ToolCallId,
    judge: Judge,
}

impl Operation for MoveOn {
    type Output = Option<Judged>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Judged>> {
        let now = self.judge.now;
        let Some(call) = tx.scope(&self.workspace).tool_calls().get(&self.project, &self.id).await? else {
            return Ok(None);
        };
        if call.times.deadline_at.is_none_or(|at| now < at) {
            return Ok(None);
        }
        let moving = Moving { workspace: &self.workspace, mover: Mover::House, now };
        let node = match &call.delivery.node {
            Some(id) => tx.scope(&self.workspace).nodes().get(id).await?,
            None => None,
        };
        let judged = match call.status {
            CallStatus::Proposed => self.judge.judge(tx, &moving, &call, None).await?,
            CallStatus::WaitingApproval => moving.end(tx, &call, CallStatus::Expired, nobody_decided()).await?,
            CallStatus::Approved if is_of_a_plugin(&call.wish.tool) => self.judge.dispatch(tx, &moving, &call).await?,
            CallStatus::Approved => match node.filter(|node| node.is_online(now)) {
                Some(_) => self.judge.dispatch(tx, &moving, &call).await?,
                None => moving.end(tx, &call, CallStatus::Undelivered, node_gone()).await?,
            },
            CallStatus::Dispatched => self.remind(tx, &moving, &call, node).await?,
            CallStatus::Accepted | CallStatus::Running => {
                moving.end(tx, &call, CallStatus::Unknown, nobody_knows()).await?
            }
            _ => return Ok(None),
        };
        Ok(Some(judged))
    }
}

impl MoveOn {
    /// What its node has not accepted has not begun. A node that is there is told again; one that is gone for long, or lets a
    /// call lie for longer than a decision holds, is given up.
    async fn remind(&self, tx: &mut Tx, moving: &Moving<'_>, call: &ToolCall, node: Option<Node>) -> Result<Judged> {
        let heard_since = moving.now.plus_ms(-i64::try_from(OFFLINE_LONGEST_S * 1000).unwrap_or(i64::MAX));
        // Whoever calls plugins is this house, or another server of it that is just starting.
        let is_waited_for = is_of_a_plugin(&call.wish.tool)
            || node.and_then(|node| node.last_seen_at).is_some_and(|seen| seen > heard_since);
        let lies_too_long = call
            .judgement
            .as_ref()
            .is_some_and(|judgement| moving.now >= judgement.expires_at.plus_seconds(LYING_LONGEST_S));
        if !is_waited_for || lies_too_long {
            return moving.end(tx, call, CallStatus::Undelivered, gone(call)).await;
        }
        let again = call.told_again(moving.now)?;
        moving.tell_again(tx, call, &again).await?;
        Ok(Judged { call: again, woken: None })
    }
}

fn nobody_decided() -> Failure {
    Failure { code: Code::Expired, message: "nobody decided in time".to_owned() }
}

fn node_gone() -> Failure {
    Failure { code: Code::NodeOffline, message: "the node was not there in time; nothing was done".to_owned() }
}

/// Why nobody began a call.
fn gone(call: &ToolCall) -> Failure {
    if !is_of_a_plugin(&call.wish.tool) {
        return node_gone();
    }
    let message = "no server called the plugin in time; nothing was done".to_owned();
    Failure { code: Code::PluginUnavailable, message }
}

pub(super) fn nobody_knows() -> Failure {
    let message = "nobody has told how it ended: it may have been done, or not".to_owned();
    Failure { code: Code::Interrupted, message }
}
