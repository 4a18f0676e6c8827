//! One call of a plugin: the same states as any call, decided by the same function.

use super::{ASKED, CAPS, Casino};
use serde_json::json;
use testkit::{PluginTurn, World, object_schema};

#[tokio::test]
async fn a_call_that_needs_no_person_is_on_record_made_once_and_answered() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    casino.plugins.then(PluginTurn::Says("4".to_owned()));
    let call = casino.execute("dice.roll", json!({"sides": 6})).await.ok();
    assert_eq!(call["status"], "completed", "{call}");
    assert_eq!(call["result"], json!({"success": true, "text": "4", "truncated": false}));
    assert_eq!((&call["risk"]["level"], &call["consumed"], &call["node"]), (&json!("LOW"), &json!(true), &json!(null)));
    assert_eq!(call["plugin"]["name"], "dice");
    assert_eq!(call["plugin"]["description"], "Throws a die.⟨U+200B⟩", "what is hidden is seen");
    assert_eq!(casino.plugins.called(), [("dice.roll".to_owned(), json!({"sides": 6}))]);
    let path = "/admin/audit?workspace=personal-usr_owner&limit=500";
    let rows = world.get(path).by(&casino.owner).send().await.ok();
    let actions = rows["items"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap().to_owned());
    let mut actions: Vec<String> = actions.filter(|action| action.starts_with("tool_call.")).collect();
    actions.sort();
    let mut steps = ["propose", "validate", "approve", "dispatch", "accept", "run", "complete"]
        .map(|step| format!("tool_call.{step}"));
    steps.sort();
    assert_eq!(actions, steps, "every step has one row");
}

#[tokio::test]
async fn a_tool_that_the_file_wants_asked_about_waits_for_a_person_and_shows_the_whole() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    let call = casino.begin("dice.drop", json!({"sides": 6})).await;
    assert_eq!((&call["status"], &call["risk"]["level"]), (&json!("waiting_approval"), &json!("HIGH")), "{call}");
    let card = format!("/my/approvals/{}", call["approval_id"].as_str().unwrap());
    let card = world.get(&card).by(&casino.owner).send().await.ok();
    assert_eq!((&card["plugin"]["name"], &card["plugin"]["description"]), (&json!("dice"), &json!("Throws it away.")));
    assert_eq!((&card["digest"], &card["params"]), (&call["digest"], &json!({"sides": 6})));
    assert!(casino.plugins.called().is_empty(), "nothing ran before a yes");
    casino.approve(&call).await.ok();
    assert_eq!(casino.until(&call, "completed").await["result"]["success"], true);
    assert_eq!(casino.plugins.called().len(), 1);
    assert_eq!(casino.approve(&call).await.code(), "ALREADY_DECIDED");
    assert_eq!(casino.plugins.called().len(), 1, "a second yes makes nothing a second time");
}

#[tokio::test]
async fn what_does_not_fit_is_denied_or_is_no_tool_comes_to_nothing_and_says_why() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    for (tool, params, status, code) in [
        ("dice.roll", json!({"sides": "six"}), "invalid", "INVALID_REQUEST"),
        ("dice.roll", json!({"colour": 1}), "invalid", "INVALID_REQUEST"),
        ("dice.lose", json!({}), "invalid", "TOOL_NOT_FOUND"),
        ("k8s.get", json!({}), "invalid", "TOOL_NOT_FOUND"),
        // Listed by the plugin, allowed by the workspace, and granted to nobody.
        ("dice.other.read", json!({}), "invalid", "TOOL_NOT_FOUND"),
        ("other.read", json!({}), "invalid", "TOOL_NOT_FOUND"),
        ("filesystem.read", json!({}), "invalid", "TOOL_NOT_FOUND"),
    ] {
        let call = casino.execute(tool, params).await.ok();
        assert_eq!((&call["status"], &call["reason"]["code"]), (&json!(status), &json!(code)), "{tool} {call}");
    }
    assert!(casino.plugins.called().is_empty());
}

