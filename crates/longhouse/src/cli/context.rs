//! The words of `longhouse context`.

use super::Actor;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhouse context list -s ticket-42
  longhouse context write -s ticket-42 --as subagent:analysis findings_summary 'Pool size 20 is too small.'
  longhouse context write -s ticket-42 phase_status done --if-version 3
  longhouse context history -s ticket-42 findings_summary
  longhouse context snapshot -s ticket-42 before_approval
  longhouse context diff -s ticket-42 before_approval now
  longhouse context watch -s ticket-42 --keys 'findings_summary,inv:*'")]
pub(crate) struct Context {
    /// The session
    #[arg(short, long, global = true, env = "LONGHOUSE_SESSION")]
    pub(crate) session: Option<String>,
    /// Where several sessions have that id
    #[arg(long, global = true)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) actor: Actor,
    #[command(subcommand)]
    pub(crate) action: ContextAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextAction {
    /// Keys with authors, versions and sizes
    List {
        #[arg(long)]
        prefix: Option<String>,
    },
    /// The values of one or more keys
    Read {
        #[arg(required = true)]
        keys: Vec<String>,
    },
    /// Create or overwrite a key
    Write(WriteContext),
    /// Remove a key
    Delete {
        key: String,
        #[arg(long)]
        if_version: Option<u64>,
        #[arg(long)]
        if_rev: Option<u64>,
    },
    /// Earlier versions of a key
    History {
        key: String,
        /// Only these, such as 1,2,5
        #[arg(long, value_delimiter = ',')]
        versions: Vec<u64>,
    },
    /// Freeze the whole store under a label
    Snapshot { label: String },
    /// The snapshots of the session
    Snapshots,
    /// What a snapshot holds
    ReadSnapshot { label: String, keys: Vec<String> },
    /// Bring a snapshot back
    Restore { label: String },
    /// What changed between two moments: a label, a rev, or `now`
    Diff {
        from: String,
        #[arg(default_value = "now")]
        to: String,
    },
    /// Show changes as they happen
    Watch {
        /// Only these keys, such as a,b,inv:*
        #[arg(long)]
        keys: Option<String>,
        /// Resume after this event; 0 = from the beginning
        #[arg(long, value_name = "ID")]
        after: Option<u64>,
        /// Stop after so many events
        #[arg(long, value_name = "N")]
        count: Option<u64>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct WriteContext {
    pub(crate) key: String,
    /// The text; `-` reads it from standard input
    pub(crate) value: String,
    /// Only if the key is at this version; 0 = only if it is absent
    #[arg(long)]
    pub(crate) if_version: Option<u64>,
    /// Only if the key is at this rev
    #[arg(long)]
    pub(crate) if_rev: Option<u64>,
    /// The key goes after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) ttl: Option<u64>,
    /// Who may read it, such as orchestrator,subagent:*
    #[arg(long, value_delimiter = ',')]
    pub(crate) readable_by: Option<Vec<String>>,
    /// Who may write it
    #[arg(long, value_delimiter = ',')]
    pub(crate) writable_by: Option<Vec<String>>,
}
