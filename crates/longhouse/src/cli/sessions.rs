//! The words of `longhouse session`.

use super::Actor;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// Create a session
    #[command(after_help = "\
Examples:
  longhouse session create ticket-42 --title 'Throughput dropped'
  longhouse session create ticket-43 --project alpha
  longhouse session create --settings '{\"acl\": true, \"namespaces\": true}'")]
    Create {
        /// Its id; generated if left out
        id: Option<String>,
        #[arg(long)]
        title: Option<String>,
        /// Its project, by id or name
        #[arg(long)]
        project: Option<String>,
        #[arg(long)]
        workspace: Option<String>,
        /// Settings as JSON, such as {"max_store_tokens": 20000}
        #[arg(long, value_name = "JSON")]
        settings: Option<String>,
        #[command(flatten)]
        actor: Actor,
    },
    /// The sessions you can see
    List {
        #[arg(long)]
        workspace: Option<String>,
        #[command(flatten)]
        actor: Actor,
    },
    /// One session
    Show(OneSession),
    /// Make a session immutable
    Archive(OneSession),
    /// Remove a session with everything in it
    Delete(OneSession),
    /// What an agent of the session is told
    Prompt(OneSession),
}

#[derive(Debug, Args)]
pub(crate) struct OneSession {
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Where several sessions have that id
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) actor: Actor,
}
