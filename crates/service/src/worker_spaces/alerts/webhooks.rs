//! Alerts on their way to a webhook: best effort, a few tries, never in anybody's way.

use super::count;
use crate::{House, rules};
use domain::events::RecordedEvent;
use domain::worker_spaces::Alert;
use std::sync::Arc;
use std::time::Duration;
use store::News;

const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_secs(1);

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

/// Posts every alert of the house if the configuration names a webhook. Runs until it is dropped; those
/// that come faster than they can be posted are left out.
pub async fn post_to_webhook(house: &House) {
    let mut alerts = house.store().watch_alerts();
    // Made when it is first needed. It follows no redirect: an address is the operator's own choice, where that leads
    // to is not.
    let mut client = None;
    loop {
        let News::Event(event) = alerts.next().await else { continue };
        let Ok(rules) = rules::in_force(house).await else { continue };
        let Some(address) = &rules.house.alerts.webhook else { continue };
        match client.get_or_insert_with(|| llm::http_client(&llm::Timeouts::default(), true)) {
            Ok(client) => post(client, address, &event).await,
            Err(error) => tracing::warn!(%error, "alerts cannot be posted"),
        }
    }
}

fn kind(event: &RecordedEvent) -> Option<Alert> {
    let data: serde_json::Value = serde_json::from_str(&event.data).ok()?;
    let name = data["alert"].as_str()?;
    Alert::ALL.into_iter().find(|alert| alert.as_str() == name)
}

async fn post(client: &reqwest::Client, address: &str, event: &Arc<RecordedEvent>) {
    let mut pause = FIRST_PAUSE;
    for attempt in 1..=TRIES {
        let request =
            client.post(address).timeout(PATIENCE).header("content-type", "application/json").body(event.data.clone());
        match request.send().await.and_then(reqwest::Response::error_for_status) {
            Ok(_) => return,
            // The address may hold a secret: it is not written down.
            Err(error) => tracing::warn!(attempt, error = %error.without_url(), "an alert could not be posted"),
        }
        if attempt < TRIES {
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}
