//! The configuration file of a running server: put in force at the start, read again when it changes or on SIGHUP. A
//! file that is refused changes nothing, and what was accepted before stays.

use super::channels::RunningChannels;
use super::plugins::RunningPlugins;
use super::say_refused;
use super::watching::Watching;
use crate::cli::Place;
use crate::config::{self, KnownPeople, Loaded, Problem, ProcessSettings, Rejected, counted, lines};
use crate::settings;
use anyhow::{Context, Result, bail};
use domain::{Code, Refusal};
use service::{House, rules, users};
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::Signal;

/// It was said why.
pub(super) struct Refused;

/// The file that this process reads, if there is one, and what of it is in force.
pub(super) struct ConfigFile {
    path: Option<PathBuf>,
    loaded: Option<Loaded>,
    watching: Option<Watching>,
    started: Option<Started>,
    /// Why the newest state of the file is not in force, if it is not.
    behind: Option<Behind>,
    /// Whether what an earlier file opened may be shut.
    forgetting: bool,
}

/// What the file starts and stops.
#[derive(Clone)]
pub(super) struct Started {
    pub(super) plugins: RunningPlugins,
    pub(super) channels: RunningChannels,
}

impl Started {
    async fn apply(&self, house: &House, loaded: &Loaded) {
        self.plugins.apply(&loaded.plugins).await;
        self.channels.apply(house, &loaded.accounts).await;
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Behind {
    /// The file is wrong: only another one can help.
    Refused,
    /// The house could not do it then. Who is out by the file must not stay in because of that: it is tried again.
    Failed { again_after: Duration },
}

const AGAIN_SOONEST: Duration = Duration::from_secs(1);
const AGAIN_LATEST: Duration = Duration::from_secs(30);

impl ConfigFile {
    /// Reads the file before anything is opened. Who is in the house is not known yet, unless it is still to be built.
    pub(super) fn find(place: &Place, without: bool) -> Result<Self, Refused> {
        let Some(path) = settings::config_file(place).filter(|_| !without) else {
            return Ok(Self {
                path: None,
                loaded: None,
                watching: None,
                started: None,
                behind: None,
                forgetting: without,
            });
        };
        let known = settings::people_unasked(place, &path);
        let loaded = config::load(&path, &known).map_err(|rejected| {
            say_refused(&rejected.problems);
            Refused
        })?;
        let (path, loaded) = (Some(path), Some(loaded));
        Ok(Self { path, loaded, watching: None, started: None, behind: None, forgetting: false })
    }

    /// With what follows what the file says.
    pub(super) fn with(self, started: Started) -> Self {
        Self { started: Some(started), ..self }
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
        self.watch().await;
        let loaded = match read(house, path).await? {
            Ok(loaded) => loaded,
            Err(rejected) => {
                say_refused(&rejected.problems);
                return Ok(false);
            }
        };
        if let Err(error) = rules::apply(house, loaded.declaration.clone(), &origin(&loaded)).await {
            let Some(refusal) = of_file(&error) else {
                return Err(error).context("the configuration could not be put in force");
            };
            say_refused(&loaded.problems_of(refusal));
            return Ok(false);
        }
        self.accept(house, &loaded).await;
        self.loaded = Some(loaded);
        self.watch().await;
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
                () = again(self.behind) => {}
            }
            // Folders that were replaced are new ones. Before it is read: a change in between is then seen.
            self.watch().await;
            match self.path.clone() {
                Some(path) => self.reload(&house, path).await,
                None => tracing::info!("this server was started without a configuration file"),
            }
            self.watch().await;
        }
    }

    async fn reload(&mut self, house: &House, path: PathBuf) {
        let shown = path.display().to_string();
        match read(house, path).await {
            Err(error) => self.fail(house, &shown, &crate::output::chain(&error)),
            Ok(Err(rejected)) => self.refuse(house, &rejected.problems),
            Ok(Ok(loaded)) => {
                let is_new = self.loaded.as_ref().is_none_or(|known| known.digest != loaded.digest);
                if is_new || self.behind.is_some() {
                    self.apply(house, loaded).await;
                } else {
                    tracing::info!("{shown}: the configuration says the same as before");
                }
            }
        }
    }

