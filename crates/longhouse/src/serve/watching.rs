//! Notices changes of the configuration file and of the skills, told by the operating system. Folders are watched, not
//! the file: editors replace it, and a link may be pointed elsewhere.

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
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
}

/// Which changes matter: others happen in the same folder.
#[derive(Default)]
struct Interest {
    files: Vec<PathBuf>,
    skills: Option<PathBuf>,
}

impl Watching {
    pub(super) fn begin() -> notify::Result<Self> {
        let bell = Arc::new(Notify::new());
        let interest = Arc::new(Mutex::new(Interest::default()));
        let (ring, known) = (bell.clone(), interest.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            // An error may be that something was missed.
            if event.map_or(true, |event| known.matters(&event)) {
                ring.notify_one();
            }
        })?;
        Ok(Self { watcher, bell, interest })
    }

    /// Watches the folder of the file, that of the file it is a link to, and the skills. May be said again: folders
    /// that were replaced are found anew.
    pub(super) fn look_at(&mut self, file: &Path, skills: Option<&Path>) {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let skills = skills.map(|skills| std::path::absolute(skills).unwrap_or_else(|_| skills.to_owned()));
        let mut files = vec![file.clone()];
        files.extend(file.canonicalize());
        let mut folders: Vec<PathBuf> =
            files.iter().chain(&skills).filter_map(|path| path.parent().map(Path::to_owned)).collect();
        folders.dedup();
        {
            let mut interest = self.interest.lock().unwrap_or_else(PoisonError::into_inner);
            *interest = Interest { files, skills: skills.clone() };
        }
        for folder in folders {
            self.watch(&folder, RecursiveMode::NonRecursive);
        }
        if let Some(skills) = skills {
            self.watch(&skills, RecursiveMode::Recursive);
        }
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) {
        if folder.is_dir()
            && let Err(error) = self.watcher.watch(folder, mode)
        {
            tracing::warn!("{} cannot be watched, its changes are only seen on SIGHUP: {error}", folder.display());
        }
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
        let in_skills = |path: &Path| self.skills.as_ref().is_some_and(|skills| path.starts_with(skills));
        // A link in the folder may be what the file is reached through.
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        event.need_rescan()
            || event.paths.iter().any(|path| self.files.contains(path) || in_skills(path) || is_link(path))
    }
}
