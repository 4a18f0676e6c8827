//! What a process did to the files of its data directory, read from the notes of `strace`.

use crate::it::oracle::Moment;
use std::path::Path;
use std::time::Duration;

const FILES: [&str; 6] =
    ["", "longhouse.db", "longhouse.db-wal", "longhouse.db-journal", "secret.partial", "secret.key"];
const CALLS: &str = "trace=openat,pwrite64,write,fdatasync,fsync,ftruncate,unlink,rename";

#[derive(Debug)]
pub(super) enum Act {
    Create,
    /// No offset: at the end.
    Write(Option<u64>, Bytes),
    Truncate(u64),
    Sync,
    Unlink,
    Rename(String),
}

/// Shown by its length alone.
pub(super) struct Bytes(pub(super) Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} bytes", self.0.len())
    }
}

#[derive(Debug)]
pub(super) struct Event {
    /// When the call was entered; nothing of it had happened.
    pub(super) at: Moment,
    /// The name within the data directory; empty for the directory itself.
    pub(super) file: String,
    pub(super) act: Act,
}

/// One file of notes for each thread, all text in hex: nothing interrupts a line.
pub(super) fn options(data: &Path, prefix: &Path) -> Vec<String> {
    let mut options = vec!["--seccomp-bpf", "-ff", "-y", "-xx", "-s", "100000", "-e", CALLS];
    options.push("--absolute-timestamps=format:unix,precision:ns");
    let mut options: Vec<String> = options.into_iter().map(str::to_owned).collect();
    options.extend(["-o".to_owned(), prefix.display().to_string()]);
    for file in FILES {
        let path = if file.is_empty() { data.to_owned() } else { data.join(file) };
        options.extend(["-P".to_owned(), path.display().to_string()]);
    }
    options
}

/// Everything that was done, in the order of time.
pub(super) fn read(data: &Path, prefix: &Path) -> Vec<Event> {
    let stem = format!("{}.", prefix.file_name().unwrap().to_str().unwrap());
    let mut events = Vec::new();
    for entry in std::fs::read_dir(prefix.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with(&stem) {
            let text = std::fs::read_to_string(path).unwrap();
            events.extend(text.lines().filter_map(|line| parse(data.to_str().unwrap(), line)));
        }
    }
    events.sort_by_key(|event| event.at);
    events
}

/// One line: `1794775507.217148991 pwrite64(12<\x2f…>, "\x37…", 32, 0) = 32`.
fn parse(data: &str, line: &str) -> Option<Event> {
    let (time, call) = line.split_once(' ')?;
    let (call, outcome) = call.rsplit_once(" = ")?;
    let (name, arguments) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    if outcome.starts_with('-') {
        return None;
    }
    let (seconds, nanos) = time.split_once('.')?;
    let at = Duration::new(seconds.parse().ok()?, nanos.parse().ok()?);
    let mut texts = arguments.split(['<', '>', '"']).skip(1).step_by(2).map(decode);
    let within = |path: Vec<u8>| {
        let path = String::from_utf8(path).ok()?;
        Some(path.strip_prefix(data)?.trim_start_matches('/').to_owned())
    };
    let number = |text: &str| text.rsplit(", ").next()?.parse().ok();
    // The first text of `openat` is the current directory.
    let file = within(texts.nth(usize::from(name == "openat"))?)?;
    let act = match name {
        "openat" if arguments.contains("O_TRUNC") => Act::Truncate(0),
        "openat" if arguments.contains("O_CREAT") => Act::Create,
        "pwrite64" => Act::Write(Some(number(arguments)?), Bytes(texts.next()?)),
        "write" => Act::Write(None, Bytes(texts.next()?)),
        "ftruncate" => Act::Truncate(number(arguments)?),
        "fsync" | "fdatasync" => Act::Sync,
        "unlink" => Act::Unlink,
        "rename" => Act::Rename(within(texts.next()?)?),
        _ => return None,
    };
    Some(Event { at, file, act })
}

/// `\x2f\x74…`
fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: u8| if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 };
    text.as_bytes().chunks_exact(4).map(|byte| digit(byte[2]) << 4 | digit(byte[3])).collect()
}
