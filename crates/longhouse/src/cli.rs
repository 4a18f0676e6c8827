//! The words of the command line. Those of the larger commands have files of their own.

mod agents;
mod chat;
mod config;
mod connect;
mod context;
mod items;
mod plugins;
mod policy;
mod projects;
mod sessions;
mod tasks;
mod tokens;
mod usage;
mod workspaces;

pub(crate) use agents::{Agent, AgentOptions, Audience, CreateAgent, OneAgent, UpdateAgent};
pub(crate) use chat::Chat;
pub(crate) use config::Config;
pub(crate) use connect::{Approvals, Connect, Nodes, OneApproval, Pair, UndoCall};
pub(crate) use context::{Context, ContextAction, WriteContext};
pub(crate) use items::{AgentAddress, Items, PublishItem, WriteItem};
pub(crate) use plugins::{AcceptTool, Plugin};
pub(crate) use policy::{ExplainPolicy, Policy};
pub(crate) use projects::{InProject, OneProject, Project, ProjectApproval};
pub(crate) use sessions::{OneSession, Session};
pub(crate) use tasks::{AtWork, OneTask, Tasks, WorkerSpace};
pub(crate) use tokens::{CreateToken, Token};
pub(crate) use usage::Usage;
pub(crate) use workspaces::{OneWorkspace, Reply, Workspace, WorkspaceOptions};

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A self-hosted workspace platform for AI agents.
#[derive(Debug, Parser)]
#[command(
    name = "longhouse",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  longhouse serve                                         start on 127.0.0.1:7700
  longhouse chat                                          talk to an agent, with or without a server
  longhouse session create ticket-42                      a session with its shared context
  longhouse token create --user owner --session ticket-42 --participant subagent:review:1
  longhouse context write -s ticket-42 problem_summary 'Throughput dropped by 30 %.'
  longhouse context watch -s ticket-42                    see changes as they happen
  longhouse project create alpha                          a project with four starter agents
  longhouse items write -p alpha -a agent_writer notes 'Short sentences.'"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Every command has these: they stand apart in its help.
const PLACE: &str = "Which Longhouse, and how answers are shown";

/// Which Longhouse is meant, and how answers are shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// The data directory of a Longhouse on this machine
    #[arg(long, global = true, help_heading = PLACE, value_name = "DIR")]
    #[arg(env = "LONGHOUSE_DATA_DIR", default_value = "./longhouse-data")]
    pub(crate) data_dir: PathBuf,
    /// The configuration file; `longhouse.yaml` if that is in the working directory
    #[arg(long, global = true, help_heading = PLACE, env = "LONGHOUSE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A Longhouse elsewhere, by its address; needs a token in LONGHOUSE_TOKEN or --token-file
    #[arg(long, global = true, help_heading = PLACE, env = "LONGHOUSE_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// A file with the token for --server
    #[arg(long, global = true, help_heading = PLACE, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A certificate (PEM) to trust for --server, beside the usual ones
    #[arg(long, global = true, help_heading = PLACE, env = "LONGHOUSE_CA_FILE", value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true, help_heading = PLACE)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server
    Serve(Serve),
    /// Talk to an agent: in the terminal, through a pipe, or one question at a time
    Chat(Chat),
    /// Let agents of a project work in a folder of this machine, and stay in charge of it
    Connect(Connect),
    /// Put back what a call replaced on this machine
    Undo(UndoCall),
    /// What agents want to do on your machines: look at it, agree or not
    #[command(subcommand)]
    Approvals(Approvals),
    /// Let a machine in that shows a code
    #[command(subcommand)]
    Pair(Pair),
    /// Your machines: list, remove
    #[command(subcommand)]
    Nodes(Nodes),
    /// Be an MCP server on standard input and output, for agents such as Claude Code and Codex
    Mcp(Mcp),
    /// People: add, list, remove, change a role, make a sign-in link
    #[command(subcommand)]
    User(User),
    /// Tokens: create, list, revoke
    #[command(subcommand)]
    Token(Token),
    /// Sessions: create, list, show, archive, delete
    #[command(subcommand)]
    Session(Session),
    /// The shared context of a session
    Context(Context),
    /// Workspaces: who belongs together, what their agents may use and spend
    #[command(subcommand)]
    Workspace(Workspace),
    /// Projects: create, list, show, rename, delete
    #[command(subcommand)]
    Project(Project),
    /// Agents of a project: create, list, show, update, delete; and those shared with you
    #[command(subcommand)]
    Agent(Agent),
    /// Tasks of a project's agents: list, show, cancel
    #[command(subcommand)]
    Tasks(Tasks),
    /// The live side of a project: how it is, or end it
    #[command(subcommand)]
    WorkerSpace(WorkerSpace),
    /// Workspace items: what an agent keeps for you, or a shared agent for all
    #[command(subcommand)]
    Items(Items),
    /// Rights: why somebody may use a tool, or why not
    #[command(subcommand)]
    Policy(Policy),
    /// Plugins: how they stand, and a yes to what is new or has changed
    #[command(subcommand)]
    Plugin(Plugin),
    /// The configuration file: check it, or print its schema
    #[command(subcommand)]
    Config(Config),
    /// The audit log: list it, or verify its chains
    Audit(Audit),
    /// Make a consistent backup in a new folder, while the server runs or not
    #[command(after_help = "Example:\n  longhouse backup /backups/longhouse-monday")]
    Backup { path: PathBuf },
    /// Put a backup into an empty data directory
    #[command(after_help = "Example:\n  longhouse restore /backups/longhouse-monday --data-dir ./restored")]
    Restore { path: PathBuf },
    /// Look whether everything is well; exits with 1 if not
    Doctor {
        /// Also count every setting that is less safe than its default
        #[arg(long)]
        security: bool,
    },
    /// Print a completion script
    #[command(
        after_help = "Example:\n  longhouse completions bash > ~/.local/share/bash-completion/completions/longhouse"
    )]
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  longhouse serve
  longhouse serve --listen 127.0.0.1:8080 --data-dir /var/lib/longhouse
  longhouse serve --config house/longhouse.yaml           read again whenever it changes, and on SIGHUP
  longhouse serve --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --public-url https://house.example

