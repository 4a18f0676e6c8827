//! The end of a connection, and why: told once by whoever notices it first, heard by everybody who relies on it.

use std::sync::Arc;
use tokio::sync::watch;

#[derive(Debug, Clone)]
pub(crate) struct Closing(Arc<watch::Sender<Option<String>>>);

impl Closing {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// The first reason counts.
    pub(crate) fn close(&self, why: impl Into<String>) {
        self.0.send_if_modified(|reason| {
            let is_first = reason.is_none();
            if is_first {
                *reason = Some(why.into());
            }
            is_first
        });
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    pub(crate) async fn closed(&self) -> String {
        let mut receiver = self.0.subscribe();
        match receiver.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            // The sender lives in `self`.
            Err(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_hears_the_first_reason_also_who_asks_late() {
        let closing = Closing::new();
        let early = closing.clone();
        let early = tokio::spawn(async move { early.closed().await });
        closing.close("first");
        closing.close("second");
        assert_eq!((early.await.unwrap(), closing.closed().await), ("first".to_owned(), "first".to_owned()));
    }
}
