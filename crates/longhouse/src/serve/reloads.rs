//! The configuration file of a running server: put in force at the start, read again when it changes or on SIGHUP. A
//! file that is refused changes nothing, and what was accepted before stays.

use super::say_refused;
use super::watching::Watching;
use crate::cli::Place;
use crate::config::{self, KnownPeople, Loaded, ProcessSettings, Rejected, counted, lines};
use crate::settings;
use anyhow::{Context, Result, bail};
use service::{House, rules, users};
use std::path::PathBuf;
use tokio::signal::unix::Signal;

/// It was said why.
pub(super) struct Refused;

/// The file that this process reads, if there is one, and what of it is in force.
pub(super) struct ConfigFile {
    path: Option<PathBuf>,
    loaded: Option<Loaded>,
    watching: Option<Watching>,
    /// Whether the newest state of the file was refused.
    refused: bool,
    /// Whether what an earlier file opened may be shut.
    forgetting: bool,
}

impl ConfigFile {
    /// Reads the file before anything is opened. Who is in the house is not known yet, unless it is still to be built.
    pub(super) fn find(place: &Place, without: bool) -> Result<Self, Refused> {
        let Some(path) = settings::config_file(place).filter(|_| !without) else {
            return Ok(Self { path: None, loaded: None, watching: None, refused: false, forgetting: without });
        };
        let is_built = service::data_dir::is_house(&place.data_dir);
        let known = if is_built { KnownPeople::Anybody } else { settings::people_of_new_house() };
        let loaded = config::load(&path, &known).map_err(|rejected| {
            say_refused(&rejected.problems);
            Refused
        })?;
        Ok(Self { path: Some(path), loaded: Some(loaded), watching: None, refused: false, forgetting: false })
    }

    pub(super) fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }

    pub(super) fn process(&self) -> ProcessSettings {
        self.loaded.as_ref().map(|loaded| loaded.process.clone()).unwrap_or_default()
    }

    /// Puts what the file says in force; `false` if it is refused, which was said then.
    pub(super) async fn put_in_force(&mut self, house: &House) -> Result<bool> {
        let Some(path) = self.path.clone() else {
            return self.go_without(house).await.map(|()| true);
        };
        // Before it is read: a change in between is then seen.
        self.watch();
        let loaded = match read(house, path).await? {
            Ok(loaded) => loaded,
            Err(rejected) => {
                say_refused(&rejected.problems);
                return Ok(false);
            }
        };
        let origin = origin(&loaded);
        rules::apply(house, loaded.declaration.clone(), &origin).await.context("the configuration is refused")?;
        accept(house, &loaded);
        self.loaded = Some(loaded);
        self.watch();
        Ok(true)
    }

    /// Started in another folder, say, a house must not shut its workspaces because their file is not there.
    async fn go_without(&self, house: &House) -> Result<()> {
        match rules::accepted_from(house).await? {
            Some(origin) if !self.forgetting => bail!(
                "the rules of this house come from {origin}, and no configuration file was found here: give it with \
                 --config, or shut what it opened with --without-config"
            ),
            Some(_) => Ok(rules::forget(house).await.map(drop)?),
            None => Ok(()),
        }
    }

    /// Reads the file again whenever there is a reason to. Never ends.
    pub(super) async fn follow(mut self, house: House, mut hangup: Signal) {
        loop {
            tokio::select! {
                _ = hangup.recv() => tracing::info!("SIGHUP: reading the configuration again"),
                () = changed(self.watching.as_ref()) => {}
            }
            match self.path.clone() {
                Some(path) => self.reload(&house, path).await,
                None => tracing::info!("this server was started without a configuration file"),
            }
            // Folders that were replaced are new ones.
            self.watch();
        }
    }

    async fn reload(&mut self, house: &House, path: PathBuf) {
        let shown = path.display().to_string();
        match read(house, path).await {
            Err(error) => self.refuse(house, vec![format!("{shown}: {}", crate::output::chain(&error))]),
            Ok(Err(rejected)) => self.refuse(house, lines(&rejected.problems)),
            Ok(Ok(loaded)) => {
                let is_new = self.loaded.as_ref().is_none_or(|known| known.digest != loaded.digest);
                if is_new || self.refused {
                    self.apply(house, loaded).await;
                }
            }
        }
    }

    async fn apply(&mut self, house: &House, loaded: Loaded) {
        let origin = origin(&loaded);
        if let Err(error) = rules::apply(house, loaded.declaration.clone(), &origin).await {
            return self.refuse(house, vec![format!("{origin}: {error}")]);
        }
        self.refused = false;
        accept(house, &loaded);
        let later = loaded.process.differences(&self.process());
        if !later.is_empty() {
            tracing::warn!("{} changed: that takes effect at the next start", later.join(", "));
        }
        tracing::info!("{origin}: the new configuration is in force");
        // What the process was started with stays what is compared with.
        let process = self.process();
        self.loaded = Some(Loaded { process, ..loaded });
    }

    fn refuse(&mut self, house: &House, problems: Vec<String>) {
        for problem in &problems {
            tracing::error!("{problem}");
        }
        tracing::error!("the configuration stays as it was: {}", counted(problems.len(), "problem"));
        rules::note_refused(house, problems);
        self.refused = true;
    }

    fn watch(&mut self) {
        let Some(path) = &self.path else { return };
        if self.watching.is_none() {
            self.watching = Watching::begin()
                .inspect_err(|error| tracing::warn!("changes of the configuration are only seen on SIGHUP: {error}"))
                .ok();
        }
        let skills = self.loaded.as_ref().map(|loaded| loaded.skills_dir.clone());
        if let Some(watching) = &mut self.watching {
            watching.look_at(path, skills.as_deref());
        }
    }
}

/// Reads and checks the file with those who are in the house.
async fn read(house: &House, path: PathBuf) -> Result<Result<Loaded, Rejected>> {
    let known = KnownPeople::These(users::made_by_admins(house).await?);
    Ok(tokio::task::spawn_blocking(move || config::load(&path, &known)).await?)
}

/// The file by a name that means the same from everywhere.
fn origin(loaded: &Loaded) -> String {
    std::path::absolute(&loaded.path).unwrap_or_else(|_| loaded.path.clone()).display().to_string()
}

fn accept(house: &House, loaded: &Loaded) {
    let warnings = lines(&loaded.warnings);
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    rules::note_accepted(house, &origin(loaded), warnings);
}

async fn changed(watching: Option<&Watching>) {
    match watching {
        Some(watching) => watching.changed().await,
        None => std::future::pending().await,
    }
}
