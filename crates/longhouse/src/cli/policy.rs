//! The words of `longhouse policy`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Whether somebody may use a tool in a workspace, and what decides it
    #[command(after_help = "\
Examples:
  longhouse policy explain --workspace homelab --user sean k8s.pods.list
  longhouse policy explain --workspace personal-usr_wife --user wife filesystem.write --json

What a node does is asked for by its capability: filesystem.read, filesystem.write, filesystem.list, exec.sandboxed,
and exec.network for the network of a command.
Exits with 0 for both answers; `decision` in the JSON is ALLOW or DENY.")]
    Explain(ExplainPolicy),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainPolicy {
    /// The tool's dotted name
    pub(crate) tool: String,
    /// Where it would be used
    #[arg(long)]
    pub(crate) workspace: String,
    /// Who would use it, with or without `usr_`
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
}
