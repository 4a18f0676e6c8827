//! An agent that speaks MCP through `longhouse mcp`, a real server, a real node and the files of a folder.

use super::mcp::{Agent, NEW, OLD};
use super::nodes::{Scene, until};
use serde_json::{Value, json};

/// The id of the agent `agent_coder`.
fn coder(scene: &Scene) -> Value {
    let project = scene.door().get("/my/projects/alpha").unwrap();
    let agents = project["agents"].as_array().unwrap();
    agents.iter().find(|agent| agent["name"] == "agent_coder").unwrap()["id"].clone()
}

fn token(scene: &Scene) -> String {
    let (_, issued) = scene.door().post("/my/tokens", &json!({"agent": coder(scene)})).unwrap();
    issued["token"].as_str().unwrap().to_owned()
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}})
}

#[test]
fn an_agent_over_mcp_reads_at_once_and_writes_when_its_person_agrees() {
    let (scene, server) = Scene::new(None);
    let _node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    std::fs::write(scene.root().join("notes.md"), "water the beans\n").unwrap();
    let token = token(&scene);
    for version in [NEW, OLD[0]] {
        let path = format!("{version}.md");
        let mut agent = Agent::remote(&server.url, &token, version);
        let read = agent.request("tools/call", call("tool_read_file", &json!({"path": "notes.md"})));
        assert_eq!(read["result"]["structuredContent"]["result"]["content"], "water the beans\n", "{read}");
        let write = call("tool_write_file", &json!({"path": path, "content": "done\n"}));
        let message = agent.message("tools/call", write);
        agent.send(&message);
        let answer = loop {
            let line = agent.line();
            let said = line["params"]["message"].as_str().unwrap_or_default();
            if said.starts_with("waiting_approval: ") {
                assert!(!scene.root().join(&path).exists(), "nobody has agreed yet");
                scene.approve_all();
            }
            if line.get("result").is_some() {
                break line;
            }
        };
        assert_eq!(answer["result"]["structuredContent"]["status"], "completed", "{answer}");
        assert_eq!(answer["result"]["isError"], false);
        assert_eq!(std::fs::read_to_string(scene.root().join(&path)).unwrap(), "done\n");
        agent.ends();
    }
}

#[test]
fn beside_its_server_an_agent_is_shown_the_same_tools() {
    let (scene, _server) = Scene::new(None);
    let _node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    let coder = coder(&scene);
    let mut agent = Agent::local_agent(&scene.folder.path().join("data"), coder.as_str().unwrap(), NEW);
    let listed = agent.request("tools/list", json!({}));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for tool in ["tool_read_file", "tool_execute_command", "tool_call_status", "workspace_read"] {
        assert!(names.contains(&tool), "{tool} in {names:?}");
    }
    agent.ends();
}

#[test]
fn a_client_that_dies_or_whose_input_ends_leaves_nothing_for_a_person_to_decide() {
    let (scene, server) = Scene::new(None);
    let _node = scene.connect(&[]);
    until("the node is there", &scene, || scene.is_online());
    let token = token(&scene);
    let waiting = |version, path: &str| {
        let mut agent = Agent::remote(&server.url, &token, version);
        let message = agent.message("tools/call", call("tool_write_file", &json!({"path": path, "content": "x"})));
        agent.send(&message);
        while !agent.line()["params"]["message"].as_str().is_some_and(|said| said.starts_with("waiting_approval: ")) {}
        agent
    };
    let dying = [waiting(NEW, "a"), waiting(OLD[0], "b")];
    let leaving = [waiting(NEW, "c"), waiting(OLD[0], "d")];
    let pending = || scene.door().get("/my/approvals?status=pending").unwrap()["items"].as_array().unwrap().len();
    assert_eq!(pending(), 4);
    // Killed, as a machine kills what it has no room for.
    drop(dying);
    let ending = leaving.map(|agent| std::thread::spawn(|| agent.ends()));
    ending.into_iter().for_each(|ended| ended.join().unwrap());
    until("nobody is asked any more", &scene, || pending() == 0);
    let calls = scene.door().get("/my/projects/alpha/tools").unwrap();
    let ends: Vec<&Value> = calls["items"].as_array().unwrap().iter().map(|call| &call["status"]).collect();
    assert_eq!(ends, ["cancelled"; 4]);
    assert_eq!(server.terminate(), Some(0));
}
