//! Consistent copies of the database file, made while others write.

use crate::{Error, Result, migrations, sqlite};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Copies the database of `connection` into the new file `target` and puts it on disk before returning.
pub(crate) fn copy(connection: &rusqlite::Connection, target: &Path) -> Result<()> {
    if target.exists() {
        let message = format!("{} exists already", target.display());
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, message).into());
    }
    let text = target
        .to_str()
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path of a copy must be UTF-8"))?;
    connection.execute("VACUUM INTO ?1", [text])?;
    sqlite::set_owner_only(target)?;
    File::open(target)?.sync_all()?;
    if let Some(parent) = target.parent() {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// Puts a copy of an older database aside, in `backups/` beside it.
pub(crate) fn copy_aside(connection: &rusqlite::Connection, path: &Path, version: i64) -> Result<PathBuf> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let folder = parent.join("backups");
    std::fs::create_dir_all(&folder)?;
    for number in 1..10_000 {
        let target = folder.join(format!("before-upgrade-from-schema-{version}-{number}.db"));
        if !target.exists() {
            copy(connection, &target)?;
            return Ok(target);
        }
    }
    Err(Error::Unavailable("too many old copies in backups/".into()))
}

/// Whether the file is a whole database: used on copies before they are trusted.
pub(crate) fn check(path: &Path) -> Result<()> {
    let connection = sqlite::open_reader(path)?;
    sqlite::integrity_check(&connection, path)?;
    if migrations::is_ours(&connection)? {
        return Ok(());
    }
    Err(Error::ForeignFile { path: path.to_owned(), reason: "it holds no house".into() })
}
