//! Commands: a program and a list of arguments, never a line for a shell; and those that no approval makes possible.
//!
//! The list is a fence against accidents and plain tricks, not the wall: any interpreter can do what a listed program does,
//! which is why every command is asked about and why the node confines it. What stands here must never be weaker for
//! being wrapped: a program that starts another one counts as both.

mod names;
mod wrappers;

use crate::paths::{self, folded};
use crate::{Code, Refusal, Result};
use names::Why;
use std::collections::BTreeMap;

pub const ARGUMENTS_MOST: usize = 1_000;
/// Of a program's name and all its arguments.
pub const COMMAND_LARGEST_BYTES: usize = 128 * 1024;
/// More programs than any wrapper is given. What has more is refused: a word that nobody looked up would pass by its name.
const FILES_MOST: usize = 64;
const PROGRAM_LONGEST_BYTES: usize = paths::PATH_LONGEST_BYTES;

/// The form of a command, and whether the house's own list has it.
pub fn check(program: &str, args: &[String]) -> Result<()> {
    check_form(program, args)?;
    DeniedCommands::default().check(program, args)
}

/// The programs that are never run: the house's own list, which cannot be shortened, and the names that a configuration
/// adds to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeniedCommands {
    /// Folded.
    extra: Vec<String>,
}

impl DeniedCommands {
    pub fn with_extra<'a>(extra: impl IntoIterator<Item = &'a str>) -> Self {
        Self { extra: extra.into_iter().map(base_name).filter(|name| !name.is_empty()).collect() }
    }

    /// A node asks again with the program that it found, which may be called differently.
    pub fn check(&self, program: &str, args: &[String]) -> Result<()> {
        self.check_found(program, args, &BTreeMap::new())
    }

    /// The same where it is known which file a word behind a wrapper means: it counts by both names.
    pub fn check_found(&self, program: &str, args: &[String], files: &BTreeMap<String, String>) -> Result<()> {
        walk(program, args, |_, word, rest| {
            let names = [Some(word), files.get(word).map(String::as_str)];
            let mut started = Vec::new();
            for name in names.into_iter().flatten() {
                started.extend(self.judge(&base_name(name), rest)?);
            }
            Ok(started)
        })
    }

    /// Refuses a program, or tells where in the words behind it others may stand that it starts.
    fn judge(&self, name: &str, rest: &[&str]) -> Result<Vec<usize>> {
        if let Some((listed, why)) = names::find(name) {
            return Err(denied(listed, why));
        }
        if let Some(listed) = self.extra.iter().find(|listed| *listed == name) {
            return Err(denied(listed, Why::Configured));
        }
        if let Some(listed) = names::writer(name)
            && rest.iter().any(|word| is_device(word))
        {
            return Err(denied(listed, Why::RawDisk));
        }
        wrappers::started_by(name, rest).map_err(|listed| denied(listed, Why::ShellString))
    }
}

/// The files that words behind a wrapper mean, as far as `find` knows them. What is found may be a wrapper itself. A command
/// with more of them than are looked at is refused.
pub fn files_behind(
    program: &str,
    args: &[String],
    mut find: impl FnMut(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    walk(program, args, |place, word, rest| {
        let found = find(word);
        let names = [Some(word), found.as_deref()];
        let started = |name: &str| wrappers::started_by(&base_name(name), rest).unwrap_or_default();
        let places = names.into_iter().flatten().flat_map(started).collect();
        // The program itself is shown on its own.
        if let Some(found) = found.filter(|_| place > 0) {
            files.insert(word.to_owned(), found);
        }
        if files.len() > FILES_MOST { Err(too_many()) } else { Ok(places) }
    })?;
    Ok(files)
}

/// Visits a program and all that it may start, by wrappers within wrappers. `visit` tells where behind a word others may stand.
fn walk<'w>(
    program: &'w str,
    args: &'w [String],
    mut visit: impl FnMut(usize, &'w str, &[&'w str]) -> Result<Vec<usize>>,
) -> Result<()> {
    let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
    let mut open = vec![0];
    // Each place is looked at once: wrappers within wrappers stay cheap.
    let mut is_known = vec![false; words.len()];
    while let Some(at) = open.pop() {
        let Some((word, rest)) = words.get(at).zip(words.get(at + 1..)) else { continue };
        for place in visit(at, word, rest)?.into_iter().map(|place| at + 1 + place) {
            if is_known.get(place) == Some(&false) {
                is_known[place] = true;
                open.push(place);
            }
        }
    }
    Ok(())
}

/// The last part of a path, as a file system that does not care about case would see it.
fn base_name(word: &str) -> String {
    folded(word.trim_end_matches('/').rsplit('/').next().unwrap_or(word))
}

/// Whether a word, or what follows its `=`, names a device, or might: by a way up, or through `/proc`.
fn is_device(word: &str) -> bool {
    let harmless = ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "fd", "shm"];
    let leads_there = |text: &str| match paths::normal(text) {
        Ok(path) => match path.strip_prefix("/dev/") {
            Some(device) => !harmless.contains(&device.split('/').next().unwrap_or(device)),
            None => paths::is_below(&path, "/proc") && path.contains("/dev/"),
        },
        Err(_) => text.contains("dev/"),
    };
    leads_there(word) || word.split_once('=').is_some_and(|(_, value)| leads_there(value))
}

fn denied(listed: &str, why: Why) -> Refusal {
    let message = format!("`{listed}` is never run here, whoever approves: {}", why.as_sentence());
    Refusal::new(Code::CommandDenied, message).with("program", listed).with("field", "program")
}

fn too_many() -> Refusal {
    let message =
        format!("a command that may start more than {FILES_MOST} other programs is never run here, whoever approves");
    Refusal::new(Code::CommandDenied, message).with("field", "args")
}

/// What a shell would read something into has no place in the name of a program.
fn is_for_a_shell(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "|&;<>()$`\\\"'*?[]{}#!".contains(character)
}

fn check_form(program: &str, args: &[String]) -> Result<()> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_name = !matches!(name, "" | "." | "..");
    if !is_name || program.len() > PROGRAM_LONGEST_BYTES || program.chars().any(is_for_a_shell) {
        let message = "`program` is the name or path of one program, not a line for a shell: arguments go into `args`";
        return Err(Refusal::invalid_field("program", message));
    }
    if args.len() > ARGUMENTS_MOST {
        return Err(Refusal::invalid_field("args", format!("`args` has at most {ARGUMENTS_MOST} arguments")));
    }
    if args.iter().any(|argument| argument.contains('\0')) {
        return Err(Refusal::invalid_field("args", "an argument cannot hold the character U+0000"));
    }
    let size = program.len() + args.iter().map(|argument| argument.len() + 1).sum::<usize>();
    if size > COMMAND_LARGEST_BYTES {
        let message = format!("a command is at most {COMMAND_LARGEST_BYTES} bytes with all its arguments");
        let refusal = Refusal::new(Code::ValueTooLarge, message).with("field", "args");
        return Err(refusal.with("max_bytes", COMMAND_LARGEST_BYTES).with("size_bytes", size));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
