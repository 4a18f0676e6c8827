//! A change of one file in two steps: prepared (a new file lies synced beside the old one, under a name of ours), then committed
//! (renamed over the name, and the directory synced). Between the two the caller journals it and keeps what will be replaced.
//!
//! A name is replaced, never an inode: what another hard link shares is not written. Mode and, where the system lets us, owner of
//! what is replaced are kept; extended attributes are not. A change that is dropped leaves nothing behind.

use crate::files::Changed;
use crate::hashes::{self, Hasher};
use crate::marks::Mark;
use crate::roots::Place;
use crate::times::rfc3339;
use crate::{Error, Result, Sha256};
use rustix::fs::{Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Seek, Write};

#[derive(Debug)]
pub struct Change {
    place: Place,
    base: Option<Base>,
    new: Option<New>,
}

/// What lay there when the change was prepared.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) file: File,
    pub(crate) sha256: Sha256,
    pub(crate) stat: Stat,
}

#[derive(Debug)]
struct New {
    /// The name of ours beside the target; none once it is renamed.
    name: Option<String>,
    sha256: Sha256,
    size_bytes: u64,
}

impl Base {
    /// Reads to the end, so that the hash is of what the handle gave.
    pub(crate) fn at(place: &Place) -> Result<Option<Self>> {
        let Some((mut file, stat)) = place.present()? else { return Ok(None) };
        let (sha256, _) = hashes::copy(&mut file, &mut std::io::sink())?;
        Ok(Some(Self { file, sha256, stat }))
    }

    /// The file from its beginning.
    pub(crate) fn rewound(&self) -> Result<&File> {
        (&self.file).rewind().map_err(Error::io("reading the file"))?;
        Ok(&self.file)
    }

    pub(crate) fn mode(&self) -> u32 {
        self.stat.st_mode & 0o777
    }
}

impl Change {
    /// Prepares that the place shall hold what the parts give, one after the other.
    pub(crate) fn to(place: Place, base: Option<Base>, parts: &mut [&mut dyn Read], mark: &Mark) -> Result<Self> {
        Self::with_mode(place, base, parts, None, mark)
    }

    /// The same for a file that comes back and had a mode: it gets that one, whatever the umask leaves.
    pub(crate) fn with_mode(
        place: Place,
        base: Option<Base>,
        parts: &mut [&mut dyn Read],
        mode: Option<u32>,
        mark: &Mark,
    ) -> Result<Self> {
        let new = New { name: Some(mark.name()?), sha256: Sha256::of(b""), size_bytes: 0 };
        let mut change = Self { place, base, new: Some(new) };
        change.fill(parts, mode)?;
        Ok(change)
    }

    pub(crate) fn removal(place: Place, base: Base) -> Self {
        Self { place, base: Some(base), new: None }
    }

    fn fill(&mut self, parts: &mut [&mut dyn Read], came_with: Option<u32>) -> Result<()> {
        let Some(new) = &mut self.new else { return Ok(()) };
        let Some(name) = new.name.as_deref() else { return Ok(()) };
        // A new file gets what the person's umask leaves of 0644; one that replaces another is nobody's until it has its mode.
        let mode = if self.base.is_some() { 0o600 } else { 0o644 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.place.directory, name, flags, Mode::from_raw_mode(mode));
        let mut file =
            Hashing { file: File::from(file.map_err(Error::io("making a new file"))?), hasher: Hasher::new() };
        for part in parts {
            new.size_bytes += hashes::copy(part, &mut file)?.1;
        }
        if let Some(base) = &self.base {
            keep_owner(&file.file, base)?;
        }
        // By the handle, never by the name: the name could be made a link to something outside.
        if let Some(mode) = came_with.or(self.base.as_ref().map(Base::mode)) {
            let mode = Mode::from_raw_mode(mode & 0o777);
            rustix::fs::fchmod(&file.file, mode).map_err(Error::io("keeping the file's mode"))?;
        }
        file.file.sync_all().map_err(Error::io("keeping the new file"))?;
        new.sha256 = file.hasher.end();
        Ok(())
    }

    /// Relative to the root; a link as the last name is already followed.
    pub fn path(&self) -> &str {
        &self.place.path
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Of the file as it was when the change was prepared; none if there was none.
    pub fn base_sha256(&self) -> Option<Sha256> {
        self.base.as_ref().map(|base| base.sha256)
    }

    /// Of the file as it will be; none if it will be gone.
    pub fn new_sha256(&self) -> Option<Sha256> {
        self.new.as_ref().map(|new| new.sha256)
    }

    pub(crate) fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }

    /// Makes it so, if the file is still what it was. An error after the rename means that nobody knows whether it survives a
    /// power failure; the hashes tell.
    pub fn commit(mut self, now_ms: i64) -> Result<Changed> {
        let present = Base::at(&self.place)?.map(|present| present.sha256);
        if present != self.base_sha256() {
            return Err(Error::StaleBase);
        }
        let changed = match &mut self.new {
            Some(new) => {
                if let Some(name) = new.name.as_deref() {
                    rename(&self.place, name, self.base.is_none())?;
                }
                new.name = None;
                Changed::written(new.size_bytes, rfc3339(now_ms), new.sha256)
            }
            None => match self.place.unlink(&self.place.name) {
                Ok(()) => Changed::removed(),
                Err(Errno::NOENT) => return Err(Error::StaleBase),
                Err(Errno::ISDIR) => return Err(Error::IsADirectory),
                Err(errno) => return Err(Error::io("deleting the file")(errno)),
            },
        };
        self.place.sync()?;
        Ok(changed)
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let name = self.new.as_mut().and_then(|new| new.name.take());
        if let Some(name) = name {
            // What cannot be removed now is removed at the next start.
            let _ = self.place.unlink(&name);
        }
    }
}

/// Puts our file under the name. Where nothing lay, nothing may have come meanwhile.
fn rename(place: &Place, from: &str, is_new: bool) -> Result<()> {
    let (directory, name) = (&place.directory, place.name.as_str());
    let flags = if is_new { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
    let renamed = match rustix::fs::renameat_with(directory, from, directory, name, flags) {
        // Some file systems cannot; that nothing lies there was looked at a moment ago.
        Err(Errno::INVAL) if is_new => rustix::fs::renameat(directory, from, directory, name),
        renamed => renamed,
    };
    match renamed {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Error::StaleBase),
        Err(Errno::ISDIR) => Err(Error::IsADirectory),
        Err(errno) => Err(Error::io("renaming the new file")(errno)),
    }
}

fn keep_owner(file: &File, base: &Base) -> Result<()> {
    let own = rustix::fs::fstat(file).map_err(Error::io("looking at the new file"))?;
    if (own.st_uid, own.st_gid) != (base.stat.st_uid, base.stat.st_gid) {
        let owner = rustix::fs::Uid::from_raw(base.stat.st_uid);
        let group = rustix::fs::Gid::from_raw(base.stat.st_gid);
        // Only root may give files away. For anybody else the file becomes theirs, as with any editor.
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    Ok(())
}

/// Writes and hashes what it writes.
struct Hashing {
    file: File,
    hasher: Hasher,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.take(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
