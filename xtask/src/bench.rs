//! `cargo xtask bench`: measures the product beside its limits and peers, and writes `docs/benchmarks.md` anew.
//! Builds in release, then measures in a process of its own. Never a number that was not measured in this run.

mod approved_turns;
mod baselines;
mod cold_start;
mod document;
mod growth;
mod http;
mod load;
mod machine;
mod memory;
mod policy;
mod postgres;
mod providers;
mod reads;
mod redis;
mod rows;
mod samples;
mod scene;
mod streams;
mod tools;
mod turns;
mod writes;

use crate::processes;
use crate::workspace::{self, Profile};
use anyhow::{Result, bail};
use document::Section;
use rows::Row;
use scene::Scene;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How often each figure is measured; the spread in the document is over these.
const ROUNDS: usize = 3;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these figures
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Figure>,
    /// Length of one timed round
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Where the document goes
    #[arg(long, default_value = "docs/benchmarks.md")]
    out: PathBuf,
    /// Measure this binary instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Set by the command itself: this is the measuring process
    #[arg(long, hide = true)]
    measure: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Figure {
    #[value(name = "writes-64")]
    Writes64,
    #[value(name = "writes-1")]
    Writes1,
    #[value(name = "reads-64")]
    Reads64,
    ColdStart,
    Memory,
    IdleStreams,
    Growth,
    Postgres,
    Policy,
    Turns,
    TurnGrowth,
    Fairness,
    Tools,
    ApprovedTurns,
}

impl Figure {
    const ALL: [Self; 14] = [
        Self::Writes64,
        Self::Writes1,
        Self::Reads64,
        Self::ColdStart,
        Self::Memory,
        Self::IdleStreams,
        Self::Growth,
        Self::Postgres,
        Self::Policy,
        Self::Turns,
        Self::TurnGrowth,
        Self::Fairness,
        Self::Tools,
        Self::ApprovedTurns,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Writes64 => "writes-64",
            Self::Writes1 => "writes-1",
            Self::Reads64 => "reads-64",
            Self::ColdStart => "cold-start",
            Self::Memory => "memory",
            Self::IdleStreams => "idle-streams",
            Self::Growth => "growth",
            Self::Postgres => "postgres",
            Self::Policy => "policy",
            Self::Turns => "turns",
            Self::TurnGrowth => "turn-growth",
            Self::Fairness => "fairness",
            Self::Tools => "tools",
            Self::ApprovedTurns => "approved-turns",
        }
    }

    fn measure(self, scene: &Scene) -> Result<Vec<Row>> {
        match self {
            Self::Writes64 => writes::by_64_clients(scene),
            Self::Writes1 => writes::by_1_client(scene),
            Self::Reads64 => reads::measure(scene),
            Self::ColdStart => cold_start::measure(scene),
            Self::Memory => memory::measure(scene),
            Self::IdleStreams => streams::measure(scene),
            Self::Growth => growth::measure(scene),
            Self::Postgres => postgres::measure(scene),
            Self::Policy => policy::measure(),
            Self::Turns => turns::measure(scene),
            Self::TurnGrowth => turns::growth(scene),
            Self::Fairness => turns::fairness(scene),
            Self::Tools => tools::measure(scene),
            Self::ApprovedTurns => approved_turns::measure(scene),
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.measure { measure(options) } else { build_and_measure(options) }
}

/// Everything in release; the measuring process gets as many open files as the machine allows.
fn build_and_measure(options: &Options) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => std::fs::canonicalize(binary)?,
        None => workspace::build("longhouse", Profile::Release)?,
    };
    let measurer = workspace::build("xtask", Profile::Release)?;
    let mut arguments: Vec<OsString> = vec!["bench".into(), "--measure".into()];
    arguments.extend(["--seconds".into(), options.seconds.to_string().into()]);
    arguments.extend(["--out".into(), options.out.clone().into(), "--binary".into(), binary.into()]);
    if !options.only.is_empty() {
        let names: Vec<&str> = options.only.iter().map(|figure| figure.name()).collect();
        arguments.extend(["--only".into(), names.join(",").into()]);
    }
    let with_files = "ulimit -n 65536 2>/dev/null || ulimit -n \"$(ulimit -Hn)\"; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.arg("-c").arg(with_files).arg(measurer).args(arguments).current_dir(workspace::root());
    processes::run(&mut command)
}

fn measure(options: &Options) -> Result<()> {
    let Some(binary) = &options.binary else { bail!("the measuring process is started by `cargo xtask bench`") };
    let scene = Scene::new(binary, Duration::from_secs(options.seconds))?;
    let load_at_start = machine::load_average();
    let mut sections = Vec::new();
    for figure in Figure::ALL {
        let result = match options.only.is_empty() || options.only.contains(&figure) {
            true => {
                println!("measuring {} …", figure.name());
                Some(figure.measure(&scene))
            }
            false => None,
        };
        let section = Section { name: figure.name(), result };
        print!("{}", document::render_rows(&section));
        sections.push(section);
    }
    let machine = machine::describe(&scene, load_at_start)?;
    std::fs::write(&options.out, document::render(&machine, options.seconds, &sections))?;
    println!("written: {}", options.out.display());
    let failed: Vec<&str> =
        sections.iter().filter(|section| section.has_failed()).map(|section| section.name).collect();
    if !failed.is_empty() {
        bail!("could not be measured: {}", failed.join(", "));
    }
    Ok(())
}
