//! What a call would do, found out without doing it: shown to the person who is asked. Nothing is created, not even for a moment.

use crate::changes::Base;
use crate::commands::{Programs, RunCommand, environment_names};
use crate::files::{EditFile, Files, WriteFile, WriteMode, edited, text_of};
use crate::hashes::{self, Hasher};
use crate::roots::steps_back;
use crate::{Error, Result, Sha256};
use domain::approvals::SHOWN_LARGEST_BYTES;
use domain::commands::files_behind;
use rustix::fd::AsRawFd;
use serde::Serialize;
use similar::TextDiff;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Longer texts are not compared; the diff of longer ones would not be read either.
const COMPARED_BYTES: u64 = 4 * 1024 * 1024;
const COMPARED_FOR: Duration = Duration::from_millis(500);

/// What a file operation would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FilePreview {
    pub path: String,
    pub exists: bool,
    pub base_sha256: Option<Sha256>,
    /// None if the file would be gone.
    pub new_sha256: Option<Sha256>,
    /// None if it cannot be shown; `why_no_diff` says why.
    pub diff: Option<Diff>,
    pub why_no_diff: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diff {
    pub text: String,
    /// Cut at the end of a line.
    pub truncated: bool,
}

/// What a command would start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandPreview {
    /// The file that would be executed.
    pub program: String,
    /// The files that words behind a wrapper mean.
    pub starts: BTreeMap<String, String>,
    pub args: Vec<String>,
    pub cwd: String,
    pub environment: Vec<String>,
}

pub struct Previews<'a> {
    files: &'a Files,
}

impl<'a> Previews<'a> {
    pub fn new(files: &'a Files) -> Self {
        Self { files }
    }

    pub fn write(&self, request: &WriteFile) -> Result<FilePreview> {
        let place = match self.files.root().place(&request.path, false) {
            Err(Error::NotFound) if request.create_dirs && !steps_back(&request.path) => {
                return Ok(in_new_directory(request));
            }
            place => place?,
        };
        let base = Base::at(&place)?;
        if request.base_sha256.is_some() && request.base_sha256 != base.as_ref().map(|base| base.sha256) {
            return Err(Error::StaleBase);
        }
        let mut hasher = Hasher::new();
        if let (Some(base), WriteMode::Append) = (&base, request.mode) {
            hashes::copy(&mut base.rewound()?, &mut hasher)?;
        }
        hasher.take(request.content.as_bytes());
        let before = base.as_ref().map_or(Ok(String::new()), text);
        let diff = before.and_then(|before| match request.mode {
            WriteMode::Write => diff(&before, &request.content),
            WriteMode::Append => diff(&before, &format!("{before}{}", request.content)),
        });
        Ok(FilePreview::new(place.path, base.as_ref(), Some(hasher.end()), diff))
    }

    pub fn edit(&self, request: &EditFile) -> Result<FilePreview> {
        let place = self.files.root().place(&request.path, false)?;
        let base = Base::at(&place)?.ok_or(Error::NotFound)?;
        let before = text_of(base.rewound()?)?;
        let after = edited(&before, &request.old, &request.new)?;
        let sha256 = Sha256::of(after.as_bytes());
        Ok(FilePreview::new(place.path, Some(&base), Some(sha256), diff(&before, &after)))
    }

    pub fn delete(&self, path: &str) -> Result<FilePreview> {
        let place = self.files.root().place_itself(path)?;
        let base = Base::at(&place)?.ok_or(Error::NotFound)?;
        // All that would change is that the file is gone: a part of it says no more than its name.
        let whole = |diff: Diff| if diff.truncated { Err(TOO_LONG) } else { Ok(diff) };
        let diff = text(&base).and_then(|before| diff(&before, "")).and_then(whole);
        Ok(FilePreview::new(place.path, Some(&base), None, diff))
    }

    pub fn command(&self, request: &RunCommand) -> Result<CommandPreview> {
        request.check()?;
        let programs = Programs::system();
        let program = programs.find(&request.program, self.files.root())?;
        let cwd = request.cwd.as_deref().unwrap_or(".");
        // By its handle, as everything in the root.
        let folder = self.files.directory(cwd)?;
        let by_handle = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let starts = files_behind(&request.program, &request.args, |word| programs.behind(word, &by_handle));
        let starts = starts.map_err(|refusal| Error::CommandDenied(refusal.message))?;
        let program = program.path.to_str().ok_or(Error::ProgramRefused)?.to_owned();
        let cwd = self.files.root().relative(cwd)?;
        Ok(CommandPreview { program, starts, args: request.args.clone(), cwd, environment: environment_names() })
    }
}

impl FilePreview {
    fn new(path: String, base: Option<&Base>, new_sha256: Option<Sha256>, diff: Result<Diff, &'static str>) -> Self {
        let base_sha256 = base.map(|base| base.sha256);
        let why_no_diff = diff.as_ref().err().copied();
        Self { path, exists: base.is_some(), base_sha256, new_sha256, diff: diff.ok(), why_no_diff }
    }
}

/// The directory would be made too.
fn in_new_directory(request: &WriteFile) -> FilePreview {
    let sha256 = Sha256::of(request.content.as_bytes());
    FilePreview::new(request.path.clone(), None, Some(sha256), diff("", &request.content))
}

/// The file's text, or why there is none to show.
fn text(base: &Base) -> Result<String, &'static str> {
    if u64::try_from(base.stat.st_size).unwrap_or(u64::MAX) > COMPARED_BYTES {
        return Err(TOO_LONG);
    }
    let file = base.rewound().map_err(|_| UNREADABLE)?;
    text_of(file).map_err(|error| if matches!(error, Error::InvalidArgument(_)) { NOT_TEXT } else { UNREADABLE })
}

const TOO_LONG: &str = domain::tool_calls::Preview::TOO_LONG;
const NOT_TEXT: &str = "not text";
const UNREADABLE: &str = "could not be read";

fn diff(before: &str, after: &str) -> Result<Diff, &'static str> {
    if before.len().max(after.len()) as u64 > COMPARED_BYTES {
        return Err(TOO_LONG);
    }
    let compared = TextDiff::configure().timeout(COMPARED_FOR).diff_lines(before, after);
    let mut text = compared.unified_diff().context_radius(3).to_string();
    let truncated = text.len() > SHOWN_LARGEST_BYTES;
    if truncated {
        let shown = text.floor_char_boundary(SHOWN_LARGEST_BYTES);
        let end = text[..shown].rfind('\n').map_or(shown, |at| at + 1);
        text.truncate(end);
    }
    Ok(Diff { text, truncated })
}
