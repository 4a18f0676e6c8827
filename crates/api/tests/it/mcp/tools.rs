//! The tool and the prompt.

use super::clients::{ALL, Client, NEW};
use serde_json::{Value, json};
use testkit::World;

#[tokio::test]
async fn participants_of_every_version_see_what_each_other_wrote_and_by_whom() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for (number, version) in ALL.into_iter().enumerate() {
        let mut writer = Client::joins(&world, &owner, "plans", &format!("subagent:writer:{number}"), version).await;
        let written = writer.write(&format!("finding_{number}"), version).await;
        assert_eq!(written["written_by"], format!("subagent:writer:{number}"));
    }
    for version in ALL {
        let mut reader = Client::joins(&world, &owner, "plans", "subagent:reader", version).await;
        let keys = reader.context(json!({"action": "list_keys"})).await["keys"].clone();
        assert_eq!(keys.as_array().map(Vec::len), Some(ALL.len()));
        for (number, by) in ALL.into_iter().enumerate() {
            let read = reader.context(json!({"action": "read", "key": format!("finding_{number}")})).await;
            assert_eq!(
                (&read["value"], &read["written_by"]),
                (&json!(by), &json!(format!("subagent:writer:{number}")))
            );
        }
    }
}

#[tokio::test]
async fn the_answers_are_those_of_the_http_door() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "scope", "read only").await;
    let token = world.participant(&owner, "plans", "subagent:a").await;
    let mut client = Client::new(&world, &token, NEW).await;
    let requests = [
        json!({"action": "list_keys"}),
        json!({"action": "read", "key": "scope"}),
        json!({"action": "read", "key": "absent"}),
        json!({"action": "read_batch", "keys": ["scope", "absent"]}),
        json!({"action": "read_history", "key": "scope"}),
        json!({"action": "write", "key": "scope", "value": "x", "if_version": 7}),
        json!({"action": "write", "key": "Scope", "value": "x"}),
        json!({"action": "write", "key": "scope", "value": "x".repeat(4001)}),
        json!({"action": "delete", "key": "absent"}),
        json!({"action": "list_snapshots"}),
        json!({"action": "read_snapshot", "label": "none"}),
        json!({"action": "diff", "from": 0, "to": "now"}),
        json!({"action": "fly"}),
        json!({}),
    ];
    for request in requests {
        let over_http = world.context(&token, "plans", &request).send().await.json();
        assert_eq!(client.context(request.clone()).await, over_http, "{request}");
    }
}

#[tokio::test]
async fn a_token_for_a_session_need_not_name_it_and_a_persons_must() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let schema = |tools: Value| tools["tools"][0]["inputSchema"].clone();
    for version in ALL {
        let mut agent = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        let own = schema(agent.result("tools/list", json!({})).await);
        assert_eq!(own["required"], json!(["action"]));
        assert!(own["properties"].get("session").is_none());
        assert_eq!(own, domain::tool_schemas::shared_context().input);
        let named = json!({"action": "list_keys", "session": "plans"});
        assert!(agent.context(named).await["keys"].is_array(), "its own session may be named");
        let other = json!({"action": "list_keys", "session": "other"});
        assert_eq!(agent.context(other).await["error"]["code"], "SESSION_NOT_FOUND");

        let mut person = Client::new(&world, &owner, version).await;
        let wide = schema(person.result("tools/list", json!({})).await);
        assert_eq!(wide["required"], json!(["action", "session"]));
        assert!(wide["properties"]["workspace"].is_object());
        let refused = person.context(json!({"action": "list_keys"})).await;
        assert_eq!(refused["error"]["code"], "INVALID_REQUEST");
        assert_eq!(refused["error"]["details"]["field"], "session");
        let write =
            json!({"action": "write", "key": "by_hand", "value": "x", "session": "plans", "workspace": "personal"});
        assert_eq!(person.context(write).await["written_by"], "user:usr_owner");
        let misled = json!({"action": "list_keys", "session": "plans", "workspace": "personal-usr_bea"});
        assert_eq!(person.context(misled).await["error"]["code"], "SESSION_NOT_FOUND");
        let odd = json!({"action": "list_keys", "session": 7});
        assert_eq!(person.context(odd).await["error"]["details"]["field"], "session");
    }
}