    async fn apply(&mut self, house: &House, loaded: Loaded) {
        let origin = origin(&loaded);
        match rules::apply(house, loaded.declaration.clone(), &origin).await {
            Ok(taken) => tell_taken(taken),
            Err(error) => {
                return match of_file(&error) {
                    Some(refusal) => self.refuse(house, &loaded.problems_of(refusal)),
                    None => self.fail(house, &origin, &error.to_string()),
                };
            }
        }
        self.behind = None;
        self.accept(house, &loaded).await;
        let later = loaded.process.differences(&self.process());
        if !later.is_empty() {
            tracing::warn!("{} changed: that takes effect at the next start", later.join(", "));
        }
        tracing::info!("{origin}: the new configuration is in force");
        // What the process was started with stays what is compared with.
        let process = self.process();
        self.loaded = Some(Loaded { process, ..loaded });
    }

    /// What is in force is noted, and plugins and channels are as it says.
    async fn accept(&self, house: &House, loaded: &Loaded) {
        let warnings = lines(&loaded.warnings);
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        rules::note_accepted(house, &origin(loaded), warnings);
        if let Some(started) = &self.started {
            started.apply(house, loaded).await;
        }
    }

    fn refuse(&mut self, house: &House, problems: &[Problem]) {
        let told = lines(problems);
        told.iter().for_each(|problem| tracing::error!("{problem}"));
        tracing::error!("the configuration stays as it was: {}", counted(problems.len(), "problem"));
        rules::note_refused(house, told);
        self.behind = Some(Behind::Refused);
    }

    /// The file may be right: the house could not do it now.
    fn fail(&mut self, house: &House, file: &str, why: &str) {
        let again_after = match self.behind {
            Some(Behind::Failed { again_after }) => (again_after * 2).min(AGAIN_LATEST),
            _ => AGAIN_SOONEST,
        };
        let problem = format!("{file}: not in force yet, because the house could not read or change its rules: {why}");
        tracing::error!("{problem}; tried again in {} s", again_after.as_secs());
        rules::note_refused(house, vec![format!("{problem}; it is tried again")]);
        self.behind = Some(Behind::Failed { again_after });
    }

    /// Watches what there is to be watched now. Walking through folders waits for the disk, so it is done elsewhere.
    async fn watch(&mut self) {
        let Some(path) = self.path.clone() else { return };
        let skills = self.loaded.as_ref().map(|loaded| loaded.skills_dir.clone());
        let before = self.watching.take();
        let is_first = before.is_none();
        let watching = tokio::task::spawn_blocking(move || {
            let mut watching = before.map_or_else(Watching::begin, Ok)?;
            let has_new = watching.look_at(&path, skills.as_deref());
            Ok::<_, notify::Error>((watching, has_new))
        });
        match watching.await {
            Ok(Ok((watching, has_new))) => {
                // What happened there before it was watched was not seen.
                if has_new && !is_first {
                    watching.ring();
                }
                self.watching = Some(watching);
            }
            Ok(Err(error)) => tracing::warn!("changes of the configuration are only seen on SIGHUP: {error}"),
            Err(error) => tracing::warn!("changes of the configuration are only seen on SIGHUP: {error}"),
        }
    }
}

/// What is the file's fault: another try would end in the same way.
fn of_file(error: &service::Error) -> Option<&Refusal> {
    match error {
        service::Error::Refused(refusal) if refusal.code == Code::RulesConflict => Some(refusal),
        _ => None,
    }
}

/// A line lost by accident is noticed sooner if what it shuts is said.
fn tell_taken(taken: rules::Taken) {
    let rules::Taken { people, workspaces, members } = taken;
    let parts = [(people, "person", "out"), (workspaces, "workspace", "closed"), (members, "member", "taken out")];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, how)| format!("{} {how}", counted(count, what)))
        .collect();
    if !told.is_empty() {
        tracing::warn!("the configuration takes away: {}", told.join(", "));
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

async fn again(behind: Option<Behind>) {
    match behind {
        Some(Behind::Failed { again_after }) => tokio::time::sleep(again_after).await,
        Some(Behind::Refused) | None => std::future::pending().await,
    }
}

async fn changed(watching: Option<&Watching>) {
    match watching {
        Some(watching) => watching.changed().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
