//! The words of `longhouse token`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and print it alone on stdout
    #[command(after_help = "\
Examples:
  longhouse token create --user sean                                         for the person
  longhouse token create --user sean --session S --participant subagent:review:1
  longhouse token create --channel http --ttl 30d                            for a bot of yours")]
    Create(CreateToken),
    /// Your tokens that are still good
    List {
        /// Whose, on this machine
        #[arg(long)]
        user: Option<String>,
    },
    /// End a token at once
    Revoke {
        /// The token's id (`jti`)
        jti: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateToken {
    /// Whose token; on this machine anybody's, with --server your own
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Only for this session
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Where several sessions have that id
    #[arg(long, requires = "session")]
    pub(crate) workspace: Option<String>,
    /// Who it acts as in the session: orchestrator (default), subagent:<type>, subagent:<type>:<n>
    #[arg(long, requires = "session")]
    pub(crate) participant: Option<String>,
    /// For a bot of this channel: http, telegram, discord
    #[arg(long, conflicts_with = "session")]
    pub(crate) channel: Option<String>,
    /// How long it lasts: 15m, 24h, 30d
    #[arg(long, default_value = "24h")]
    pub(crate) ttl: String,
    /// A note to recognise it by
    #[arg(long)]
    pub(crate) label: Option<String>,
}
