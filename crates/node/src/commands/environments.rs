//! The environment of a command: listed names only. Nothing in the root adds to it.

use super::programs::SEARCHED;
use std::ffi::OsString;
use std::path::Path;

/// Taken from the daemon's own environment if they are there. `LC_…` is matched by its beginning.
const TAKEN: [&str; 5] = ["LANG", "TZ", "USER", "LOGNAME", "LANGUAGE"];
const TAKEN_PREFIX: &str = "LC_";

pub(super) fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    let taken = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_taken));
    let mut environment: Vec<(OsString, OsString)> = taken.collect();
    environment.push(("PATH".into(), SEARCHED.join(":").into()));
    environment.push(("HOME".into(), home.into()));
    environment.push(("TMPDIR".into(), home.join("tmp").into()));
    environment.push(("TERM".into(), "dumb".into()));
    environment
}

fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name) || name.starts_with(TAKEN_PREFIX)
}

/// The names that a command would be given now, in order.
pub fn environment_names() -> Vec<String> {
    let names = environment(Path::new("/")).into_iter().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
