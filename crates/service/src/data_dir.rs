//! The data directory: who may enter, who is in it, and the secret in it.

use crate::surroundings::Surroundings;
use crate::{Error, Result};
use data_encoding::HEXLOWER;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use store::Storage;

/// A data directory that this process, and no other, has open.
pub struct DataDir {
    path: PathBuf,
    /// What others could reach until now.
    exposed: Vec<String>,
    /// Held, not read. Given back when the house closes, whoever may still have a handle of it.
    lock: Mutex<Option<File>>,
}

pub const DATABASE: &str = "longhouse.db";
pub const SECRET: &str = "secret.key";
pub const SOCKET: &str = "control.sock";
pub(crate) const BACKUPS: &str = "backups";
/// There if the rows are in a database elsewhere.
const ELSEWHERE: &str = "rows-elsewhere";
/// Which server this is among those of one database.
const HOLDER: &str = "holder";

impl DataDir {
    /// Enters the directory, making it (owner only) if it is not there.
    pub fn enter(path: &Path) -> Result<Self> {
        let in_use = || Error::from(store::Error::InUse(path.to_owned()));
        if !path.exists() {
            let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path))?;
            // A power cut must not take the folder away with everything that was synced in it.
            missing.into_iter().try_for_each(sync_parent).map_err(at(path))?;
        }
        if !path.is_dir() {
            return Err(at(path)(io::Error::new(io::ErrorKind::NotADirectory, "is not a directory")).into());
        }
        // Any other folder is not ours to change.
        let empty = fs::read_dir(path).map_err(at(path))?.next().is_none();
        if !empty && !is_house(path) {
            let message = "holds other files and no Longhouse: name an empty folder, or one that does not exist";
            return Err(at(path)(io::Error::new(io::ErrorKind::AlreadyExists, message)).into());
        }
        let mut exposed = Vec::new();
        tighten(path, 0o700, &mut exposed).map_err(at(path))?;
        for file in [SECRET, DATABASE, HOLDER].map(|name| path.join(name)) {
            if file.is_file() {
                tighten(&file, 0o600, &mut exposed).map_err(at(&file))?;
            }
        }
        let lock_path = path.join("lock");
        let options = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock_path);
        let lock = options.map_err(at(&lock_path))?;
        lock.try_lock().map_err(|_| in_use())?;
        Ok(Self { path: path.to_owned(), exposed, lock: Mutex::new(Some(lock)) })
    }

    /// Lets others in.
    pub(crate) fn leave(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What others could reach when it was entered. It is closed to them now, but may have been read.
    pub fn exposed(&self) -> &[String] {
        &self.exposed
    }

    /// Where the rows are: in the directory, or in a database elsewhere. A house does not change its engine by
    /// accident: that would look like a house in which everything is gone.
    pub fn storage(&self, url: Option<&str>) -> Result<Storage> {
        let storage = storage(&self.path, url)?;
        let refuse = |why: &str| {
            let message = format!("{}: {why}", self.path.display());
            Err(store::Error::File(io::Error::new(io::ErrorKind::InvalidInput, message)).into())
        };
        match &storage {
            Storage::Sqlite(_) if self.path.join(ELSEWHERE).exists() => refuse(
                "this house keeps its rows in PostgreSQL: set LONGHOUSE_STORAGE_URL, or give the --config that names it",
            ),
            Storage::Postgres { .. } if self.path.join(DATABASE).exists() => refuse(
                "this house keeps its rows in a file: to move it, make a backup and restore that with LONGHOUSE_STORAGE_URL",
            ),
            _ => Ok(storage),
        }
    }

    /// Whether rows of this house have been found elsewhere before.
    pub(crate) fn has_rows_elsewhere(&self) -> bool {
        self.path.join(ELSEWHERE).exists()
    }

    /// To be called when the rows were found where `storage` says.
    pub(crate) fn note_storage(&self, storage: &Storage) -> Result<()> {
        if matches!(storage, Storage::Postgres { .. }) {
            note_elsewhere(&self.path).map_err(at(&self.path))?;
        }
        Ok(())
    }

    /// The signing secret: the given one, else the directory's, made on first use.
    pub fn secret(&self, given: Option<&str>, surroundings: &dyn Surroundings) -> Result<[u8; 32]> {
        if let Some(text) = given {
            return parse_secret("LONGHOUSE_SECRET", text);
        }
        let path = self.path.join(SECRET);
        match fs::read_to_string(&path) {
            Ok(text) => parse_secret(&path.display().to_string(), text.trim_end()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let secret = surroundings.random();
                write_owner_only(&path, HEXLOWER.encode(&secret).as_bytes()).map_err(at(&path))?;
                Ok(secret)
            }
            Err(error) => Err(at(&path)(error).into()),
        }
    }
}

impl DataDir {
    /// The name under which this server holds what it has begun, made on first use. It stays the same from start to
    /// start: what an earlier process of this directory left behind is known by it.
    pub(crate) fn holder(&self, surroundings: &dyn Surroundings) -> Result<String> {
        let path = self.path.join(HOLDER);
        match fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() && text.len() <= 64 => Ok(text.trim().to_owned()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&path)(error).into()),
            _ => {
                let holder = HEXLOWER.encode(&surroundings.random()[..16]);
                write_owner_only(&path, holder.as_bytes()).map_err(at(&path))?;
                Ok(holder)
            }
        }
    }
}

