//! Alerts that were told: counted, and handed to whoever passes them on.

use super::count;
use crate::{House, rules};
use domain::events::RecordedEvent;
use domain::worker_spaces::Alert;
use store::{News, Watch};

/// Counts every alert of the house. Runs until it is dropped.
pub async fn count_alerts(house: &House) {
    let mut alerts = house.store().watch_alerts();
    loop {
        if let News::Event(event) = alerts.next().await
            && let Some(alert) = kind(&event)
        {
            count(house, alert);
        }
    }
}

fn kind(event: &RecordedEvent) -> Option<Alert> {
    let data: serde_json::Value = serde_json::from_str(&event.data).ok()?;
    let name = data["alert"].as_str()?;
    Alert::ALL.into_iter().find(|alert| alert.as_str() == name)
}

/// The alerts that are to go to a webhook. Those that come faster than they are taken are left out.
pub struct ForWebhook {
    house: House,
    alerts: Watch,
}

/// An alert, and where the configuration wants it now.
pub struct Posting {
    pub address: String,
    /// The event as every stream shows it.
    pub body: String,
}

impl ForWebhook {
    pub fn new(house: &House) -> Self {
        Self { house: house.clone(), alerts: house.store().watch_alerts() }
    }

    pub async fn next(&mut self) -> Posting {
        loop {
            let News::Event(event) = self.alerts.next().await else { continue };
            let Ok(rules) = rules::in_force(&self.house).await else { continue };
            if let Some(address) = rules.house.alerts.webhook.clone() {
                return Posting { address, body: event.data.clone() };
            }
        }
    }
}
