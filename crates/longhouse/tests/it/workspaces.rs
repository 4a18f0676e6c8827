//! Workspaces by command line, without a server and beside one.

use super::binary::{Server, ok, refused_with, run};
use serde_json::Value;
use std::path::Path;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}"))
}

fn tell_the_story(folder: &Path) {
    let cli = |args: &[&str]| ok(folder, args);
    let words = "workspace create family --member sean --member wife --allow calendar.* --deny calendar.delete \
                 --daily-usd 5 --member-daily-usd 0.5 --model gpt-4 --json";
    let made = json(&cli(&words.split_whitespace().collect::<Vec<_>>()));
    assert_eq!(made["tools"]["allow"][0], "calendar.*");
    assert_eq!((&made["budget"]["daily_usd"], &made["budget"]["member_daily_usd"]), (&5.0.into(), &0.5.into()));
    refused_with(&run(folder, &["workspace", "create", "family"]), 1, "WORKSPACE_EXISTS");
    refused_with(&run(folder, &["workspace", "create", "personal-x"]), 1, "INVALID_REQUEST");
    refused_with(&run(folder, &["workspace", "update", "family", "--daily-usd", "much"]), 2, "--daily-usd");
    refused_with(&run(folder, &["workspace", "update", "family", "--no-budget", "--daily-usd", "1"]), 2, "--no-budget");

    assert!(cli(&["workspace", "list", "--user", "wife"]).contains("family"));
    let zone = ["workspace", "update", "family", "--timezone", "Europe/Berlin", "--json"];
    assert_eq!(json(&cli(&zone))["budget"]["daily_usd"], 5.0, "what was not said stays");
    let bound = cli(&["workspace", "bind", "family", "telegram", "--chat-id=-100789012", "--reply", "all"]);
    assert!(bound.contains("telegram:-100789012  all    admin"), "{bound}");
    refused_with(
        &run(folder, &["workspace", "bind", "family", "telegram", "--chat-id", "@sean"]),
        1,
        "INVALID_REQUEST",
    );
    cli(&["workspace", "unbind", "family", "telegram:-100789012"]);
    assert!(!cli(&["workspace", "remove-member", "family", "wife"]).contains("usr_wife"));
    assert!(!cli(&["workspace", "list", "--user", "wife"]).contains("family"));
    assert!(cli(&["workspace", "add-member", "family", "wife"]).contains("usr_wife"));
    assert!(cli(&["workspace", "update", "family", "--no-budget"]).contains("no limit"));
    let emptied = json(&cli(&["workspace", "update", "family", "--allow", "", "--json"]));
    assert_eq!(emptied["tools"], serde_json::json!({"allow": [], "deny": ["calendar.delete"]}));

    cli(&["session", "create", "menu", "--workspace", "family", "--user", "wife"]);
    refused_with(&run(folder, &["workspace", "delete", "family"]), 1, "WORKSPACE_HAS_DATA");
    assert_eq!(cli(&["workspace", "delete", "family", "--with-data"]), "deleted family");
    assert_eq!(cli(&["workspace", "list", "--all"]), "none");
    refused_with(&run(folder, &["workspace", "show", "family"]), 1, "WORKSPACE_NOT_FOUND");
}

#[test]
fn a_workspace_is_made_changed_and_deleted_by_command_with_and_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["user", "add", "sean", "--role", "admin"]);
    ok(folder.path(), &["user", "add", "wife"]);
    tell_the_story(folder.path());
    let server = Server::start(folder.path());
    tell_the_story(folder.path());
    assert_eq!(server.terminate(), Some(0));
}
