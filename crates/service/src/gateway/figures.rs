//! How many messages were heard and what became of them, and answers on their way out. Numbers only.

use super::Received;
use crate::Error;
use domain::routing::ReasonCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// The words for what became of a message.
pub const HEARD: [&str; 5] = ["routed", "refused", "duplicate", "passed_over", "failed"];

#[derive(Debug, Default)]
pub struct Figures {
    heard: [AtomicU64; HEARD.len()],
    pub sent: AtomicU64,
    pub send_failures: AtomicU64,
}

impl Figures {
    pub(super) fn count(&self, received: &Result<Received, Error>) {
        let word = match received {
            Err(_) => "failed",
            Ok(Received { routing: None, .. }) => "passed_over",
            Ok(Received { routing: Some(routing), .. }) => match routing.decision {
                Ok(_) => "routed",
                Err(ReasonCode::Duplicate) => "duplicate",
                Err(_) => "refused",
            },
        };
        if let Some(at) = HEARD.iter().position(|known| *known == word) {
            self.heard[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// By the words of `HEARD`, in their order.
    pub fn heard(&self) -> [(&'static str, u64); HEARD.len()] {
        std::array::from_fn(|at| (HEARD[at], self.heard[at].load(Ordering::Relaxed)))
    }
}
