//! A root with an outside that must stay as it is.

use node::files::{Changed, EditFile, Files, ListDirectory, WriteFile, WriteMode};
use node::{Mark, Result, Root, StateDirectory};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) const NOW_MS: i64 = 1_771_597_800_007;
pub(crate) const CANARY: &str = "what lies outside";

/// `work` is the root; beside it lie `work-evil`, `outside` and the node's own `state`.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) state: StateDirectory,
    pub(crate) files: Files,
    outside: BTreeMap<PathBuf, Vec<u8>>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for directory in ["work", "work-evil", "outside/deep"] {
            std::fs::create_dir_all(folder.path().join(directory)).unwrap();
        }
        for file in ["work-evil/file", "outside/file", "outside/deep/file", "outside/canary-name"] {
            std::fs::write(folder.path().join(file), CANARY).unwrap();
        }
        let state = StateDirectory::open(&folder.path().join("state")).unwrap();
        let files = Files::new(Root::open(&folder.path().join("work")).unwrap(), Mark::open(&state).unwrap());
        let outside = contents(&folder.path().join("outside"));
        Self { folder, state, files, outside }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    pub(crate) fn put(&self, path: &str, content: &str) -> PathBuf {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.root().join(name)).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> Result<Changed> {
        self.files.prepare_write(&writing(path, content))?.commit(NOW_MS)
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Result<Changed> {
        let request = EditFile { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() };
        self.files.prepare_edit(&request)?.commit(NOW_MS)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Changed> {
        self.files.prepare_delete(path)?.commit(NOW_MS)
    }

    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>> {
        let request = ListDirectory { path: path.to_owned(), recursive: true, pattern: None };
        Ok(self.files.list(&request)?.files.into_iter().map(|entry| entry.path).collect())
    }

    /// Names in the root that we made for a moment and left.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let names = self.list(".").unwrap();
        names.into_iter().filter(|name| name.contains(".longhouse-")).collect()
    }

    pub(crate) fn outside_is_untouched(&self) -> bool {
        contents(&self.outside()) == self.outside
            && contents(&self.folder.path().join("work-evil")).values().all(|bytes| bytes == CANARY.as_bytes())
    }
}

pub(crate) fn writing(path: &str, content: &str) -> WriteFile {
    let (path, content) = (path.to_owned(), content.to_owned());
    WriteFile { path, content, create_dirs: false, mode: WriteMode::Write, base_sha256: None }
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Every name below a folder with what it holds.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}
