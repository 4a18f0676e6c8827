//! Tools on people's machines over MCP: who is shown which, what they come to, and what is refused.

use super::clients::{ALL, Client, NEW};
use super::desks::{Desk, Told, agent_of, asked_for, does};
use super::messages::odd;
use crate::it::tool_calls::Bench;
use domain::node_tools::NodeTool;
use serde_json::{Value, json};
use testkit::{Random, World};

/// The tools on machines that a client is shown, by name.
async fn shown(client: &mut Client<'_>) -> Vec<(String, Value)> {
    let listed = client.result("tools/list", json!({})).await["tools"].clone();
    let tools = listed.as_array().expect("tools").iter().cloned();
    let named = tools.map(|tool| (tool["name"].as_str().expect("a name").to_owned(), tool));
    named.filter(|(name, _)| name.starts_with("tool_")).collect()
}

async fn names(client: &mut Client<'_>) -> Vec<String> {
    shown(client).await.into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
async fn an_agent_is_shown_what_the_machines_of_its_person_and_the_rules_allow() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let path = "/my/projects/garden";
    let agent = world.get(path).by(&owner).send().await.ok()["agents"][0]["id"].clone();
    let token = world.agent_token(&owner, json!({"agent": agent})).await;
    for version in ALL {
        let mut early = Client::new(&world, &token, version).await;
        assert!(names(&mut early).await.is_empty(), "no machine serves it");
    }
    world.hand_node(&owner, "laptop", "garden").await;
    let mary = world.member("mary").await;
    world.project(&mary, "garden").await;
    let hers = world.get(path).by(&mary).send().await.ok()["agents"][0]["id"].clone();
    let hers = world.agent_token(&mary, json!({"agent": hers})).await;
    let six = NodeTool::ALL.map(NodeTool::as_str);
    for version in ALL {
        let mut client = Client::new(&world, &token, version).await;
        let seen = names(&mut client).await;
        assert_eq!((&seen[..6], seen[6].as_str(), seen.len()), (&six.map(str::to_owned)[..], "tool_call_status", 7));
        let mut person = Client::new(&world, &owner, version).await;
        assert!(names(&mut person).await.is_empty(), "a person is not an agent");
        let mut stranger = Client::new(&world, &hers, version).await;
        assert!(names(&mut stranger).await.is_empty(), "the machine is not her person's");
    }
    let allow = json!({"tools": {"allow": ["filesystem.read", "filesystem.list"]}});
    world.patch("/admin/workspaces/personal-usr_owner", &allow).by(&owner).send().await.ok();
    let mut client = Client::new(&world, &token, NEW).await;
    assert_eq!(names(&mut client).await, ["tool_read_file", "tool_list_directory", "tool_call_status"]);
    world.patch("/admin/workspaces/personal-usr_owner", &json!({"tools": {"allow": []}})).by(&owner).send().await.ok();
    assert!(names(&mut client).await.is_empty(), "and nothing to look after either");
}

#[tokio::test]
async fn the_tools_say_what_they_take_what_they_may_do_and_that_a_person_may_be_asked() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    for (tool, (name, shown)) in NodeTool::ALL.into_iter().zip(shown(&mut desk.client).await) {
        let mut schema = shown["inputSchema"].clone();
        let added = schema["properties"].as_object_mut().expect("properties").remove("wait_s");
        assert_eq!(added.expect("wait_s")["maximum"], 600.0);
        assert_eq!(schema, domain::tool_schemas::node::of(tool).input, "{name}");
        let hints = &shown["annotations"];
        assert_eq!(hints["readOnlyHint"] == true, tool.only_looks(), "{name}");
        assert_eq!(hints["destructiveHint"] == true, !tool.only_looks(), "{name}");
        assert_eq!(hints["openWorldHint"] == true, tool.is_command(), "{name}");
        let description = shown["description"].as_str().expect("a description");
        assert!(description.contains("may be asked") && description.contains("tool_call_status"), "{description}");
    }
    world.hand_node(&desk.bench.owner, "desk", "garden").await;
    let (_, read) = shown(&mut desk.client).await.remove(0);
    let node = read["inputSchema"]["properties"]["node"]["description"].as_str().expect("a machine to name");
    assert!(node.contains("desk, laptop"), "{node}");
}

