//! What the fault tests saw, and the table of it in docs/reliability.md. The tests write one file each into a folder
//! that is empty when a run begins; here they are only read.

use crate::{processes, workspace};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/reliability.md";
const BEGIN: &str = "<!-- the table of the last recorded run: cargo xtask test --record -->";
const END: &str = "<!-- end of the table -->";

/// An empty folder for the records of this run.
pub(crate) fn prepare() -> Result<PathBuf> {
    let folder = workspace::target_dir()?.join("records");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Puts the table of this run into the page.
pub(crate) fn publish(folder: &Path, soak: bool) -> Result<()> {
    let day = processes::output_of(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let cores = std::thread::available_parallelism()?;
    let kind = if soak { "with the long loops" } else { "an ordinary run" };
    let heading = format!("Run of {day} on {cores} cores, {kind}, debug build.");
    let table = format!("{heading}\n\n{}", table(&read(folder)?)?);
    let page = workspace::root().join(PAGE);
    let text = std::fs::read_to_string(&page)?;
    std::fs::write(&page, replaced(&text, &table)?)?;
    println!("the table in {PAGE} is that of this run");
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<Value>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        records.push(serde_json::from_str(&text).with_context(|| format!("{} is no record", path.display()))?);
    }
    if records.is_empty() {
        bail!("no test left a record in {}", folder.display());
    }
    Ok(records)
}

/// Engine by engine, fault by fault. What a record does not have is a dash, never a zero.
fn table(records: &[Value]) -> Result<String> {
    let columns = [
        ("engine", "engine"),
        ("fault", "fault"),
        ("rounds", "rounds"),
        ("acknowledged", "acknowledged"),
        ("lost", "lost"),
        ("invented", "invented"),
        ("doubled", "doubled"),
        ("torn", "torn"),
        ("slowest_ready_ms", "ready after, at most (ms)"),
    ];
    let mut rows = Vec::new();
    for record in records {
        for name in ["engine", "fault", "rounds"] {
            record.get(name).with_context(|| format!("a record without `{name}`: {record}"))?;
        }
        rows.push(columns.map(|(name, _)| cell(&record[name])).join(" | "));
    }
    rows.sort();
    let head = columns.map(|(_, title)| title).join(" | ");
    let rule = ["---"; 9].join(" | ");
    let lines: Vec<String> = [head, rule].into_iter().chain(rows).map(|row| format!("| {row} |")).collect();
    Ok(lines.join("\n"))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.replace('|', "\\|"),
        other => other.to_string(),
    }
}

fn replaced(page: &str, table: &str) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{PAGE} has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{PAGE} has no line {END}"))?;
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_become_rows_sorted_by_engine_and_fault() {
        let record = |engine: &str, fault: &str| {
            json!({"engine": engine, "fault": fault, "rounds": 3, "acknowledged": 7, "lost": 0, "invented": 0,
                   "doubled": 0, "torn": 1, "slowest_ready_ms": 12})
        };
        let mut still = record("sqlite", "a clock");
        still["slowest_ready_ms"] = Value::Null;
        let table = table(&[record("sqlite", "kill -9"), still, record("postgresql", "kill -9")]).unwrap();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| postgresql | kill -9 | 3 | 7 | 0 | 0 | 0 | 1 | 12 |",
                "| sqlite | a clock | 3 | 7 | 0 | 0 | 0 | 1 | – |",
                "| sqlite | kill -9 | 3 | 7 | 0 | 0 | 0 | 1 | 12 |",
            ]
        );
        assert!(super::table(&[json!({"engine": "sqlite"})]).is_err());
    }

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        assert_eq!(replaced(&page, "new").unwrap(), format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert!(replaced("no markers", "new").is_err());
    }
}