LONGHOUSE_STORAGE_URL=postgres://… keeps the rows in an empty PostgreSQL database instead of a file.
LONGHOUSE_SECRET (64 hex digits) takes the place of the secret in the data directory.
LONGHOUSE_LOG sets what is logged (default: info), LONGHOUSE_LOG_FORMAT=json how.")]
pub(crate) struct Serve {
    /// The address to listen on
    #[arg(long, env = "LONGHOUSE_LISTEN", default_value = "127.0.0.1:7700", value_name = "ADDRESS")]
    pub(crate) listen: String,
    /// The address that people use, if it is another one
    #[arg(long, env = "LONGHOUSE_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// A host name to answer to, beside the loopback names; may be given several times
    #[arg(long = "allowed-host", env = "LONGHOUSE_ALLOWED_HOSTS", value_delimiter = ',', value_name = "NAME")]
    pub(crate) allowed_hosts: Vec<String>,
    /// Requests per second for each credential, or `off`
    ///
    /// 2000 if neither this nor the configuration file says otherwise
    #[arg(long, env = "LONGHOUSE_RATE_LIMIT", value_name = "N")]
    pub(crate) rate_limit: Option<String>,
    /// Let /metrics be read without a token (on loopback only)
    #[arg(long, env = "LONGHOUSE_METRICS_OPEN", value_parser = clap::builder::FalseyValueParser::new())]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) metrics_open: Option<bool>,
    /// The certificate for TLS (PEM)
    #[arg(long, env = "LONGHOUSE_TLS_CERT", requires = "tls_key", value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, env = "LONGHOUSE_TLS_KEY", requires = "tls_cert", value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen beyond loopback without TLS, for example behind a proxy that has it
    #[arg(long, env = "LONGHOUSE_ALLOW_PLAIN_HTTP", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) allow_plain_http: bool,
    /// Take no configuration file, and shut what an earlier one opened
    #[arg(long, env = "LONGHOUSE_WITHOUT_CONFIG", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) without_config: bool,
    /// Print what would be in force, as JSON without secrets, and end
    #[arg(long)]
    pub(crate) print_config: bool,
}

/// With a token, here or with --server, it says who acts, in which session and as whom.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  LONGHOUSE_TOKEN=… longhouse mcp --server https://house.example
  longhouse mcp --session ticket-42 --participant subagent:review:1
  longhouse mcp --agent agt_…                      # with its tools; `longhouse agent list` has the ids

A client starts it in a folder of its own choice, so give it whole paths:
  claude mcp add longhouse -- /path/to/longhouse mcp --data-dir /path/to/longhouse-data --agent agt_…
  codex mcp add longhouse -- /path/to/longhouse mcp --data-dir /path/to/longhouse-data --session ticket-42

On this machine it goes through the server of the data directory. If none runs, it opens the directory itself and lets
other commands in for as long as it lasts.")]
pub(crate) struct Mcp {
    /// The person to act for, on this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The agent to act as, by its id, on this machine; it has the workspace_* tools, and those of its person's machines
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// The one session that can be reached, on this machine; without it every call names one
    #[arg(short, long)]
    pub(crate) session: Option<String>,
    /// Where several sessions have that id
    #[arg(long, requires = "session")]
    pub(crate) workspace: Option<String>,
    /// The participant to act as: orchestrator, subagent:<type>, subagent:<type>:<n>. Default in a session is
    /// orchestrator, of an agent subagent:<its name>
    #[arg(long, value_name = "PARTICIPANT")]
    pub(crate) participant: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Add a person
    #[command(after_help = "Example:\n  longhouse user add sean --role admin")]
    Add {
        name: String,
        /// admin, member, guest, or one that the configuration file defines
        #[arg(long, default_value = "member")]
        role: String,
        /// Let somebody in again who left with the configuration file, with all they have
        #[arg(long)]
        restore: bool,
    },
    /// The people of the house
    List,
    /// Change a person's role
    Role {
        name: String,
        /// admin, member, guest, or one that the configuration file defines
        role: String,
    },
    /// Take a person out, with everything that was only theirs
    Remove { name: String },
    /// Print a one-time link that signs a browser in
    Link { name: String },
}

/// On whose behalf, on this machine. With --server the token says so.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Actor {
    /// The person to act for
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The participant to act as: orchestrator, subagent:<type>, subagent:<type>:<n>
    #[arg(long = "as", global = true, value_name = "PARTICIPANT")]
    pub(crate) participant: Option<String>,
}

/// On whose behalf, where nobody takes part in a session.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Person {
    /// The person to act for, on this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
}

impl From<Person> for Actor {
    fn from(person: Person) -> Self {
        Self { user: person.user, participant: None }
    }
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  longhouse audit --workspace personal-usr_owner
  longhouse audit verify"
)]
pub(crate) struct Audit {
    /// Only this workspace; `@house` is what belongs to none
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    /// At most so many rows, the newest
    #[arg(long, default_value_t = 100)]
    pub(crate) last: usize,
    #[command(subcommand)]
    pub(crate) action: Option<AuditAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditAction {
    /// Check every chain; exits with 1 if one does not hold
    Verify,
}
