//! What a person sees who is asked: the whole of it, and where it comes from.

use super::Bench;
use super::turns::{Talk, next, write};
use serde_json::{Value, json};
use testkit::{Turn, World};

async fn card(world: &World, by: &str, call: &Value) -> Value {
    let path = format!("/my/approvals/{}", call["approval_id"].as_str().unwrap());
    world.get(&path).by(by).send().await.ok()
}

#[tokio::test]
async fn a_card_tells_why_the_agent_asked_and_what_its_session_knew() {
    let talk = Talk::new().await;
    let bench = Bench::new(&talk.world).await;
    talk.provider.script(vec![write(), Turn::say("It is written.")]);
    talk.open_session(&bench).await;
    talk.world.write(&bench.owner, "s", "plan", "first").await;
    let sent = talk.send(&bench).await;
    let call = next(&bench).await;
    let call =
        bench.node.preview(&call, &json!({"exists": false, "path": "notes.md", "no_diff": "not text"})).await.ok();
    talk.until(&bench.owner, &sent, "waiting").await;
    let asked = card(&talk.world, &bench.owner, &call).await;
    assert_eq!(asked["why"], json!({"asked": "please", "said": "I write it down."}));
    assert_eq!((&asked["session_knew"]["rev"], &asked["session_knew"]["keys"]), (&json!(1), &json!(1)));
    assert_eq!(asked["preview"], json!({"exists": false, "path": "notes.md", "no_diff": "not text"}));

    // What is learned later was not known then.
    talk.world.write(&bench.owner, "s", "plan", "second").await;
    let path = format!("/my/approvals/{}/context", call["approval_id"].as_str().unwrap());
    let knew = talk.world.get(&path).by(&bench.owner).send().await.ok();
    assert_eq!((&knew["rev"], &knew["entries"][0]["value"]), (&json!(1), &json!("first")));
    let listed = talk.world.context(&bench.owner, "s", &json!({"action": "list_snapshots"})).send().await.ok();
    assert_eq!(listed["snapshots"], json!([]), "nobody took it");
    let mary = talk.world.member("mary").await;
    talk.world.get(&path).by(&mary).send().await.refused(404, "APPROVAL_NOT_FOUND");
}

#[tokio::test]
async fn nobody_is_asked_about_what_could_not_be_shown_whole() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let too_long = json!({"exists": true, "no_diff": "too long to be compared"});
    let long = "x".repeat(1_500_000);
    for (tool, params, found) in [
        (
            "tool_write_file",
            json!({"path": "a", "content": "x"}),
            json!({"exists": true, "diff": "-y\n", "diff_cut": true}),
        ),
        ("tool_write_file", json!({"path": "a", "content": "x"}), too_long.clone()),
        ("tool_write_file", json!({"path": "a", "content": long}), json!({"exists": false})),
        ("tool_edit_file", json!({"path": "a", "old": "x", "new": long}), too_long.clone()),
    ] {
        let call = bench.execute(tool, params).await.ok();
        let call = bench.node.preview(&call, &found).await.ok();
        assert_eq!(
            (&call["status"], &call["reason"]["code"]),
            (&json!("invalid"), &json!("VALUE_TOO_LARGE")),
            "{found}"
        );
    }
    let pending = world.get("/my/approvals").by(&bench.owner).send().await.ok();
    assert_eq!(pending["items"], json!([]));
}

#[tokio::test]
async fn a_change_up_to_a_mebibyte_is_shown_and_one_of_a_file_that_cannot_be_shown_is_dangerous() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let text = "ü\"\n".repeat(200_000);
    let call = bench.execute("tool_write_file", json!({"path": "a", "content": text})).await.ok();
    let call = bench.node.preview(&call, &json!({"exists": false, "diff": format!("+{text}")})).await.ok();
    let asked = card(&world, &bench.owner, &call).await;
    assert_eq!((&asked["risk"]["level"], asked["diff"].as_str().map(str::len)), (&json!("MEDIUM"), Some(800_001)));
    let call = bench.execute("tool_write_file", json!({"path": "b", "content": "x", "mode": "append"})).await.ok();
    let call = bench.node.preview(&call, &json!({"exists": true, "no_diff": "not text"})).await.ok();
    assert_eq!(card(&world, &bench.owner, &call).await["risk"]["level"], "HIGH");
}

#[tokio::test]
async fn a_call_of_no_session_has_no_memory_to_show() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    let asked = card(&world, &bench.owner, &call).await;
    let list = world.get("/my/projects/garden/tools").by(&bench.owner).send().await.ok();
    for told in [&asked, &bench.call(&call).await, &list["items"][0]] {
        assert_eq!(told["node"], bench.node.node["id"]);
        assert_eq!((&told["node_name"], &told["root_label"]), (&json!("laptop"), &json!("work")), "{told}");
    }
    assert_eq!((&asked["why"], &asked["session_knew"]), (&Value::Null, &Value::Null));
    let path = format!("/my/approvals/{}/context", call["approval_id"].as_str().unwrap());
    world.get(&path).by(&bench.owner).send().await.refused(404, "SNAPSHOT_NOT_FOUND");
}

#[tokio::test]
async fn a_command_is_shown_with_where_and_in_what_it_would_run() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_execute_command", json!({"program": "ls", "args": ["\u{202e}x"]})).await.ok();
    let found = json!({"program": "/usr/bin/l\u{200b}s", "cwd": "src", "environment": ["PATH", "HOME"]});
    let call = bench.node.preview(&call, &found).await.ok();
    let asked = card(&world, &bench.owner, &call).await;
    let preview = &asked["preview"];
    assert_eq!((&preview["cwd"], &preview["environment"]), (&json!("src"), &json!(["PATH", "HOME"])));
    assert_eq!(preview["program"], "/usr/bin/l\\u{200B}s");
    assert!(asked["shown"].as_str().unwrap().contains("\\u{202E}"), "{asked}");
}
