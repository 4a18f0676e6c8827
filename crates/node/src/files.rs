//! Reading, writing, editing, deleting and listing files below the root, with the requests and results of the tools.

mod edits;
mod listings;
mod walks;

pub use listings::{Entry, EntryType, Listed};

pub(crate) use edits::edited;

use crate::changes::{Base, Change};
use crate::hashes::{self, LARGEST_FILE_BYTES};
use crate::roots::{Place, steps_back};
use crate::{Error, Mark, Result, Root, Sha256};
use data_encoding::BASE64;
use domain::risks::{Guard, guard_of};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;

/// As much as is read or written at once.
pub const CONTENT_LIMIT_BYTES: u64 = domain::node_tools::CONTENT_LARGEST_BYTES as u64;

/// The files of one root.
pub struct Files {
    root: Root,
    mark: Mark,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    pub path: String,
    pub content: String,
    #[serde(default)]
    pub create_dirs: bool,
    #[serde(default)]
    pub mode: WriteMode,
    pub base_sha256: Option<Sha256>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    #[default]
    Write,
    Append,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    pub path: String,
    pub old: String,
    pub new: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    pub path: String,
    #[serde(default)]
    pub recursive: bool,
    pub pattern: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRead {
    pub success: bool,
    pub content: String,
    /// Of the whole file.
    pub size: u64,
    pub encoding: Encoding,
    /// Of the whole file; none if it is larger than anything we would replace.
    pub sha256: Option<Sha256>,
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// What became of a write, an edit or a delete. A file that is gone has neither size nor hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}

impl Changed {
    pub(crate) fn written(size: u64, timestamp: String, sha256: Sha256) -> Self {
        Self { success: true, size: Some(size), timestamp: Some(timestamp), sha256: Some(sha256) }
    }

    pub(crate) fn removed() -> Self {
        Self { success: true, size: None, timestamp: None, sha256: None }
    }
}

/// Nobody is asked before a file is read by a harmless name: so it must not be one of those that people are asked about.
pub(crate) fn refuse_hidden_secret(given: &str, real: &str) -> Result<()> {
    let is_secret = |path: &str| matches!(guard_of(path), Some((_, Guard::Secret)));
    if is_secret(real) && !is_secret(given) { Err(Error::HiddenSecret) } else { Ok(()) }
}

impl Files {
    pub fn new(root: Root, mark: Mark) -> Self {
        Self { root, mark }
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The first 10 MB of a file, as text if it is text.
    pub fn read(&self, path: &str) -> Result<FileRead> {
        let mut file = self.root.file(path)?;
        refuse_hidden_secret(path, &self.root.name_of(&file)?)?;
        let size = file.metadata().map_err(Error::io("looking at the file"))?.len();
        let mut head = Head { bytes: Vec::new() };
        let (size, sha256) = match hashes::copy(&mut file, &mut head) {
            Ok((sha256, size)) => (size, Some(sha256)),
            Err(Error::TooLarge { .. }) => (size.max(LARGEST_FILE_BYTES + 1), None),
            Err(error) => return Err(error),
        };
        let truncated = size > head.bytes.len() as u64;
        let (content, encoding) = worded(head.bytes, truncated);
        Ok(FileRead { success: true, content, size, encoding, sha256, truncated })
    }

    /// Where a path really leads, behind all links; what it names need not exist.
    pub(crate) fn real_path(&self, path: &str) -> Result<String> {
        let place = match self.root.place(path, false) {
            // In directories that are still to be made, below one that is there and may be reached by a link.
            Err(Error::NotFound) if !steps_back(path) => {
                let path = self.root.relative(path)?;
                let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
                let [parents @ .., name] = &names[..] else { return Err(Error::NotFound) };
                return Ok(format!("{}/{name}", self.real_path(&parents.join("/"))?));
            }
            place => place?,
        };
        self.real_path_of_place(&place)
    }

    /// Where a prepared change really happens.
    pub(crate) fn real_path_of(&self, change: &Change) -> Result<String> {
        self.real_path_of_place(change.place())
    }

    fn real_path_of_place(&self, place: &Place) -> Result<String> {
        let directory = self.root.name_of(&place.directory)?;
        Ok(if directory.is_empty() { place.name.clone() } else { format!("{directory}/{}", place.name) })
    }

    /// Prepares a write. Nothing under the name changes before the change is committed.
    pub fn prepare_write(&self, request: &WriteFile) -> Result<Change> {
        check_content(&request.content)?;
        // Whoever names a base says that there is a file, and so its directory.
        let create_directories = request.create_dirs && request.base_sha256.is_none();
        let place = self.root.place(&request.path, create_directories)?;
        let base = Base::at(&place)?;
        if request.base_sha256.is_some() && request.base_sha256 != base.as_ref().map(|base| base.sha256) {
            return Err(Error::StaleBase);
        }
        let mut content = request.content.as_bytes();
        let before = match (&base, request.mode) {
            (Some(base), WriteMode::Append) => {
                Some(base.rewound()?.try_clone().map_err(Error::io("reading the file"))?)
            }
            _ => None,
        };
        match before {
            Some(mut before) => Change::to(place, base, &mut [&mut before, &mut content], &self.mark),
            None => Change::to(place, base, &mut [&mut content], &self.mark),
        }
    }

    /// Prepares that the one occurrence of a text is replaced by another.
    pub fn prepare_edit(&self, request: &EditFile) -> Result<Change> {
        let place = self.root.place(&request.path, false)?;
        let base = Base::at(&place)?.ok_or(Error::NotFound)?;
        let text = text_of(base.rewound()?)?;
        let text = edited(&text, &request.old, &request.new)?;
        check_content(&text)?;
        // The hash is of what was read the first time; if the file changed between the two, the commit notices.
        Change::to(place, Some(base), &mut [&mut text.as_bytes()], &self.mark)
    }

    /// Prepares that a file goes. A link is refused, because what it leads to would not go with it.
    pub fn prepare_delete(&self, path: &str) -> Result<Change> {
        let place = self.root.place_itself(path)?;
        let base = Base::at(&place)?.ok_or(Error::NotFound)?;
        Ok(Change::removal(place, base))
    }

    /// Prepares that a file is again what was kept of it, or gone if there was none.
    pub(crate) fn prepare_restore(&self, path: &str, kept: Option<(&mut File, u32)>) -> Result<Change> {
        let place = self.root.place_itself(path)?;
        let base = Base::at(&place)?;
        match (kept, base) {
            (Some((kept, mode)), base) => Change::with_mode(place, base, &mut [kept], Some(mode), &self.mark),
            (None, Some(base)) => Ok(Change::removal(place, base)),
            (None, None) => Err(Error::NotFound),
        }
    }

    /// What the path holds now: the hash of a file, or none if there is nothing.
    pub fn sha256(&self, path: &str) -> Result<Option<Sha256>> {
        match self.root.place(path, false).and_then(|place| Base::at(&place)) {
            Ok(base) => Ok(base.map(|base| base.sha256)),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A handle of a directory below the root.
    pub(crate) fn directory(&self, path: &str) -> Result<rustix::fd::OwnedFd> {
        self.root.directory(path)
    }

    /// Removes what earlier runs of this node left half-made, and says how many. Files that only look so are left alone.
    pub fn sweep(&self) -> Result<usize> {
        let start = self.directory(".")?;
        let mut leftovers = Vec::new();
        walks::walk(&start, true, usize::MAX, &mut |entry| {
            if entry.is_file() && self.mark.is_leftover(entry.name) {
                leftovers.push(entry.path.to_owned());
            }
            true
        })?;
        let mut count = 0;
        for path in leftovers {
            let place = self.root.place_itself(&path)?;
            if place.unlink(&place.name).is_ok() {
                count += 1;
            }
        }
        Ok(count)
    }
}

/// A file that must be text, and small enough to be shown.
pub(crate) fn text_of(file: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    file.take(CONTENT_LIMIT_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io("reading the file"))?;
    if bytes.len() as u64 > CONTENT_LIMIT_BYTES {
        return Err(Error::TooLarge { what: "the file", limit_bytes: CONTENT_LIMIT_BYTES });
    }
    String::from_utf8(bytes).map_err(|_| Error::InvalidArgument("the file is not UTF-8 text"))
}

fn check_content(content: &str) -> Result<()> {
    if content.len() as u64 > CONTENT_LIMIT_BYTES {
        return Err(Error::TooLarge { what: "the content", limit_bytes: CONTENT_LIMIT_BYTES });
    }
    Ok(())
}

/// Text as text, all else as base64. A character that the limit cut through is left out.
fn worded(mut bytes: Vec<u8>, truncated: bool) -> (String, Encoding) {
    if let Err(error) = std::str::from_utf8(&bytes)
        && truncated
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, Encoding::Utf8),
        Err(error) => (BASE64.encode(error.as_bytes()), Encoding::Base64),
    }
}

/// Keeps the beginning of what is written to it.
struct Head {
    bytes: Vec<u8>,
}

impl std::io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = usize::try_from(CONTENT_LIMIT_BYTES).unwrap_or(usize::MAX) - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
