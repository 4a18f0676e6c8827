//! The journal's lines: JSON, a tab, a checksum over the checksum before and the JSON, a line feed.

use super::Record;
use crate::hashes::Hasher;
use crate::{Error, Result};
use data_encoding::HEXLOWER;
use serde::Serialize;

/// The first line. Another version is another file.
const HEADER: &str = "{\"journal\":1}";

/// The checksum of the last line, which the next one continues.
#[derive(Debug, Clone)]
pub(super) struct Chain(String);

pub(super) struct Read {
    pub(super) records: Vec<Record>,
    pub(super) chain: Chain,
    /// Up to the end of the last good line.
    pub(super) length_bytes: u64,
}

impl Chain {
    pub(super) fn begin() -> (Self, Vec<u8>) {
        Self(String::new()).line(HEADER)
    }

    pub(super) fn next(&self, record: &impl Serialize) -> Result<(Self, Vec<u8>)> {
        let json = serde_json::to_string(record).map_err(|_| Error::InvalidArgument("the record cannot be written"))?;
        Ok(self.line(&json))
    }

    fn line(&self, json: &str) -> (Self, Vec<u8>) {
        let next = self.over(json);
        let line = format!("{json}\t{}\n", next.0).into_bytes();
        (next, line)
    }

    fn over(&self, json: &str) -> Self {
        let mut hasher = Hasher::new();
        hasher.take(self.0.as_bytes());
        hasher.take(json.as_bytes());
        Self(HEXLOWER.encode(&hasher.end().as_bytes()[..16]))
    }

    /// The JSON of a line that continues this chain.
    fn check<'a>(&self, line: &'a [u8]) -> Option<(Self, &'a str)> {
        let (json, sum) = std::str::from_utf8(line).ok()?.rsplit_once('\t')?;
        let next = self.over(json);
        (next.0 == sum).then_some((next, json))
    }
}

pub(super) fn written<'a>(records: impl Iterator<Item = &'a Record>) -> Result<(Chain, Vec<u8>)> {
    let (mut chain, mut bytes) = Chain::begin();
    for record in records {
        let (next, line) = chain.next(record)?;
        chain = next;
        bytes.extend(line);
    }
    Ok((chain, bytes))
}

pub(super) fn read(bytes: &[u8]) -> Result<Read> {
    let mut found = Read { records: Vec::new(), chain: Chain(String::new()), length_bytes: 0 };
    let mut rest = bytes;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let damaged = Error::JournalDamaged { line: number };
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = &rest[..end.unwrap_or(rest.len())];
        let good = end.and_then(|_| found.chain.check(line));
        match good {
            Some((chain, json)) => {
                if number == 1 && json != HEADER {
                    return Err(damaged);
                }
                if number > 1 {
                    found.records.push(serde_json::from_str(json).map_err(|_| damaged)?);
                }
                found.chain = chain;
                found.length_bytes += line.len() as u64 + 1;
                rest = &rest[line.len() + 1..];
            }
            None if number > 1 && is_torn(rest, end) => return Ok(found),
            None => return Err(damaged),
        }
    }
    if number == 0 { Err(Error::JournalDamaged { line: 1 }) } else { Ok(found) }
}

/// Whether this can be all that reached the disk of a record that was being written: its line feed is missing, or there are
/// zeros where nothing was written. A whole last line that is merely wrong was acknowledged, and is damage.
fn is_torn(rest: &[u8], end: Option<usize>) -> bool {
    end.is_none_or(|end| end + 1 == rest.len() && rest.contains(&0))
}
