//! Programs that start another one that they are given, and shells: which words behind them are options, which might be a
//! program, and whether a text is read as commands.
//!
//! Where an option is not known it is read in both ways, with the next word as its value and without: what is denied in
//! one of them is denied.

use std::collections::HashSet;

/// How the words behind a program are read up to the program that it starts.
struct Grammar {
    name: &'static str,
    /// Letters of options that stand alone.
    flags: &'static str,
    /// Letters of options that have a value.
    valued: &'static str,
    /// Long options that stand alone; those with a value have `=` or are read in both ways.
    long_flags: &'static [&'static str],
    /// Words before the program that are no options: the seconds of `timeout`.
    operands: usize,
}

const fn grammar(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long_flags: &'static [&'static str],
    operands: usize,
) -> Grammar {
    Grammar { name, flags, valued, long_flags, operands }
}

const WRAPPERS: &[Grammar] = &[
    grammar("env", "i0v", "uCa", &["--ignore-environment", "--null", "--debug", "--list-signal-handling"], 0),
    grammar("nice", "", "n", &[], 0),
    grammar("ionice", "t", "cn", &["--ignore"], 0),
    grammar("chrt", "abdfior", "TPD", &["--batch", "--fifo", "--idle", "--other", "--rr"], 1),
    grammar("taskset", "ac", "", &["--all-tasks", "--cpu-list"], 1),
    grammar("timeout", "vfp", "ks", &["--foreground", "--preserve-status", "--verbose"], 1),
    grammar("nohup", "", "", &[], 0),
    grammar("logsave", "asv", "", &[], 1),
    grammar("choom", "", "n", &[], 0),
    grammar("uclampset", "as", "mMp", &["--all-tasks", "--system"], 0),
    grammar("perf", "", "", &[], 1),
    grammar("setsid", "cfw", "", &["--ctty", "--fork", "--wait"], 0),
    grammar("stdbuf", "", "ioe", &[], 0),
    grammar("time", "apvVq", "fo", &["--append", "--portability", "--verbose", "--quiet"], 0),
    grammar(
        "xargs",
        "0rtpxo",
        "aEdILnPs",
        &["--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"],
        0,
    ),
    grammar("flock", "senuFvo", "wE", &["--shared", "--exclusive", "--nonblock", "--close", "--verbose"], 1),
    grammar("strace", "cCdfFhikqrtTvwxyYzZ", "aeIoOpPsSuUEbX", &["--follow-forks"], 0),
    grammar("ltrace", "bcCfiLrStTV", "aADeFlnopsuwx", &[], 0),
    grammar("prlimit", "", "", &[], 0),
    grammar("setarch", "BFILRSTXZv3", "p", &[], 1),
    grammar("i386", "BFILRSTXZv3", "p", &[], 0),
    grammar("x86_64", "BFILRSTXZv3", "p", &[], 0),
    grammar("linux32", "BFILRSTXZv3", "p", &[], 0),
    grammar("linux64", "BFILRSTXZv3", "p", &[], 0),
    grammar("busybox", "", "", &[], 0),
    grammar("toybox", "", "", &[], 0),
    grammar("command", "p", "", &[], 0),
    grammar("exec", "cl", "a", &[], 0),
    grammar("builtin", "", "", &[], 0),
    grammar("unbuffer", "p", "", &[], 0),
    grammar("fakeroot", "hvu", "lsibf", &[], 0),
    grammar("ssh-agent", "cdkDs", "aEPOt", &[], 0),
    grammar("valgrind", "dhqv", "", &[], 0),
    grammar("catchsegv", "", "", &[], 0),
    grammar("dbus-launch", "", "", &["--exit-with-session"], 0),
    grammar("eatmydata", "", "", &[], 0),
    grammar("faketime", "mpf", "", &[], 1),
    grammar("chronic", "ev", "", &[], 0),
    grammar("xvfb-run", "ad", "efnps", &["--auto-servernum"], 0),
    grammar("dbus-run-session", "", "", &[], 0),
    grammar("tini", "sgvw", "pe", &[], 0),
    grammar("dumb-init", "cv", "r", &[], 0),
    grammar("entr", "acdnprxz", "", &[], 0),
    grammar("numactl", "alH", "CmNipP", &[], 0),
    grammar("rlwrap", "aAcDinNrRvzE", "bCeFfgHlLmMopPqsSthwW", &[], 0),
];

/// Programs that load another one: `/lib64/ld-linux-x86-64.so.2 /usr/bin/sudo`.
const LOADERS: &[&str] = &["ld-linux", "ld-musl", "ld.so", "ld64.so"];
const LOADER: Grammar = grammar("ld.so", "", "", &["--list", "--verify", "--inhibit-cache"], 0);

const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "rbash",
    "dash",
    "zsh",
    "rzsh",
    "ksh",
    "ksh93",
    "rksh",
    "mksh",
    "lksh",
    "oksh",
    "pdksh",
    "loksh",
    "posh",
    "yash",
    "ash",
    "hush",
    "fish",
    "csh",
    "tcsh",
    "bsd-csh",
    "elvish",
    "nu",
    "xonsh",
    "osh",
    "ysh",
    "oil",
    "pwsh",
    "powershell",
    "bash-static",
    "zsh-static",
    "sash",
    "es",
    "rc",
    "scsh",
    "ion",
];
const SHELL: Grammar = grammar(
    "sh",
    "abefhiklmnpqrstuvxBCEHPTDfgGLNdVX",
    "oO",
    &["--login", "--norc", "--noprofile", "--posix", "--verbose", "--restricted", "--noediting", "--interactive"],
    0,
);

