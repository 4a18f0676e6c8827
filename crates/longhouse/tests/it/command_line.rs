//! The command line: beside a running server, without one, and from another machine.

use super::binary::{Server, command, ok, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}"))
}

/// The same story whether or not a server runs.
fn tell_the_story(folder: &std::path::Path) {
    let cli = |args: &[&str]| ok(folder, args);
    assert_eq!(cli(&["session", "create", "story"]), "story");
    cli(&["context", "write", "-s", "story", "--as", "orchestrator", "scope", "read only"]);
    cli(&["context", "write", "-s", "story", "--as", "subagent:analysis:1", "findings", "pool too small"]);
    assert_eq!(cli(&["context", "read", "-s", "story", "findings"]), "pool too small");
    let listing = json(&cli(&["context", "list", "-s", "story", "--json"]));
    assert_eq!(listing["keys"][0]["written_by"], "subagent:analysis:1");
    cli(&["context", "snapshot", "-s", "story", "before"]);
    cli(&["context", "write", "-s", "story", "findings", "pool 200", "--if-version", "1"]);
    let conflict = run(folder, &["context", "write", "-s", "story", "findings", "x", "--if-version", "1"]);
    assert_eq!(conflict.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&conflict.stderr).contains("VERSION_CONFLICT"));
    assert!(cli(&["context", "diff", "-s", "story", "before"]).contains("~ findings (version 1 -> 2)"));
    assert!(cli(&["context", "history", "-s", "story", "findings"]).contains("pool too small"));
    cli(&["context", "restore", "-s", "story", "before"]);
    assert_eq!(cli(&["context", "read", "-s", "story", "findings"]), "pool too small");
    cli(&["context", "delete", "-s", "story", "scope"]);
    assert!(cli(&["session", "prompt", "story"]).contains("`findings`"));
    cli(&["session", "archive", "story"]);
    assert_eq!(run(folder, &["context", "delete", "-s", "story", "findings"]).status.code(), Some(1));
    assert!(cli(&["audit", "verify"]).starts_with("intact"));
    cli(&["doctor"]);
}

#[test]
fn the_story_is_the_same_with_and_without_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    tell_the_story(&folder.path().join("alone"));
    let beside = folder.path().join("beside");
    let server = Server::start(&beside);
    tell_the_story(&beside);
    drop(server);
}

#[test]
fn a_data_directory_with_a_very_long_path_works_too() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("a".repeat(120)).join("b".repeat(120));
    let server = Server::start(&long);
    assert_eq!(server.cli(&["session", "create", "far-away"]), "far-away");
}

#[test]
fn values_come_from_standard_input_and_unknown_words_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["session", "create", "s"]);
    let mut child = command(folder.path())
        .args(["context", "write", "-s", "s", "notes", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("zwei\nZeilen".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(ok(folder.path(), &["context", "read", "-s", "s", "notes"]), "zwei\nZeilen");
    assert_eq!(run(folder.path(), &["context", "dance"]).status.code(), Some(2));
}

#[test]
fn a_token_alone_is_printed_and_serves_a_remote_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    server.cli(&["session", "create", "s"]);
    let token =
        server.cli(&["token", "create", "--user", "owner", "--session", "s", "--participant", "subagent:far:1"]);
    assert_eq!(token.lines().count(), 1);
    let remote = |token: &str, args: &[&str]| {
        let elsewhere = folder.path().join("elsewhere");
        command(&elsewhere).args(["--server", &server.url]).args(args).env("LONGHOUSE_TOKEN", token).output().unwrap()
    };
    assert!(remote(&token, &["context", "write", "-s", "s", "greeting", "hello"]).status.success());
    let listing = json(&server.cli(&["context", "list", "-s", "s", "--json"]));
    assert_eq!(listing["keys"][0]["written_by"], "subagent:far:1");
    // What a session token may not do, the command line cannot do with it either.
    let refused = remote(&token, &["user", "list"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("FORBIDDEN"));
    let spoofed = remote(&token, &["context", "write", "-s", "s", "--as", "orchestrator", "greeting", "mine"]);
    assert_eq!(spoofed.status.code(), Some(1), "over the network the token says who writes");

    let jti = json(&server.cli(&["token", "list", "--json"]))[0]["id"].as_str().unwrap().to_owned();
    server.cli(&["token", "revoke", &jti]);
    let after = remote(&token, &["context", "list", "-s", "s"]);
    assert!(String::from_utf8_lossy(&after.stderr).contains("UNAUTHENTICATED"));
}

#[test]
fn watching_shows_changes_as_they_happen() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    server.cli(&["session", "create", "s"]);
    let mut child = command(folder.path())
        .args(["context", "watch", "-s", "s", "--keys", "inv:*,plain", "--after", "0", "--count", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    server.cli(&["context", "write", "-s", "s", "other", "1"]);
    server.cli(&["context", "write", "-s", "s", "plain", "2"]);
    server.cli(&["context", "delete", "-s", "s", "plain"]);
    let lines: Vec<_> = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("CONTEXT_WRITTEN") && lines[1].contains("CONTEXT_DELETED"), "{lines:?}");
}

#[test]
fn a_backup_made_under_load_restores_into_an_empty_directory_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let backup = folder.path().join("backup");
    let server = Server::start(&data);
    server.cli(&["session", "create", "s"]);
    let token = server.token();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..300 {
                let body = serde_json::json!({"action": "write", "key": format!("k{}", n % 7), "value": n.to_string()});
                assert_eq!(server.post(&token, "/sessions/s/shared_context", &body).unwrap().0, 200);
            }
        });
        server.cli(&["backup", backup.to_str().unwrap()]);
        writer.join().unwrap();
    });
    assert_eq!(run(&data, &["backup", backup.to_str().unwrap()]).status.code(), Some(1), "never over another backup");
    let restored = folder.path().join("restored");
    ok(&restored, &["restore", backup.to_str().unwrap()]);
    assert_eq!(run(&restored, &["restore", backup.to_str().unwrap()]).status.code(), Some(1));
    assert!(ok(&restored, &["audit", "verify"]).starts_with("intact"));
    // The secret came along: tokens from before are good.
    let again = Server::start(&restored);
    assert_eq!(
        again.post(&token, "/sessions/s/shared_context", &serde_json::json!({"action": "list_keys"})).unwrap().0,
        200
    );
}
