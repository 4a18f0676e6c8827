//! `cargo xtask …`: the chores of this repository. Nothing here is part of the product, and no room depends on it.

#![allow(clippy::print_stdout, reason = "a command line tool speaks on its standard output")]

mod bench;
mod imitated_model;
mod mcp_clients;
mod packages;
mod peers;
mod postgres;
mod processes;
mod records;
mod stories;
mod suites;
mod totals;
mod workspace;

use clap::{Parser, Subcommand};

/// The product's allocator too, so that the peers of a benchmark differ only in what they do.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of the Longhouse repository")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every test; ends with one line of totals
    Test(suites::Options),
    /// Only the step of `test` with the official MCP clients
    McpClients(mcp_clients::Options),
    /// Measure the product beside its limits and write docs/benchmarks.md
    Bench(bench::Options),
    /// A fixed answer over HTTP: the limit that reads are compared with
    #[command(hide = true)]
    StaticRoute(peers::StaticRoute),
    /// A chat-completions endpoint in place of a model: what the example of own loops is tried with
    #[command(hide = true)]
    ImitatedModel(imitated_model::ImitatedModel),
    /// The plainest event stream server: what idle streams are compared with
    #[command(hide = true)]
    NaiveStreams(peers::NaiveStreams),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Test(options) => suites::run(&options),
        Chore::McpClients(options) => mcp_clients::run_alone(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::StaticRoute(peer) => peer.run(),
        Chore::ImitatedModel(model) => model.run(),
        Chore::NaiveStreams(peer) => peer.run(),
    }
}
