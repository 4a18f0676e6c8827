//! Alerts: what somebody should look at. Told once on the workspace's stream, counted, and handed on if the
//! configuration names a webhook.

mod told;

pub use told::{ForWebhook, Posting, count_alerts};

use super::telling::Tell;
use crate::House;
use domain::events::Event;
use domain::ids::{ProjectId, WorkspaceId};
use domain::times::Timestamp;
use domain::worker_spaces::Alert;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How long an alert about the same thing is not told again.
const QUIET_MS: i64 = 5 * 60 * 1000;
const REMEMBERED_MOST: usize = 1_000;

/// Which alert, of which project, about what.
type About = (Alert, Option<ProjectId>, String);

/// What was told lately.
#[derive(Default)]
pub(crate) struct Raised {
    lately: Mutex<HashMap<About, Timestamp>>,
    figures: Figures,
}

#[derive(Default)]
pub struct Figures {
    by_kind: [AtomicU64; Alert::ALL.len()],
}

impl Figures {
    pub fn of(&self, alert: Alert) -> u64 {
        self.place(alert).load(Ordering::Relaxed)
    }

    fn place(&self, alert: Alert) -> &AtomicU64 {
        &self.by_kind[Alert::ALL.iter().position(|one| *one == alert).unwrap_or_default()]
    }
}

impl Raised {
    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Whether this is news; from now on it is not.
    fn is_news(&self, alert: Alert, project: Option<&ProjectId>, subject: &str, now: Timestamp) -> bool {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        lately.retain(|_, at| now < at.plus_ms(QUIET_MS));
        if lately.len() >= REMEMBERED_MOST
            && let Some(oldest) = lately.iter().min_by_key(|(_, at)| **at).map(|(about, _)| about.clone())
        {
            lately.remove(&oldest);
        }
        lately.insert((alert, project.cloned(), subject.to_owned()), now).is_none()
    }
}

/// Raises an alert, unless the same was raised a moment ago. It must not fail what it is about. What is of no project is the
/// house's own affair.
pub(crate) async fn raise<'a>(
    house: &House,
    workspace: &WorkspaceId,
    project: impl Into<Option<&'a ProjectId>>,
    alert: Alert,
    subject: &str,
    text: &str,
) {
    let (raised, now, project) = (&house.spaces().alerts, house.now(), project.into());
    if !raised.is_news(alert, project, subject, now) {
        return;
    }
    tracing::warn!(alert = alert.as_str(), %workspace, project = project.map(ProjectId::as_str), subject, "alert");
    let event = Event::alert(alert, subject, text, project, now);
    let told = house.store().write(workspace, Tell { workspace: workspace.clone(), event }).await;
    if let Err(error) = told {
        tracing::warn!(%error, "an alert could not be told");
    }
}

/// Counts an alert that was told.
pub(crate) fn count(house: &House, alert: Alert) {
    house.spaces().alerts.figures.place(alert).fetch_add(1, Ordering::Relaxed);
}