/// Notes that the rows of this house are not in its directory.
pub(crate) fn note_elsewhere(path: &Path) -> io::Result<()> {
    let note = path.join(ELSEWHERE);
    if note.exists() {
        Ok(())
    } else {
        write_owner_only(&note, b"The rows are in PostgreSQL: LONGHOUSE_STORAGE_URL.\n")
    }
}

pub(crate) fn storage(data_dir: &Path, url: Option<&str>) -> Result<Storage> {
    match url {
        None | Some("" | "sqlite") => Ok(Storage::Sqlite(data_dir.join(DATABASE))),
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(Storage::Postgres { url: url.to_owned(), copies: data_dir.join(BACKUPS) })
        }
        Some(_) => Err(store::Error::BadStorageUrl("LONGHOUSE_STORAGE_URL").into()),
    }
}

/// Whether a house was built in this directory, as far as its files tell.
pub fn is_house(path: &Path) -> bool {
    [DATABASE, SECRET, ELSEWHERE, "lock"].iter().any(|name| path.join(name).exists())
}

/// Takes rights away from others, noting that they had some.
fn tighten(path: &Path, mode: u32, exposed: &mut Vec<String>) -> io::Result<()> {
    let found = fs::metadata(path)?.permissions().mode() & 0o777;
    if found & 0o077 != 0 {
        // An empty folder has nothing to show.
        if path.is_file() || fs::read_dir(path)?.next().is_some() {
            let note = format!("{} had mode {found:04o}", path.display());
            tracing::warn!("{note}: others could reach it; it is closed now, consider a new secret");
            exposed.push(note);
        }
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The way to the control socket of a data directory. A socket's path must be short; a long one is gone around
/// through an open handle of the directory, which has to stay open as long as the path is used.
pub struct SocketPath {
    path: PathBuf,
    _folder: Option<File>,
}

const SOCKET_PATH_LONGEST: usize = 100;

impl SocketPath {
    pub fn of(data_dir: &Path) -> io::Result<Self> {
        let path = data_dir.join(SOCKET);
        if path.as_os_str().len() <= SOCKET_PATH_LONGEST {
            return Ok(Self { path, _folder: None });
        }
        let folder = File::open(data_dir)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()));
        Ok(Self { path, _folder: Some(folder) })
    }

    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

/// Names the file in an I/O error.
fn at(path: &Path) -> impl Fn(io::Error) -> store::Error + '_ {
    move |error| store::Error::File(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Writes a new file whole, on disk, readable by its owner only.
pub(crate) fn write_owner_only(path: &Path, content: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&partial)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&partial, path)?;
    sync_parent(path)
}

pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// A secret is 64 hex digits that nobody could guess: not one repeated pattern, not a sequence.
pub(crate) fn parse_secret(source: &str, text: &str) -> Result<[u8; 32]> {
    let refuse = |why: &str| {
        let message = format!("the secret in {source} is refused: {why}. Make one with: openssl rand -hex 32");
        Err(store::Error::File(io::Error::new(io::ErrorKind::InvalidData, message)).into())
    };
    let bytes = HEXLOWER.decode(text.to_ascii_lowercase().as_bytes()).ok();
    let Some(secret) = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) else {
        return refuse("it must have exactly 64 hex digits");
    };
    if is_guessable(&secret) { refuse("it is repeated or well known") } else { Ok(secret) }
}

fn is_guessable(secret: &[u8; 32]) -> bool {
    let repeats = (1..=16).any(|period| secret.iter().zip(&secret[period..]).all(|(a, b)| a == b));
    let step = secret[1].wrapping_sub(secret[0]);
    let sequence = secret.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
    let distinct = secret.iter().collect::<std::collections::HashSet<_>>().len();
    repeats || sequence || distinct < 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_secrets_are_refused_with_the_way_out() {
        let sequence: String = (0..32).map(|n| format!("{n:02x}")).collect();
        let weak = [
            "",
            "abc",
            &"0".repeat(64),
            &"deadbeef".repeat(8),
            &"0123456789abcdef".repeat(4),
            &sequence,
            &"g".repeat(64),
        ];
        for text in weak {
            let error = parse_secret("LONGHOUSE_SECRET", text).unwrap_err();
            assert!(error.to_string().contains("openssl rand"), "{text}");
        }
        let good = HEXLOWER.encode(&crate::surroundings::Machine::default().random());
        assert!(parse_secret("LONGHOUSE_SECRET", &good).is_ok());
    }

    #[test]
    fn one_process_at_a_time_and_owner_only_modes() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let dir = DataDir::enter(&path).unwrap();
        assert!(DataDir::enter(&path).is_err());
        let first = dir.secret(None, &crate::surroundings::Machine::default()).unwrap();
        assert_eq!(dir.secret(None, &crate::surroundings::Machine::default()).unwrap(), first);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let holder = dir.holder(&crate::surroundings::Machine::default()).unwrap();
        assert_eq!(dir.holder(&crate::surroundings::Machine::default()).unwrap(), holder);
        assert_eq!((mode(&path), mode(&path.join(SECRET)), mode(&path.join(HOLDER))), (0o700, 0o600, 0o600));
        drop(dir);
        assert!(DataDir::enter(&path).is_ok());
    }
}
