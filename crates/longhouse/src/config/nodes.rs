//! The tree that a configuration text stands for. Every key and value knows where it was written, and a scalar is kept
//! as its text, so that `50.00` stays exact and `"222"` differs from `222`.

use super::problems::Spot;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) spot: Spot,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_spot: Spot,
    pub(crate) value: Node,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// What a scalar is by the core schema of YAML 1.2, in which `no` and `off` are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Integer,
    Decimal,
    Text,
}

impl Kind {
    /// Of a scalar without quotes.
    pub(crate) fn of_plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => Self::Bool,
            _ if is_integer(text) => Self::Integer,
            _ if is_decimal(text) => Self::Decimal,
            _ => Self::Text,
        }
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn is_integer(text: &str) -> bool {
    let octal = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let hexadecimal = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits(unsigned(text))
        || text.strip_prefix("0o").is_some_and(octal)
        || text.strip_prefix("0x").is_some_and(hexadecimal)
}

fn is_decimal(text: &str) -> bool {
    let rest = unsigned(text);
    if matches!(rest, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    if exponent.is_some_and(|exponent| !digits(unsigned(exponent))) {
        return false;
    }
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let only_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!whole.is_empty() || !part.is_empty()) && only_digits(whole) && only_digits(part)
}

impl Node {
    pub(crate) fn empty_map(spot: Spot) -> Self {
        Self { spot, value: Value::Map(Vec::new()) }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.kind == Kind::Null)
    }

    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The text of a scalar that is something, whatever its kind.
    pub(crate) fn text(&self) -> Option<&str> {
        self.scalar().filter(|scalar| scalar.kind != Kind::Null).map(|scalar| scalar.text.trim_end_matches('\n'))
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        let scalar = self.scalar().filter(|scalar| scalar.kind == Kind::Bool)?;
        Some(scalar.text.eq_ignore_ascii_case("true"))
    }

    /// The elements of a list; none, if it is something else.
    pub(crate) fn list(&self) -> &[Self] {
        match &self.value {
            Value::List(elements) => elements,
            Value::Scalar(_) | Value::Map(_) => &[],
        }
    }

    /// The entries of a map; none, if it is something else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Scalar(_) | Value::List(_) => &[],
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// What is below a path of keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_scalar_is_what_yaml_1_2_says() {
        let cases = [
            (Kind::Null, vec!["", "~", "null", "Null", "NULL"]),
            (Kind::Bool, vec!["true", "False", "TRUE"]),
            (Kind::Integer, vec!["0", "-100123456", "+5", "0x1F", "0o17", "007"]),
            (Kind::Decimal, vec!["50.00", ".5", "1.", "1e3", "-1.5E-7", ".inf", "-.INF", ".nan"]),
            (
                Kind::Text,
                vec![
                    "no", "off", "yes", "1_000", "0x", "1.2.3", "e5", "-", "+", ".", "1e", "nUll", "tRUE", "12:30",
                    "@sean",
                ],
            ),
        ];
        for (kind, texts) in cases {
            for text in texts {
                assert_eq!(Kind::of_plain(text), kind, "{text:?}");
            }
        }
    }
}
