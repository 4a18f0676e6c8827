//! The helper as a program of its own, for the tests of this crate. The product starts its own binary again instead.

use std::process::ExitCode;

fn main() -> ExitCode {
    match longhouse_node::confinement::confine_and_exec() {
        Ok(never) => match never {},
        Err(_) => ExitCode::from(125),
    }
}
