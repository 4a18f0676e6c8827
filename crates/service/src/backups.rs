//! Backups: a folder with a consistent copy of the database and the secret that its tokens were signed with.

use crate::data_dir::{
    BACKUPS, DATABASE, SECRET, note_elsewhere, parse_secret, storage, sync_parent, write_owner_only,
};
use crate::{Ctx, Result, idempotency};
use domain::Refusal;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use store::{Storage, Store};

/// Makes a backup while the house goes on working. `target` must not exist; only the operator may choose it.
pub async fn create(ctx: &Ctx, target: Option<PathBuf>) -> Result<PathBuf> {
    ctx.caller.require_admin()?;
    if target.is_some() && !ctx.caller.is_operator() {
        return Err(Refusal::forbidden("where a backup goes is chosen on the house's own machine").into());
    }
    // Kept, but cut off before it appeared: then it is made again.
    if let Some(made) = idempotency::recall::<PathBuf>(ctx).await?.filter(|made| made.exists()) {
        return Ok(made);
    }
    let unique = ctx.house.unique().simple().to_string();
    let target = target.unwrap_or_else(|| ctx.house.data_path().join(BACKUPS).join(&unique));
    // Also a link that leads nowhere counts as there.
    if target.symlink_metadata().is_ok() {
        return Err(Refusal::invalid_field("path", "the backup's folder exists already: choose another").into());
    }
    let partial = partial_beside(&target, &unique)?;
    prepare(&partial)?;
    let made = fill(ctx, &partial, &target).await;
    if made.is_err() {
        // A half backup would look like a whole one.
        let _ = fs::remove_dir_all(&partial);
    }
    made
}

async fn fill(ctx: &Ctx, partial: &Path, target: &Path) -> Result<PathBuf> {
    ctx.house.store().copy_to(partial.join(DATABASE)).await?;
    let secret = ctx.house.data_path().join(SECRET);
    if secret.exists() {
        let content = fs::read(&secret).map_err(store::Error::File)?;
        write_owner_only(&partial.join(SECRET), &content).map_err(store::Error::File)?;
    }
    // No record, no backup: it is written before the backup appears under its name.
    let record = Record { record: ctx.audit("backup.create", ctx.now()), target: target.to_owned() };
    let recorded = idempotency::write(ctx, &crate::users::house_chain(), record).await?;
    if recorded != target {
        // A twin was first: one backup is enough.
        fs::remove_dir_all(partial).map_err(store::Error::File)?;
        return Ok(recorded);
    }
    publish(partial, target).map_err(store::Error::File)?;
    Ok(target.to_owned())
}

/// A folder of the same parent, so that the last step is one rename: a backup is there whole or not at all.
fn partial_beside(target: &Path, unique: &str) -> Result<PathBuf> {
    let name = target.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Refusal::invalid_field("path", "this path has no folder name"))?;
    Ok(target.with_file_name(format!(".{name}.{unique}.partial")))
}

/// Removes backups that were cut off: each would be as large as the house, and nobody would see it. To be called by
/// whoever has just entered the data directory.
pub(crate) fn clear_leftovers(data_dir: &Path) {
    let Ok(entries) = fs::read_dir(data_dir.join(BACKUPS)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".partial") {
            // One that cannot be removed is no reason not to start.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn prepare(partial: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(partial).map_err(|error| {
        let parent = partial.parent().unwrap_or(partial).display();
        Refusal::invalid_field("path", format!("a folder cannot be made in {parent}: {}", error.kind()))
    })?;
    Ok(())
}

fn copy(from: &Path, to: &Path, name: &str) -> io::Result<()> {
    let target = to.join(name);
    fs::copy(from.join(name), &target)?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600))?;
    fs::File::open(&target)?.sync_all()
}

fn publish(partial: &Path, target: &Path) -> io::Result<()> {
    fs::File::open(partial)?.sync_all()?;
    fs::rename(partial, target)?;
    sync_parent(target)
}

struct Record {
    record: domain::audit::AuditRecord,
    target: PathBuf,
}

impl store::Operation for Record {
    type Output = PathBuf;
    type Error = crate::Error;

    async fn run(&self, tx: &mut store::Tx) -> Result<PathBuf> {
        tx.scope(&crate::users::house_chain()).audit().append(self.record.clone());
        Ok(self.target.clone())
    }
}

/// Puts a backup into an empty data directory and, if `storage_url` names one, an empty database. Checked before
/// anything is written.
pub async fn restore(backup: &Path, data_dir: &Path, storage_url: Option<&str>) -> Result<()> {
    let refuse = |message: String| Err(Refusal::invalid_field("path", message).into());
    let database = backup.join(DATABASE);
    if !database.is_file() {
        return refuse(format!("{} is not a backup: it has no {DATABASE}", backup.display()));
    }
    let in_place = data_dir.exists();
    if in_place && is_occupied(data_dir).map_err(store::Error::File)? {
        return refuse(format!("{} is not empty: restore into a new folder", data_dir.display()));
    }
    Store::check_copy(&database)?;
    if backup.join(SECRET).is_file() {
        let text = fs::read_to_string(backup.join(SECRET)).map_err(store::Error::File)?;
        parse_secret(SECRET, text.trim_end())?;
    }
    // A folder that is there may be where a disk is mounted: it is filled, not replaced.
    let partial = if in_place { data_dir.join(RESTORING) } else { partial_beside(data_dir, "restore")? };
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(store::Error::File)?;
    }
    let filled = fill_restored(backup, &partial, storage(data_dir, storage_url)?).await;
    let done = filled.and_then(|()| {
        let moved = if in_place { move_up(&partial, data_dir) } else { publish(&partial, data_dir) };
        moved.map_err(|error| store::Error::File(error).into())
    });
    if done.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    done
}

const RESTORING: &str = ".restore.partial";

/// What a restore that was cut off left behind does not count.
fn is_occupied(data_dir: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(data_dir)?.flatten().any(|entry| entry.file_name() != RESTORING))
}

/// The files of the new house and, last of all, its rows if they are elsewhere.
async fn fill_restored(backup: &Path, partial: &Path, storage: Storage) -> Result<()> {
    prepare(partial)?;
    copy(backup, partial, DATABASE).map_err(store::Error::File)?;
    if backup.join(SECRET).is_file() {
        copy(backup, partial, SECRET).map_err(store::Error::File)?;
    }
    let Storage::Postgres { url, .. } = storage else { return Ok(()) };
    note_elsewhere(partial).map_err(store::Error::File)?;
    let database = partial.join(DATABASE);
    Store::upgrade_copy(&database)?;
    Store::fill_postgres(&url, &database).await?;
    // The rows are elsewhere now; what is left of the copy would only be taken for them.
    for name in [DATABASE.to_owned(), format!("{DATABASE}-wal"), format!("{DATABASE}-shm")] {
        let _ = fs::remove_file(partial.join(name));
    }
    let _ = fs::remove_dir_all(partial.join(BACKUPS));
    Ok(())
}

/// Moves what is in `partial` into the folder around it, the database last.
fn move_up(partial: &Path, data_dir: &Path) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(partial)?.flatten().map(|entry| entry.file_name()).collect();
    names.sort_by_key(|name| name == DATABASE);
    for name in names {
        fs::rename(partial.join(&name), data_dir.join(&name))?;
    }
    fs::remove_dir(partial)?;
    fs::File::open(data_dir)?.sync_all()
}
