//! SHA-256 of files, written as 64 lower-case hex digits.

use crate::{Error, Result};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest;
use std::fmt;
use std::io::{Read, Write};

/// Larger files are neither hashed nor replaced: what is replaced must fit into what undo keeps.
pub(crate) const LARGEST_FILE_BYTES: u64 = 1 << 30;
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Reads 64 hex digits, in either case.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or(Error::InvalidArgument("a SHA-256 is 64 hex digits"))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A hash that grows with what is written; `copy` feeds two at once.
pub(crate) struct Hasher(sha2::Sha256);

impl Hasher {
    pub(crate) fn new() -> Self {
        Self(sha2::Sha256::new())
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn end(self) -> Sha256 {
        Sha256(self.0.finalize().into())
    }
}

/// Copies a file to its end and says its hash and size. A file that is or grows larger than we keep is refused.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write) -> Result<(Sha256, u64)> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut size_bytes = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok((hasher.end(), size_bytes)),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io("reading the file")(error)),
        };
        size_bytes += count as u64;
        if size_bytes > LARGEST_FILE_BYTES {
            return Err(Error::TooLarge { what: "the file", limit_bytes: LARGEST_FILE_BYTES });
        }
        hasher.take(&buffer[..count]);
        to.write_all(&buffer[..count]).map_err(Error::io("writing the copy"))?;
    }
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
