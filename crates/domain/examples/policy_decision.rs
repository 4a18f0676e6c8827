//! Times policy decisions in a large house beside as many look-ups in a hash map of the same names. `cargo xtask bench`
//! builds and runs it, because xtask itself knows nothing of the product. Prints one JSON object.

// A program that only measures: what it prints is its answer, and a house that cannot be made is no measurement.
#![allow(clippy::print_stdout, clippy::expect_used)]

use longhouse_domain as domain;

use domain::capabilities::ToolSet;
use domain::ids::WorkspaceId;
use domain::policy::{Question, Source, decide};
use domain::roles::{Role, RoleRules};
use domain::rules::{HouseRules, Plugin, Rules};
use domain::workspaces::{ToolRules, WorkspaceSettings};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

const WORKSPACES: usize = 100;
const PLUGINS: usize = 20;
const ROUNDS: usize = 7;
const REPEATS: usize = 200;

fn workspace(number: usize) -> WorkspaceId {
    WorkspaceId::parse(&format!("workspace-{number}")).expect("a name")
}

/// A hundred workspaces, each with some fifteen patterns, and twenty plugins.
fn house() -> Rules {
    let plugin = |number: usize| Plugin {
        caps: ToolSet::of(&[&format!("plugin{number}.*"), &format!("extra{number}.read"), "common.search"]),
        ..Default::default()
    };
    let settings = |number: usize| {
        let mut allow: Vec<String> =
            (0..PLUGINS / 2).map(|near| format!("plugin{}.*", (number + near) % PLUGINS)).collect();
        allow.extend(["exec.sandboxed", "filesystem.*", "common.search"].map(str::to_owned));
        let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
        let deny = ToolSet::of(&["exec.host", "filesystem.write", "plugin3.items.delete"]);
        let tools = Some(ToolRules { allow: ToolSet::of(&allow), deny });
        WorkspaceSettings { tools, ..Default::default() }
    };
    let operator = RoleRules {
        tools: Some(ToolSet::of(&["plugin1.*", "plugin2.*", "plugin3.*", "filesystem.*", "exec.sandboxed"])),
        deny: Some(ToolSet::of(&["plugin2.items.delete"])),
        rights: None,
    };
    Rules {
        house: HouseRules {
            plugins: (0..PLUGINS).map(|number| (format!("plugin{number}"), plugin(number))).collect(),
            roles: [("operator".to_owned(), operator)].into(),
            ..Default::default()
        },
        workspaces: (0..WORKSPACES).map(|number| (workspace(number), settings(number))).collect(),
    }
}

/// Nanoseconds for one question, on average over all of them, many times over.
fn each(questions: &[Question<'_>], run: impl Fn(&Question<'_>)) -> f64 {
    let started = Instant::now();
    for _ in 0..REPEATS {
        questions.iter().for_each(&run);
    }
    started.elapsed().as_secs_f64() * 1e9 / (questions.len() * REPEATS) as f64
}

fn main() {
    let rules = house();
    let places: Vec<WorkspaceId> = (0..WORKSPACES).map(workspace).collect();
    let roles = [Role::Admin, Role::Member, Role::Guest, Role::from("operator".to_owned())];
    let names: Vec<(String, String)> = (0..PLUGINS)
        .map(|number| (format!("plugin{number}"), format!("plugin{number}.items.list")))
        .chain([("plugin4".to_owned(), "common.search".to_owned())])
        .collect();
    let asked = (0..WORKSPACES * names.len() * roles.len()).map(|number: usize| {
        let (plugin, tool) = &names[number % names.len()];
        let (workspace, role) = (&places[number * 31 % WORKSPACES], &roles[number / names.len() % roles.len()]);
        Question { tool, source: Source::Plugin(plugin), workspace, role, is_member: true, agent_tools: None }
    });
    // A yes has to pass every layer.
    let (yes, no): (Vec<Question<'_>>, Vec<_>) = asked.partition(|question| decide(&rules, question).is_allowed());
    let of_any: Vec<Question<'_>> = yes.iter().map(|question| Question { source: Source::Any, ..*question }).collect();
    let known: HashMap<String, usize> = names.iter().cloned().map(|(_, tool)| (tool, 1)).collect();
    let mut rounds = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (number, questions) in [&yes, &no, &of_any].into_iter().enumerate() {
            rounds[number].push(each(questions, |one| {
                black_box(decide(&rules, black_box(one)).is_allowed());
            }));
        }
        rounds[3].push(each(&yes, |one| {
            black_box(known.get(black_box(one.tool)));
        }));
    }
    let [allowed, denied, any_source, hash_lookup] = rounds;
    println!(
        "{}",
        serde_json::json!({
            "allowed_ns": allowed, "denied_ns": denied, "any_source_ns": any_source, "hash_lookup_ns": hash_lookup,
            "allowed": yes.len(), "denied": no.len(),
        })
    );
}
