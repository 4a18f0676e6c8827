//! The words of `longhouse token`.

use clap::{ArgGroup, Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and print it alone on stdout
    #[command(after_help = "\
Examples:
  longhouse token create --user sean                                         for the person
  longhouse token create --user sean --session S --participant subagent:review:1
  longhouse token create --user sean --agent AGENT_ID                        for an agent
  longhouse token create --user sean --agent AGENT_ID --session S            in one session only
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
#[command(group(ArgGroup::new("taking_part").args(["agent", "session"]).multiple(true)))]
pub(crate) struct CreateToken {
    /// Whose token; on this machine anybody's, with --server your own
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// For this agent, by its id: `longhouse agent list` shows it
    #[arg(long, value_name = "AGENT_ID")]
    pub(crate) agent: Option<String>,
    /// Only for this session
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Where several sessions have that id
    #[arg(long, requires = "session")]
    pub(crate) workspace: Option<String>,
    /// Who it acts as in a session: orchestrator, subagent:<type>, subagent:<type>:<n>; if left out,
    /// orchestrator, or subagent:<name> for an agent
    #[arg(long, requires = "taking_part")]
    pub(crate) participant: Option<String>,
    /// For a bot of this channel: http, telegram, discord
    #[arg(long, conflicts_with = "taking_part")]
    pub(crate) channel: Option<String>,
    /// How long it lasts: 15m, 24h, 30d
    #[arg(long, default_value = "24h")]
    pub(crate) ttl: String,
    /// A note to recognise it by
    #[arg(long)]
    pub(crate) label: Option<String>,
}
