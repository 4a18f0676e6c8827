//! Options for `strace`, which does the faults that a test cannot ask the kernel for: at the n-th call that concerns
//! the database. Each thread counts its own calls; nearly all are the writer's.

use std::path::Path;

pub(super) const DATABASE: &str = "longhouse.db";
pub(super) const LOG: &str = "longhouse.db-wal";

fn only(data: &Path, files: &[&str], calls: &str) -> Vec<String> {
    let data = data.canonicalize().unwrap();
    let mut options = vec!["-e".to_owned(), format!("trace={calls}")];
    for file in files {
        options.extend(["-P".to_owned(), data.join(file).display().to_string()]);
    }
    options
}

/// Kills the process instead of the n-th call.
pub(super) fn kill(data: &Path, calls: &str, n: u64) -> Vec<String> {
    let mut options = only(data, &[DATABASE, LOG], calls);
    options.extend(["-o", "/dev/null"].map(str::to_owned));
    options.push(format!("--inject={calls}:signal=SIGKILL:when={n}"));
    options
}

/// A call that fails instead of being done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure {
    pub(super) call: &'static str,
    pub(super) error: &'static str,
    pub(super) files: &'static [&'static str],
    pub(super) n: u64,
    /// Whether all that follow fail too.
    pub(super) lasting: bool,
}

/// Lets calls fail and tells of it in `journal`.
pub(super) fn fail(data: &Path, journal: &Path, failure: Failure) -> Vec<String> {
    let Failure { call, error, files, n, lasting } = failure;
    let mut options = only(data, files, call);
    // Much faster, and enough where no signal has to be sent.
    options.push("--seccomp-bpf".to_owned());
    options.extend(["-o".to_owned(), journal.display().to_string()]);
    options.push(format!("--inject={call}:error={error}:when={n}{}", if lasting { "+" } else { "" }));
    options
}

/// Whether a call has been made to fail.
pub(super) fn has_failed(journal: &Path) -> bool {
    std::fs::read_to_string(journal).is_ok_and(|text| text.contains("(INJECTED)"))
}
