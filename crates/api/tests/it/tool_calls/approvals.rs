//! Who decides, once, about what they were shown.

use super::Bench;
use domain::roles::{Right, RoleRules};
use domain::rules::Declaration;
use serde_json::{Value, json};
use testkit::World;

#[tokio::test]
async fn the_first_answer_stands_and_the_second_is_told_who_and_when() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    bench.approve(&call).await;
    for decision in ["approve", "reject"] {
        let refusal = bench.answer(&bench.owner, &call, decision, &json!({})).await.refused(409, "ALREADY_DECIDED");
        assert_eq!(refusal["decided_by"], "usr_owner");
        assert!(refusal["decided_at"].is_string());
    }
}

#[tokio::test]
async fn of_many_who_answer_at_once_one_wins() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    for _ in 0..5 {
        let call = bench.waiting_write("a").await;
        let body = json!({});
        let answers = (0..8).map(|index| {
            let decision = if index % 2 == 0 { "approve" } else { "reject" };
            bench.answer(&bench.owner, &call, decision, &body)
        });
        let answers = futures_util::future::join_all(answers).await;
        let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(won.len(), 1);
        assert!(answers.iter().filter(|answer| answer.status != 200).all(|answer| answer.code() == "ALREADY_DECIDED"));
        let status = bench.call(&call).await["status"].clone();
        let expected = if won[0].json()["status"] == "approved" { "dispatched" } else { "rejected" };
        assert_eq!(status, expected);
        if expected == "dispatched" {
            let open = bench.node.open().await;
            bench.node.accept(&open[0]).await.ok();
            bench.node.result(&open[0], &json!({"success": true})).await.ok();
        }
    }
}

#[tokio::test]
async fn a_yes_to_something_else_than_what_was_shown_is_none() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    let other = json!({"digest": "0".repeat(64)});
    bench.answer(&bench.owner, &call, "approve", &other).await.refused(409, "DIGEST_MISMATCH");
    assert_eq!(bench.call(&call).await["status"], "waiting_approval");
}

#[tokio::test]
async fn agents_nodes_and_strangers_never_decide() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let mary = world.member("mary").await;
    let call = bench.waiting_write("a").await;
    let project = world.get("/my/projects/garden").by(&bench.owner).send().await.ok();
    let agent = project["agents"][0]["id"].clone();
    let agent = world.agent_token(&bench.owner, json!({"agent": agent})).await;
    bench.answer(&mary, &call, "approve", &json!({})).await.refused(404, "APPROVAL_NOT_FOUND");
    bench.answer(&agent, &call, "approve", &json!({})).await.refused(403, "FORBIDDEN");
    bench.answer(&bench.node.token, &call, "approve", &json!({})).await.refused(403, "FORBIDDEN");
    let batch = json!({"ids": [call["approval_id"]], "decision": "approve"});
    let decided = world.post("/my/approvals/decide", &batch).by(&mary).send().await.ok();
    assert_eq!(decided["items"][0]["error"]["code"], "APPROVAL_NOT_FOUND");
    assert_eq!(bench.call(&call).await["status"], "waiting_approval");
}

#[tokio::test]
async fn a_no_ends_the_call_and_says_why() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    bench.answer(&bench.owner, &call, "reject", &json!({"reason": "not that file"})).await.ok();
    let ended = bench.call(&call).await;
    assert_eq!((&ended["status"], &ended["reason"]["message"]), (&json!("rejected"), &json!("not that file")));
    assert!(bench.node.open().await.is_empty());
}

