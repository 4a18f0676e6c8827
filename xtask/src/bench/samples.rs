//! Numbers measured in rounds: median and spread, and how they are written for people. Pure.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Milliseconds,
    Nanoseconds,
    /// Ten to the sixth, not two to the twentieth: the stricter reading of a limit.
    Megabytes,
    KibibytesEach,
}

impl Unit {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::PerSecond => "/s",
            Self::Milliseconds => "ms",
            Self::Nanoseconds => "ns",
            Self::Megabytes => "MB",
            Self::KibibytesEach => "KiB each",
        }
    }
}

/// The median of several rounds and the range they lie in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    pub(crate) unit: Unit,
}

impl Sample {
    /// `None` without a single round: there is no number then.
    pub(crate) fn of(mut rounds: Vec<f64>, unit: Unit) -> Option<Self> {
        rounds.sort_by(f64::total_cmp);
        let (lowest, highest) = (*rounds.first()?, *rounds.last()?);
        let middle = rounds.len() / 2;
        let median = if rounds.len().is_multiple_of(2) {
            f64::midpoint(rounds[middle - 1], rounds[middle])
        } else {
            rounds[middle]
        };
        Some(Self { median, lowest, highest, unit })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value| number(value, self.unit);
        let range = format!("{} – {}", number(self.lowest), number(self.highest));
        let unit = self.unit.symbol();
        write!(out, "{} {unit} ({range})", number(self.median))
    }
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::PerSecond => grouped(value.round() as u64),
        Unit::Nanoseconds => grouped(value.round() as u64),
        Unit::Milliseconds if value < 10.0 => format!("{value:.2}"),
        Unit::Milliseconds | Unit::Megabytes | Unit::KibibytesEach => format!("{value:.1}"),
    }
}

/// `41235` as `41 235`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The value below which `share` of the sorted values lie; zero where there are none.
pub(crate) fn percentile(sorted: &[u32], share: f64) -> u32 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Sample, Unit, percentile};

    #[test]
    fn a_sample_is_its_median_and_its_spread() {
        let sample = Sample::of(vec![41_000.0, 1_234_567.0, 40_000.4], Unit::PerSecond).unwrap();
        assert_eq!(sample.to_string(), "41 000 /s (40 000 – 1 234 567)");
        let even = Sample::of(vec![1.0, 2.0, 4.0, 12.0], Unit::Milliseconds).unwrap();
        assert_eq!(even.to_string(), "3.00 ms (1.00 – 12.0)");
        assert_eq!(Sample::of(Vec::new(), Unit::Megabytes), None);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let sorted: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&sorted, 0.5), 50);
        assert_eq!(percentile(&sorted, 0.99), 99);
        assert_eq!(percentile(&sorted, 1.0), 100);
        assert_eq!(percentile(&[7], 0.99), 7);
        assert_eq!(percentile(&[], 0.99), 0);
    }
}