#[tokio::test]
async fn a_read_is_made_without_asking_anybody_and_its_result_is_the_answer() {
    let world = World::new().await;
    let mut bench = Some(Bench::new(&world).await);
    for version in ALL {
        let mut desk = Desk::beside(bench.take().expect("a bench"), version).await;
        let result = json!({"success": true, "content": "hello", "size": 5});
        let call = json!({"name": "tool_read_file", "arguments": {"path": "notes.md"}});
        let Desk { bench: machine, client, .. } = &mut desk;
        let made = async { does(machine, &asked_for(machine).await, &result).await };
        let (answer, ()) = tokio::join!(client.result("tools/call", call), made);
        let told = Told::of(&answer);
        told.is("completed");
        assert_eq!((&told.content["result"], &told.content["tool"]), (&result, &json!("tool_read_file")));
        assert_eq!(told.content["node"], desk.bench.node.node["id"]);
        let seen = desk.status_of(&told.content).await;
        assert_eq!(seen.content, told.content, "and it can be looked at again");
        bench = Some(desk.bench);
    }
}

#[tokio::test]
async fn who_does_not_wait_asks_later_how_it_stands() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let arguments = json!({"path": "notes.md", "content": "hello\n", "wait_s": 0});
    let told = desk.uses("tool_write_file", arguments).await;
    told.is("proposed");
    let call = desk.asked_for().await;
    assert_eq!((&call["id"], &call["agent"]), (&told.content["call_id"], &json!("agent_coder")));
    assert_eq!(
        call["params"],
        json!({"path": "notes.md", "content": "hello\n"}),
        "how long it is waited for is not in it"
    );
    let waiting = desk.bench.node.preview(&call, &json!({"exists": false})).await.ok();
    let seen = desk.status_of(&told.content).await;
    seen.is("waiting_approval");
    assert_eq!(seen.content["approval_id"], waiting["approval_id"]);
    assert!(seen.content["next"].as_str().is_some_and(|next| next.contains("tool_call_status")));
    assert!(seen.content.get("result").is_none() && seen.content.get("reason").is_none());
    desk.bench.approve(&waiting).await;
    let call = desk.asked_for().await;
    desk.does(&call, &json!({"success": true, "size": 6})).await;
    let told = desk.uses("tool_call_status", json!({"call_id": call["id"], "wait_s": 5})).await;
    told.is("completed");
    assert_eq!(told.content["result"]["size"], 6);
    assert!(told.content.get("next").is_none());
}

#[tokio::test]
async fn only_what_was_done_and_succeeded_is_no_error() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let read = json!({"path": "a", "wait_s": 0});
    let unsuccessful = desk.uses("tool_read_file", read.clone()).await;
    let call = desk.asked_for().await;
    desk.does(&call, &json!({"success": false, "error": {"code": "FILE_NOT_FOUND", "message": "no"}})).await;
    let told = desk.status_of(&unsuccessful.content).await;
    assert_eq!((&told.content["status"], told.is_error), (&json!("completed"), true));
    assert_eq!(told.content["result"]["error"]["code"], "FILE_NOT_FOUND");
    desk.uses("tool_read_file", read).await;
    let call = desk.asked_for().await;
    let why = json!({"attempt": 1, "status": "refused", "reason": {"code": "HIDDEN_SECRET", "message": "no"}});
    desk.bench.node.say(&call, "result", &why).await.ok();
    let told = desk.uses("tool_call_status", json!({"call_id": call["id"]})).await;
    told.failed("refused", "NODE_REFUSED");
    assert_eq!(told.content["reason"]["message"], "HIDDEN_SECRET: no");
}