#[tokio::test]
async fn an_answer_can_stand_for_later_calls_in_a_folder_until_it_is_taken_back() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("src/a").await;
    let until = "2031-01-01T00:00:00Z";
    let remember = |folder: &str, until: &str| json!({"remember": {"kind": "folder", "folder": folder, "for": until}});
    for bad in
        [remember("other", until), remember("src", "tomorrow"), remember("src", until), remember("src", "session")]
    {
        let refused = bench.answer(&bench.owner, &call, "approve", &bad).await;
        assert_eq!(refused.status, 400, "{bad}");
    }
    let soon = serde_json::to_value(world.house.now().plus_seconds(3600)).unwrap();
    let good = remember("src", soon.as_str().unwrap());
    bench.answer(&bench.owner, &call, "approve", &good).await.ok();
    let rules = world.get("/my/standing-rules").by(&bench.owner).send().await.ok();
    assert_eq!((&rules["items"][0]["folder"], &rules["items"][0]["tool"]), (&json!("src"), &json!("tool_write_file")));
    let write = async |path: &str| -> Value {
        let call = bench.execute("tool_write_file", json!({"path": path, "content": "x"})).await.ok();
        bench.node.preview(&call, &json!({"exists": false})).await.ok()
    };
    assert_eq!(write("src/deep/b").await["status"], "dispatched");
    assert_eq!(write("src-old/b").await["status"], "waiting_approval");
    assert_eq!(write("b").await["status"], "waiting_approval");
    let rule = rules["items"][0]["id"].as_str().unwrap();
    let mary = world.member("mary").await;
    world.delete(&format!("/my/standing-rules/{rule}")).by(&mary).send().await.refused(404, "STANDING_RULE_NOT_FOUND");
    assert_eq!(world.delete(&format!("/my/standing-rules/{rule}")).by(&bench.owner).send().await.status, 204);
    assert_eq!(write("src/c").await["status"], "waiting_approval");
}

#[tokio::test]
async fn the_rules_are_asked_again_before_a_node_is_told() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    let deny = json!({"tools": {"allow": ["filesystem.read"]}});
    world.patch("/admin/workspaces/personal-usr_owner", &deny).by(&bench.owner).send().await.ok();
    let answer = bench.approve(&call).await;
    assert_eq!((&answer["status"], &answer["call_status"]), (&json!("approved"), &json!("denied")));
    assert!(bench.node.open().await.is_empty());
}

#[tokio::test]
async fn a_folder_that_was_remembered_for_something_harmless_does_not_stand_for_something_dangerous() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let soon = serde_json::to_value(world.house.now().plus_seconds(3600)).unwrap();
    let remember = json!({"remember": {"kind": "folder", "folder": "src", "for": soon}});
    let write = async |path: &str, exists: bool| -> Value {
        let call = bench.execute("tool_write_file", json!({"path": path, "content": "x"})).await.ok();
        bench.node.preview(&call, &json!({"exists": exists})).await.ok()
    };
    let call = bench.waiting_write("src/a").await;
    bench.answer(&bench.owner, &call, "approve", &remember).await.ok();
    assert_eq!(write("src/b", false).await["status"], "dispatched");
    for (path, exists) in [("src/.git/hooks/pre-commit", false), ("src/unread", true)] {
        assert_eq!(write(path, exists).await["status"], "waiting_approval", "{path}");
    }
    // What was dangerous when it was shown may be done again.
    let dangerous = write("src/.git/config", false).await;
    bench.answer(&bench.owner, &dangerous, "approve", &remember).await.ok();
    assert_eq!(write("src/.git/hooks/pre-commit", false).await["status"], "dispatched");
}

#[tokio::test]
async fn a_yes_to_this_very_change_does_not_stand_once_somebody_has_changed_the_file() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let soon = serde_json::to_value(world.house.now().plus_seconds(3600)).unwrap();
    let remember = json!({"remember": {"kind": "call", "for": soon}});
    let nothing = json!({"exists": false, "path": "a"});
    let file = |text: &str| json!({"exists": true, "path": "a", "base_sha256": text.repeat(64)});
    let write = ("tool_write_file", json!({"path": "a", "content": "x"}));
    for ((tool, params), shown, later) in
        [(write, nothing.clone(), file("1")), (("tool_delete_file", json!({"path": "a"})), file("2"), file("3"))]
    {
        let make = async |found: &Value| -> Value {
            let call = bench.execute(tool, params.clone()).await.ok();
            bench.node.preview(&call, found).await.ok()
        };
        let call = make(&shown).await;
        assert_eq!(call["status"], "waiting_approval");
        bench.answer(&bench.owner, &call, "approve", &remember).await.ok();
        assert_eq!(make(&shown).await["status"], "dispatched", "{tool}");
        let changed = make(&later).await;
        assert_eq!((&changed["status"], &changed["risk"]["level"]), (&json!("waiting_approval"), &json!("HIGH")));
    }
}

