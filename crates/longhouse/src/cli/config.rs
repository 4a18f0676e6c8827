//! Words of `longhouse config`.

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check a file, with or without a server: every problem with its line and column; exits with 1 if there is one
    #[command(after_help = "\
Examples:
  longhouse config check
  longhouse config check house/longhouse.yaml --json

People of the house may be named as members without being in the file. A server of --data-dir that runs, or that of
--server, says who they are; the house itself is not opened.")]
    Check {
        /// The file, instead of --config
        file: Option<PathBuf>,
    },
    /// Print the format as JSON Schema, for editors
    #[command(after_help = "Example:\n  longhouse config schema > longhouse.schema.json")]
    Schema,
}
