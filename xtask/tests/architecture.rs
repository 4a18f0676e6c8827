//! The rules of this repository that a compiler does not check, read from `cargo metadata` and from the files.
//! Every rule is a pure function over a `Repository`; each test first shows it a planted offence that it must find.

#[path = "architecture/repository.rs"]
mod repository;
#[path = "architecture/rooms.rs"]
mod rooms;
#[path = "architecture/sources.rs"]
mod sources;

use anyhow::Result;
use repository::{Dependency, File, Kind, Package, Repository};

/// The rule finds something in each planted repository, and nothing in ours.
fn holds(rule: fn(&Repository) -> Vec<String>, planted: &[Repository]) -> Result<()> {
    for (number, repository) in planted.iter().enumerate() {
        assert!(!rule(repository).is_empty(), "the rule did not notice planted offence {number}");
    }
    let offences = rule(&Repository::read()?);
    assert!(offences.is_empty(), "\n{}", offences.join("\n"));
    Ok(())
}

fn uses(package: &str, dependency: &str, kind: Kind) -> Repository {
    let dependencies = vec![Dependency { name: dependency.to_owned(), kind }];
    let packages = vec![Package { name: package.to_owned(), dependencies }];
    Repository { packages, files: Vec::new() }
}

fn holding(path: &str, text: &str) -> Repository {
    let files = vec![File { path: path.to_owned(), text: text.to_owned() }];
    Repository { packages: Vec::new(), files }
}

fn holding_lines(path: &str, lines: usize) -> Repository {
    holding(path, &"//! One line.\n".repeat(lines))
}

#[test]
fn rooms_use_only_the_rooms_that_the_drawing_allows() -> Result<()> {
    let planted = [
        uses("longhouse-api", "longhouse-store", Kind::Normal),
        uses("longhouse-agent", "longhouse-store", Kind::Normal),
        uses("longhouse-node", "longhouse-service", Kind::Normal),
        uses("longhouse-channels", "longhouse-store", Kind::Normal),
        uses("longhouse-domain", "longhouse-protocol", Kind::Normal),
        uses("longhouse-api", "longhouse-store", Kind::Build),
        uses("longhouse-store", "longhouse-service", Kind::Dev),
        uses("longhouse-twelfth", "longhouse-store", Kind::Normal),
        uses("longhouse-store", "longhouse", Kind::Normal),
    ];
    holds(rooms::forbidden_edges, &planted)
}

#[test]
fn the_testkit_is_only_ever_a_dev_dependency() -> Result<()> {
    let planted = [
        uses("longhouse-service", "longhouse-testkit", Kind::Normal),
        uses("longhouse", "longhouse-testkit", Kind::Build),
    ];
    holds(rooms::testkit_outside_tests, &planted)
}

#[test]
fn xtask_depends_on_no_room_and_no_room_on_xtask() -> Result<()> {
    let planted = [
        uses("xtask", "longhouse-store", Kind::Normal),
        uses("xtask", "longhouse-testkit", Kind::Dev),
        uses("longhouse", "xtask", Kind::Normal),
    ];
    holds(rooms::edges_of_xtask, &planted)
}

#[test]
fn only_the_store_and_the_raw_baseline_know_an_engine() -> Result<()> {
    let planted = [
        uses("longhouse-service", "rusqlite", Kind::Normal),
        uses("longhouse-api", "rusqlite", Kind::Dev),
        uses("longhouse-service", "libsqlite3-sys", Kind::Normal),
        uses("longhouse-service", "sqlx", Kind::Normal),
        uses("longhouse-testkit", "rusqlite", Kind::Normal),
    ];
    holds(rooms::engines_outside_the_store, &planted)
}

#[test]
fn the_domain_has_no_input_no_output_and_no_waiting() -> Result<()> {
    let planted = ["tokio", "axum", "rusqlite", "hyper"].map(|name| uses("longhouse-domain", name, Kind::Normal));
    holds(rooms::machinery_in_the_domain, &planted)
}

