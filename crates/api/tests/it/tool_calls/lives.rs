//! What a call goes through from the wish to its end.

use super::Bench;
use serde_json::{Value, json};
use testkit::World;

#[tokio::test]
async fn a_read_goes_to_its_node_without_asking_anybody_and_its_result_comes_back() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "notes.md"})).await;
    assert_eq!(call.status, 202);
    let call = call.ok();
    assert_eq!(
        (&call["status"], &call["risk"]["level"], &call["attempt"]),
        (&json!("dispatched"), &json!("LOW"), &json!(1))
    );
    let open = bench.node.open().await;
    assert_eq!((open.len(), &open[0]["id"], &open[0]["params"]["path"]), (1, &call["id"], &json!("notes.md")));
    let accepted = bench.node.accept(&open[0]).await.ok();
    assert_eq!(accepted["status"], "accepted");
    let result = json!({"success": true, "content": "hello", "size": 5});
    assert_eq!(bench.node.result(&open[0], &result).await.ok()["status"], "completed");
    let ended = bench.call(&call).await;
    assert_eq!((&ended["status"], &ended["result"], &ended["consumed"]), (&json!("completed"), &result, &json!(true)));
    assert!(bench.node.open().await.is_empty());
    let steps = ["propose", "validate", "approve", "dispatch", "accept", "run", "complete"];
    assert_eq!(bench.actions().await, steps.map(|step| format!("tool_call.{step}")));
}

#[tokio::test]
async fn a_write_waits_for_its_person_and_is_made_once_they_agree() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("notes.md").await;
    assert_eq!(call["risk"]["level"], "MEDIUM");
    let inbox = world.get("/my/approvals?status=pending").by(&bench.owner).send().await.ok();
    let asked = &inbox["items"][0];
    assert_eq!((&asked["tool_call_id"], &asked["digest"]), (&call["id"], &call["digest"]));
    assert_eq!((&asked["diff"], &asked["previewed"]), (&json!("+hello\n"), &json!(true)));
    assert_eq!((&asked["on_behalf_of"], &asked["agent"]), (&json!("usr_owner"), &json!("agent_coder")));
    assert!(bench.node.open().await.iter().all(|call| call["status"] != "dispatched"), "nobody has agreed yet");
    let approved = bench.approve(&call).await;
    assert_eq!((&approved["status"], &approved["call_status"]), (&json!("approved"), &json!("dispatched")));
    let open = bench.node.open().await;
    bench.node.accept(&open[0]).await.ok();
    bench.node.result(&open[0], &json!({"success": true})).await.ok();
    assert_eq!(bench.call(&call).await["status"], "completed");
    let left = world.get("/my/approvals?status=pending").by(&bench.owner).send().await.ok();
    assert_eq!(left["items"], json!([]));
}

#[tokio::test]
async fn what_is_not_well_formed_or_not_allowed_is_a_call_too_and_runs_nowhere() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    for (tool, params, status, code) in [
        ("tool_fly", json!({}), "invalid", "TOOL_NOT_FOUND"),
        ("tool_read_file", json!({}), "invalid", "INVALID_REQUEST"),
        ("tool_read_file", json!({"path": "../secrets"}), "invalid", "INVALID_PATH"),
        ("tool_read_file", json!({"path": "a", "extra": 1}), "invalid", "INVALID_REQUEST"),
        ("tool_execute_command", json!({"program": "sudo", "args": ["ls"]}), "denied", "COMMAND_DENIED"),
        ("tool_execute_command", json!({"program": "bash", "args": ["-c", "ls"]}), "denied", "COMMAND_DENIED"),
    ] {
        let call = bench.execute(tool, params.clone()).await;
        assert_eq!(call.status, 200, "{tool} {params}");
        let call = call.ok();
        assert_eq!((&call["status"], &call["reason"]["code"]), (&json!(status), &json!(code)), "{tool} {params}");
        assert_eq!(call["consumed"], true);
    }
    let deny = json!({"tools": {"allow": ["filesystem.read"]}});
    world.patch("/admin/workspaces/personal-usr_owner", &deny).by(&bench.owner).send().await.ok();
    let call = bench.execute("tool_write_file", json!({"path": "a", "content": ""})).await.ok();
    assert_eq!((&call["status"], &call["reason"]["code"]), (&json!("denied"), &json!("FORBIDDEN")));
    assert!(bench.node.open().await.is_empty());
}

#[tokio::test]
async fn without_a_node_there_is_no_call_and_with_several_one_must_be_named() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let body = json!({"agent": "agent_coder", "tool": "tool_read_file", "params": {"path": "a"}});
    let execute = |body: Value| world.post("/my/projects/garden/tools/execute", &body).by(&owner).send();
    execute(body.clone()).await.refused(404, "NODE_NOT_FOUND");
    let first = world.hand_node(&owner, "laptop", "garden").await;
    let second = world.hand_node(&owner, "desk", "garden").await;
    let refusal = execute(body.clone()).await.refused(409, "NODE_AMBIGUOUS");
    assert_eq!(refusal["nodes"], json!(["desk", "laptop"]));
    let mut named = body;
    named["node"] = json!("desk");
    execute(named).await.ok();
    assert_eq!((first.open().await.len(), second.open().await.len()), (0, 1));
}

#[tokio::test]
async fn a_node_that_comes_back_finds_what_was_approved_while_it_was_away() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    world.clock.advance_s(120);
    let owner = world.owner().await;
    let bench = Bench { owner, ..bench };
    let call = bench.execute("tool_read_file", json!({"path": "notes.md"})).await.ok();
    assert_eq!(call["status"], "approved", "the node is away");
    let open = bench.node.open().await;
    assert_eq!((&open[0]["id"], &open[0]["status"]), (&call["id"], &json!("dispatched")));
}

