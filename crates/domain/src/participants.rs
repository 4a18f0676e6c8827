//! Who acts in a session, and the patterns that access lists are written in.

use crate::ids::{UserId, is_word, string_id};
use crate::{Refusal, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

string_id! {
    /// `orchestrator`, `subagent:<type>`, `subagent:<type>:<n>` or `user:<id>`.
    Participant
}

const ORCHESTRATOR: &str = "orchestrator";
const PATTERN_LONGEST: usize = 160;
const PATTERNS_MOST: usize = 32;

fn is_part_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

impl Participant {
    pub fn orchestrator() -> Self {
        Self(ORCHESTRATOR.to_owned())
    }

    pub fn of_user(user: &UserId) -> Self {
        Self(format!("user:{user}"))
    }

    /// An agent of a project, by its name.
    pub fn of_agent(name: &str) -> Self {
        Self(format!("subagent:{name}"))
    }

    /// An agent that the house itself puts to work, by its name and which of several it is.
    pub fn of_worker(name: &str, number: u32) -> Self {
        Self(format!("subagent:{name}:{number}"))
    }

    pub fn is_orchestrator(&self) -> bool {
        self.0 == ORCHESTRATOR
    }

    /// A participant that a token may be made for. `user:…` is left out: only a person's own credential is that person.
    pub fn parse_agent(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let is_part = |part: Option<&str>| part.is_some_and(|part| is_word(part, 64, is_part_byte));
        let well_formed = match parts.next() {
            Some(ORCHESTRATOR) => parts.next().is_none(),
            Some("subagent") => {
                let named = is_part(parts.next());
                let number = parts.next();
                named && (number.is_none() || is_part(number)) && parts.next().is_none()
            }
            _ => false,
        };
        if well_formed {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::invalid_field(
            "participant",
            "a participant is `orchestrator`, `subagent:<type>` or `subagent:<type>:<n>`",
        ))
    }
}

/// One pattern of an access list: a participant in which `*` stands for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let allowed = |byte| is_part_byte(byte) || matches!(byte, b':' | b'*');
        is_word(text, PATTERN_LONGEST, allowed).then(|| Self(text.to_owned()))
    }

    fn matches(&self, participant: &Participant) -> bool {
        glob(self.0.as_bytes(), participant.0.as_bytes())
    }
}

/// The participants that may do something with a key. The empty list means nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    pub fn everybody() -> Self {
        Self(vec![Pattern("*".to_owned())])
    }

    /// Just this one.
    pub fn only(participant: &Participant) -> Self {
        Self(vec![Pattern(participant.as_str().to_owned())])
    }

    pub fn parse(field: &str, texts: &[String]) -> Result<Self> {
        if texts.len() > PATTERNS_MOST {
            return Err(Refusal::invalid_field(field, format!("`{field}` has at most {PATTERNS_MOST} patterns")));
        }
        let patterns: Option<Vec<_>> = texts.iter().map(|text| Pattern::parse(text)).collect();
        patterns.map(Self).ok_or_else(|| {
            Refusal::invalid_field(
                field,
                format!("`{field}` is a list of participants such as `orchestrator` or `subagent:*`"),
            )
        })
    }

    pub fn admits(&self, participant: &Participant) -> bool {
        self.0.iter().any(|pattern| pattern.matches(participant))
    }
}

/// Matches `*` as any run of bytes; linear in the text for each star, so a hostile pattern stays cheap.
pub(crate) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            retry = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            (p, t) = (p + 1, t + 1);
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            (p, t) = (star + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_are_orchestrators_and_subagents_never_somebody_else() {
        for good in ["orchestrator", "subagent:review", "subagent:review:1", "subagent:agent_coder:2"] {
            assert!(Participant::parse_agent(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "user:usr_sean",
            "orchestrator:1",
            "subagent",
            "subagent:",
            "subagent:a:",
            "subagent:a:1:2",
            "x",
            "subagent:a b",
        ] {
            assert!(Participant::parse_agent(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn patterns_match_as_globs() {
        let cases = [
            ("*", "orchestrator", true),
            ("subagent:*", "subagent:review:1", true),
            ("subagent:*", "orchestrator", false),
            ("subagent:review", "subagent:review:1", false),
            ("*:review:*", "subagent:review:1", true),
            ("user:usr_sean", "user:usr_seana", false),
        ];
        for (pattern, who, expected) in cases {
            let patterns = Patterns::parse("readable_by", &[pattern.to_owned()]).unwrap();
            assert_eq!(patterns.admits(&Participant::from_trusted(who.to_owned())), expected, "{pattern} {who}");
        }
        assert!(!Patterns::parse("readable_by", &[]).unwrap().admits(&Participant::orchestrator()));
        assert!(Patterns::parse("readable_by", &["a b".to_owned()]).is_err());
    }
}
