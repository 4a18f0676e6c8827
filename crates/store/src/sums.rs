//! Checksums over what a row says. SQLite has none for its pages: without these a byte that changed on the disk would be
//! read as another value. Meant for accidents, not for somebody who can write the file: a fast hash is enough.

use crate::rows::Param;
use crate::{Error, Result};
use xxhash_rust::xxh64::xxh64;

/// Gathers the fields of a row, each with its length or a mark that it is missing. Hashing them in one go is several
/// times faster than one by one.
pub(crate) struct Sum(Vec<u8>);

impl Default for Sum {
    fn default() -> Self {
        Self(Vec::with_capacity(1024))
    }
}

impl Sum {
    #[inline]
    pub(crate) fn text<'a>(mut self, text: impl Into<Option<&'a str>>) -> Self {
        let text = text.into();
        self.0.extend_from_slice(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text.unwrap_or_default().as_bytes());
        self
    }

    /// A column that was added later: a row that has nothing there has the sum it always had.
    #[inline]
    pub(crate) fn added(self, text: Option<&str>) -> Self {
        if text.is_some() { self.text(text) } else { self }
    }

    #[inline]
    pub(crate) fn integer(mut self, number: impl Into<Option<i64>>) -> Self {
        let number = number.into();
        self.0.push(u8::from(number.is_some()));
        self.0.extend_from_slice(&number.unwrap_or_default().to_le_bytes());
        self
    }

    #[inline]
    pub(crate) fn count(self, number: u64) -> Self {
        self.integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    #[inline]
    pub(crate) fn time(self, at: impl Into<Option<domain::times::Timestamp>>) -> Self {
        self.integer(at.into().map(|at| at.as_ms()))
    }

    pub(crate) fn finish(self) -> i64 {
        xxh64(&self.0, 0).cast_signed()
    }
}

/// The sum of a row of plain columns.
pub(crate) fn of_row(row: &[Param<'_>]) -> i64 {
    let sum = row.iter().fold(Sum::default(), |sum, field| match field {
        Param::Integer(number) => sum.integer(*number),
        Param::Text(text) => sum.text(*text),
    });
    sum.finish()
}

/// The sum of a value, kept apart so that a row can be checked without it.
pub(crate) fn of_value(value: &str) -> i64 {
    xxh64(value.as_bytes(), 0).cast_signed()
}

/// Rows that were written before there were sums have none.
pub(crate) fn check(stored: Option<i64>, found: impl FnOnce() -> i64, what: &str) -> Result<()> {
    match stored {
        Some(stored) if stored != found() => Err(Error::Damaged(what.to_owned())),
        _ => Ok(()),
    }
}
