//! The text of `docs/benchmarks.md`. Pure: everything in it comes from one run's results.

use super::ROUNDS;
use super::machine::Machine;
use super::rows::Row;
use anyhow::Result;
use std::fmt::Write;

/// One figure's rows; `None` where this run left it out.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) result: Option<Result<Vec<Row>>>,
}

impl Section {
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.result, Some(Err(_)))
    }
}

const READING: &str = "\
Server, load generator and peers share the machine's cores; nothing is pinned. For writes, reads and idle streams, product
and peer take turns within each round. Numbers are the median over the rounds with the lowest and highest in brackets; a
ratio is product ÷ peer, of the medians. Latencies are seen by the client. Rate limits are off. Everything that must be durable lies on one file system.

- **writes**: a closed loop over kept connections, each in a session of its own, overwriting 10 keys with 200 characters.
- **reads**: the same loop, reading those keys; the static route gets the same requests and gives an answer of the same size.
- **cold start**: from starting the process to the first 200 of `GET /health`, file cache warm, after an orderly
  stop; seven starts each.
- **memory**: VmRSS. 1 MB = 1 000 000 bytes. The static route and the naive streams use the product's allocator,
  the latter without huge pages, which is their best.
- **idle streams**: growth of VmRSS (kernel buffers are not in it) divided by the number of streams, all on one session; the
  time until the client process, on one thread, has read the event from the last of them.
- **growth**: every session is written to in turn. One write to each of n sessions costs n ÷ rate, so a cost linear in n
  is a constant rate.
- **policy decision**: for a tool of a named plugin, over all workspaces, plugins and roles of a made-up house; a yes has
  passed every layer. No sentence is written.
";

pub(crate) fn render(machine: &Machine, seconds: u64, sections: &[Section]) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    let _ = writeln!(text, "Written by `cargo xtask bench` on {}; do not edit.", machine.date);
    let _ = writeln!(text, "{ROUNDS} rounds of {seconds} s where a rate is measured.\n");
    text.push_str("| | |\n|---|---|\n");
    for (name, fact) in &machine.facts {
        let _ = writeln!(text, "| {name} | {} |", cell(fact));
    }
    text.push_str("\n| figure | measured | limit or peer in the same run | ratio | bar | holds? |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    sections.iter().for_each(|section| text.push_str(&render_rows(section)));
    let left_out: Vec<&str> = sections.iter().filter(|one| one.result.is_none()).map(|one| one.name).collect();
    if !left_out.is_empty() {
        let _ = writeln!(text, "\nNot measured in this run: {}.", left_out.join(", "));
    }
    let _ = write!(text, "\n## How to read this\n\n{READING}");
    text
}

pub(crate) fn render_rows(section: &Section) -> String {
    match &section.result {
        None => String::new(),
        Some(Err(error)) => {
            format!("| {} | could not be measured: {} | | | | no |\n", section.name, cell(&format!("{error:#}")))
        }
        Some(Ok(rows)) => rows.iter().map(render_row).collect(),
    }
}

fn render_row(row: &Row) -> String {
    let peer = match &row.peer {
        None => "–".to_owned(),
        Some(peer) => match &peer.measured {
            Ok(sample) => format!("{}: {sample}", peer.name),
            Err(reason) => format!("{}: not measured: {}", peer.name, cell(reason)),
        },
    };
    let ratio = row.ratio().map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
    let holds = match row.holds() {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "–",
    };
    format!("| {} | {} | {peer} | {ratio} | {} | {holds} |\n", row.figure, row.measured, row.bar_text())
}

/// Text that may stand in one cell of a table.
fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{Section, render};
    use crate::bench::machine::Machine;
    use crate::bench::rows::{Bar, Row};
    use crate::bench::samples::{Sample, Unit};

    #[test]
    fn the_document_says_what_failed_and_what_was_left_out() {
        let machine = Machine { date: "today".to_owned(), facts: vec![("Cores", "2".to_owned())] };
        let sample = |value| Sample::of(vec![value], Unit::PerSecond);
        let row =
            Row::new("writes", sample(30_000.0), Bar::AtLeastTimes(0.25)).unwrap().beside("Redis", sample(60_000.0));
        let sections = [
            Section { name: "writes-64", result: Some(Ok(vec![row])) },
            Section { name: "memory", result: Some(Err(anyhow::anyhow!("first\nsecond | third"))) },
            Section { name: "growth", result: None },
        ];
        let text = render(&machine, 4, &sections);
        assert!(text.contains(
            "| writes | 30 000 /s (30 000 – 30 000) | Redis: 60 000 /s (60 000 – 60 000) | 0.50 | ≥ 0.25 × | yes |"
        ));
        assert!(text.contains("| memory | could not be measured: first second \\| third |"));
        assert!(text.contains("Not measured in this run: growth."));
    }
}
