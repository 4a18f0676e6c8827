//! The words of `longhouse tasks` and `longhouse worker-space`: what a project's agents are at.

use super::Person;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    /// The tasks of a project, newest first
    #[command(after_help = "\
Examples:
  longhouse tasks list
  longhouse tasks list -p alpha --status running")]
    List {
        /// Only those that are queued, running, waiting, completed, failed or cancelled
        #[arg(long)]
        status: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=500))]
        last: u64,
        #[command(flatten)]
        place: AtWork,
    },
    /// One task
    Show(OneTask),
    /// End a task, whether it waits or runs
    #[command(after_help = "Example:\n  longhouse tasks cancel tsk_0198c5c1e2f37d4b9a6f5e4d3c2b1a09")]
    Cancel(OneTask),
}

#[derive(Debug, Args)]
pub(crate) struct OneTask {
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) place: AtWork,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerSpace {
    /// How it is, and what it is at
    #[command(after_help = "Example:\n  longhouse worker-space show -p alpha")]
    Show(AtWork),
    /// End it; what runs may finish, what is queued is cancelled. It begins again when it is needed
    Cleanup(AtWork),
}

/// The project whose agents are meant.
#[derive(Debug, Args)]
pub(crate) struct AtWork {
    /// The project, by id or name; your own `home` if left out
    #[arg(short, long, env = "LONGHOUSE_PROJECT")]
    pub(crate) project: Option<String>,
    /// Where several projects have that name
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) person: Person,
}
