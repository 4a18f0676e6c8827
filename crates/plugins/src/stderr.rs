//! What a program says on its standard error. It may hold anything, so only its amount is logged; the last of it is kept for
//! whoever looks after the house.

use domain::skills::reveal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

const KEPT_BYTES: usize = 1024;
const READ_AT_ONCE: usize = 16 * 1024;
/// A program that says more waits for its reader.
const REST: Duration = Duration::from_millis(20);
const LOGGED_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub(crate) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT_BYTES)..]);
        let surplus = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..surplus);
    }

    /// Visible, and the last of it only.
    pub(crate) fn shown(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let text = text.trim();
        (!text.is_empty()).then(|| reveal(text).0)
    }
}

/// Reads until the end.
pub(crate) async fn listen(plugin: String, mut stderr: impl AsyncRead + Unpin, words: LastWords) {
    let mut buffer = vec![0; READ_AT_ONCE];
    let (mut bytes, mut logged) = (0_u64, None::<Instant>);
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        words.add(&buffer[..count]);
        bytes += count as u64;
        if logged.is_none_or(|at| at.elapsed() >= LOGGED_EVERY) {
            tracing::debug!(plugin, bytes, "the plugin wrote to its standard error");
            logged = Some(Instant::now());
        }
        if count == READ_AT_ONCE {
            tokio::time::sleep(REST).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_words_are_kept_and_nothing_in_them_is_hidden() {
        let words = LastWords::default();
        assert_eq!(words.shown(), None);
        let text = format!("{}\nboom \u{1b}[31m\u{200b}\n", "x".repeat(100_000));
        listen("p".to_owned(), text.as_bytes(), words.clone()).await;
        let shown = words.shown().unwrap();
        assert!(shown.ends_with("xx\nboom ⟨U+001B⟩[31m⟨U+200B⟩"), "{shown}");
        assert!(shown.len() <= KEPT_BYTES + 20, "{}", shown.len());
        listen("p".to_owned(), &[0xff, b'\n', 0xfe][..], words.clone()).await;
        assert!(words.shown().unwrap().ends_with('\u{fffd}'));
    }
}