#[tokio::test]
async fn whoever_decides_for_others_sees_what_is_for_shared_machines_and_nobodys_own() {
    let world = World::new().await;
    let (owner, mary, shared) = super::rights::on_a_shared_machine(&world).await;
    let mut rules = Declaration::default();
    rules.house.roles.insert("admin".into(), RoleRules { rights: Some(vec![Right::Approve]), ..Default::default() });
    world.declare(rules).await;
    let node = world.hand_node(&mary, "desk", "shared").await;
    let params = json!({"path": "b", "content": "x"});
    let body = json!({"agent": "agent_coder", "tool": "tool_write_file", "node": "desk", "params": params});
    let own = world.post("/my/projects/shared/tools/execute", &body).by(&mary).send().await.ok();
    let own = node.preview(&own, &json!({"exists": false})).await.ok();
    let seen = async |by: &str| {
        let list = world.get("/my/approvals?status=pending").by(by).send().await.ok();
        let calls = list["items"].as_array().unwrap().iter().map(|item| item["tool_call_id"].clone());
        calls.collect::<Vec<_>>()
    };
    assert_eq!(seen(&mary).await, [own["id"].clone(), shared["id"].clone()]);
    assert_eq!(seen(&owner).await, [shared["id"].clone()]);
    let path = |call: &Value| format!("/my/approvals/{}", call["approval_id"].as_str().unwrap());
    world.get(&path(&own)).by(&owner).send().await.refused(404, "APPROVAL_NOT_FOUND");
    world.get(&path(&shared)).by(&owner).send().await.ok();
}

#[tokio::test]
async fn an_answer_that_is_sent_again_under_its_key_is_the_same_answer() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    for decision in ["approve", "reject"] {
        let call = bench.waiting_write("a").await;
        let path = format!("/my/projects/garden/approvals/{}/{decision}", call["approval_id"].as_str().unwrap());
        let send = |body: Value| world.post(&path, &body).by(&bench.owner).header("idempotency-key", decision).send();
        let first = send(json!({})).await.ok();
        assert_eq!(send(json!({})).await.ok(), first);
        bench.answer(&bench.owner, &call, decision, &json!({})).await.refused(409, "ALREADY_DECIDED");
        let field = if decision == "approve" { "digest" } else { "reason" };
        send(json!({field: "another"})).await.refused(422, "IDEMPOTENCY_MISMATCH");
    }
    // A refusal is an answer, too.
    let call = bench.waiting_write("a").await;
    let path = format!("/my/projects/garden/approvals/{}/approve", call["approval_id"].as_str().unwrap());
    let wrong = json!({"digest": "0".repeat(64)});
    for _ in 0..2 {
        let ask = world.post(&path, &wrong).by(&bench.owner).header("idempotency-key", "wrong");
        ask.send().await.refused(409, "DIGEST_MISMATCH");
    }
    bench.approve(&call).await;
}

#[tokio::test]
async fn answers_to_several_are_given_once_under_their_key() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let (first, second, third) =
        (bench.waiting_write("a").await, bench.waiting_write("b").await, bench.waiting_write("c").await);
    bench.approve(&first).await;
    let ids = json!([first["approval_id"], second["approval_id"], "apr_none", "nonsense"]);
    let send = |ids: &Value| {
        let body = json!({"ids": ids, "decision": "approve"});
        world.post("/my/approvals/decide", &body).by(&bench.owner).header("idempotency-key", "k").send()
    };
    let decided = send(&ids).await.ok();
    let codes: Vec<&Value> = decided["items"].as_array().unwrap().iter().map(|item| &item["error"]["code"]).collect();
    assert_eq!(
        codes,
        [&json!("ALREADY_DECIDED"), &Value::Null, &json!("APPROVAL_NOT_FOUND"), &json!("APPROVAL_NOT_FOUND")]
    );
    assert_eq!(decided["items"][1]["status"], "approved");
    assert_eq!(send(&ids).await.ok(), decided);
    send(&json!([third["approval_id"]])).await.refused(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(bench.call(&third).await["status"], "waiting_approval");
    let told = bench.actions().await.iter().filter(|action| *action == "tool_call.approve").count();
    assert_eq!(told, 2);
}
