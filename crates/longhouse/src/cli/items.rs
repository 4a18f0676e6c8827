//! The words of `longhouse items`.

use super::Person;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  longhouse items list -p alpha -a agent_writer
  longhouse items write -p alpha -a agent_writer style 'Short sentences.'
  longhouse items write -p alpha -a agent_writer report - < report.md
  longhouse items publish -p alpha -a agent_writer style --to AGENT_ID
  longhouse items publications
  LONGHOUSE_TOKEN=… longhouse --server https://house.example items list

A private agent works on the items of the person it runs for, a shared agent on its own.
A token for an agent says which one is meant: with it, -p and -a are left out.")]
pub(crate) enum Items {
    /// Keys with sizes, versions and the beginnings of their values, the newest first
    List(AgentAddress),
    /// The value of one item
    Read {
        key: String,
        #[command(flatten)]
        address: AgentAddress,
    },
    /// Create or overwrite an item
    #[command(after_help = "\
Examples:
  longhouse items write -p alpha -a agent_writer style 'Short sentences.'
  longhouse items write -p alpha -a agent_writer style 'Shorter.' --if-version 1
  longhouse items write -p alpha -a agent_writer report - < report.md")]
    Write(WriteItem),
    /// Remove an item
    Delete {
        key: String,
        #[command(flatten)]
        address: AgentAddress,
    },
    /// Copy an item of yours to a shared agent; later changes do not follow
    #[command(after_help = "\
Examples:
  longhouse agent shared                                                    who can be published to
  longhouse items publish -p alpha -a agent_writer style --to agt_0198c5c1e2f37d4b9a6f5e4d3c2b1a09
  longhouse items publish -a AGENT_ID style --to AGENT_ID --as house_style --overwrite")]
    Publish(PublishItem),
    /// What you published, and what became of each copy
    Publications {
        #[command(flatten)]
        person: Person,
    },
    /// Take a published copy back, as long as nobody has changed it
    Recall {
        /// The publication's id, as `publish` and `publications` give it
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        publication: String,
        #[command(flatten)]
        person: Person,
    },
}

/// The agent on whose behalf. A token for an agent says so by itself.
#[derive(Debug, Args)]
pub(crate) struct AgentAddress {
    /// The project, by id or name; not needed where the agent is given by id
    #[arg(short, long, env = "LONGHOUSE_PROJECT")]
    pub(crate) project: Option<String>,
    /// The agent, by name or id; not needed with a token for an agent
    #[arg(short, long, env = "LONGHOUSE_AGENT")]
    pub(crate) agent: Option<String>,
    /// Where several projects have that name
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) person: Person,
}

#[derive(Debug, Args)]
pub(crate) struct WriteItem {
    pub(crate) key: String,
    /// The text; `-` reads it from standard input
    pub(crate) value: String,
    /// Only if the item is at this version; 0 = only if it is absent
    #[arg(long, value_name = "N")]
    pub(crate) if_version: Option<u64>,
    #[command(flatten)]
    pub(crate) address: AgentAddress,
}

#[derive(Debug, Args)]
pub(crate) struct PublishItem {
    pub(crate) key: String,
    /// The id of the shared agent that gets the copy
    #[arg(long, value_name = "AGENT_ID")]
    pub(crate) to: String,
    /// Another key for the copy
    #[arg(long = "as", value_name = "KEY")]
    pub(crate) target_key: Option<String>,
    /// Put it in the place of what the shared agent has under that key
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) address: AgentAddress,
}
