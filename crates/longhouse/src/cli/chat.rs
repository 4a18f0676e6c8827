//! The words of `longhouse chat`.

use super::Person;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhouse chat                                    in the terminal; /help lists what you can do
  longhouse chat What can you do?                   one question, one answer
  longhouse chat -a agent_writer - < draft.md       a whole file as one message
  printf 'one\\ntwo\\n' | longhouse chat              a message for each line
  longhouse chat -s SESSION                         go on with an earlier conversation
  longhouse chat --json 'Sum it up' | jq -r .reply.content

Answers go to standard output, everything else to standard error. It exits with 1 if a message was
not answered. A model answers if the server was started with OPENAI_API_KEY, ANTHROPIC_API_KEY or
LONGHOUSE_OPENAI_BASE_URL set, or its configuration file names a provider; else the built-in demo.")]
pub(crate) struct Chat {
    /// What to say; `-` is all of standard input. Without it each line of standard input is a message,
    /// or a command if it begins with `/`
    pub(crate) message: Vec<String>,
    /// The project, by id or name; your own `home` if left out
    #[arg(short, long, env = "LONGHOUSE_PROJECT")]
    pub(crate) project: Option<String>,
    /// The agent to talk to, by name or id; the project's first if left out
    #[arg(short, long, env = "LONGHOUSE_AGENT")]
    pub(crate) agent: Option<String>,
    /// An earlier session to go on with; a new one if left out
    #[arg(short, long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// Where several projects or sessions are called so
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) person: Person,
}
