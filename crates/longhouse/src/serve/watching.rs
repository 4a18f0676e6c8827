//! Notices changes of the configuration file and of the skills, told by the operating system. Folders are watched, not
//! the file: editors replace it, and a link may be pointed elsewhere.

use crate::config::skills_folders;
use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// An editor writes in several steps; what it wrote counts once it has been quiet for so long.
const QUIET: Duration = Duration::from_millis(200);
/// Something that never rests must not keep a change waiting.
const LONGEST: Duration = Duration::from_secs(2);

pub(super) struct Watching {
    watcher: RecommendedWatcher,
    bell: Arc<Notify>,
    interest: Arc<Mutex<Interest>>,
    watched: BTreeSet<PathBuf>,
}

/// Which changes matter: others happen in the same folder.
#[derive(Default)]
struct Interest {
    files: Vec<PathBuf>,
    /// Under each of its names: as it was written, and where its links lead.
    skills: Vec<PathBuf>,
}

impl Watching {
    pub(super) fn begin() -> notify::Result<Self> {
        let bell = Arc::new(Notify::new());
        let interest = Arc::new(Mutex::new(Interest::default()));
        let (ring, known) = (bell.clone(), interest.clone());
        let heard = move |event: notify::Result<Event>| {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            // An error may be that something was missed.
            if event.map_or(true, |event| known.matters(&event)) {
                ring.notify_one();
            }
        };
        let watcher = RecommendedWatcher::new(heard, Config::default().with_follow_symlinks(false))?;
        Ok(Self { watcher, bell, interest, watched: BTreeSet::new() })
    }

    /// Watches the folder of the file, that of the file it is a link to, and those of the skills that are read: no
    /// link in them is followed. May be said again: folders that were replaced are found anew, and what is of no
    /// interest any more is let go. `true` if a folder was not watched before. Waits for the disk.
    pub(super) fn look_at(&mut self, file: &Path, skills: Option<&Path>) -> bool {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let mut files = vec![file.clone()];
        files.extend(file.canonicalize());
        let written = skills.map(|skills| std::path::absolute(skills).unwrap_or_else(|_| skills.to_owned()));
        let real = written.as_ref().and_then(|skills| skills.canonicalize().ok());
        let skills: Vec<PathBuf> = written.into_iter().chain(real.clone()).collect();
        let mut folders: BTreeSet<PathBuf> =
            files.iter().chain(&skills).filter_map(|path| path.parent().map(Path::to_owned)).collect();
        folders.extend(real.iter().flat_map(|skills| skills_folders(skills)));
        *self.interest.lock().unwrap_or_else(PoisonError::into_inner) = Interest { files, skills };
        for gone in self.watched.difference(&folders) {
            // It may be gone itself, and its watch with it.
            let _ = self.watcher.unwatch(gone);
        }
        folders.retain(|folder| self.watch(folder));
        let has_new = !folders.is_subset(&self.watched);
        self.watched = folders;
        has_new
    }

    fn watch(&mut self, folder: &Path) -> bool {
        if !folder.is_dir() {
            return false;
        }
        let watched = self.watcher.watch(folder, RecursiveMode::NonRecursive);
        if let Err(error) = &watched {
            tracing::warn!("{} cannot be watched, its changes are only seen on SIGHUP: {error}", folder.display());
        }
        watched.is_ok()
    }

    /// Something may have changed unseen.
    pub(super) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Waits until something changed and then was quiet.
    pub(super) async fn changed(&self) {
        self.bell.notified().await;
        let quiet = async { while tokio::time::timeout(QUIET, self.bell.notified()).await.is_ok() {} };
        let _ = tokio::time::timeout(LONGEST, quiet).await;
    }
}

impl Interest {
    fn matters(&self, event: &Event) -> bool {
        match event.kind {
            // Reading is no change; we do it ourselves.
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
            EventKind::Access(_) => return false,
            _ => {}
        }
        let in_skills = |path: &Path| self.skills.iter().any(|skills| path.starts_with(skills));
        // A link in the folder may be what the file is reached through.
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        event.need_rescan()
            || event.paths.iter().any(|path| self.files.contains(path) || in_skills(path) || is_link(path))
    }
}
