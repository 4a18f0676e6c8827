//! What a command may use, and the privileges it does not have.

use crate::{Error, Result};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;

/// Each of a process, but for `processes`, which is of the whole command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub processor_s: u64,
    /// Of addresses, which is what the kernel can count.
    pub memory_bytes: u64,
    pub file_bytes: u64,
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processor_s: 300, memory_bytes: 2 << 30, file_bytes: 1 << 30, processes: 256 }
    }
}

pub(super) fn set(limits: &Limits) -> Result<()> {
    let both = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
    let mut set = vec![
        (Resource::Cpu, limits.processor_s),
        (Resource::As, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Core, 0),
    ];
    if counts_processes() {
        // The kernel counts all tasks of the person, not only those of the command.
        set.push((Resource::Nproc, own_tasks() + limits.processes));
    }
    for (resource, limit) in set {
        let before = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        setrlimit(resource, both(limit.min(before))).map_err(Error::io("setting a limit"))?;
    }
    // The person at the machine comes first.
    rustix::process::nice(19).map_err(Error::io("stepping back"))?;
    Ok(())
}

/// Root's processes are never too many for the kernel.
pub(super) fn counts_processes() -> bool {
    !rustix::process::getuid().is_root()
}

fn own_tasks() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let own = processes.flatten().filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user));
    own.filter_map(|entry| std::fs::read_dir(entry.path().join("task")).ok()).map(|tasks| tasks.count() as u64).sum()
}

/// Root without capabilities is a user who owns many files. For anybody else there is nothing to drop.
pub(super) fn drop_capabilities() -> Result<()> {
    for capability in CapabilitySet::all().iter() {
        // Whoever may not drop one from what can be gained has none, and no new privileges.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(Error::io("dropping capabilities"))
}
