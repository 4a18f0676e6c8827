//! Points in time: UTC, millisecond precision, written as RFC 3339 with `Z`. Order never depends on them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The last millisecond that can be written whatever the time zone (the end of the year 9999, less a day).
const LATEST_MS: i64 = 253_402_207_199_999;

impl Timestamp {
    pub fn from_ms(ms: i64) -> Self {
        Self(ms.clamp(0, LATEST_MS))
    }

    pub fn as_ms(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self::from_ms(self.0.saturating_add(ms))
    }

    #[must_use]
    pub fn plus_seconds(self, seconds: u64) -> Self {
        self.plus_ms(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at: jiff::Timestamp = text.parse().map_err(|_| D::Error::custom("expected an RFC 3339 time"))?;
        Ok(Self::from_ms(at.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_milliseconds_and_z_and_read_back() {
        let at = Timestamp::from_ms(1_771_597_800_007);
        assert_eq!(at.to_string(), "2026-02-20T14:30:00.007Z");
        let back: Timestamp = serde_json::from_str(&serde_json::to_string(&at).unwrap()).unwrap();
        assert_eq!(back, at);
    }

    #[test]
    fn adding_past_the_end_of_time_stays_printable() {
        assert_eq!(Timestamp::from_ms(5).plus_seconds(u64::MAX).to_string(), "9999-12-30T21:59:59.999Z");
    }
}