#[test]
fn nothing_is_called_by_a_name_that_says_nothing() -> Result<()> {
    let planted = [
        uses("longhouse-core", "serde", Kind::Normal),
        holding("crates/common/src/lib.rs", "//! Words.\n"),
        holding("crates/store/src/utils.rs", "//! Words.\n"),
        holding("crates/store/src/types/rows.rs", "//! Words.\n"),
        holding("xtask/src/helpers.rs", "//! Words.\n"),
        holding("crates/api/src/doors.rs", "//! Words.\nmod infra {\n}\n"),
        holding("crates/api/src/doors.rs", "//! Words.\n    pub(crate) mod manager;\n"),
    ];
    holds(sources::empty_names, &planted)
}

#[test]
fn modules_lie_beside_their_folders() -> Result<()> {
    holds(sources::mod_files, &[holding("crates/store/src/rows/mod.rs", "//! Rows.\n")])
}

#[test]
fn every_file_says_first_what_lives_in_it() -> Result<()> {
    let planted = [
        holding("crates/store/src/rows.rs", "use std::fmt;\n"),
        holding("xtask/src/rows.rs", ""),
        holding("crates/store/src/rows.rs", "// not a doc comment\n//! Rows.\n"),
    ];
    holds(sources::silent_files, &planted)
}

#[test]
fn no_source_file_is_longer_than_600_lines() -> Result<()> {
    holds(sources::long_sources, &[holding_lines("crates/store/src/rows.rs", 601)])
}

#[test]
fn a_main_file_is_at_most_60_lines() -> Result<()> {
    holds(sources::long_mains, &[holding_lines("crates/longhouse/src/main.rs", 61)])
}

#[test]
fn a_decision_is_told_in_60_lines_and_the_architecture_in_200() -> Result<()> {
    let planted = [holding_lines("docs/adr/0001-one-writer.md", 61), holding_lines("ARCHITECTURE.md", 201)];
    holds(sources::long_documents, &planted)
}

#[test]
fn no_client_goes_anywhere_but_where_its_address_may_lead() -> Result<()> {
    let planted = [
        holding("crates/llm/src/calls.rs", "//! Calls.\nClient::builder().build()\n"),
        holding("crates/llm/src/calls.rs", "//! Calls.\nClient::builder().redirect(Policy::none()).no_proxy()\n"),
        holding("crates/api/src/calls.rs", "//! Calls.\nreqwest::Client::new()\n"),
    ];
    holds(sources::open_clients, &planted)
}

#[test]
fn what_is_allowed_is_not_reported() {
    let fine = [
        uses("longhouse-api", "longhouse-service", Kind::Normal),
        uses("longhouse-agent", "longhouse-llm", Kind::Normal),
        uses("longhouse-node", "longhouse-protocol", Kind::Normal),
        uses("longhouse-store", "longhouse-testkit", Kind::Dev),
        uses("longhouse-testkit", "longhouse-api", Kind::Normal),
        uses("longhouse", "longhouse-channels", Kind::Normal),
        uses("longhouse-store", "rusqlite", Kind::Normal),
        uses("xtask", "rusqlite", Kind::Normal),
        holding_lines("crates/store/src/rows.rs", 600),
        holding_lines("crates/longhouse/src/main.rs", 60),
        holding_lines("docs/adr/0001-one-writer.md", 60),
        holding_lines("ARCHITECTURE.md", 200),
        holding("crates/store/src/rows.rs", "//! Rows.\nmod tests;\nlet modulus = core::cmp::max(1, 2);\n"),
    ];
    let rules = [
        rooms::forbidden_edges,
        rooms::testkit_outside_tests,
        rooms::edges_of_xtask,
        rooms::engines_outside_the_store,
        rooms::machinery_in_the_domain,
        sources::empty_names,
        sources::mod_files,
        sources::silent_files,
        sources::long_sources,
        sources::long_mains,
        sources::long_documents,
        sources::open_clients,
    ];
    for repository in &fine {
        for rule in rules {
            assert_eq!(rule(repository), Vec::<String>::new());
        }
    }
}

#[test]
fn the_checks_see_the_repository() -> Result<()> {
    let repository = Repository::read()?;
    assert!(repository.packages.iter().any(|package| package.name == "longhouse"));
    assert!(repository.packages.iter().any(|package| !package.dependencies.is_empty()));
    for path in ["crates/longhouse/src/main.rs", "xtask/src/main.rs"] {
        assert!(repository.files.iter().any(|file| file.path == path), "{path} was not read");
    }
    Ok(())
}
