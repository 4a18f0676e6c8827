//! Checksums over what a row says. SQLite has none for its pages: without these a byte that changed on the disk would be
//! read as another value.

use crate::{Error, Result};
use xxhash_rust::xxh64::Xxh64;

/// Gathers the fields of a row, each with its length or a mark that it is missing. Meant for accidents, not for
/// somebody who can write the file: a fast hash is enough.
#[derive(Default)]
pub(crate) struct Sum(Xxh64);

impl Sum {
    pub(crate) fn text<'a>(mut self, text: impl Into<Option<&'a str>>) -> Self {
        match text.into() {
            Some(text) => {
                self.0.update(&(text.len() as u64).to_be_bytes());
                self.0.update(text.as_bytes());
            }
            None => self.0.update(&u64::MAX.to_be_bytes()),
        }
        self
    }

    pub(crate) fn integer(mut self, number: impl Into<Option<i64>>) -> Self {
        match number.into() {
            Some(number) => {
                self.0.update(&[1]);
                self.0.update(&number.to_be_bytes());
            }
            None => self.0.update(&[0]),
        }
        self
    }

    pub(crate) fn count(self, number: u64) -> Self {
        self.integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(crate) fn time(self, at: impl Into<Option<domain::times::Timestamp>>) -> Self {
        self.integer(at.into().map(|at| at.as_ms()))
    }

    pub(crate) fn finish(self) -> i64 {
        self.0.digest().cast_signed()
    }
}

/// The sum of a value, kept apart so that a row can be checked without it.
pub(crate) fn of_value(value: &str) -> i64 {
    Sum::default().text(value).finish()
}

/// Rows that were written before there were sums have none.
pub(crate) fn check(stored: Option<i64>, found: impl FnOnce() -> i64, what: &str) -> Result<()> {
    match stored {
        Some(stored) if stored != found() => Err(Error::Damaged(what.to_owned())),
        _ => Ok(()),
    }
}
