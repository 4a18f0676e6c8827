//! The words of `longhouse project`, and how other commands name a project.

use super::Person;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Create a project with its starter agents and print its id
    #[command(
        after_help = "Examples:\n  longhouse project create alpha\n  longhouse project create accounts --approval always"
    )]
    Create {
        /// Its name, unique in the workspace
        name: String,
        /// Your personal workspace if left out
        #[arg(long)]
        workspace: Option<String>,
        /// Which calls of its agents on people's machines wait for a person; by_risk if left out
        #[arg(long)]
        approval: Option<ProjectApproval>,
        #[command(flatten)]
        person: Person,
    },
    /// The projects you can see
    List {
        #[arg(long)]
        workspace: Option<String>,
        #[command(flatten)]
        person: Person,
    },
    /// One project with its agents
    Show(OneProject),
    /// Give a project another name
    #[command(after_help = "Example:\n  longhouse project rename alpha 'Alpha, second attempt'")]
    Rename {
        #[command(flatten)]
        one: OneProject,
        /// The new name
        name: String,
    },
    /// Change which calls of its agents wait for a person
    #[command(after_help = "Example:\n  longhouse project update alpha --approval always")]
    Update {
        #[command(flatten)]
        one: OneProject,
        #[arg(long)]
        approval: ProjectApproval,
    },
    /// Remove a project with its agents, what the shared ones keep, and its sessions
    Delete(OneProject),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ProjectApproval {
    /// Those that change or run something
    ByRisk,
    /// Every one, reading and listing, too
    Always,
}

#[derive(Debug, Args)]
pub(crate) struct OneProject {
    /// The project, by id or name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) project: String,
    /// Where several projects have that name
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) person: Person,
}

/// The project in which something is.
#[derive(Debug, Args)]
pub(crate) struct InProject {
    /// The project, by id or name
    #[arg(short, long, env = "LONGHOUSE_PROJECT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) project: String,
    /// Where several projects have that name
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    #[command(flatten)]
    pub(crate) person: Person,
}
