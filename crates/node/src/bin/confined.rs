//! Programs for the tests of this crate, in one binary: the helper that confines itself (the product starts its own binary again
//! instead), one that writes files until it is killed, and one that keeps a journal and says what is in it.

use longhouse_node as node;
use node::journal::Journal;
use node::{Files, Mark, Root, StateDirectory};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const SIZE: usize = 300_000;
const NAMES: [&str; 3] = ["one", "two", "three"];
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next().unwrap_or_default();
    let folder = arguments.next().unwrap_or_default();
    let done = match word.to_str() {
        Some("--write-until-killed") => Some(write_for_ever(Path::new(&folder))),
        Some("--keep-a-journal") => Some(keep_a_journal(Path::new(&folder))),
        _ => None,
    };
    if let Some(done) = done {
        return done.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    match node::confinement::confine_and_exec() {
        Ok(never) => match never {},
        Err(_) => ExitCode::from(125),
    }
}

/// All of each file is one letter, and every other turn it is another.
fn write_for_ever(folder: &Path) -> node::Result<()> {
    let state = StateDirectory::open(&folder.join("state"))?;
    let files = Files::new(Root::open(&folder.join("work"))?, Mark::open(&state)?);
    for letter in ["a", "b"].into_iter().cycle() {
        for name in NAMES {
            let (path, content) = (name.to_owned(), letter.repeat(SIZE));
            let (create_dirs, mode) = (false, node::files::WriteMode::Write);
            let request = node::files::WriteFile { path, content, create_dirs, mode, base_sha256: None };
            files.prepare_write(&request)?.commit(0)?;
        }
    }
    Ok(())
}

/// How often what the disk did not take is tried again.
const TRIES: usize = 3;

/// A call each day for a month. What is said was acknowledged.
fn keep_a_journal(folder: &Path) -> node::Result<()> {
    let state = StateDirectory::open(&folder.join("state"))?;
    let mut journal = Journal::with_limit(&state, 0, 4_000)?;
    let say = |day: i64, step: &str| {
        // Whoever listens may be gone.
        let _ = writeln!(std::io::stdout(), "{day} {step}");
    };
    for day in 0..30 {
        let (call, now_ms) = (format!("call_{day}"), day * DAY_MS);
        persistently(&mut journal, now_ms, |journal| journal.intent(&call, 1, "tool_write_file", now_ms))?;
        say(day, "intended");
        persistently(&mut journal, now_ms, |journal| journal.begun(&call, 1, None, now_ms))?;
        say(day, "begun");
        // One is never heard of again.
        if day % 20 != 3 {
            let result = || Some("x".repeat(300).into());
            persistently(&mut journal, now_ms, |journal| journal.ended(&call, 1, result(), now_ms))?;
            say(day, "ended");
            persistently(&mut journal, now_ms, |journal| journal.told(&call, 1, now_ms))?;
            say(day, "told");
        }
    }
    Ok(())
}

/// Takes a step, also if the disk does not take it at once.
fn persistently(
    journal: &mut Journal,
    now_ms: i64,
    step: impl Fn(&mut Journal) -> node::Result<()>,
) -> node::Result<()> {
    for _ in 1..TRIES {
        match step(journal) {
            Err(node::Error::JournalStopped(_)) => {}
            // What has happened is put down by mending, and not said a second time.
            Err(node::Error::OutOfOrder(_)) => return journal.mend(now_ms),
            taken => return taken,
        }
    }
    step(journal)
}
