//! What the figures were measured on and with, asked of the machine itself.

use super::scene::Scene;
use crate::processes;
use crate::workspace;
use anyhow::Result;
use std::process::Command;

pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) facts: Vec<(&'static str, String)>,
}

/// Asked at the end, when everything that is measured is installed; the load is that of the start.
pub(crate) fn describe(scene: &Scene, load_at_start: String) -> Result<Machine> {
    let date = processes::output_of(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]))?;
    let facts = vec![
        ("Cores", std::thread::available_parallelism()?.to_string()),
        ("CPU", field("/proc/cpuinfo", "model name")),
        ("Memory", field("/proc/meminfo", "MemTotal")),
        ("Kernel", said(Command::new("uname").arg("-sr"))),
        ("File system of the data", last_line(&said(Command::new("df").arg("--output=fstype").arg(scene.scratch())))),
        ("Load average at the start", load_at_start),
        ("Longhouse", said(Command::new(&scene.binary).arg("--version"))),
        ("Commit", said(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(workspace::root()))),
        ("Rust", said(Command::new("rustc").arg("--version"))),
        ("SQLite of the raw baseline", rusqlite::version().to_owned()),
        ("Redis", redis()),
    ];
    Ok(Machine { date, facts })
}

fn said(command: &mut Command) -> String {
    processes::output_of(command).unwrap_or_else(|_| "unknown".to_owned())
}

fn field(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
    value.unwrap_or("unknown").to_owned()
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

/// The third word of `Redis server v=7.0.15 sha=…`.
fn redis() -> String {
    let words = said(Command::new("redis-server").arg("--version"));
    words.split(' ').nth(2).map_or("not installed".to_owned(), |word| word.trim_start_matches("v=").to_owned())
}

pub(crate) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