#[tokio::test]
async fn what_is_not_well_formed_or_not_allowed_is_told_and_runs_nowhere() {
    let world = World::new().await;
    let mut bench = Some(Bench::new(&world).await);
    for version in ALL {
        let mut desk = Desk::beside(bench.take().expect("a bench"), version).await;
        for (tool, arguments, status, code) in [
            ("tool_read_file", json!({}), "invalid", "INVALID_REQUEST"),
            ("tool_read_file", json!({"path": 7}), "invalid", "INVALID_REQUEST"),
            ("tool_read_file", json!({"path": "a", "session": "s"}), "invalid", "INVALID_REQUEST"),
            ("tool_read_file", json!({"path": "../secrets"}), "invalid", "INVALID_PATH"),
            ("tool_execute_command", json!({"program": "sudo", "args": []}), "denied", "COMMAND_DENIED"),
        ] {
            desk.uses(tool, arguments).await.failed(status, code);
        }
        for (tool, arguments, field) in [
            ("tool_read_file", json!({"path": "a", "wait_s": "long"}), "wait_s"),
            ("tool_read_file", json!({"path": "a", "wait_s": 601}), "wait_s"),
            ("tool_read_file", json!({"path": "a", "wait_s": -1}), "wait_s"),
            ("tool_read_file", json!({"path": "a", "node": 7}), "node"),
            ("tool_read_file", json!({"path": "a", "node": null}), "node"),
            ("tool_call_status", json!({}), "call_id"),
            ("tool_call_status", json!({"call_id": 7}), "call_id"),
            ("tool_call_status", json!({"call_id": "call_1", "node": "a"}), "node"),
        ] {
            let told = desk.uses(tool, arguments).await;
            told.refused("INVALID_REQUEST");
            assert_eq!(told.content["error"]["details"]["field"], field);
        }
        let unknown = desk.client.error("tools/call", json!({"name": "tool_fly", "arguments": {}})).await;
        assert_eq!(unknown["code"], -32602);
        let shapeless = desk.client.error("tools/call", json!({"name": "tool_read_file", "arguments": [1]})).await;
        assert_eq!(shapeless["code"], -32602);
        desk.uses("tool_call_status", json!({"call_id": "../../etc"})).await.refused("TOOL_CALL_NOT_FOUND");
        bench = Some(desk.bench);
    }
    let mut desk = Desk::beside(bench.take().expect("a bench"), NEW).await;
    let allow = json!({"tools": {"allow": ["filesystem.read"]}});
    world.patch("/admin/workspaces/personal-usr_owner", &allow).by(&desk.bench.owner).send().await.ok();
    desk.uses("tool_write_file", json!({"path": "a", "content": ""})).await.failed("denied", "FORBIDDEN");
    assert!(desk.bench.node.open().await.is_empty());
}

#[tokio::test]
async fn without_a_machine_there_is_no_call_and_with_several_one_must_be_named() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let second = world.hand_node(&desk.bench.owner, "desk", "garden").await;
    let read = |node: &str| json!({"path": "a", "wait_s": 0, "node": node});
    let told = desk.uses("tool_read_file", json!({"path": "a"})).await;
    told.refused("NODE_AMBIGUOUS");
    assert_eq!(told.content["error"]["details"]["nodes"], json!(["desk", "laptop"]));
    desk.uses("tool_read_file", read("cellar")).await.refused("NODE_NOT_FOUND");
    desk.uses("tool_read_file", read("desk")).await.is("dispatched");
    assert_eq!((desk.bench.node.open().await.len(), second.open().await.len()), (0, 1));
    assert_eq!(second.open().await[0]["params"], json!({"path": "a"}));
    for node in [&desk.bench.node.node, &second.node] {
        let path = format!("/nodes/{}", node["id"].as_str().expect("an id"));
        assert_eq!(world.delete(&path).by(&desk.bench.owner).send().await.status, 204);
    }
    desk.uses("tool_read_file", json!({"path": "a"})).await.refused("NODE_NOT_FOUND");
}