#[tokio::test]
async fn what_a_model_gets_wrong_it_is_told_by_name_and_nothing_is_done() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for version in ALL {
        let mut client = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        for field in ["written_by", "participant", "user_id", "extra", "idempotency_key"] {
            let mut arguments = json!({"action": "write", "key": "a", "value": "x"});
            arguments[field] = json!("orchestrator");
            let refused = client.context(arguments).await;
            assert_eq!(refused["error"]["code"], "INVALID_REQUEST");
            assert_eq!(refused["error"]["details"]["field"], field);
        }
        assert_eq!(client.context(json!({"action": "list_keys"})).await["keys"], json!([]));
        let unknown = client.error("tools/call", json!({"name": "no_such_tool", "arguments": {}})).await;
        assert_eq!(unknown["code"], -32602);
        let shapeless = client.error("tools/call", json!({"name": "shared_context", "arguments": []})).await;
        assert_eq!(shapeless["code"], -32602);
        assert_eq!(client.error("no/such/method", json!({})).await["code"], -32601);
    }
}

#[tokio::test]
async fn the_server_says_what_it_is_and_what_its_tool_may_do() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let mut client = Client::joins(&world, &owner, "plans", "subagent:a", NEW).await;
    let about = client.result("server/discover", json!({})).await;
    assert_eq!(
        about["capabilities"],
        json!({"tools": {}, "completions": {}, "prompts": {}, "resources": {"subscribe": true, "listChanged": true},
            "extensions": {"io.modelcontextprotocol/tasks": {}}})
    );
    let versions = about["supportedVersions"].as_array().expect("versions");
    assert!(ALL.iter().all(|version| versions.contains(&json!(version))), "{versions:?}");
    assert!(about["instructions"].as_str().is_some_and(|text| text.contains("list_keys") && text.len() < 800));
    let tools = client.result("tools/list", json!({})).await;
    assert_eq!((&tools["ttlMs"], &tools["cacheScope"]), (&json!(0), &json!("private")), "it depends on who asks");
    let hints = &tools["tools"][0]["annotations"];
    assert_eq!((&hints["readOnlyHint"], &hints["destructiveHint"]), (&json!(false), &json!(true)));
    assert_eq!((&hints["idempotentHint"], &hints["openWorldHint"]), (&json!(false), &json!(false)));
}

#[tokio::test]
async fn the_guide_is_what_the_http_door_gives() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "scope", "read only").await;
    let token = world.participant(&owner, "plans", "subagent:a").await;
    let expected = world.get("/sessions/plans/prompt").by(&token).send().await.ok()["prompt"].clone();
    for version in ALL {
        let mut agent = Client::new(&world, &token, version).await;
        let listed = agent.result("prompts/list", json!({})).await["prompts"].clone();
        assert_eq!(listed[0]["name"], "shared_context_guide");
        assert_eq!(
            listed[0]["arguments"][0],
            json!({"name": "session", "required": false, "description": "The session's id; yours if left out."})
        );
        let own = agent.result("prompts/get", json!({"name": "shared_context_guide"})).await;
        assert_eq!(own["messages"][0]["content"]["text"], expected);
        let named = json!({"name": "shared_context_guide", "arguments": {"session": "plans"}});
        assert_eq!(agent.result("prompts/get", named).await["messages"], own["messages"]);
        for (arguments, name) in [
            (json!({"session": "other"}), "shared_context_guide"),
            (json!({"extra": "x"}), "shared_context_guide"),
            (json!({}), "another_guide"),
        ] {
            let code = agent.error("prompts/get", json!({"name": name, "arguments": arguments})).await["code"].clone();
            assert!([json!(-32602), json!(-32002)].contains(&code), "{name} {code}");
        }
        let mut person = Client::new(&world, &owner, version).await;
        assert_eq!(person.error("prompts/get", json!({"name": "shared_context_guide"})).await["code"], -32602);
    }
}

#[tokio::test]
async fn the_ids_of_ones_sessions_can_be_completed_and_nobody_elses() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    for (token, id) in [(&owner, "plans-1"), (&owner, "plans-2"), (&owner, "other"), (&bea, "plans-of-bea")] {
        world.session(token, id, json!({})).await;
    }
    let wanted = |name: &str, value: &str| {
        let about = json!({"type": "ref/prompt", "name": "shared_context_guide"});
        json!({"ref": about, "argument": {"name": name, "value": value}})
    };
    for version in ALL {
        let mut person = Client::new(&world, &owner, version).await;
        let proposed = person.result("completion/complete", wanted("session", "pl")).await;
        assert_eq!(proposed["completion"]["values"], json!(["plans-1", "plans-2"]), "{version}");
        let proposed = person.result("completion/complete", wanted("workspace", "p")).await;
        assert_eq!(proposed["completion"]["values"], json!([]));
        let mut agent = Client::joins(&world, &owner, "other", "subagent:a", version).await;
        let proposed = agent.result("completion/complete", wanted("session", "")).await;
        assert_eq!(proposed["completion"]["values"], json!(["other"]));
        let page = agent.error("tools/list", json!({"cursor": "zzz"})).await;
        assert_eq!(page["code"], -32602, "a cursor that nobody gave");
    }
}
