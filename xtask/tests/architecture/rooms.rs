//! Who may use whom: the drawing of the rooms as a table, and what only some of them may touch.
//! Dev-dependencies follow the same drawing; the testkit is what a test uses to reach further.

use super::repository::{Dependency, Kind, Package, Repository};

/// Which rooms a room may use, beside `domain`, which every room may use.
const EDGES: [(&str, &[&str]); 10] = [
    ("domain", &[]),
    ("protocol", &[]),
    ("store", &[]),
    ("llm", &[]),
    ("channels", &[]),
    ("plugins", &[]),
    ("agent", &["llm"]),
    ("service", &["agent", "store", "llm"]),
    ("api", &["service", "protocol"]),
    ("node", &["protocol"]),
];

/// These wire or test everything.
const SEE_ALL: [&str; 2] = ["longhouse", "testkit"];

/// The room of a package: `store` for `longhouse-store`; none for what is not ours.
fn room(package: &str) -> Option<&str> {
    if package == "longhouse" { Some(package) } else { package.strip_prefix("longhouse-") }
}

fn is_allowed(from: &str, to: &str) -> bool {
    if SEE_ALL.contains(&from) {
        return to != "longhouse";
    }
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == from) else { return false };
    allowed.contains(&to) || (to == "domain" && from != "domain")
}

/// Every dependency that the rule calls an offence, as a line for people.
fn offences(repository: &Repository, is_offence: impl Fn(&Package, &Dependency) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for package in &repository.packages {
        for dependency in package.dependencies.iter().filter(|dependency| is_offence(package, dependency)) {
            lines.push(format!("{} must not use {} ({:?})", package.name, dependency.name, dependency.kind));
        }
    }
    lines
}

pub(crate) fn forbidden_edges(repository: &Repository) -> Vec<String> {
    offences(repository, |package, dependency| match (room(&package.name), room(&dependency.name)) {
        (Some(_), Some("testkit")) => false,
        (Some(from), Some(to)) => !is_allowed(from, to),
        _ => false,
    })
}

pub(crate) fn testkit_outside_tests(repository: &Repository) -> Vec<String> {
    offences(repository, |_, dependency| room(&dependency.name) == Some("testkit") && dependency.kind != Kind::Dev)
}

pub(crate) fn edges_of_xtask(repository: &Repository) -> Vec<String> {
    offences(repository, |package, dependency| {
        (package.name == "xtask" && room(&dependency.name).is_some()) || dependency.name == "xtask"
    })
}

pub(crate) fn engines_outside_the_store(repository: &Repository) -> Vec<String> {
    offences(repository, |package, dependency| {
        let is_engine = matches!(dependency.name.as_str(), "rusqlite" | "libsqlite3-sys" | "sqlx");
        // The testkit makes a schema for each test; xtask measures the engines by themselves.
        let is_schema_for_a_test = package.name == "longhouse-testkit" && dependency.name == "sqlx";
        is_engine && !is_schema_for_a_test && !matches!(package.name.as_str(), "longhouse-store" | "xtask")
    })
}

pub(crate) fn machinery_in_the_domain(repository: &Repository) -> Vec<String> {
    offences(repository, |package, dependency| {
        let is_machinery = matches!(dependency.name.as_str(), "tokio" | "axum" | "rusqlite" | "hyper");
        package.name == "longhouse-domain" && is_machinery
    })
}
