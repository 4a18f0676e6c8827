//! Tokens: kept, sent where they belong, never shown.

use sha2::{Digest, Sha256};
use std::fmt;

#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether somebody knows it. Takes as long for a near miss as for a far one, whatever its length.
    pub(crate) fn is(&self, candidate: &[u8]) -> bool {
        let (ours, theirs) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(candidate));
        let difference = ours.iter().zip(theirs.iter()).fold(0, |seen, (a, b)| seen | (a ^ b));
        std::hint::black_box(difference) == 0 && !self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_or_not_and_never_shown() {
        let secret = Secret::new("open-sesame");
        assert!(secret.is(b"open-sesame"));
        for wrong in ["", "open-sesam", "open-sesame ", "Open-sesame"] {
            assert!(!secret.is(wrong.as_bytes()), "{wrong:?}");
        }
        assert!(!Secret::new("").is(b""), "nobody knows a secret that is none");
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
