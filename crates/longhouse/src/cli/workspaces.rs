//! The words of `longhouse workspace`.

use super::Person;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// The workspaces you belong to
    List {
        /// Every one that is nobody's own, closed ones too; for admins
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        person: Person,
    },
    /// One workspace: members, tools, skills, budget, places, and who said so
    Show(OneWorkspace),
    /// What was spent today, by whom and by which agent
    Budget(OneWorkspace),
    /// Make a workspace; for admins
    #[command(after_help = "\
Example:
  longhouse workspace create family --member sean --member wife --allow 'calendar.*' --daily-usd 5")]
    Create {
        name: String,
        /// A member; may be given several times
        #[arg(long = "member", value_name = "USER")]
        members: Vec<String>,
        #[command(flatten)]
        settings: WorkspaceOptions,
    },
    /// Change a workspace; for admins. What the configuration file says is changed there
    #[command(after_help = "\
Examples:
  longhouse workspace update family --daily-usd 7.50 --timezone Europe/Berlin
  longhouse workspace update family --allow ''                     # no tools any more")]
    Update {
        name: String,
        #[command(flatten)]
        settings: WorkspaceOptions,
        /// Take the limit away
        #[arg(long, conflicts_with_all = ["daily_usd", "member_daily_usd", "timezone"])]
        no_budget: bool,
    },
    /// Delete a workspace that the configuration file does not name; for admins
    Delete {
        name: String,
        /// With its projects and sessions
        #[arg(long)]
        with_data: bool,
    },
    /// Make somebody a member; for admins
    AddMember { name: String, user: String },
    /// Take somebody out, everywhere at once; for admins
    RemoveMember { name: String, user: String },
    /// Bind a place of a channel; for admins
    #[command(after_help = "\
Examples:
  longhouse workspace bind family telegram --chat-id=-100789012
  longhouse workspace bind homelab discord --guild-id 987654 --channel-id 111222")]
    Bind {
        name: String,
        /// telegram, discord or http
        channel: String,
        #[arg(long, allow_hyphen_values = true)]
        chat_id: Option<String>,
        #[arg(long)]
        guild_id: Option<String>,
        #[arg(long)]
        channel_id: Option<String>,
        /// What is answered in a group
        #[arg(long)]
        reply: Option<Reply>,
    },
    /// Give a place back; for admins
    #[command(after_help = "Example:\n  longhouse workspace unbind family telegram:-100789012")]
    Unbind {
        name: String,
        /// As `workspace show` has it
        place: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Reply {
    Mention,
    All,
}

#[derive(Debug, Args)]
pub(crate) struct OneWorkspace {
    /// Its name; `personal` is your own
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) person: Person,
}

/// What a workspace sets. A list that is given replaces the one before; `--allow ''` empties it.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceOptions {
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// The model of its agents
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// A tool its agents may use (`k8s.get`, `k8s.*`); may be given several times, replaces those before, '' for none
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,
    /// A tool they may not use in any case; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
    /// A skill its agents see; may be given several times
    #[arg(long = "skill", value_name = "NAME")]
    pub(crate) skills: Vec<String>,
    /// A node that may serve it; may be given several times
    #[arg(long = "node", value_name = "NAME")]
    pub(crate) nodes: Vec<String>,
    /// Dollars that may be spent in a day
    #[arg(long, value_name = "USD")]
    pub(crate) daily_usd: Option<serde_json::Number>,
    /// Dollars that each member may spend in a day
    #[arg(long, value_name = "USD")]
    pub(crate) member_daily_usd: Option<serde_json::Number>,
    /// Whose midnight ends the day, such as Europe/Berlin
    #[arg(long)]
    pub(crate) timezone: Option<String>,
}
