//! Keys of a shared context, and the selections a subscription is made of.

use crate::ids::{is_word, string_id};
use crate::participants::glob;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

string_id! {
    /// `[a-z0-9_]{1,64}`, or `<namespace>:<key>` where the session allows namespaces.
    Key
}

const KEY_LONGEST: usize = 64;
const SELECTIONS_MOST: usize = 100;

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

impl Key {
    pub fn parse(text: &str, namespaces: bool) -> Result<Self> {
        let plain = |part: &str| is_word(part, KEY_LONGEST, is_key_byte);
        let well_formed = match text.split_once(':') {
            Some((namespace, key)) => namespaces && plain(namespace) && plain(key),
            None => plain(text),
        };
        if well_formed && text.len() <= KEY_LONGEST {
            return Ok(Self(text.to_owned()));
        }
        let rule = if namespaces {
            "a key has 1 to 64 of a-z, 0-9 and `_`, optionally as `namespace:key`"
        } else {
            "a key has 1 to 64 of a-z, 0-9 and `_`"
        };
        Err(Refusal::new(Code::InvalidKey, rule))
    }
}

/// The keys a subscription asks for: `a,b,inv:*`. Empty = everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeySelection(Vec<String>);

impl KeySelection {
    pub fn parse(text: &str) -> Result<Self> {
        let allowed = |byte| is_key_byte(byte) || matches!(byte, b':' | b'*');
        let parts: Vec<String> =
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
        if parts.len() > SELECTIONS_MOST || !parts.iter().all(|part| is_word(part, KEY_LONGEST, allowed)) {
            return Err(Refusal::invalid_field("keys", "`keys` is a list such as `a,b,inv:*`, at most 100 long"));
        }
        Ok(Self(parts))
    }

    pub fn admits(&self, key: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| glob(pattern.as_bytes(), key.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_rule_to_the_letter() {
        let long = "a".repeat(64);
        for good in ["a", "problem_summary", "0", long.as_str()] {
            assert!(Key::parse(good, false).is_ok(), "{good:?}");
        }
        let too_long = "a".repeat(65);
        for bad in ["", "A", "a\n", "a b", "a.b", "a/b", "a-b", "а", "a:b", "é", "a\0", too_long.as_str()] {
            assert_eq!(Key::parse(bad, false).unwrap_err().code, Code::InvalidKey, "{bad:?}");
        }
    }

    #[test]
    fn namespaced_keys_have_one_colon_and_64_characters_in_all() {
        for good in ["inv:findings", "plain"] {
            assert!(Key::parse(good, true).is_ok(), "{good:?}");
        }
        let too_long = format!("{}:{}", "a".repeat(32), "b".repeat(32));
        for bad in [":a", "a:", "a:b:c", ":", too_long.as_str()] {
            assert!(Key::parse(bad, true).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_selection_names_keys_and_globs() {
        let selection = KeySelection::parse("a, b,inv:*").unwrap();
        for (key, expected) in [("a", true), ("b", true), ("inv:x", true), ("c", false), ("ab", false)] {
            assert_eq!(selection.admits(key), expected, "{key}");
        }
        assert!(KeySelection::parse("").unwrap().admits("anything"));
        assert!(KeySelection::parse("a%").is_err());
    }
}
