//! `longhouse policy explain`, with and without a server.

use super::binary::{Server, ok, refused_with, run};
use serde_json::Value;
use std::path::Path;

fn tell_the_story(folder: &Path) {
    let explain = |words: &str| run(folder, &words.split(' ').collect::<Vec<_>>());
    let mine = "policy explain --workspace personal-usr_sean --user";
    let allowed = explain(&format!("{mine} sean filesystem.read"));
    assert!(allowed.status.success());
    let text = String::from_utf8_lossy(&allowed.stdout);
    assert!(text.starts_with("ALLOW by workspace `filesystem.*`: nodes offer it"), "{text}");
    let denied = explain(&format!("{mine} usr_sean k8s.get"));
    assert!(denied.status.success(), "a no is an answer");
    assert!(String::from_utf8_lossy(&denied.stdout).starts_with("DENY by plugin: no plugin has `k8s.get`"));
    let json: Value = serde_json::from_slice(&explain(&format!("{mine} owner skill_read --json")).stdout).unwrap();
    assert_eq!((json["decision"].as_str(), json["rule"].as_str()), (Some("DENY"), Some("members")), "{json}");
    let json: Value = serde_json::from_slice(&explain(&format!("{mine} sean skill_read --json")).stdout).unwrap();
    assert_eq!((json["decision"].as_str(), json["layer"].as_str()), (Some("ALLOW"), Some("platform")), "{json}");
    refused_with(&explain("policy explain --workspace nowhere --user sean k8s.get"), 1, "WORKSPACE_NOT_FOUND");
    refused_with(&explain(&format!("{mine} nobody k8s.get")), 1, "USER_NOT_FOUND");
    refused_with(&explain(&format!("{mine} sean k8s.*")), 1, "INVALID_REQUEST");
    assert_eq!(explain("policy explain k8s.get").status.code(), Some(2), "whose and where has to be said");
}

#[test]
fn a_decision_is_explained_with_and_without_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["user", "add", "sean"]);
    tell_the_story(folder.path());
    let server = Server::start(folder.path());
    tell_the_story(folder.path());
    assert_eq!(server.terminate(), Some(0));
}
