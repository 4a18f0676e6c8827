//! How what is owed to channels leaves: in lines, of which one that hangs holds up no other.

use crate::worker_spaces::alerts;
use crate::{Error, House, Result};
use domain::ids::{ProjectId, WorkspaceId};
use domain::worker_spaces::Alert;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::HashSet;
use std::time::Duration;
use tokio::sync::Notify;

/// A ring that was missed, and pauses that are over, are noticed after so long.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// So many attempts are a reason to tell somebody.
const WORRYING_ATTEMPTS: u64 = 5;

/// What belongs together and leaves in order, and its name.
pub(super) type Line<T> = (String, Vec<T>);

/// Sees to lines as they become ready, until it is dropped.
pub(super) async fn run<T, L, S>(house: &House, bell: &Notify, ready: impl Fn() -> L, see_to: impl Fn(Vec<T>) -> S)
where
    L: Future<Output = Result<Vec<Line<T>>>>,
    S: Future<Output = Result<usize>>,
{
    let (mut under_way, mut busy) = (FuturesUnordered::new(), HashSet::new());
    loop {
        let rung = bell.notified();
        match ready().await {
            Ok(lines) => {
                for (name, line) in lines {
                    if busy.insert(name.clone()) {
                        let work = see_to(line);
                        under_way.push(async move { (name, work.await) });
                    }
                }
            }
            Err(_) if house.authority().is_closing() => return,
            Err(error) => trouble(&error).await,
        }
        tokio::select! {
            Some((name, outcome)) = under_way.next() => {
                busy.remove(&name);
                if let Err(error) = outcome {
                    trouble(&error).await;
                }
            }
            _ = tokio::time::timeout(LOOK_EVERY, rung) => {}
        }
    }
}

async fn trouble(error: &Error) {
    tracing::warn!(%error, "what is owed to channels could not be seen to; it is tried again");
    tokio::time::sleep(AFTER_FAILURE).await;
}

/// Sees to all lines once; answers how much has left.
pub(super) async fn once<T, S>(lines: Vec<Line<T>>, see_to: impl Fn(Vec<T>) -> S) -> Result<usize>
where
    S: Future<Output = Result<usize>>,
{
    let mut left = 0;
    for outcome in futures_util::future::join_all(lines.into_iter().map(|(_, line)| see_to(line))).await {
        left += outcome?;
    }
    Ok(left)
}

/// How something stands that did not leave.
pub(super) struct Held<'a> {
    pub(super) workspace: &'a WorkspaceId,
    pub(super) project: &'a ProjectId,
    pub(super) channel: &'a str,
    pub(super) attempts: u64,
    pub(super) is_given_up: bool,
}

/// Raises an alert if it is time for one. `what`: as little as tells it.
pub(super) async fn worry(house: &House, held: Held<'_>, what: &str) {
    let Held { workspace, project, channel, attempts, is_given_up } = held;
    if attempts == WORRYING_ATTEMPTS || is_given_up {
        let text = format!("{what} could not be delivered to {channel} after {attempts} attempts");
        alerts::raise(house, workspace, project, Alert::DeliveryFailing, channel, &text).await;
    }
}
