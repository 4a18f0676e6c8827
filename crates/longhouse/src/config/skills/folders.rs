//! Folders that are walked without following a link: every step is taken from the open folder above it.

use super::{DOCUMENT, Loading, revealed, unreadable};
use crate::config::files;
use crate::config::problems::{Problem, Spot, quoted};
use domain::skills::{ALL_LARGEST_BYTES, FILE_LARGEST_BYTES, FILES_MOST, Skill, reveal};
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

const DEPTH_MOST: usize = 4;
/// Of one folder: more is not looked at.
const ENTRIES_MOST: usize = 1_000;

pub(super) struct Folder(OwnedFd);

pub(super) struct Found {
    pub(super) name: String,
    pub(super) is_folder: bool,
    is_link: bool,
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
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        files::read_open(openat(&self.0, name, flags, Mode::empty())?.into(), most)
    }

    /// What is in it, by name. A name that is not text cannot be told to anybody and is left out.
    pub(super) fn list(&self) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.0)?.take(ENTRIES_MOST) {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say it here.
                FileType::Unknown => FileType::from_raw_mode(
                    rustix::fs::statat(&self.0, name.as_str(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
                ),
                kind => kind,
            };
            found.push(Found { name, is_folder: kind == FileType::Directory, is_link: kind == FileType::Symlink });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
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
        let entries = match folder.list() {
            Ok(entries) => entries,
            Err(error) => return self.loading.problems.push(unreadable(&format!("{}/{prefix}", self.shown), &error)),
        };
        for Found { name, is_folder, is_link } in entries {
            let path = format!("{prefix}{name}");
            if name.starts_with('.') || path == DOCUMENT {
                continue;
            }
            if is_link {
                self.warn(&path, "a link is not followed");
            } else if !is_folder {
                self.file(folder, &name, path);
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

    fn file(&mut self, folder: &Folder, name: &str, path: String) {
        let shown = format!("{}/{path}", self.shown);
        if self.skill.files.len() == FILES_MOST {
            let problem = Problem::new(Spot::START, format!("the skill has too many files, from {} on", quoted(&path)));
            let problem = problem.expected(format!("at most {FILES_MOST}")).in_file(self.shown);
            // Once is enough.
            if !self.loading.problems.iter().any(|known| known.expected == problem.expected) {
                self.loading.problems.push(problem);
            }
            return;
        }
        let bytes = match folder.read(name, FILE_LARGEST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => return self.loading.problems.push(unreadable(&shown, &error)),
        };
        let Ok(text) = String::from_utf8(bytes) else {
            return self.warn(&path, "not UTF-8 text; agents do not see it");
        };
        self.bytes += text.len();
        if self.bytes > ALL_LARGEST_BYTES {
            let problem = Problem::new(Spot::START, "the skill's files are too large together").in_file(self.shown);
            return self.loading.problems.push(problem.expected("at most 256 KiB with the text of SKILL.md"));
        }
        let text = revealed(&text, 1, &shown, self.loading);
        self.skill.files.insert(reveal(&path).0, text);
    }

    fn warn(&mut self, path: &str, message: &str) {
        self.loading.warnings.push(Problem::new(Spot::START, message).in_file(&format!("{}/{path}", self.shown)));
    }
}
