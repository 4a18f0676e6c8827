//! Projects and agents by command line, and commands that cannot be meant.

use super::binary::{Server, ok, refused_with, run};
use serde_json::Value;
use std::path::Path;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}"))
}

/// An agent of the project `alpha`: made, changed and removed.
fn tell_of_an_agent(folder: &Path) {
    let cli = |args: &[&str]| ok(folder, args);
    let prompt = folder.with_extension("md");
    std::fs::write(&prompt, "Be brief.\nBe kind.\n").unwrap();
    let words = "agent create -p alpha reader --role reader --model demo --temperature 0.2 --max-tokens 100 \
                 --concurrency 10 --tool workspace_list --tool workspace_read --system-prompt-file";
    let words: Vec<&str> = words.split_whitespace().chain(prompt.to_str()).collect();
    let created = cli(&words);
    let shown = json(&cli(&["agent", "show", &created, "--json"]));
    assert_eq!((&shown["role"], &shown["temperature"]), (&"reader".into(), &0.2.into()));
    assert_eq!((&shown["max_tokens"], &shown["concurrency_limit"]), (&100.into(), &10.into()));
    assert_eq!((&shown["model"], &shown["system_prompt"]), (&"demo".into(), &"Be brief.\nBe kind.\n".into()));
    assert_eq!(shown["tools"][1], "workspace_read");
    assert!(cli(&["agent", "show", "-p", "alpha", "reader"]).ends_with("system prompt:\nBe brief.\nBe kind."));
    let write = ["items", "write", "-a", &created, "key", "value"];
    refused_with(&run(folder, &write), 1, "FORBIDDEN");

    let update = ["agent", "update", &created, "--name", "author", "--all-tools", "--no-system-prompt", "--json"];
    let changed = json(&cli(&update));
    assert_eq!((&changed["name"], &changed["model"]), (&"author".into(), &"demo".into()), "what was not said stays");
    assert!(changed.get("tools").is_none() && changed.get("system_prompt").is_none(), "{changed}");
    cli(&write);
    refused_with(&run(folder, &["agent", "update", &created, "--shared"]), 1, "AGENT_HAS_DATA");
    assert_eq!(cli(&["agent", "delete", "-p", "alpha", "author"]), "deleted author");
    refused_with(&run(folder, &["agent", "show", "-p", "alpha", "author"]), 1, "AGENT_NOT_FOUND");
}

/// A project with its agents, from its beginning to its end.
fn tell_the_story(folder: &Path) {
    let cli = |args: &[&str]| ok(folder, args);
    let project = cli(&["project", "create", "alpha"]);
    assert!(project.starts_with("prj_"), "{project}");
    refused_with(&run(folder, &["project", "create", "alpha"]), 1, "PROJECT_EXISTS");
    let listed = json(&cli(&["project", "list", "--json"]));
    assert_eq!((listed[0]["id"].as_str(), listed[0]["agents"].as_array().unwrap().len()), (Some(&*project), 4));
    assert!(cli(&["project", "list"]).lines().nth(1).unwrap().contains("alpha  4"));
    let shown = cli(&["project", "show", &project]);
    assert!(shown.contains("worker_space  ready") && shown.contains("agent_researcher"), "{shown}");

    tell_of_an_agent(folder);

    assert!(shown.contains("approval      by_risk"), "{shown}");
    assert_eq!(cli(&["project", "update", "alpha", "--approval", "always"]), format!("{project} asks always"));
    assert_eq!(json(&cli(&["project", "show", "alpha", "--json"]))["approval"], "always");
    assert_eq!(run(folder, &["project", "update", "alpha", "--approval", "never"]).status.code(), Some(2));
    cli(&["project", "create", "careful", "--approval", "always"]);
    assert_eq!(json(&cli(&["project", "show", "careful", "--json"]))["approval"], "always");
    cli(&["project", "delete", "careful"]);

    assert_eq!(
        cli(&["project", "rename", "alpha", "Beta, the second"]),
        format!("{project} is called Beta, the second")
    );
    cli(&["session", "create", "work", "--project", "Beta, the second"]);
    assert!(cli(&["session", "list"]).contains(&project) && cli(&["session", "show", "work"]).contains(&project));
    assert_eq!(cli(&["project", "delete", "Beta, the second"]), "deleted Beta, the second");
    assert_eq!((cli(&["project", "list"]), cli(&["session", "list"])), ("none".into(), "none".into()));
}

#[test]
fn a_projects_story_is_the_same_with_and_without_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let (alone, beside) = (folder.path().join("alone"), folder.path().join("beside"));
    tell_the_story(&alone);
    let server = Server::start(&beside);
    tell_the_story(&beside);
    drop(server);
}

#[test]
fn a_command_that_cannot_be_meant_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["project", "create", "alpha"]);
    let commands = [
        "agent create -p alpha a --temperature 2.1",
        "agent create -p alpha a --temperature -0.1",
        "agent create -p alpha a --temperature warm",
        "agent create -p alpha a --temperature NaN",
        "agent create -p alpha a --max-tokens 0",
        "agent create -p alpha a --concurrency 11",
        "agent create -p alpha a --audience nobody",
        "agent create -p alpha a --system-prompt x --system-prompt-file y",
        "agent create -p alpha a --private",
        "agent create a",
        "agent list",
        "agent show agent_writer",
        "agent update -p alpha agent_writer",
        "agent update -p alpha agent_writer --private --audience everyone",
        "agent update -p alpha agent_writer --tool a --all-tools",
        "items list",
        "items list -p alpha",
        "items list -a agent_writer",
        "items write -p alpha -a agent_writer key",
        "items write -p alpha -a agent_writer key value --if-version -1",
        "items publish -p alpha -a agent_writer key",
        "items publications -p alpha",
        "token create --participant subagent:a",
        "token create --agent agt_1 --channel http",
        "context list",
        "project",
        "project rename alpha",
    ];
    for line in commands {
        let args: Vec<&str> = line.split(' ').collect();
        refused_with(&run(folder.path(), &args), 2, "");
    }
    // As in a script whose variable was never set.
    for words in
        ["project show", "project delete", "agent list -p", "agent show -p alpha", "items recall", "items list -a"]
    {
        let args: Vec<&str> = words.split(' ').chain([""]).collect();
        refused_with(&run(folder.path(), &args), 2, "");
    }
    let missing = ["items", "list", "-p", "nowhere", "-a", "agent_writer"];
    refused_with(&run(folder.path(), &missing), 1, "PROJECT_NOT_FOUND");
    let unreadable = ["agent", "create", "-p", "alpha", "a", "--system-prompt-file", "nowhere.md"];
    refused_with(&run(folder.path(), &unreadable), 1, "nowhere.md");
}

#[test]
fn looking_for_projects_builds_no_house_and_scripts_complete_every_word() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    for args in [&["project", "list"][..], &["agent", "shared"], &["items", "publications"]] {
        refused_with(&run(&nowhere, args), 1, "no Longhouse in");
    }
    assert!(!nowhere.exists());
    for shell in ["bash", "zsh", "fish"] {
        let script = ok(&nowhere, &["completions", shell]);
        for word in ["project", "rename", "agent", "shared", "items", "publications", "recall", "overwrite"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
