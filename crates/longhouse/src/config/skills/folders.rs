//! Folders that are walked without following a link: every step is taken from the open folder above it.

use super::{DOCUMENT, Loading, revealed, unreadable};
use crate::config::files;
use crate::config::problems::{Problem, Spot};
use domain::skills::{ALL_LARGEST_BYTES, FILE_LARGEST_BYTES, FILES_MOST, Skill, reveal};
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const DEPTH_MOST: usize = 4;
/// Of one folder: more is not looked at.
const ENTRIES_MOST: usize = 1_000;
/// Of all folders of skills together: more are not watched.
const WATCHED_MOST: usize = 4_096;
/// How much of a file that is too large is looked at, to tell whether it is text.
const BEGINNING_BYTES: usize = 1024 * 1024;

pub(super) struct Folder(OwnedFd);

pub(super) struct Found {
    pub(super) name: String,
    pub(super) is_folder: bool,
    is_link: bool,
}

/// What is in a folder, by name.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Found>,
    /// There is more than is looked at.
    pub(super) is_cut: bool,
}

impl Folder {
    /// Opens the folder that a person named: that one may be a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    pub(super) fn enter(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(&self.0, name, flags, Mode::empty())?))
    }

    pub(super) fn read(&self, name: &str, most: usize) -> io::Result<Vec<u8>> {
        files::read_open(self.file(name)?, most)
    }

    fn file(&self, name: &str) -> io::Result<std::fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// A name that is not text cannot be told to anybody and is left out.
    pub(super) fn list(&self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if name == "." || name == ".." {
                continue;
            }
            if listing.entries.len() == ENTRIES_MOST {
                listing.is_cut = true;
                break;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say it here.
                FileType::Unknown => FileType::from_raw_mode(
                    rustix::fs::statat(&self.0, name.as_str(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
                ),
                kind => kind,
            };
            let (is_folder, is_link) = (kind == FileType::Directory, kind == FileType::Symlink);
            listing.entries.push(Found { name, is_folder, is_link });
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }
}

/// That more is in a folder than is looked at.
pub(super) fn cut(shown: &str) -> Problem {
    let message = format!("more than {ENTRIES_MOST} entries: the rest is not looked at");
    Problem::new(Spot::START, message).in_file(shown)
}

/// The folder of the skills and those in it from which something is read: what has to be watched for changes.
pub(crate) fn skills_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    if let Ok(folder) = Folder::open(root) {
        add_folders(&folder, root, 0, &mut found);
    }
    found
}

fn add_folders(folder: &Folder, path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let listing = folder.list().unwrap_or_default();
    for entry in listing.entries.iter().filter(|entry| entry.is_folder && !entry.name.starts_with('.')) {
        if found.len() == WATCHED_MOST {
            return;
        }
        let below = path.join(&entry.name);
        found.push(below.clone());
        if depth < DEPTH_MOST
            && let Ok(inner) = folder.enter(&entry.name)
        {
            add_folders(&inner, &below, depth + 1, found);
        }
    }
}

/// Adds the text files beside the document.
pub(super) fn read_files(folder: &Folder, shown: &str, skill: &mut Skill, loading: &mut Loading) {
    let mut walk = Walk { shown, bytes: skill.body.len(), skill, loading };
    walk.folder(folder, "", 1);
}

struct Walk<'a> {
    shown: &'a str,
    bytes: usize,
    skill: &'a mut Skill,
    loading: &'a mut Loading,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Folder, prefix: &str, depth: usize) {
        let listing = match folder.list() {
            Ok(listing) => listing,
            Err(error) => return self.loading.problems.push(unreadable(&format!("{}/{prefix}", self.shown), &error)),
        };
        if listing.is_cut {
            let shown = format!("{}/{prefix}", self.shown);
            self.loading.warnings.push(cut(shown.trim_end_matches('/')));
        }
        for Found { name, is_folder, is_link } in listing.entries {
            let path = format!("{prefix}{name}");
            if name.starts_with('.') || path == DOCUMENT {
                continue;
            }
            if is_link {
                self.warn(&path, "a link is not followed");
            } else if !is_folder {
                self.file(folder, &name, &path);
            } else if depth == DEPTH_MOST {
                self.warn(&path, "folders as deep as this are not read");
            } else {
                match folder.enter(&name) {
                    Ok(inner) => self.folder(&inner, &format!("{path}/"), depth + 1),
                    Err(error) => self.loading.problems.push(unreadable(&format!("{}/{path}", self.shown), &error)),
                }
            }
        }
    }

    fn file(&mut self, folder: &Folder, name: &str, path: &str) {
        let shown = format!("{}/{path}", self.shown);
        let read = folder.file(name).and_then(|file| files::read_beginning(file, BEGINNING_BYTES));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) => return self.warn(path, &format!("{}; agents do not see it", files::why(&error))),
        };
        // Skills are made for many programs: what is more than agents here can load is no mistake of the file.
        if !is_text(&bytes) {
            return self.warn(path, "not UTF-8 text; agents do not see it");
        }
        if bytes.len() > FILE_LARGEST_BYTES {
            let message = format!("{}; agents do not see it", files::too_large(FILE_LARGEST_BYTES));
            return self.warn(path, &message);
        }
        let is_full = self.skill.files.len() == FILES_MOST || self.bytes + bytes.len() > ALL_LARGEST_BYTES;
        if is_full {
            let limits = format!("{FILES_MOST} files and {} KiB in all", ALL_LARGEST_BYTES / 1024);
            return self.warn(path, &format!("beyond what is kept of a skill, {limits}; agents do not see it"));
        }
        let text = String::from_utf8_lossy(&bytes);
        self.bytes += text.len();
        let text = revealed(&text, 1, &shown, self.loading);
        self.skill.files.insert(reveal(path).0, text);
    }

    fn warn(&mut self, path: &str, message: &str) {
        self.loading.warnings.push(Problem::new(Spot::START, message).in_file(&format!("{}/{path}", self.shown)));
    }
}

/// Whether this is the beginning of a text. The last character may be cut.
fn is_text(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && bytes.len() == BEGINNING_BYTES,
    }
}
