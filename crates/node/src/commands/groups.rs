//! A command's process group. A command cannot leave it (`confinement`), so the group is the command.

use rustix::process::{Pid, Signal, kill_process_group};
use std::time::{Duration, Instant};

const NOW_AND_THEN: Duration = Duration::from_secs(1);

/// Kills every process of the group at once; also one that is just being made.
pub(super) fn kill(group: Pid) {
    // Nobody is left to be killed, or they are killed.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Whether a group has more processes than it may, its dead included. Looking through all processes is slow, the more so the more
/// there are, so it is done when the machine has become fuller by that many, and else now and then.
pub(super) struct Census {
    group: Pid,
    limit: usize,
    tasks_before: Option<usize>,
    looked: Instant,
}

impl Census {
    pub(super) fn new(group: Pid, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { group, limit, tasks_before: tasks(), looked: Instant::now() }
    }

    pub(super) fn is_over(&mut self) -> bool {
        let is_fuller = tasks() > self.tasks_before.map(|before| before.saturating_add(self.limit));
        if !is_fuller && self.looked.elapsed() < NOW_AND_THEN {
            return false;
        }
        self.looked = Instant::now();
        let Ok(processes) = std::fs::read_dir("/proc") else { return false };
        let group = self.group.as_raw_nonzero().get().to_string();
        let names = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| is_in(name, &group)).take(self.limit.saturating_add(1)).count() > self.limit
    }
}

/// How many tasks the machine has: the number behind the slash of `0.20 0.18 0.12 1/80 11206`.
fn tasks() -> Option<usize> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split(' ').nth(3)?.split('/').nth(1)?.parse().ok()
}

fn is_in(process: &str, group: &str) -> bool {
    if !process.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let Ok(stat) = std::fs::read(format!("/proc/{process}/stat")) else { return false };
    // The program's name stands in brackets and may hold anything; behind the last bracket: state, parent, group.
    let behind = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    String::from_utf8_lossy(behind).split_ascii_whitespace().nth(2) == Some(group)
}