/// Where in the words behind a program others may stand that it starts. If it reads a text as commands, the name that is
/// known for it comes back instead.
pub(super) fn started_by(name: &str, rest: &[&str]) -> Result<Vec<usize>, &'static str> {
    if let Some(shell) = shell(name) {
        let (options, _) = walk(&SHELL, rest);
        return if options.iter().any(|option| feeds_a_shell(shell, option)) { Err(shell) } else { Ok(vec![]) };
    }
    if matches!(name, "find" | "fd" | "fdfind" | "bfs") {
        return Ok(started_by_find(rest));
    }
    let known = WRAPPERS.iter().find(|grammar| grammar.name == name);
    let loader = || LOADERS.iter().any(|beginning| name.starts_with(beginning)).then_some(&LOADER);
    let Some(grammar) = known.or_else(loader) else { return Ok(vec![]) };
    let (options, programs) = walk(grammar, rest);
    if options.iter().any(|option| feeds_a_wrapper(grammar.name, option)) { Err(grammar.name) } else { Ok(programs) }
}

/// Its name as it is listed; `bash5.2` and `zsh-5.9` are shells as well.
fn shell(name: &str) -> Option<&'static str> {
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    SHELLS.iter().find(|listed| **listed == name || **listed == plain).copied()
}

/// `-c` in any bundle (`-lc`, `+ec`), `-C` of fish, `--command`, `-Command`, and the shells to which `-e` means as much.
fn feeds_a_shell(shell: &str, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => ["c", "init-c", "enc", "eval", "exec"].iter().any(|beginning| long.starts_with(beginning)),
        None if matches!(shell, "pwsh" | "powershell" | "nu") => option.contains(['c', 'C', 'e', 'E']),
        None => option.contains(['c', 'C']),
    }
}

/// Options by which a wrapper takes a text apart, or has a shell do it.
fn feeds_a_wrapper(name: &str, option: &str) -> bool {
    let is_long = option.starts_with("--");
    match name {
        "env" => (is_long && option.starts_with("--s")) || (!is_long && option.contains('S')),
        "flock" => (is_long && option.starts_with("--co")) || (!is_long && option.contains('c')),
        "entr" => option.contains('s'),
        _ => false,
    }
}

/// Every word that `-exec` and its like put at the beginning of a command.
fn started_by_find(rest: &[&str]) -> Vec<usize> {
    let starts = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    (0..rest.len()).filter(|at| starts.contains(&rest[*at])).map(|at| at + 1).collect()
}

/// A word to be read, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    at: usize,
    operands: usize,
    options_are_over: bool,
}

/// Reads words up to the program, in every way they can be read: the options that were met, and where a program may stand.
fn walk<'a>(grammar: &Grammar, words: &[&'a str]) -> (Vec<&'a str>, Vec<usize>) {
    let (mut options, mut programs) = (Vec::new(), Vec::new());
    let mut open = vec![Place { at: 0, operands: grammar.operands, options_are_over: false }];
    // Two ways of reading meet again: what was read from a place once is not read again.
    let mut known: HashSet<Place> = HashSet::new();
    while let Some(place) = open.pop() {
        let Place { at, operands, options_are_over } = place;
        let Some(word) = words.get(at).copied() else { continue };
        let mut next = Vec::new();
        if word == "--" && !options_are_over {
            next.push(Place { at: at + 1, options_are_over: true, ..place });
        } else if word.len() > 1 && word.starts_with(['-', '+']) && !options_are_over {
            options.push(word);
            let (alone, with_value) = grammar.readings(word);
            next.extend(alone.then_some(Place { at: at + 1, ..place }));
            next.extend(with_value.then_some(Place { at: at + 2, ..place }));
        } else if word == "-" || (grammar.name == "env" && word.contains('=')) {
            next.push(Place { at: at + 1, ..place });
        } else if operands > 0 {
            // Some can be left out: then this is the program already.
            programs.push(at);
            next.push(Place { at: at + 1, operands: operands - 1, ..place });
        } else {
            programs.push(at);
        }
        open.extend(next.into_iter().filter(|place| known.insert(*place)));
    }
    (options, programs)
}

impl Grammar {
    /// Whether an option may stand alone, and whether it may have the next word as its value.
    fn readings(&self, option: &str) -> (bool, bool) {
        if option.starts_with("--") {
            let is_alone = option.contains('=') || self.long_flags.contains(&option);
            return (true, !is_alone);
        }
        let letters = option.get(1..).unwrap_or_default();
        for (at, letter) in letters.char_indices() {
            let is_last = at + letter.len_utf8() == letters.len();
            if self.valued.contains(letter) {
                // What follows the letter is its value; if nothing does, the next word is.
                return (!is_last, is_last);
            }
            if !self.flags.contains(letter) {
                return (true, true);
            }
        }
        (true, false)
    }
}