#[tokio::test]
async fn a_call_is_seen_by_the_agent_that_made_it_for_its_person_and_by_no_other() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let told = desk.uses("tool_read_file", json!({"path": "canary-5d1e.txt", "wait_s": 0})).await;
    told.is("dispatched");
    let other = world.agent_token(&desk.bench.owner, json!({"agent": agent_of(&desk.bench, 1).await})).await;
    let mary = world.member("mary").await;
    world.project(&mary, "garden").await;
    let hers = world.get("/my/projects/garden").by(&mary).send().await.ok()["agents"][0]["id"].clone();
    let hers = world.agent_token(&mary, json!({"agent": hers})).await;
    for version in ALL {
        for token in [&other, &hers] {
            let mut client = Client::new(&world, token, version).await;
            let ask = json!({"call_id": told.content["call_id"], "wait_s": 1});
            let refused = client.tool("tool_call_status", ask).await;
            assert_eq!(refused["error"]["code"], "TOOL_CALL_NOT_FOUND");
            assert!(!refused.to_string().contains("canary"), "{refused}");
        }
        for token in [&desk.bench.owner, &mary] {
            let mut person = Client::new(&world, token, version).await;
            let refused = person.tool("tool_read_file", json!({"path": "a"})).await;
            assert_eq!(refused["error"]["code"], "FORBIDDEN", "a person's token is of no agent");
            let ask = json!({"call_id": told.content["call_id"]});
            assert_eq!(person.tool("tool_call_status", ask).await["error"]["code"], "FORBIDDEN");
        }
        let mut client = Client::new(&world, &hers, version).await;
        let read = json!({"path": "a", "node": desk.bench.node.node["id"]});
        assert_eq!(client.tool("tool_read_file", read).await["error"]["code"], "NODE_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_call_by_a_token_for_a_session_is_of_that_session() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    for id in ["s", "t"] {
        world.post("/sessions", &json!({"id": id, "project": "garden"})).by(&bench.owner).send().await.ok();
    }
    let agent = agent_of(&bench, 0).await;
    let mut calls = Vec::new();
    for session in ["s", "t"] {
        let token = world.agent_token(&bench.owner, json!({"agent": agent, "session": session})).await;
        let mut client = Client::new(&world, &token, NEW).await;
        let told = client.tool("tool_read_file", json!({"path": "a", "wait_s": 0})).await;
        let call = bench.call(&json!({"id": told["call_id"]})).await;
        assert_eq!((&call["session"], &call["agent_id"]), (&json!(session), &agent));
        calls.push((client, told["call_id"].clone()));
    }
    let theirs = calls[1].1.clone();
    let (client, own) = &mut calls[0];
    assert_eq!(client.tool("tool_call_status", json!({"call_id": own})).await["status"], "dispatched");
    let refused = client.tool("tool_call_status", json!({"call_id": theirs})).await;
    assert_eq!(refused["error"]["code"], "TOOL_CALL_NOT_FOUND", "another session's");
}

#[tokio::test]
async fn no_argument_makes_the_house_stumble() {
    let world = World::new().await;
    let mut desk = Desk::new(&world, NEW).await;
    let mut random = Random::new(0x6d63_7002);
    let tools: Vec<&str> = NodeTool::ALL.iter().map(|tool| tool.as_str()).chain(["tool_call_status"]).collect();
    for round in 0..200 {
        let tool = tools[round % tools.len()];
        let properties = shown_properties(tool);
        let mut arguments = json!({});
        for name in properties.iter().chain([&"extra".to_owned(), &"node".to_owned()]) {
            if random.once_in(2) {
                arguments[name] = odd(&mut random, 1);
            }
        }
        arguments["wait_s"] = if random.once_in(4) { odd(&mut random, 4) } else { json!(0) };
        if arguments["wait_s"].as_f64().is_some_and(|seconds| seconds > 0.0) {
            arguments["wait_s"] = json!(0);
        }
        let told = desk.uses(tool, arguments.clone()).await;
        let code = &told.content["error"]["code"];
        assert!(code != "INTERNAL", "{tool} {arguments}: {}", told.content);
        assert!(code.is_string() != told.content["status"].is_string(), "{tool} {arguments}: {}", told.content);
    }
}

/// The arguments that a tool has of its own.
fn shown_properties(tool: &str) -> Vec<String> {
    let schema = match NodeTool::parse(tool) {
        Some(tool) => domain::tool_schemas::node::of(tool),
        None => domain::tool_schemas::node::call_status(),
    };
    schema.input["properties"].as_object().expect("properties").keys().cloned().collect()
}
