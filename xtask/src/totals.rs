//! How many tests passed, failed and were skipped, as told by the tools' own summaries. No process is started here.

use std::fmt;
use std::ops::AddAssign;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Totals {
    pub(crate) const PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// `Summary [ 0.01s] 3 tests run: 1 passed (1 slow), 1 failed, 1 timed out, 2 skipped`
    pub(crate) fn from_nextest(output: &str) -> Option<Self> {
        let summary = output.lines().rev().find(|line| line.trim_start().starts_with("Summary ["))?;
        let (_, counts) = summary.split_once(" run: ")?;
        let mut totals = Self::default();
        for count in counts.split(", ") {
            totals.count(count);
        }
        Some(totals)
    }

    /// The sum of all lines `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …`
    pub(crate) fn from_cargo_test(output: &str) -> Option<Self> {
        let results = output.lines().filter_map(|line| line.trim().strip_prefix("test result: "));
        let counts = results.filter_map(|result| result.split_once(". ")).map(|(_, counts)| counts);
        counts.fold(None, |totals, counts| {
            let mut totals: Self = totals.unwrap_or_default();
            for count in counts.split("; ") {
                totals.count(count);
            }
            Some(totals)
        })
    }

    /// One part of a summary, such as `3 passed` or `2 passed (1 slow`; what is not a verdict is left out.
    fn count(&mut self, text: &str) {
        let Some((number, verdict)) = text.trim().split_once(' ') else { return };
        let Ok(number) = number.parse::<u64>() else { return };
        match verdict.split(" (").next().unwrap_or(verdict) {
            "passed" => self.passed += number,
            "failed" | "timed out" | "exec failed" => self.failed += number,
            "skipped" | "ignored" => self.skipped += number,
            _ => {}
        }
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(out, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    fn totals(passed: u64, failed: u64, skipped: u64) -> Option<Totals> {
        Some(Totals { passed, failed, skipped })
    }

    #[test]
    fn nextest_summaries_are_understood() {
        let table = [
            ("     Summary [   0.006s] 1 test run: 1 passed, 0 skipped\n", totals(1, 0, 0)),
            ("     Summary [   1.2s] 7 tests run: 5 passed (1 slow, 1 leaky), 2 failed, 3 skipped\n", totals(5, 2, 3)),
            (
                " Summary [ 9s] 4/9 tests run: 1 passed, 1 failed, 1 timed out, 1 exec failed, 0 skipped",
                totals(1, 3, 0),
            ),
            ("error: could not compile `store`", None),
        ];
        for (output, expected) in table {
            assert_eq!(Totals::from_nextest(output), expected, "{output}");
        }
    }

    #[test]
    fn the_results_of_cargo_test_are_added_up() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 9 filtered out; finished in 0.00s\n\
                      test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s\n";
        assert_eq!(Totals::from_cargo_test(output), totals(5, 4, 1));
        assert_eq!(Totals::from_cargo_test("error: could not compile"), None);
    }

    #[test]
    fn the_line_names_skips_only_where_there_are_some() {
        assert_eq!(Totals { passed: 3, failed: 0, skipped: 0 }.to_string(), "3 passed, 0 failed");
        assert_eq!(Totals { passed: 3, failed: 1, skipped: 2 }.to_string(), "3 passed, 1 failed, 2 skipped");
    }
}
