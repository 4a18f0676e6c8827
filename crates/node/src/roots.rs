//! The root: one directory, opened once. Every path is resolved by the kernel below that handle, in the call that uses it.
//!
//! Links that stay inside are followed. Links that leave, absolute links (wherever they lead) and magic links are refused by
//! the kernel. What is opened is a regular file or a directory; to look at anything else has no effect on it.
//! Not guarded against: somebody who moves a directory out of the root while we hold it. They could write there anyway.

use crate::{Error, Result};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

const LONGEST_PATH_BYTES: usize = 4096;
/// The kernel asks to try again while directories are being renamed; under a storm of renames that may happen often.
const TRIES: usize = 10_000;
/// As many links as the kernel follows.
const LINKS: usize = 40;

#[derive(Debug, Clone)]
pub struct Root {
    handle: Arc<OwnedFd>,
    path: PathBuf,
}

/// A name in an open directory: what a change acts on. The name itself is not a link, or was not when it was looked at.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) directory: OwnedFd,
    pub(crate) name: String,
    /// Relative to the root, with links of the last name followed; fit to be kept and resolved again.
    pub(crate) path: String,
}

impl Root {
    /// Opens the directory and makes sure that the kernel can confine paths to it.
    pub fn open(path: &Path) -> Result<Self> {
        let path = path.canonicalize().map_err(Error::io("opening the root"))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, Mode::empty()).map_err(Error::io("opening the root"))?;
        match openat2(&handle, ".", flags, ResolveFlags::empty()) {
            Ok(_) => Ok(Self { handle: Arc::new(handle), path }),
            Err(Errno::NOSYS | Errno::PERM) => Err(Error::KernelTooOld("it has no openat2, or forbids it")),
            Err(errno) => Err(Error::io("opening the root")(errno)),
        }
    }

    /// Where the root was when it was opened. For people; nothing is resolved through it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Whether a directory is the root or lies below it: what the node keeps for itself must not.
    pub fn encloses(&self, path: &Path) -> Result<bool> {
        let path = path.canonicalize().map_err(Error::io("looking at a directory"))?;
        Ok(self.below(&path)?.is_some())
    }

    /// Refuses a state directory inside the root, also one that is not there yet: what the node relies on must not be within
    /// reach of what it does.
    pub fn require_outside(&self, state: &Path) -> Result<()> {
        if self.path.parent().is_none() {
            return Err(Error::InvalidArgument("the root is the whole machine: take a folder as --root"));
        }
        let state = std::path::absolute(state).map_err(Error::io("looking at the state directory"))?;
        let existing = state.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        if self.encloses(existing)? {
            return Err(Error::InvalidArgument("the state directory lies inside the root: take another --state-dir"));
        }
        Ok(())
    }

    /// The form of a path, as far as it can be judged without opening anything, relative to the root.
    pub(crate) fn relative(&self, given: &str) -> Result<String> {
        if given.is_empty() {
            return Err(Error::InvalidPath("the path is empty"));
        }
        if given.len() > LONGEST_PATH_BYTES {
            return Err(Error::InvalidPath("the path is longer than 4096 bytes"));
        }
        if given.contains('\0') {
            return Err(Error::InvalidPath("the path contains a NUL"));
        }
        if !given.starts_with('/') {
            return Ok(given.to_owned());
        }
        let below = self.below(Path::new(given))?.ok_or(Error::OutsideRoot)?;
        let below = below.to_str().ok_or(Error::InvalidPath("the path is not UTF-8"))?;
        Ok(if below.is_empty() { ".".to_owned() } else { below.to_owned() })
    }

    /// What remains of an absolute path behind the first directory on it that is the root itself. Directories are compared,
    /// not their names: `/work-evil` is another directory than `/work`, whatever it is called.
    fn below(&self, absolute: &Path) -> Result<Option<PathBuf>> {
        let own = rustix::fs::fstat(&*self.handle).map_err(Error::io("looking at the root"))?;
        let mut above = PathBuf::from("/");
        let mut components = absolute.components();
        loop {
            match rustix::fs::stat(&above) {
                Ok(stat) if (stat.st_dev, stat.st_ino) == (own.st_dev, own.st_ino) => {
                    return Ok(Some(components.as_path().to_owned()));
                }
                Ok(_) => {}
                Err(_) => return Ok(None),
            }
            match components.next() {
                Some(Component::RootDir) => {}
                Some(component) => above.push(component),
                None => return Ok(None),
            }
        }
    }

    /// Where a handle of something inside really is, behind all links, relative to the root.
    pub(crate) fn name_of(&self, handle: impl AsFd) -> Result<String> {
        let link = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
        let path = std::fs::read_link(link).map_err(Error::io("looking where a path leads"))?;
        let below = self.below(&path)?.ok_or(Error::OutsideRoot)?;
        below.to_str().map(str::to_owned).ok_or(Error::InvalidPath("the path is not UTF-8"))
    }

    /// A handle that only names what lies there: opening it has no effect, not even on a FIFO or a device.
    pub(crate) fn look(&self, path: &str) -> Result<(OwnedFd, Stat)> {
        let path = self.relative(path)?;
        let handle = self.open_below(&path, OFlags::PATH | OFlags::CLOEXEC)?;
        let stat = rustix::fs::fstat(&handle).map_err(Error::io("looking at a file"))?;
        Ok((handle, stat))
    }

    /// A regular file, open for reading.
    pub(crate) fn file(&self, path: &str) -> Result<File> {
        let (handle, stat) = self.look(path)?;
        readable(&handle, &stat)
    }

    /// A directory, open for listing and as a base for names.
    pub(crate) fn directory(&self, path: &str) -> Result<OwnedFd> {
        let path = self.relative(path)?;
        self.open_below(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    /// The directory and name that a path means. A link as the last name is followed for as long as it stays inside;
    /// what it leads to need not exist.
    pub(crate) fn place(&self, path: &str, create_directories: bool) -> Result<Place> {
        let mut path = self.relative(path)?;
        for _ in 0..=LINKS {
            let (parent, name) = split(&path)?;
            if create_directories {
                self.create_directories(parent)?;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory = self.open_below(parent, flags)?;
            match rustix::fs::readlinkat(&directory, name, Vec::new()) {
                Ok(target) => {
                    let target = target.into_string().map_err(|_| Error::LinkRefused)?;
                    if target.starts_with('/') {
                        return Err(Error::OutsideRoot);
                    }
                    path = format!("{parent}/{target}");
                }
                // Not a link (EINVAL), or nothing there yet.
                Err(Errno::INVAL | Errno::NOENT) => {
                    return Ok(Place { directory, name: name.to_owned(), path: path.clone() });
                }
                Err(errno) => return Err(refusal(errno)),
            }
            if path.len() > LONGEST_PATH_BYTES {
                return Err(Error::LinkRefused);
            }
        }
        Err(Error::LinkRefused)
    }

    /// The directory and name as they are written: a link as the last name stays what it is.
    pub(crate) fn place_itself(&self, path: &str) -> Result<Place> {
        let path = self.relative(path)?;
        let (parent, name) = split(&path)?;
        let directory = self.open_below(parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        Ok(Place { directory, name: name.to_owned(), path: path.clone() })
    }

    /// Makes what is missing, one directory at a time, each inside the handle of the one before.
    fn create_directories(&self, path: &str) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match self.open_below(path, flags) {
            Err(Error::NotFound) if !steps_back(path) => {}
            opened => return opened.map(drop),
        }
        let mut reached = ".".to_owned();
        let mut handle = self.open_below(&reached, flags)?;
        for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
            reached = format!("{reached}/{name}");
            handle = match self.open_below(&reached, flags) {
                Err(Error::NotFound) => {
                    match rustix::fs::mkdirat(&handle, name, Mode::from_raw_mode(0o755)) {
                        Ok(()) => rustix::fs::fsync(&handle).map_err(Error::io("keeping a new directory"))?,
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(Error::io("making a directory")(errno)),
                    }
                    self.open_below(&reached, flags)?
                }
                opened => opened?,
            };
        }
        Ok(())
    }

    fn open_below(&self, relative: &str, flags: OFlags) -> Result<OwnedFd> {
        openat2(&*self.handle, relative, flags, ResolveFlags::empty()).map_err(refusal)
    }
}

impl Place {
    /// The regular file that lies at the place now, or nothing. A link that appeared meanwhile is refused, not followed.
    pub(crate) fn present(&self) -> Result<Option<(File, Stat)>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(&self.directory, self.name.as_str(), flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(refusal(errno)),
        };
        let stat = rustix::fs::fstat(&handle).map_err(Error::io("looking at a file"))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Error::LinkRefused);
        }
        Ok(Some((readable(&handle, &stat)?, stat)))
    }

    pub(crate) fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.directory).map_err(Error::io("keeping a change of a directory"))
    }

    pub(crate) fn unlink(&self, name: &str) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(&self.directory, name, AtFlags::empty())
    }
}

