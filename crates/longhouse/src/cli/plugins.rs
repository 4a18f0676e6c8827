//! The words of `longhouse plugin`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// How the plugins of the file stand, and which of their tools wait for you
    #[command(after_help = "\
Examples:
  longhouse plugin list
  longhouse plugin list --json

A tool that is `new` or `changed` is off until it is accepted.")]
    List,
    /// Accept a tool of a plugin as it is now
    #[command(after_help = "\
Examples:
  longhouse plugin accept dice dice.roll
  longhouse plugin accept dice dice.roll --fingerprint 0dbe77b3999c…

Without --fingerprint the tool is shown, and accepted as it was shown.")]
    Accept(AcceptTool),
}

#[derive(Debug, Args)]
pub(crate) struct AcceptTool {
    /// The plugin, by its name in the file
    pub(crate) plugin: String,
    /// The tool's dotted name
    pub(crate) tool: String,
    /// Of what you looked at: another tool of that name is not accepted
    #[arg(long, value_name = "HEX")]
    pub(crate) fingerprint: Option<String>,
}