#[tokio::test]
async fn what_is_done_for_one_person_is_not_shown_to_another() {
    let world = World::new().await;
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    world.workspace("den", &["owner", "mary"]).await;
    world.patch("/admin/workspaces/den", &json!({"tools": {"allow": ["filesystem.*"]}})).by(&owner).send().await.ok();
    world.post("/my/projects", &json!({"name": "shared", "workspace": "den"})).by(&owner).send().await.ok();
    let node = world.hand_node(&owner, "laptop", "shared").await;
    let body = json!({"agent": "agent_coder", "tool": "tool_read_file", "params": {"path": "canary.txt"}});
    let call = world.post("/my/projects/shared/tools/execute", &body).by(&owner).send().await.ok();
    assert_eq!(call["status"], "dispatched", "{call}");
    let path = format!("/my/projects/shared/tools/{}", call["id"].as_str().unwrap());
    world.get(&path).by(&mary).send().await.refused(404, "TOOL_CALL_NOT_FOUND");
    let list = world.get("/my/projects/shared/tools").by(&mary).send().await.ok();
    assert_eq!(list["items"], json!([]));
    // Nor can she have something done on a machine that is not hers.
    world.post("/my/projects/shared/tools/execute", &body).by(&mary).send().await.refused(404, "NODE_NOT_FOUND");
    let named =
        json!({"agent": "agent_coder", "tool": "tool_read_file", "params": {"path": "a"}, "node": node.node["id"]});
    world.post("/my/projects/shared/tools/execute", &named).by(&mary).send().await.refused(404, "NODE_NOT_FOUND");
}

#[tokio::test]
async fn files_of_ten_megabytes_go_in_and_more_do_not() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call =
        bench.execute("tool_write_file", json!({"path": "a", "content": "x".repeat(10 * 1024 * 1024)})).await.ok();
    assert_eq!(call["status"], "proposed");
    let call =
        bench.execute("tool_write_file", json!({"path": "a", "content": "x".repeat(10 * 1024 * 1024 + 1)})).await.ok();
    assert_eq!((&call["status"], &call["reason"]["code"]), (&json!("invalid"), &json!("VALUE_TOO_LARGE")));
    let huge = bench.execute("tool_write_file", json!({"path": "a", "content": "x".repeat(17 * 1024 * 1024)})).await;
    huge.refused(413, "PAYLOAD_TOO_LARGE");
    let read = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    bench.node.accept(&read).await.ok();
    let huge = json!({"success": true, "content": "x".repeat(15 * 1024 * 1024)});
    bench.node.result(&read, &huge).await.refused(413, "VALUE_TOO_LARGE");
    let most = json!({"success": true, "content": "x".repeat(14 * 1024 * 1024)});
    assert_eq!(bench.node.result(&read, &most).await.ok()["status"], "completed");
}

#[tokio::test]
async fn calls_that_nobody_answers_do_not_fill_the_house() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let large = json!({"path": "a", "content": "x".repeat(9_000_000)});
    for _ in 0..7 {
        assert_eq!(bench.execute("tool_write_file", large.clone()).await.ok()["status"], "proposed");
    }
    let refused = bench.execute("tool_write_file", large.clone()).await;
    assert_eq!(refused.headers["retry-after"], "30");
    refused.refused(503, "QUEUE_FULL");
    for _ in 7..100 {
        bench.execute("tool_write_file", json!({"path": "b", "content": "x"})).await.ok();
    }
    bench.execute("tool_read_file", json!({"path": "b"})).await.refused(503, "QUEUE_FULL");
    // What is open for one project is no other's.
    world.project(&bench.owner, "other").await;
    world.hand_node(&bench.owner, "desk", "other").await;
    let body = json!({"agent": "agent_coder", "tool": "tool_write_file", "params": large});
    world.post("/my/projects/other/tools/execute", &body).by(&bench.owner).send().await.ok();
    let listed = world.get("/my/projects/garden/tools?limit=500").by(&bench.owner).send().await;
    assert!(listed.text.len() < 500_000, "{}", listed.text.len());
    assert_eq!(listed.ok()["items"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn lists_have_the_beginning_of_what_is_long_and_say_so_and_one_by_itself_is_whole() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let text = "line\n".repeat(100_000);
    let call = bench.execute("tool_write_file", json!({"path": "notes.md", "content": text})).await.ok();
    let call = bench.node.preview(&call, &json!({"exists": false, "diff": text})).await.ok();
    let short = bench.waiting_write("b").await;
    for (list, one) in [
        ("/my/approvals?status=pending".to_owned(), format!("/my/approvals/{}", call["approval_id"].as_str().unwrap())),
        ("/my/projects/garden/tools".to_owned(), format!("/my/projects/garden/tools/{}", call["id"].as_str().unwrap())),
    ] {
        let listed = world.get(&list).by(&bench.owner).send().await.ok();
        let [newer, older] = &listed["items"].as_array().unwrap()[..] else { panic!("{listed}") };
        assert_eq!((&newer["cut"], &newer["params"]), (&Value::Null, &short["params"]), "{list}");
        assert_eq!((&older["cut"], &older["params"]["path"]), (&json!(true), &json!("notes.md")), "{list}");
        assert_eq!(older["preview"]["diff_cut"], true, "{list}");
        assert!(older.to_string().len() < 20_000, "{list}: {}", older.to_string().len());
        let whole = world.get(&one).by(&bench.owner).send().await.ok();
        assert_eq!((&whole["cut"], &whole["params"]["content"]), (&Value::Null, &json!(text)), "{one}");
        assert_eq!(whole["preview"]["diff"], json!(text), "{one}");
    }
}
