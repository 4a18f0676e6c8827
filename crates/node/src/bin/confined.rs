//! Programs for the tests of this crate, in one binary: the helper that confines itself (the product starts its own binary again
//! instead), and one that writes files until it is killed.

use longhouse_node as node;
use node::{Files, Mark, Root, StateDirectory};
use std::path::Path;
use std::process::ExitCode;

const SIZE: usize = 300_000;
const NAMES: [&str; 3] = ["one", "two", "three"];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == "--write-until-killed") {
        let folder = arguments.next().unwrap_or_default();
        return write_for_ever(Path::new(&folder)).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
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
