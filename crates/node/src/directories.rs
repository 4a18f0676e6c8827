//! The node's own directory: for its user alone, held by one process at a time. It must not lie inside the root.

use crate::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct StateDirectory {
    path: PathBuf,
    _lock: Arc<File>,
}

impl StateDirectory {
    /// Makes it if need be, and takes it for this process.
    pub fn open(path: &Path) -> Result<Self> {
        private_directory(path)?;
        let path = path.canonicalize().map_err(Error::io("opening the state directory"))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(path.join("lock")).map_err(Error::io("opening the lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path, _lock: Arc::new(lock) }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy),
            Err(errno) => Err(Error::io("locking the state directory")(errno)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory inside, of the same kind.
    pub(crate) fn inside(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        private_directory(&path)?;
        Ok(path)
    }

    /// What a file of it holds, if it is there.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        read(&self.path.join(name))
    }

    /// Puts a file there, whole and on disk, for its owner alone.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        replace(&self.path.join(name), bytes)
    }
}

/// 0700, also if it was there with more.
pub(crate) fn private_directory(path: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(Error::io("making a private directory"))?;
    let permissions = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path, permissions).map_err(Error::io("making a directory private"))
}

pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("reading the state directory")(error)),
    }
}

/// A new private file. What lay there is replaced only by `replace`.
pub(crate) fn create(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    options.open(path).map_err(Error::io("making a file in the state directory"))
}

/// Old or new, never in between, also after a power failure.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    prepare(path, bytes)?;
    put_in_place(path)
}

/// What is to take a file's place, whole and on disk beside it. Nobody reads it there, so a crash leaves what was.
pub(crate) fn prepare(path: &Path, bytes: &[u8]) -> Result<File> {
    let mut file = create(&beside(path))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // On a full disk half of it would only be in the way of what comes next.
        let _ = remove(&beside(path));
        return Err(Error::io("writing the state directory")(error));
    }
    Ok(file)
}

/// What was prepared takes its place. After an error nobody knows which of the two a crash would leave.
pub(crate) fn put_in_place(path: &Path) -> Result<()> {
    std::fs::rename(beside(path), path).map_err(Error::io("writing the state directory"))?;
    path.parent().map_or(Ok(()), sync_directory)
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension("new")
}

pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(Error::io("keeping a change of a directory"))
}

/// Missing is as good as removed.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("removing a file")(error)),
        _ => Ok(()),
    }
}
