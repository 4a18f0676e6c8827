//! Backups: a folder with a consistent copy of the database and the secret that its tokens were signed with.

use crate::data_dir::{DATABASE, SECRET, sync_parent, write_owner_only};
use crate::{Ctx, Result};
use domain::Refusal;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use store::Store;

/// Makes a backup while the house goes on working. `target` must not exist; only the operator may choose it.
pub async fn create(ctx: &Ctx, target: Option<PathBuf>) -> Result<PathBuf> {
    ctx.caller.require_admin()?;
    if target.is_some() && !ctx.caller.is_operator() {
        return Err(Refusal::forbidden("where a backup goes is chosen on the house's own machine").into());
    }
    let stamp = ctx.now().to_string().replace([':', '.'], "-");
    let target = target.unwrap_or_else(|| ctx.house.data_path().join("backups").join(stamp));
    if target.exists() {
        return Err(Refusal::invalid_field("path", "the backup's folder exists already: choose another").into());
    }
    let partial = partial_beside(&target)?;
    prepare(&partial)?;
    ctx.house.store().copy_to(partial.join(DATABASE)).await?;
    let secret = ctx.house.data_path().join(SECRET);
    if secret.exists() {
        write_owner_only(&partial.join(SECRET), &fs::read(&secret).map_err(store::Error::File)?)
            .map_err(store::Error::File)?;
    }
    publish(&partial, &target).map_err(store::Error::File)?;
    let record = ctx.audit("backup.create", ctx.now());
    ctx.house.store().write(&crate::users::house_chain(), Record(record)).await?;
    Ok(target)
}

/// A folder of the same parent, so that the last step is one rename: a backup is there whole or not at all.
fn partial_beside(target: &Path) -> Result<PathBuf> {
    let name = target.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Refusal::invalid_field("path", "the backup needs a folder name"))?;
    Ok(target.with_file_name(format!(".{name}.partial")))
}

fn prepare(partial: &Path) -> Result<()> {
    if partial.exists() {
        fs::remove_dir_all(partial).map_err(store::Error::File)?;
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(partial).map_err(store::Error::File)?;
    Ok(())
}

fn publish(partial: &Path, target: &Path) -> io::Result<()> {
    fs::File::open(partial)?.sync_all()?;
    fs::rename(partial, target)?;
    sync_parent(target)
}

struct Record(domain::audit::AuditRecord);

impl store::Operation for Record {
    type Output = ();
    type Error = crate::Error;

    async fn run(&self, tx: &mut store::Tx) -> Result<()> {
        tx.scope(&crate::users::house_chain()).audit().append(self.0.clone());
        Ok(())
    }
}

/// Puts a backup into an empty data directory. Checked before anything is written.
pub fn restore(backup: &Path, data_dir: &Path) -> Result<()> {
    let refuse = |message: String| Err(Refusal::invalid_field("path", message).into());
    let database = backup.join(DATABASE);
    if !database.is_file() {
        return refuse(format!("{} is not a backup: it has no {DATABASE}", backup.display()));
    }
    let occupied = data_dir.exists() && fs::read_dir(data_dir).map_err(store::Error::File)?.next().is_some();
    if occupied {
        return refuse(format!("{} is not empty: restore into a new folder", data_dir.display()));
    }
    Store::check_copy(&database)?;
    let partial = partial_beside(data_dir)?;
    prepare(&partial)?;
    let copy = |name: &str| write_owner_only(&partial.join(name), &fs::read(backup.join(name))?);
    copy(DATABASE).map_err(store::Error::File)?;
    if backup.join(SECRET).is_file() {
        copy(SECRET).map_err(store::Error::File)?;
    }
    if data_dir.exists() {
        fs::remove_dir(data_dir).map_err(store::Error::File)?;
    }
    publish(&partial, data_dir).map_err(store::Error::File)?;
    Ok(())
}
