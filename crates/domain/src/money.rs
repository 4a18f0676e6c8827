//! Money: whole micro-dollars, so that nothing is lost between a price and a sum.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A millionth of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// More than anybody spends: sums of such amounts stay exact as JSON numbers too.
    pub const MOST: Self = Self(1_000_000_000 * Self::PER_DOLLAR);
    const PER_DOLLAR: u64 = 1_000_000;

    /// Reads a plain decimal number of dollars, exactly: `50`, `0.25`, `12.345678`. No sign, no exponent, six digits
    /// after the point at most.
    pub fn parse_usd(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) {
            return None;
        }
        let part = part.trim_end_matches('0');
        if part.len() > 6 {
            return None;
        }
        let micros = format!("{part:0<6}").parse::<u64>().ok()?;
        let sum = whole.parse::<u64>().ok()?.checked_mul(Self::PER_DOLLAR)?.checked_add(micros)?;
        (sum <= Self::MOST.0).then_some(Self(sum))
    }

    /// For showing: a JSON number of dollars.
    #[allow(clippy::cast_precision_loss)]
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / Self::PER_DOLLAR as f64
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Micros {
    /// Dollars with two digits after the point, or as many as it needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / Self::PER_DOLLAR, format!("{:06}", self.0 % Self::PER_DOLLAR));
        let (cents, rest) = part.split_at(2);
        write!(f, "{whole}.{cents}{}", rest.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_to_the_millionth_and_shown_again() {
        let cases =
            [("0", 0, "0.00"), ("50.00", 50_000_000, "50.00"), ("0.000001", 1, "0.000001"), ("1.5", 1_500_000, "1.50")];
        for (text, micros, shown) in cases {
            assert_eq!(Micros::parse_usd(text), Some(Micros(micros)), "{text}");
            assert_eq!(Micros(micros).to_string(), shown);
        }
        assert_eq!(Micros::parse_usd("0.1000000"), Some(Micros(100_000)), "zeros at the end say nothing");
        for bad in
            ["", ".", ".5", "-1", "+1", "1e3", "1,5", "0.0000001", "NaN", " 1", "1000000001", "99999999999999999999"]
        {
            assert_eq!(Micros::parse_usd(bad), None, "{bad:?}");
        }
    }
}
