//! Going through a directory and what lies below it, by handles. Links are seen and not followed, so there are no circles.

use crate::roots::openat2;
use crate::{Error, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, OFlags, ResolveFlags, Stat};
use std::collections::BTreeSet;

const LONGEST_PATH_BYTES: usize = 4096;

pub(super) struct Seen<'a> {
    /// Relative to where the walk began.
    pub(super) path: &'a str,
    pub(super) name: &'a str,
    pub(super) stat: &'a Stat,
}

impl Seen<'_> {
    pub(super) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(super) fn is_file(&self) -> bool {
        self.file_type() == FileType::RegularFile
    }
}

/// Shows each entry, by name within a directory, until the visitor has enough or so many were looked at. Says whether all were
/// seen. Names that are not UTF-8 cannot be asked for and are not shown.
pub(super) fn walk(
    start: &OwnedFd,
    recursive: bool,
    at_most: usize,
    visit: &mut dyn FnMut(&Seen<'_>) -> bool,
) -> Result<bool> {
    let mut left = at_most;
    let mut complete = true;
    let mut waiting = vec![String::new()];
    while let Some(directory) = waiting.pop() {
        let Some(handle) = open(start, &directory)? else { continue };
        let mut inside = Vec::new();
        for name in names(&handle, &mut left, &mut complete)? {
            let Ok(stat) = rustix::fs::statat(&handle, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            let seen = Seen { path: &path, name: &name, stat: &stat };
            if !visit(&seen) {
                return Ok(false);
            }
            if recursive && seen.file_type() == FileType::Directory {
                inside.push(path);
            }
        }
        complete &= inside.iter().all(|path| path.len() <= LONGEST_PATH_BYTES);
        waiting.extend(inside.into_iter().filter(|path| path.len() <= LONGEST_PATH_BYTES).rev());
    }
    Ok(complete)
}

/// A directory of the walk. What has gone or become a link since it was seen is passed over.
fn open(start: &OwnedFd, path: &str) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let is_start = path.is_empty();
    match openat2(start, if is_start { "." } else { path }, flags, ResolveFlags::NO_SYMLINKS) {
        Ok(handle) => Ok(Some(handle)),
        Err(errno) if is_start => Err(Error::io("opening the directory")(errno)),
        Err(_) => Ok(None),
    }
}

fn names(handle: &OwnedFd, left: &mut usize, complete: &mut bool) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in Dir::read_from(handle).map_err(Error::io("reading the directory"))? {
        let entry = entry.map_err(Error::io("reading the directory"))?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        if *left == 0 {
            *complete = false;
            break;
        }
        *left -= 1;
        names.insert(name.to_owned());
    }
    Ok(names)
}
