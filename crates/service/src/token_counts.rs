//! Exact token counts with the `o200k` tokenizer. Its tables are built when first needed and counting happens away
//! from the threads that serve requests.

use std::sync::{Arc, OnceLock};
use tiktoken_rs::CoreBPE;

#[derive(Default)]
pub(crate) struct TokenCounts {
    tokenizer: Arc<OnceLock<Option<CoreBPE>>>,
}

impl TokenCounts {
    pub(crate) async fn exact(&self, text: &str) -> u64 {
        let (text, tokenizer) = (text.to_owned(), self.tokenizer.clone());
        // No token is shorter than a byte: where counting fails, the larger answer is the safe one.
        let most = text.len() as u64;
        let counted = tokio::task::spawn_blocking(move || {
            let tokenizer = tokenizer.get_or_init(|| tiktoken_rs::o200k_base().ok());
            tokenizer.as_ref().map(|tokenizer| tokenizer.count_ordinary(&text) as u64)
        });
        counted.await.ok().flatten().unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counts_are_the_tokenizers_own() {
        let counts = TokenCounts::default();
        for (text, expected) in [("", 0), ("hello world", 2), ("The quick brown fox jumps over the lazy dog.", 10)] {
            assert_eq!(counts.exact(text).await, expected, "{text}");
        }
    }
}
