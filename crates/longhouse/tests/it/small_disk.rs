//! A small disk of our own, and a ballast file that takes its room and gives it back.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Room for what a long run writes.
const DISK_KIB: u64 = 96 * 1024;

/// A disk of our own. Only root can make one.
pub(super) struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    pub(super) fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={DISK_KIB}k,mode=755");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &options, "longhouse-test"]).arg(folder.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder });
        }
        assert!(std::env::var_os("CI").is_none(), "a small disk cannot be mounted");
        eprintln!("skipped: only root may mount a small disk");
        None
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Takes all room but so much.
    pub(super) fn fill(&self, leaving_kib: u64) {
        let ballast = self.folder.path().join("ballast");
        let _ = std::fs::remove_file(&ballast);
        let free_kib = free_kib(self.folder.path());
        std::fs::write(&ballast, vec![b'x'; usize::try_from((free_kib - leaving_kib) * 1024).unwrap()]).unwrap();
    }

    pub(super) fn free(&self) {
        std::fs::remove_file(self.folder.path().join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn free_kib(path: &Path) -> u64 {
    let output = Command::new("df").args(["-k", "--output=avail"]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap()
}
