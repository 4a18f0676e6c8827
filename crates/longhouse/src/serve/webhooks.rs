//! Alerts on their way to the webhook that the configuration names: best effort, a few tries, never in anybody's way.

use anyhow::{Context, Result, bail};
use axum::http::header;
use plugins::outbound::configured_client;
use service::House;
use service::worker_spaces::{ForWebhook, Posting};
use std::time::Duration;

const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Runs until it is dropped.
pub(super) async fn post_alerts(house: House) {
    let mut alerts = ForWebhook::new(&house);
    loop {
        let posting = alerts.next().await;
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=TRIES {
            let posted = tokio::time::timeout(PATIENCE, post(&posting)).await;
            match posted.context("it did not answer in time").flatten() {
                Ok(()) => break,
                // The address may hold a secret: it is not written down.
                Err(error) => tracing::warn!(attempt, %error, "an alert could not be posted"),
            }
            if attempt < TRIES {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
        }
    }
}

/// Goes only where the address may lead, and follows no redirect: an address is the operator's own choice, where that leads to is not.
async fn post(posting: &Posting) -> Result<()> {
    let (client, url) = configured_client(&posting.address)?;
    let request = client.post(url).header(header::CONTENT_TYPE, "application/json").body(posting.body.clone());
    // What is wrong below would name the host.
    let answer = request.send().await.map_err(|_| anyhow::anyhow!("the webhook cannot be reached"))?;
    let status = answer.status();
    if status.is_success() { Ok(()) } else { bail!("the webhook answered {status}") }
}
