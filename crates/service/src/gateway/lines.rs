//! How what is owed to channels leaves: in lines, of which one that hangs holds up no other.

use super::outlets::Outlet;
use crate::worker_spaces::alerts;
use crate::{Error, House, Result};
use domain::ids::{ProjectId, WorkspaceId};
use domain::worker_spaces::Alert;
use domain::workspaces::CHANNELS;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A ring that was missed, and pauses that are over, are noticed after so long.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// A line whose rows could not be read or written.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// So many attempts are a reason to tell somebody.
const WORRYING_ATTEMPTS: u64 = 5;

/// What belongs together and leaves in order, and its name.
pub(super) type Line<T> = (String, Vec<T>);

/// Sees to lines as they become ready, each on its own, until the house closes: then those under way come to their end.
pub(super) async fn run<T, L, S>(house: &House, bell: &Notify, ready: impl Fn() -> L, see_to: impl Fn(Vec<T>) -> S)
where
    L: Future<Output = Result<Vec<Line<T>>>>,
    S: Future<Output = Result<usize>> + Send + 'static,
{
    let mut closing = house.authority().watch();
    let (mut under_way, mut names) = (JoinSet::new(), Names::default());
    while !house.authority().is_closing() {
        let (rung, looked) = (bell.notified(), Instant::now());
        match ready().await {
            Ok(lines) => {
                for (name, line) in lines {
                    if names.begin(&name) {
                        let work = see_to(line);
                        under_way.spawn(async move { (name, work.await) });
                    }
                }
            }
            Err(error) => trouble(&error),
        }
        tokio::select! {
            Some(ended) = under_way.join_next() => names.end(ended.ok()),
            _ = tokio::time::timeout(LOOK_EVERY, rung) => {}
            _ = closing.changed() => {}
        }
        while let Some(ended) = under_way.try_join_next() {
            names.end(ended.ok());
        }
        // Much that happens at once is one look.
        tokio::time::sleep_until(looked + LOOK_PAUSE).await;
    }
    while under_way.join_next().await.is_some() {}
}

/// The lines that are being seen to, and those that just could not be.
#[derive(Default)]
struct Names {
    busy: HashSet<String>,
    not_before: HashMap<String, Instant>,
}

impl Names {
    /// Whether it can be seen to now; then it is.
    fn begin(&mut self, name: &str) -> bool {
        self.not_before.retain(|_, until| Instant::now() < *until);
        !self.not_before.contains_key(name) && self.busy.insert(name.to_owned())
    }

    fn end(&mut self, ended: Option<(String, Result<usize>)>) {
        let Some((name, outcome)) = ended else {
            // Whose it was is not known any more. Nothing is done twice at once: an attempt has its time in its row.
            tracing::error!("what is owed to a channel could not be seen to: a panic");
            self.busy.clear();
            return;
        };
        self.busy.remove(&name);
        if let Err(error) = outcome {
            trouble(&error);
            self.not_before.insert(name, Instant::now() + AFTER_FAILURE);
        }
    }
}

fn trouble(error: &Error) {
    tracing::warn!(%error, "what is owed to channels could not be seen to; it is tried again");
}

/// The channels that are connected.
pub(super) fn connected(outlet: &dyn Outlet) -> impl Iterator<Item = &'static str> {
    CHANNELS.into_iter().filter(|channel| outlet.has(channel))
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
