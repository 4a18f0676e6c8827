//! The configuration file: read, checked whole, and made into what the house is told.
//!
//! Nothing here changes anything: `service::rules` puts a declaration in force, and only `serve` asks it to.

mod accounts;
mod checks;
mod declarations;
mod files;
mod format;
mod meanings;
mod nodes;
mod parsing;
mod problems;
mod processes;
mod schemas;
mod shapes;
mod skills;
mod spots;

pub(crate) use accounts::{Accounts, DiscordAccount, TelegramAccount};
pub(crate) use meanings::KnownPeople;
pub(crate) use problems::{Problem, counted, lines};
pub(crate) use processes::ProcessSettings;
pub(crate) use skills::skills_folders;

use data_encoding::HEXLOWER;
use domain::plugins::PluginDeclaration;
use domain::rules::Declaration;
use meanings::Findings;
use nodes::Node;
use problems::{Spot, in_order};
use sha2::{Digest, Sha256};
use spots::Spots;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file that is read if none is named and it is there.
pub(crate) const DEFAULT_FILE: &str = "longhouse.yaml";
const DEFAULT_SKILLS: &str = "./skills";

/// A file without a problem.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) declaration: Declaration,
    /// How its plugins are reached; what they may is in the declaration.
    pub(crate) plugins: BTreeMap<String, PluginDeclaration>,
    /// Its bots with providers.
    pub(crate) accounts: Accounts,
    pub(crate) process: ProcessSettings,
    pub(crate) warnings: Vec<Problem>,
    /// Differs if anything that is declared does.
    pub(crate) digest: String,
    pub(crate) path: PathBuf,
    pub(crate) skills_dir: PathBuf,
    pub(crate) spots: Spots,
}

/// Everything that is wrong with a file, in the order of its text.
#[derive(Debug, Clone)]
pub(crate) struct Rejected {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

/// Reads and checks a file with the skills it names.
pub(crate) fn load(path: &Path, known: &KnownPeople) -> Result<Loaded, Rejected> {
    let shown = path.display().to_string();
    let mut findings = Findings::default();
    let root = read(path, &mut findings);
    let mut skills_dir = beside(path, DEFAULT_SKILLS);
    let mut declaration = Declaration::default();
    if let Some(root) = &root {
        let checked = checks::check(root, &format::FILE);
        findings.problems.extend(checked.problems);
        if !checked.too_many {
            meanings::find(root, known, &mut findings);
        }
        let written =
            root.get("skills_dir").filter(|node| findings.problems.iter().all(|known| known.spot != node.spot));
        if let Some(folder) = written.and_then(Node::text) {
            skills_dir = beside(path, folder);
        }
        declaration = declarations::declaration(root);
        let wanted = meanings::named_in_scopes(root, "skills");
        declaration.house.skills = skills::load(&skills_dir, written, &wanted, &mut findings);
    }
    let Findings { problems, warnings } = findings;
    let (problems, warnings) = (in_order(problems, &shown), in_order(warnings, &shown));
    match root {
        Some(root) if problems.is_empty() => {
            let process = processes::settings(&root);
            let plugins = declarations::plugins(&root);
            let accounts = accounts::accounts(&root);
            let digest = digest(&declaration, &[&plugins, &accounts, &process]);
            let spots = Spots::of(&root);
            Ok(Loaded {
                declaration,
                plugins,
                accounts,
                process,
                warnings,
                digest,
                path: path.to_owned(),
                skills_dir,
                spots,
            })
        }
        _ => Err(Rejected { problems, warnings }),
    }
}

/// Where the file says that the rows are, whatever else it says. For commands that open a house themselves.
pub(crate) fn storage_url(path: &Path) -> Result<Option<String>, Vec<Problem>> {
    let mut findings = Findings::default();
    let root = read(path, &mut findings);
    match root {
        Some(root) => Ok(processes::settings(&root).storage_url),
        None => Err(in_order(findings.problems, &path.display().to_string())),
    }
}

/// The format as JSON Schema.
pub(crate) fn schema() -> serde_json::Value {
    schemas::schema(&format::FILE)
}

fn read(path: &Path, findings: &mut Findings) -> Option<Node> {
    let bytes = match files::read(path, parsing::BYTES_MOST) {
        Ok(bytes) => bytes,
        Err(error) => {
            let problem = Problem::new(Spot::START, format!("the file cannot be read: {}", files::why(&error)));
            findings.problems.push(problem.expected("a YAML file of at most 1 MiB"));
            return None;
        }
    };
    if says_nothing(&bytes) {
        // A file that is being written, or was cut off, must not shut the house.
        let problem = Problem::new(Spot::START, "the file says nothing");
        findings.problems.push(problem.expected("at least one key such as `workspaces`, or `{}` if nothing is meant"));
        return None;
    }
    let parsed = parsing::parse(&bytes);
    findings.problems.extend(parsed.problems);
    parsed.root
}

/// Whether there is nothing but blank lines and comments.
fn says_nothing(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.split(|byte| *byte == b'\n').all(|line| matches!(line.trim_ascii().first(), None | Some(b'#')))
}

/// A path as the file means it: from where the file is.
fn beside(file: &Path, path: &str) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new(""));
    folder.join(path.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(path))
}

fn digest(declaration: &Declaration, rest: &[&dyn std::fmt::Debug]) -> String {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(declaration).unwrap_or_default());
    for part in rest {
        hash.update(format!("{part:?}"));
    }
    HEXLOWER.encode(&hash.finalize())
}

#[cfg(test)]
mod tests;
