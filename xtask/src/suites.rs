//! `cargo xtask test`: every test there is, step by step, each with its time, and one line of totals at the end.
//! A step that cannot run is a failure; it never disappears.

use crate::mcp_clients;
use crate::packages;
use crate::postgres::Postgres;
use crate::processes;
use crate::records;
use crate::stories;
use crate::totals::Totals;
use crate::workspace::{self, Profile};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the long loops too (sets LONGHOUSE_SOAK=1 for the tests)
    #[arg(long)]
    soak: bool,
    /// Write the table of the fault tests into docs/reliability.md
    #[arg(long)]
    record: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut tally = Tally::default();
    let records = records::prepare()?;
    tally.step("programs that make faults", || {
        packages::ensure("strace", "strace")?;
        packages::ensure("python3", "python3")?;
        Ok(Totals::PASSED)
    });
    let mut binary = None;
    tally.step("build longhouse", || {
        binary = Some(workspace::build("longhouse", Profile::Debug)?);
        Ok(Totals::PASSED)
    });
    if has_nextest() {
        tally.step("tests (nextest)", || nextest(options, &records));
        if has_doctests(&workspace::root().join("crates"))? {
            tally.step("examples in doc comments", || cargo_test(options, &records, &["--doc"]));
        }
    } else {
        tally.step("tests (cargo test)", || cargo_test(options, &records, &[]));
    }
    tally.step("the stories on PostgreSQL", || on_postgres(options, &records, &ON_POSTGRES));
    tally.step("faults on PostgreSQL", || on_postgres(options, &records, &FAULTS_ON_POSTGRES));
    // Last of all: it builds the store anew.
    tally.step("interleavings", || interleavings(options, &records));
    tally.step("example: shared context story", || match &binary {
        Some(binary) => stories::shared_context(binary),
        None => bail!("there is no binary to tell it to"),
    });
    tally.step("example: orchestrator", || match &binary {
        Some(binary) => stories::orchestrator(binary),
        None => bail!("there is no binary to tell it to"),
    });
    tally.step("guide: one gateway for a household", || match &binary {
        Some(binary) => stories::household(binary),
        None => bail!("there is no binary to follow it with"),
    });
    tally.step("mcp clients", || match &binary {
        Some(binary) => mcp_clients::run(binary, options.soak),
        None => bail!("there is no binary for them to talk to"),
    });
    if options.record {
        tally.step("docs/reliability.md", || records::publish(&records, options.soak).map(|()| Totals::PASSED));
    }
    tally.finish()
}

#[derive(Default)]
struct Tally {
    totals: Totals,
    lines: Vec<String>,
}

impl Tally {
    fn step(&mut self, name: &str, work: impl FnOnce() -> Result<Totals>) {
        let started = Instant::now();
        let totals = work().unwrap_or_else(|error| {
            println!("{name}: {error:#}");
            Totals::FAILED
        });
        let line = format!("step: {name}: {totals} ({:.1} s)", started.elapsed().as_secs_f64());
        println!("{line}");
        self.lines.push(line);
        self.totals += totals;
    }

    fn finish(self) -> Result<()> {
        println!("\n{}\n{}", self.lines.join("\n"), self.totals);
        // The totals are the last word: an error would print a line after them.
        if self.totals.failed > 0 {
            std::process::exit(1);
        }
        Ok(())
    }
}

fn has_nextest() -> bool {
    let mut ask = workspace::cargo();
    ask.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}

fn nextest(options: &Options, records: &Path) -> Result<Totals> {
    let mut command = workspace::cargo();
    command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests", "pass"]);
    count(options, records, command, Totals::from_nextest)
}

fn cargo_test(options: &Options, records: &Path, more: &[&str]) -> Result<Totals> {
    let mut command = workspace::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).args(more);
    count(options, records, command, Totals::from_cargo_test)
}

/// The rooms whose stories are told a second time, on a PostgreSQL of our own.
const ON_POSTGRES: [&str; 4] = ["-p", "longhouse-store", "-p", "longhouse-api"];
const FAULTS_ON_POSTGRES: [&str; 6] = ["-p", "longhouse", "--features", "postgres-faults", "--test", "on_postgres"];

fn on_postgres(options: &Options, records: &Path, tests: &[&str]) -> Result<Totals> {
    let postgres = Postgres::start(&std::env::temp_dir())?;
    let mut command = workspace::cargo();
    command.env("LONGHOUSE_TEST_STORAGE_URL", postgres.url()?).env("LONGHOUSE_TEST_POSTGRES", postgres.programs());
    if has_nextest() {
        command.args(["nextest", "run", "--no-fail-fast"]).args(tests);
        return count(options, records, command, Totals::from_nextest);
    }
    command.args(["test", "--no-fail-fast"]).args(tests);
    count(options, records, command, Totals::from_cargo_test)
}

/// The store's threads under a scheduler that tries adversarial orders of their steps.
fn interleavings(options: &Options, records: &Path) -> Result<Totals> {
    let mut command = workspace::cargo();
    command.args(["test", "-p", "longhouse-store", "--lib", "--features", "interleavings", "interleavings"]);
    count(options, records, command, Totals::from_cargo_test)
}

/// Runs a test command and reads its summary. A bad exit without a failed test still counts as a failure.
fn count(options: &Options, records: &Path, mut command: Command, read: fn(&str) -> Option<Totals>) -> Result<Totals> {
    command.env("CARGO_TERM_COLOR", "never").env("LONGHOUSE_RECORDS", records);
    if options.soak {
        command.env("LONGHOUSE_SOAK", "1");
    }
    let (status, heard) = processes::run_and_listen(&mut command)?;
    let mut totals = read(&heard).with_context(|| format!("{command:?} ended with {status} and without a summary"))?;
    if !status.success() && totals.failed == 0 {
        println!("{command:?} ended with {status}");
        totals += Totals::FAILED;
    }
    Ok(totals)
}

/// True if a doc comment under `folder` holds a code block that rustdoc would run.
fn has_doctests(folder: &Path) -> Result<bool> {
    for file in rust_files(folder)? {
        if contains_doctest(&std::fs::read_to_string(file)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn contains_doctest(source: &str) -> bool {
    let comments = source.lines().map(str::trim_start);
    let comments = comments.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let mut fences = comments.filter_map(|line| line.trim().strip_prefix("```"));
    // Fences come in pairs: the first of each opens a block and names its language.
    while let Some(language) = fences.next() {
        let is_rust = |word: &str| matches!(word, "" | "rust" | "no_run" | "should_panic" | "compile_fail");
        if language.split(',').all(|word| is_rust(word.trim())) {
            return true;
        }
        fences.next();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::contains_doctest;

    #[test]
    fn only_code_blocks_that_rustdoc_runs_count_as_doctests() {
        let table = [
            ("/// ```\n/// assert!(true);\n/// ```\n", true),
            ("//! ```rust,no_run\n//! f();\n//! ```\n", true),
            ("/// ```text\n/// a picture\n/// ```\n", false),
            ("/// ```json\n/// {}\n/// ```\n/// ```ignore\n/// f();\n/// ```\n", false),
            ("/// ```text\n/// a\n/// ```\n/// ```\n/// f();\n/// ```\n", true),
            ("let fence = \"```\";", false),
        ];
        for (source, expected) in table {
            assert_eq!(contains_doctest(source), expected, "{source}");
        }
    }
}
