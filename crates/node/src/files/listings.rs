//! What lies in a directory: at most 1 000 entries, and it says when there are more.

use super::walks::{self, Seen};
use super::{Files, ListDirectory, refuse_hidden_secret};
use crate::times::rfc3339;
use crate::{Error, Result};
use domain::node_tools::Glob;
use rustix::fs::FileType;
use serde::Serialize;

const ENTRIES: usize = 1_000;
/// A pattern may match nothing in a tree without end.
const LOOKED_AT: usize = 200_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub success: bool,
    pub files: Vec<Entry>,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Relative to the root.
    pub path: String,
    #[serde(rename = "type")]
    pub kind: EntryType,
    pub size: u64,
    pub modified: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryType {
    File,
    Directory,
    Link,
    Other,
}

impl Files {
    pub fn list(&self, request: &ListDirectory) -> Result<Listed> {
        let start = self.directory(&request.path)?;
        refuse_hidden_secret(&request.path, &self.root().name_of(&start)?)?;
        let glob = request.pattern.as_deref().map(|text| Glob::parse("pattern", text)).transpose();
        let glob = glob.map_err(|_| Error::InvalidArgument("the pattern is not one"))?;
        let above = self.root().relative(&request.path)?;
        let above: Vec<&str> = above.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let mut files = Vec::new();
        let complete = walks::walk(&start, request.recursive, LOOKED_AT, &mut |seen| {
            if glob.as_ref().is_some_and(|glob| !glob.matches(seen.path)) {
                return true;
            }
            if files.len() == ENTRIES {
                return false;
            }
            files.push(entry(&above, seen));
            true
        })?;
        Ok(Listed { success: true, files, truncated: !complete })
    }
}

fn entry(above: &[&str], seen: &Seen<'_>) -> Entry {
    let kind = match seen.file_type() {
        FileType::RegularFile => EntryType::File,
        FileType::Directory => EntryType::Directory,
        FileType::Symlink => EntryType::Link,
        _ => EntryType::Other,
    };
    let size = if kind == EntryType::File { u64::try_from(seen.stat.st_size).unwrap_or(0) } else { 0 };
    let modified_ms =
        seen.stat.st_mtime.saturating_mul(1_000).saturating_add_unsigned(seen.stat.st_mtime_nsec / 1_000_000);
    let path = [above, &[seen.path]].concat().join("/");
    Entry { path, kind, size, modified: rfc3339(modified_ms) }
}