#[tokio::test]
async fn a_plugin_that_fails_is_away_or_crashes_ends_its_call_in_the_right_word() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    for (turn, status, code) in [
        (PluginTurn::Fails("no luck".to_owned()), "completed", None),
        (PluginTurn::Away, "failed", Some("PLUGIN_UNAVAILABLE")),
        (PluginTurn::Crashes, "unknown", Some("PLUGIN_UNAVAILABLE")),
    ] {
        casino.plugins.then(turn.clone());
        let call = casino.execute("dice.roll", json!({})).await.ok();
        assert_eq!(call["status"], status, "{turn:?} {call}");
        assert_eq!(call["reason"]["code"].as_str(), code, "{turn:?}");
        assert!(status != "completed" || call["result"]["success"] == false);
    }
    assert_eq!(casino.plugins.called().len(), 3, "nothing is tried again");
}

#[tokio::test]
async fn calls_that_wait_or_run_count_for_their_person_in_their_project_whoever_makes_them() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    for _ in 0..8 {
        casino.plugins.then(PluginTurn::Hangs);
        casino.begin("dice.roll", json!({})).await;
    }
    let waiting = casino.begin("dice.drop", json!({})).await;
    for _ in 9..99 {
        casino.begin("dice.drop", json!({})).await;
    }
    // A call on a machine is one of them.
    world.hand_node(&casino.owner, "desk", "garden").await;
    casino.begin("tool_write_file", json!({"path": "a", "content": "x"})).await;
    for (tool, params) in [("dice.roll", json!({})), ("tool_read_file", json!({"path": "a"}))] {
        casino.execute(tool, params).await.refused(503, "QUEUE_FULL");
    }
    let body = json!({"agent": "agent_coder", "tool": "dice.roll", "params": {}, "wait_s": 10});
    let elsewhere = world.post("/my/projects/bar/tools/execute", &body).by(&casino.owner).send().await.ok();
    assert_eq!(elsewhere["status"], "completed", "another project has room of its own");
    let path = format!("/my/projects/garden/approvals/{}/reject", waiting["approval_id"].as_str().unwrap());
    world.post(&path, &json!({})).by(&casino.owner).send().await.ok();
    assert_eq!(casino.execute("dice.roll", json!({})).await.ok()["status"], "completed", "what has ended makes room");
}

#[tokio::test]
async fn calls_that_wait_for_a_plugin_that_does_not_come_up_stand_in_nobodys_way() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    casino.plugins.lists("notes", &["notes.*"], &[], &[("keep", "Keeps.", object_schema(&json!({})))]);
    casino.declare(&[("dice", &CAPS, &ASKED), ("notes", &["notes.*"], &[])]).await;
    casino.settle().await;
    casino.plugins.stands("notes", "starting");
    let mut waiting = Vec::new();
    for _ in 0..70 {
        waiting.push(casino.begin("notes.keep", json!({})).await);
    }
    assert_eq!(casino.execute("dice.roll", json!({})).await.ok()["status"], "completed");
    assert_eq!(casino.call(&waiting[0]).await["status"], "dispatched");
    casino.plugins.lists("notes", &["notes.*"], &[], &[("keep", "Keeps.", object_schema(&json!({})))]);
    for call in &waiting {
        casino.until(call, "completed").await;
    }
}

#[tokio::test]
async fn large_arguments_are_carried_whole_and_too_large_ones_not_at_all() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    let schema = object_schema(&json!({"text": {"type": "string"}}));
    casino.plugins.lists("notes", &["notes.*"], &[], &[("keep", "Keeps.", schema)]);
    casino.declare(&[("dice", &CAPS, &ASKED), ("notes", &["notes.*"], &[])]).await;
    casino.settle().await;
    let text = "x".repeat(900 * 1024);
    let call = casino.execute("notes.keep", json!({"text": text})).await.ok();
    assert_eq!(call["status"], "completed");
    assert_eq!(casino.plugins.called()[0].1["text"].as_str().map(str::len), Some(text.len()));
    let call = casino.execute("notes.keep", json!({"text": "x".repeat(1024 * 1024)})).await.ok();
    assert_eq!((&call["status"], &call["reason"]["code"]), (&json!("invalid"), &json!("VALUE_TOO_LARGE")));
}

