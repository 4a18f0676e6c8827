//! What is said in one place is said one after the other, and not before the provider wants to hear more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// More are not remembered while nobody waits in them.
const KEPT_MOST: usize = 1_000;

/// When a place may be spoken in again, where the provider said so.
pub(crate) type NotBefore = Option<Instant>;

#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<String, Arc<tokio::sync::Mutex<NotBefore>>>>);

impl Lanes {
    /// Waits until this place is free. It is somebody else's again when the guard goes.
    pub(crate) async fn enter(&self, place: &str) -> OwnedMutexGuard<NotBefore> {
        let guard = self.lane(place).lock_owned().await;
        if let Some(at) = *guard {
            tokio::time::sleep_until(at).await;
        }
        guard
    }

    fn lane(&self, place: &str) -> Arc<tokio::sync::Mutex<NotBefore>> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= KEPT_MOST {
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        }
        lanes.entry(place.to_owned()).or_default().clone()
    }
}
