//! Updates delivered to an address, one after the other, each until it is taken.

use super::{House, Webhook};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Telegram waits longer.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

pub(super) async fn deliver(house: Arc<House>) {
    let mut changes = house.changes.subscribe();
    loop {
        let is_wanted = |_: &u64| {
            let bot = house.bot();
            bot.webhook.is_some() && !bot.updates.is_empty()
        };
        if changes.wait_for(is_wanted).await.is_err() {
            return;
        }
        let (webhook, update) = {
            let bot = house.bot();
            (bot.webhook.clone(), bot.updates.front().cloned())
        };
        let (Some(webhook), Some((id, text))) = (webhook, update) else { continue };
        if post(&webhook, &text).await == Some(200) {
            house.change(|bot| bot.updates.retain(|(other, _)| *other != id));
        } else {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

/// The status, if there is one.
async fn post(webhook: &Webhook, body: &str) -> Option<u16> {
    let (host, path) = webhook.url.strip_prefix("http://")?.split_once('/')?;
    let secret = webhook.secret.as_ref().map(|secret| format!("X-Telegram-Bot-Api-Secret-Token: {secret}\r\n"));
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n{}Content-Length: \
         {}\r\n\r\n",
        secret.unwrap_or_default(),
        body.len()
    );
    let mut stream = TcpStream::connect(host).await.ok()?;
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}