#[tokio::test]
async fn a_project_asks_for_more_and_rules_that_change_end_what_waits() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    let patch = world.ask(axum::http::Method::PATCH, "/my/projects/garden").json(&json!({"approval": "always"}));
    patch.by(&casino.owner).send().await.ok();
    let call = casino.begin("dice.roll", json!({})).await;
    assert_eq!((&call["status"], &call["risk"]["level"]), (&json!("waiting_approval"), &json!("HIGH")), "{call}");
    // The file takes the grant away, and the yes comes too late.
    casino.declare(&[("dice", &["dice.drop"], &[])]).await;
    casino.approve(&call).await.ok();
    let ended = casino.call(&call).await;
    assert_eq!((&ended["status"], &ended["reason"]["code"]), (&json!("denied"), &json!("FORBIDDEN")), "{ended}");
    assert!(casino.plugins.called().is_empty());
}

#[tokio::test]
async fn each_workspace_is_offered_what_its_rules_allow_and_deny_beats_allow() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    assert_eq!(casino.offered("personal").await, ["dice.drop", "dice.roll"]);
    assert_eq!(casino.offered("bar").await, ["dice.roll"]);
    assert!(casino.offered("nursery").await.is_empty());
    for (workspace, tool, status) in
        [("bar", "dice.roll", "completed"), ("bar", "dice.drop", "denied"), ("nursery", "dice.roll", "denied")]
    {
        let body = json!({"agent": "agent_coder", "tool": tool, "params": {}, "wait_s": 10});
        let path = format!("/my/projects/{workspace}/tools/execute");
        let call = world.post(&path, &body).by(&casino.owner).send().await.ok();
        assert_eq!(call["status"], status, "{workspace} {tool} {call}");
    }
    assert_eq!(casino.plugins.called().len(), 1);
}

#[tokio::test]
async fn what_was_begun_when_the_house_died_is_unknown_and_what_was_not_is_made_then() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    casino.plugins.then(PluginTurn::Hangs);
    let begun = casino.begin("dice.roll", json!({"sides": 1})).await;
    casino.until(&begun, "running").await;
    let waiting = casino.begin("dice.drop", json!({"sides": 2})).await;
    let (plugins, owner) = (casino.plugins.clone(), casino.owner.clone());
    let world = world.reopened().await;
    world.use_plugins(&plugins);
    let casino = Casino { world: &world, plugins, owner };
    let lost = casino.call(&begun).await;
    assert_eq!((&lost["status"], &lost["reason"]["code"]), (&json!("unknown"), &json!("INTERRUPTED")), "{lost}");
    assert_eq!(casino.call(&waiting).await["status"], "waiting_approval", "what waits for a person still does");
    casino.approve(&waiting).await.ok();
    casino.until(&waiting, "completed").await;
    let called: Vec<_> = casino.plugins.called().into_iter().map(|(_, arguments)| arguments).collect();
    assert_eq!(called, [json!({"sides": 1}), json!({"sides": 2})], "each once");
}

#[tokio::test]
async fn what_is_asked_and_answered_is_seen_by_its_person_and_in_no_log() {
    testkit::keep_logs();
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    let mary = world.member("mary").await;
    world.project(&mary, "garden").await;
    casino.plugins.then(PluginTurn::Says("canary-answer".to_owned()));
    let call = casino.execute("dice.roll", json!({"sides": 987_654_321})).await.ok();
    assert_eq!(call["result"]["text"], "canary-answer");
    let waiting = casino.begin("dice.drop", json!({"sides": 987_654_321})).await;
    for (path, by) in [
        (format!("/my/projects/garden/tools/{}", call["id"].as_str().unwrap()), &mary),
        (format!("/my/approvals/{}", waiting["approval_id"].as_str().unwrap()), &mary),
    ] {
        let found = world.get(&path).by(by).send().await;
        assert_eq!(found.status, 404, "{path} {}", found.text);
    }
    for path in ["/my/projects/garden/tools", "/my/approvals"] {
        let found = world.get(path).by(&mary).send().await;
        assert!(!found.text.contains("canary") && !found.text.contains("987654321"), "{}", found.text);
    }
    let audit = world.get("/admin/audit?limit=500").by(&casino.owner).send().await;
    for seen in [audit.text, testkit::kept_logs()] {
        assert!(!seen.contains("canary-answer") && !seen.contains("987654321"));
    }
}
