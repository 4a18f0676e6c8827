//! The words of `longhouse connect`, and of what people do with nodes and their calls.

use super::Person;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  longhouse connect --server https://house.example --project alpha --root ~/work/alpha
  longhouse connect --project home --root . --token-file token     paired without asking
  longhouse connect --project alpha --root . --read-only           look, and change nothing
  longhouse connect --project alpha --root . --tui                 answer with y and n beside the diff

Agents of the project may then read and list what is in the folder; before they change something or run a command you are
asked (`--tui`, or `longhouse approvals watch`). Nothing outside the folder can be reached. It opens no port.")]
pub(crate) struct Connect {
    /// The project whose agents may ask, by id or name
    #[arg(short, long, env = "LONGHOUSE_PROJECT", required_unless_present = "workspace")]
    pub(crate) project: Option<String>,
    /// Where several projects have that name; without a project, the workspace whose members it serves
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// What to call this machine; its own name if left out
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Where its key, its journal and what can be undone are kept; never inside the folder
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Change nothing and run nothing, whoever agrees
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Run no commands, whoever agrees
    #[arg(long)]
    pub(crate) no_exec: bool,
    /// Let commands use the network where the rules of the workspace do (`exec.network`); none does without this
    #[arg(long, conflicts_with_all = ["read_only", "no_exec"])]
    pub(crate) allow_network: bool,
    /// Ask at this terminal, too, before anything is changed or run
    #[arg(long)]
    pub(crate) ask_locally: bool,
    /// A full screen: what waits for your answer with its diff, and what happens here
    #[arg(long)]
    pub(crate) tui: bool,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Example:
  longhouse undo call_0198c5c1e2f37d4b9a6f5e4d3c2b1a09

What a write, an edit or a delete replaced is kept for 7 days on the machine with the files. It is put back if nobody has
changed the file since.")]
pub(crate) struct UndoCall {
    /// The call, as `longhouse connect` and approvals name it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) call: String,
    /// The node's state directory, if it was started with one
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pair {
    /// Let a node in that shows this code; it works for you from then on
    #[command(after_help = "Example:\n  longhouse pair confirm ABCD-EFGH")]
    Confirm {
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        code: String,
        #[command(flatten)]
        person: Person,
    },
    /// People who wrote to a bot and wait to be let in; for admins
    #[command(after_help = "Example:\n  longhouse pair list")]
    List {
        #[command(flatten)]
        person: Person,
    },
    /// Let somebody in whom a bot gave this code: as the user you name, or as a new member; for admins
    #[command(
        after_help = "Examples:\n  longhouse pair approve ABCD-EFGH --user sean\n  longhouse pair approve ABCD-EFGH"
    )]
    Approve {
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        code: String,
        /// Whose account it is; without it a new member is made
        #[arg(long = "user", value_name = "NAME")]
        whose: Option<String>,
    },
    /// Send somebody away: the code is worth nothing any more; for admins
    #[command(after_help = "Example:\n  longhouse pair reject ABCD-EFGH")]
    Reject {
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        code: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Nodes {
    /// Your machines, and those that serve your workspaces
    List {
        #[command(flatten)]
        person: Person,
    },
    /// Remove a machine: its key opens nothing any more
    Remove {
        /// By id or name
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        node: String,
        #[command(flatten)]
        person: Person,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// What you are asked, newest first
    #[command(after_help = "Examples:\n  longhouse approvals list\n  longhouse approvals list --status rejected")]
    List {
        /// pending, approved, rejected, expired, cancelled, or all
        #[arg(long, default_value = "pending")]
        status: String,
        #[command(flatten)]
        person: Person,
    },
    /// Everything about one of them
    Show(OneApproval),
    /// What its session knew when you were asked
    Context(OneApproval),
    /// Say yes
    #[command(after_help = "Example:\n  longhouse approvals approve apr_0198c5c1e2f37d4b9a6f5e4d3c2b1a09")]
    Approve {
        #[command(flatten)]
        one: OneApproval,
        /// Do not ask again for this very call in this session
        #[arg(long)]
        remember: bool,
    },
    /// Say no
    Reject {
        #[command(flatten)]
        one: OneApproval,
        /// Why; the agent is told
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show what you are asked as it comes
    Watch {
        #[command(flatten)]
        person: Person,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OneApproval {
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) person: Person,
}
