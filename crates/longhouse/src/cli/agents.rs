//! The words of `longhouse agent`.

use super::{InProject, Person};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Add an agent to a project and print its id
    #[command(after_help = "\
Examples:
  longhouse agent create -p alpha reviewer --role reviewer --model gpt-4 --temperature 0.2
  longhouse agent create -p alpha librarian --shared --audience everyone
  longhouse agent create -p alpha reader --tool workspace_list --tool workspace_read
  longhouse agent create -p alpha poet --system-prompt-file poet.md")]
    Create(CreateAgent),
    /// The agents of a project
    #[command(after_help = "Example:\n  longhouse agent list -p alpha")]
    List(InProject),
    /// One agent
    #[command(after_help = "\
Examples:
  longhouse agent show -p alpha agent_writer
  longhouse agent show agt_0198c5c1e2f37d4b9a6f5e4d3c2b1a09")]
    Show(OneAgent),
    /// Change an agent: only what is given
    #[command(after_help = "\
Examples:
  longhouse agent update -p alpha agent_writer --temperature 0.9 --max-tokens 4096
  longhouse agent update -p alpha reviewer --name critic --shared
  longhouse agent update -p alpha reader --all-tools

An agent changes between private and shared only as long as it has no items.")]
    Update(UpdateAgent),
    /// Remove an agent with its tokens and, if it is shared, with its items
    Delete(OneAgent),
    /// The shared agents you may publish to: of your workspaces, and those shown to everyone
    Shared {
        #[command(flatten)]
        person: Person,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateAgent {
    /// A letter, then at most 63 of a-z, 0-9 and _
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: InProject,
    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateAgent {
    #[command(flatten)]
    pub(crate) one: OneAgent,
    /// Another name
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) options: AgentOptions,
    /// Let it work on the items of the person it runs for
    #[arg(long, conflicts_with_all = ["shared", "audience"])]
    pub(crate) private: bool,
    /// Take its system prompt away
    #[arg(long, conflicts_with_all = ["system_prompt", "system_prompt_file"])]
    pub(crate) no_system_prompt: bool,
    /// Let it use every tool again
    #[arg(long, conflicts_with = "tools")]
    pub(crate) all_tools: bool,
}

/// What can be chosen about an agent.
#[derive(Debug, Args)]
pub(crate) struct AgentOptions {
    /// What it is, such as reviewer
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// The model's name
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// From 0 to 2
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// The longest answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// What it is told first
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// The same, from a file; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub(crate) system_prompt_file: Option<PathBuf>,
    /// How many tasks it works on at once, 1 to 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10))]
    pub(crate) concurrency: Option<u64>,
    /// Give it one memory of its own, for everybody who works with it
    #[arg(long)]
    pub(crate) shared: bool,
    /// Who may see a shared agent and publish to it
    #[arg(long)]
    pub(crate) audience: Option<Audience>,
    /// The only tools it may use, such as workspace_read; may be given several times
    #[arg(long = "tool", value_name = "TOOL", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Audience {
    Workspace,
    Everyone,
}

#[derive(Debug, Args)]
pub(crate) struct OneAgent {
    /// The agent, by name or id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: String,
    /// Its project, by id or name; not needed where the agent is given by id
    #[arg(short, long, env = "LONGHOUSE_PROJECT")]
    pub(crate) project: Option<String>,
    /// Where several projects have that name
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) person: Person,
}

fn temperature(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(number) if (0.0..=2.0).contains(&number) => Ok(number),
        _ => Err("a temperature is a number from 0 to 2"),
    }
}