/// Opens below a handle and nowhere else. The one place where a path from outside reaches the kernel.
pub(crate) fn openat2(handle: impl AsFd, path: &str, flags: OFlags, besides: ResolveFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | besides;
    for _ in 0..TRIES {
        match rustix::fs::openat2(&handle, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            answer => return answer,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens what a handle already names, by the handle: nothing can be put in its place between the look and the opening.
fn readable(handle: &OwnedFd, stat: &Stat) -> Result<File> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Error::IsADirectory),
        _ => return Err(Error::SpecialFile),
    }
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(Error::io("opening a file"))?;
    Ok(File::from(file))
}

/// The directory part and the last name, which must be a real one.
fn split(path: &str) -> Result<(&str, &str)> {
    let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
    match name {
        "" | "." | ".." => Err(Error::IsADirectory),
        _ if parent.is_empty() => Err(Error::OutsideRoot),
        _ => Ok((parent, name)),
    }
}

/// Whether a path goes up again. Directories that are missing are not made on such a way.
pub(crate) fn steps_back(path: &str) -> bool {
    path.split('/').any(|name| name == "..")
}

/// What the kernel's answer to a path means here.
fn refusal(errno: Errno) -> Error {
    match errno {
        Errno::XDEV => Error::OutsideRoot,
        Errno::LOOP => Error::LinkRefused,
        Errno::NOENT => Error::NotFound,
        Errno::NOTDIR => Error::NotADirectory,
        Errno::ISDIR => Error::IsADirectory,
        Errno::NAMETOOLONG => Error::InvalidPath("a name in the path is too long"),
        Errno::NOSYS => Error::KernelTooOld("it has no openat2"),
        errno => Error::io("opening a path")(errno),
    }
}
