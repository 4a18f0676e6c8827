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

/// Nanoseconds for each of `count` runs.
fn each(count: usize, mut run: impl FnMut()) -> f64 {
    let started = Instant::now();
    for _ in 0..REPEATS {
        run();
    }
    started.elapsed().as_secs_f64() * 1e9 / (count * REPEATS) as f64
}

fn main() {
    let rules = house();
    let places: Vec<WorkspaceId> = (0..WORKSPACES).map(workspace).collect();
    let roles = [Role::Admin, Role::Member, Role::Guest, Role::from("operator".to_owned())];
    let names: Vec<(String, String)> = (0..PLUGINS)
        .map(|number| (format!("plugin{number}"), format!("plugin{number}.items.list")))
        .chain([("plugin4".to_owned(), "common.search".to_owned())])
        .collect();
    let combined = |named: bool| -> Vec<Question<'_>> {
        let each = (0..5_000).map(|number: usize| {
            let (plugin, tool) = &names[number * 7 % names.len()];
            let source = if named { Source::Plugin(plugin) } else { Source::Any };
            let (workspace, role) = (&places[number * 31 % WORKSPACES], &roles[number % roles.len()]);
            Question { tool, source, workspace, role, is_member: true, agent_tools: None }
        });
        each.collect()
    };
    let (of_a_plugin, of_any) = (combined(true), combined(false));
    let known: HashMap<String, usize> = names.iter().cloned().map(|(_, tool)| (tool, 1)).collect();
    let allowed = of_a_plugin.iter().filter(|question| decide(&rules, question).is_allowed()).count();
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let ask = |questions: &[Question<'_>]| {
            each(questions.len(), || {
                questions.iter().for_each(|one| drop(black_box(decide(&rules, black_box(one)).is_allowed())))
            })
        };
        rounds[0].push(ask(&of_a_plugin));
        rounds[1].push(ask(&of_any));
        rounds[2].push(each(of_a_plugin.len(), || {
            of_a_plugin.iter().for_each(|one| drop(black_box(known.get(black_box(one.tool)))));
        }));
    }
    let [decision, any_source, hash_lookup] = rounds;
    let answer = serde_json::json!({
        "decision_ns": decision, "any_source_ns": any_source, "hash_lookup_ns": hash_lookup,
        "allowed": allowed, "asked": of_a_plugin.len(),
    });
    println!("{answer}");
}
