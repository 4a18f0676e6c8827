//! Alerts on their way to the webhook that the configuration names: best effort, a few tries, never in anybody's way.

use crate::client::wire::Address;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use axum::http::{Request, Uri, header};
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

/// Follows no redirect: an address is the operator's own choice, where that leads to is not.
async fn post(posting: &Posting) -> Result<()> {
    let uri: Uri = posting.address.parse().context("the webhook is not a URL")?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(posting.body.clone()))?;
    let answer = Address::new(&posting.address, "the webhook", None)?.send(request).await;
    // What is wrong below would name the host.
    let status = answer.map_err(|_| anyhow::anyhow!("the webhook cannot be reached"))?.status();
    if status.is_success() { Ok(()) } else { bail!("the webhook answered {status}") }
}
