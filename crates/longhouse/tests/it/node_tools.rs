//! An agent that speaks MCP through `longhouse mcp`, a real server, a real node and the files of a folder.

use super::mcp::{Agent, NEW, OLD};
use super::nodes::{Scene, until};
use serde_json::{Value, json};

/// A token for the agent `agent_coder`.
fn token(scene: &Scene) -> String {
    let project = scene.door().get("/my/projects/alpha").unwrap();
    let agents = project["agents"].as_array().unwrap();
    let coder = agents.iter().find(|agent| agent["name"] == "agent_coder").unwrap();
    let (_, issued) = scene.door().post("/my/tokens", &json!({"agent": coder["id"]})).unwrap();
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
