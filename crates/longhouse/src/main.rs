//! Longhouse: a self-hosted workspace platform for AI agents, in one binary.
//!
//! Here are only the wiring and the command line. What the product does is in `service`; every command is a client
//! of the same doors that everybody uses.
// A command line prints.
#![allow(clippy::print_stdout)]

mod cli;
mod client;
mod commands;
mod config;
mod connect;
mod mcp;
mod output;
mod serve;
mod settings;
mod stdin;
mod traces;

use clap::Parser;
use std::process::ExitCode;
use tokio::runtime::Runtime;
use traces::Traces;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = connect::become_program_if_told() {
        return code;
    }
    let cli = cli::Cli::parse();
    let runtime = match settings::runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::say(&error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let outcome = watch_and_run(cli, &runtime);
    // A long scan or backup under way must not hold up the end.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            output::say(&output::chain(&error));
            if error.is::<cli::Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Logs, and for a server traces if they are asked for, around a command.
fn watch_and_run(cli: cli::Cli, runtime: &Runtime) -> anyhow::Result<ExitCode> {
    let serving = matches!(cli.command, cli::Command::Serve(_));
    let traces = if serving { Traces::asked_for(runtime.handle())? } else { None };
    settings::start_logging(&cli.command, traces.as_ref());
    let outcome = runtime.block_on(commands::run(cli));
    traces.into_iter().for_each(Traces::finish);
    outcome
}
