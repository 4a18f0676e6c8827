//! Working memory that several participants share: the answers of each action, and who is believed to have acted.

use super::room::{Room, SESSION, fields, names};
use serde_json::{Value, json};
use testkit::World;

#[tokio::test]
async fn two_participants_see_each_others_writes_under_their_own_names() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "ticket-42", json!({})).await;
    let orchestrator = world.participant(&owner, "ticket-42", "orchestrator").await;
    let analysis = world.participant(&owner, "ticket-42", "subagent:analysis").await;

    world.write(&orchestrator, "ticket-42", "problem_summary", "Throughput dropped.").await;
    let read =
        world.context(&analysis, "ticket-42", &json!({"action": "read", "key": "problem_summary"})).send().await.ok();
    assert_eq!(read["value"], "Throughput dropped.");
    assert_eq!(read["written_by"], "orchestrator");
    assert_eq!((read["version"].as_u64(), read["rev"].as_u64()), (Some(1), Some(1)));

    let written = world.write(&analysis, "ticket-42", "problem_summary", "Pool too small.").await;
    assert_eq!((&written["version"], &written["written_by"]), (&json!(2), &json!("subagent:analysis")));
}

#[tokio::test]
async fn list_keys_shows_names_and_sizes_in_key_order_and_never_a_value() {
    let room = Room::new(json!({"namespaces": true})).await;
    for key in ["scope", "b_2", "b", "inv:a", "b:z", "0"] {
        room.write(key, "CANARY").await;
    }
    let answer = room.ask(&room.owner, &json!({"action": "list_keys"})).send().await;
    assert!(!answer.text.contains("CANARY"));
    let listing = answer.ok();
    assert_eq!(fields(&listing), ["keys", "max_store_tokens", "total_size_tokens"]);
    assert_eq!(names(&listing["keys"]), ["0", "b", "b:z", "b_2", "inv:a", "scope"]);
    assert_eq!((&listing["total_size_tokens"], &listing["max_store_tokens"]), (&json!(12), &json!(10_000)));
    let first = &listing["keys"][1];
    assert_eq!(fields(first), ["key", "rev", "value_size_tokens", "version", "written_at", "written_by"]);
    assert_eq!((&first["rev"], &first["value_size_tokens"]), (&json!(3), &json!(2)));

    room.does(json!({"action": "write", "key": "b", "value": "x", "ttl_seconds": 60})).await;
    let with_ttl = room.does(json!({"action": "list_keys", "prefix": "b"})).await;
    assert_eq!(names(&with_ttl["keys"]), ["b", "b:z", "b_2"]);
    assert!(fields(&with_ttl["keys"][0]).contains(&"expires_at"));
    assert_eq!(with_ttl["total_size_tokens"], 11, "the total is the store's, not the selection's");
    for nothing in ["zzz", "B", "%", "b%", "_"] {
        let listing = room.does(json!({"action": "list_keys", "prefix": nothing})).await;
        assert_eq!(listing["keys"], json!([]), "{nothing}");
    }
    assert_eq!(names(&room.does(json!({"action": "list_keys", "prefix": ""})).await["keys"]).len(), 6);
}

#[tokio::test]
async fn an_empty_store_lists_nothing() {
    let room = Room::new(json!({})).await;
    let listing = room.does(json!({"action": "list_keys"})).await;
    assert_eq!(listing, json!({"keys": [], "total_size_tokens": 0, "max_store_tokens": 10_000}));
}

#[tokio::test]
async fn a_write_and_a_read_answer_in_the_published_shape() {
    let room = Room::new(json!({})).await;
    let written = room.write("scope", "staging only").await;
    let expected = ["key", "rev", "total_size_tokens", "value_size_tokens", "version", "written_at", "written_by"];
    assert_eq!(fields(&written), expected);
    assert_eq!(written["written_by"], "user:usr_owner");
    assert_eq!((&written["value_size_tokens"], &written["total_size_tokens"]), (&json!(3), &json!(3)));
    let at = written["written_at"].as_str().unwrap();
    assert!(at.ends_with('Z') && at.contains('T'), "{at}");

    let read = room.read("scope").await;
    assert_eq!(fields(&read), ["key", "rev", "value", "version", "written_at", "written_by"]);
    assert_eq!((&read["key"], &read["value"]), (&json!("scope"), &json!("staging only")));
    assert_eq!(read["written_at"], written["written_at"]);
    room.refuses(json!({"action": "read", "key": "nowhere"}), 404, "KEY_NOT_FOUND").await;
}

#[tokio::test]
async fn any_text_comes_back_as_it_was_written() {
    let room = Room::new(json!({})).await;
    for value in ["", " ", "\n", "ünï🦀", "\u{202e}rtl", "{\"a\": [1]}", "'; DROP TABLE sessions; --", "\r\n\t\u{1}"]
    {
        room.write("text", value).await;
        assert_eq!(room.read("text").await["value"], value);
    }
    // A text database cannot promise this one; saying no is better than cutting it off.
    room.refuses(json!({"action": "write", "key": "text", "value": "a\u{0}b"}), 400, "INVALID_REQUEST").await;
}

#[tokio::test]
async fn a_delete_says_what_went_and_a_second_one_finds_nothing() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.write("a", "2").await;
    let deleted = room.delete("a").await;
    assert_eq!((&deleted["deleted"], &deleted["previous_version"]), (&json!("a"), &json!(2)));
    assert_eq!(deleted["rev"], 3, "beyond the published fields: the rev the store is at now");
    assert_eq!(deleted["total_size_tokens"], 0);
    room.refuses(json!({"action": "delete", "key": "a"}), 404, "KEY_NOT_FOUND").await;
    room.refuses(json!({"action": "read", "key": "a"}), 404, "KEY_NOT_FOUND").await;
}

#[tokio::test]
async fn a_batch_gives_what_is_there_and_names_what_is_not() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.write("b", "2").await;
    let batch = room.does(json!({"action": "read_batch", "keys": ["b", "zero", "a", "b"]})).await;
    assert_eq!(fields(&batch), ["entries", "missing"]);
    assert_eq!(names(&batch["entries"]), ["b", "a"], "in the order asked for, each once");
    assert_eq!(batch["missing"], json!(["zero"]));
    assert_eq!(batch["entries"][0], room.read("b").await);

    let hundred: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
    let batch = room.does(json!({"action": "read_batch", "keys": hundred})).await;
    assert_eq!(batch["missing"].as_array().unwrap().len(), 100);
    let too_many: Vec<String> = (0..101).map(|n| format!("k{n}")).collect();
    let details = room.refuses(json!({"action": "read_batch", "keys": too_many}), 400, "INVALID_REQUEST").await;
    assert_eq!(details["field"], "keys");
    let none = room.does(json!({"action": "read_batch", "keys": []})).await;
    assert_eq!(none, json!({"entries": [], "missing": []}));
}

#[tokio::test]
async fn versions_begin_again_after_a_delete_and_revs_never_do() {
    let room = Room::new(json!({})).await;
    let step = |answer: &Value| (answer["version"].as_u64().unwrap(), answer["rev"].as_u64().unwrap());
    assert_eq!(step(&room.write("a", "1").await), (1, 1));
    assert_eq!(step(&room.write("a", "1").await), (2, 2), "the same text again is a change all the same");
    assert_eq!(step(&room.write("b", "1").await), (1, 3));
    assert_eq!(room.delete("a").await["previous_version"], 2);
    assert_eq!(step(&room.write("a", "1").await), (1, 5), "the delete took rev 4");
    assert_eq!(room.session().await["rev"], 5);
}

#[tokio::test]
async fn an_expectation_that_misses_tells_how_things_stand() {
    let room = Room::new(json!({})).await;
    let analysis = room.participant("subagent:analysis").await;
    room.write("a", "1").await;
    room.as_(&analysis, json!({"action": "write", "key": "a", "value": "2"})).await;
    let before = room.state().await;
    let cases = [
        ("write", "if_version", 0),
        ("write", "if_version", 1),
        ("write", "if_version", 3),
        ("write", "if_rev", 0),
        ("write", "if_rev", 1),
        ("delete", "if_version", 0),
        ("delete", "if_version", 1),
        ("delete", "if_rev", 0),
        ("delete", "if_rev", 9_007_199_254_740_993_u64),
    ];
    for (action, field, wanted) in cases {
        let mut request = json!({"action": action, "key": "a", field: wanted});
        if action == "write" {
            request["value"] = json!("CANARY");
        }
        let details = room.refuses(request, 409, "VERSION_CONFLICT").await;
        let expected = json!({"current_version": 2, "current_rev": 2, "current_written_by": "subagent:analysis"});
        assert_eq!(details, expected, "{action} {field} {wanted}");
    }
    let both = json!({"action": "write", "key": "a", "value": "x", "if_version": 2, "if_rev": 1});
    room.refuses(both, 409, "VERSION_CONFLICT").await;
    assert_eq!(room.state().await, before);
}

#[tokio::test]
async fn an_expectation_of_a_key_that_is_not_there_is_told_so() {
    let room = Room::new(json!({})).await;
    for field in ["if_version", "if_rev"] {
        let request = json!({"action": "write", "key": "a", "value": "x", field: 1});
        let details = room.refuses(request, 409, "VERSION_CONFLICT").await;
        assert_eq!((&details["current_version"], &details["current_rev"]), (&json!(0), &json!(0)));
        assert_eq!(details["current_written_by"], Value::Null);
    }
    let delete = json!({"action": "delete", "key": "a", "if_version": 1});
    room.refuses(delete, 404, "KEY_NOT_FOUND").await;
}

#[tokio::test]
async fn an_expectation_that_holds_lets_the_change_through() {
    let room = Room::new(json!({})).await;
    room.does(json!({"action": "write", "key": "a", "value": "1", "if_version": 0, "if_rev": 0})).await;
    room.does(json!({"action": "write", "key": "a", "value": "2", "if_version": 1})).await;
    room.does(json!({"action": "write", "key": "a", "value": "3", "if_rev": 2, "if_version": 2})).await;
    room.does(json!({"action": "delete", "key": "a", "if_version": 3, "if_rev": 3})).await;
    room.does(json!({"action": "write", "key": "a", "value": "4", "if_rev": 0})).await;
    // The version is 1 again, but whoever remembers the rev is not fooled.
    room.refuses(json!({"action": "write", "key": "a", "value": "5", "if_rev": 1}), 409, "VERSION_CONFLICT").await;
}

#[tokio::test]
async fn keys_follow_the_rule_to_the_letter_wherever_one_is_taken() {
    let plain = Room::new(json!({})).await;
    let spaced = Room::new(json!({"namespaces": true})).await;
    for room in [&plain, &spaced] {
        room.does(json!({"action": "snapshot", "label": "s"})).await;
    }
    let (longest, too_long) = ("a".repeat(64), "a".repeat(65));
    let (longest_spaced, too_long_spaced) =
        (format!("{}:{}", "n".repeat(31), "k".repeat(32)), format!("{}:{}", "n".repeat(32), "k".repeat(32)));
    let bad_always = [
        "",
        " ",
        "a\n",
        "\na",
        "a\r",
        "a ",
        " a",
        "A",
        "aB",
        "a.b",
        "a/b",
        "a-b",
        "а",
        "ａ",
        "é",
        "a\u{301}",
        "a\u{200b}",
        "a*",
        ":",
        ":a",
        "a:",
        "a:b:c",
        "a::b",
        "a: b",
        "A:b",
        "a:B",
        "..",
        "a\u{0}",
        "'",
        "ı",
        &too_long,
        &too_long_spaced,
    ];
    let good_always = ["a", "0", "_", "problem_summary", longest.as_str()];
    let good_spaced = ["a:b", "inv:findings_summary", "_:_", "0:1", longest_spaced.as_str()];
    for key in bad_always {
        refused_everywhere(&plain, key).await;
        refused_everywhere(&spaced, key).await;
    }
    for key in good_spaced {
        refused_everywhere(&plain, key).await;
        spaced.write(key, "x").await;
        assert_eq!(spaced.read(key).await["key"], key);
    }
    for key in good_always {
        plain.write(key, "x").await;
        spaced.write(key, "x").await;
    }
}

async fn refused_everywhere(room: &Room, key: &str) {
    let requests = [
        json!({"action": "read", "key": key}),
        json!({"action": "write", "key": key, "value": "x"}),
        json!({"action": "delete", "key": key}),
        json!({"action": "read_batch", "keys": ["fine", key]}),
        json!({"action": "read_history", "key": key}),
        json!({"action": "read_snapshot", "label": "s", "keys": ["fine", key]}),
    ];
    for request in requests {
        let answer = room.try_as(&room.owner, request.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "INVALID_KEY"), "{request}");
    }
}

#[tokio::test]
async fn a_bad_request_names_its_field_and_changes_nothing() {
    let room = Room::new(json!({"acl": true, "namespaces": true})).await;
    room.write("a", "1").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    let before = room.state().await;
    let write = |field: &str, value: Value| {
        let mut request = json!({"action": "write", "key": "a", "value": "CANARY"});
        request[field] = value;
        (request, field.to_owned())
    };
    let mut cases: Vec<(Value, String)> = Vec::new();
    for wrong in [json!(1), json!(["CANARY"]), json!({"CANARY": 1}), json!(true)] {
        cases.push(write("key", wrong.clone()));
        cases.push(write("value", wrong.clone()));
        cases.push((json!({"action": wrong}), "action".into()));
        cases.push((json!({"action": "list_keys", "prefix": wrong}), "prefix".into()));
        cases.push((json!({"action": "snapshot", "label": wrong}), "label".into()));
    }
    for field in ["if_version", "if_rev", "ttl_seconds"] {
        for wrong in [json!("1"), json!(-1), json!(1.5), json!(1e30), json!([1]), json!({}), json!(false)] {
            cases.push(write(field, wrong));
        }
    }
    cases.push(write("ttl_seconds", json!(0)));
    cases.push(write("ttl_seconds", json!(u64::MAX)));
    for field in ["readable_by", "writable_by"] {
        for wrong in [json!("*"), json!([1]), json!([["*"]]), json!({}), json!(["a b"]), json!(["é"]), json!([""])] {
            cases.push(write(field, wrong));
        }
    }
    for wrong in [json!("a"), json!([1]), json!({}), json!([null])] {
        cases.push((json!({"action": "read_batch", "keys": wrong}), "keys".into()));
        cases.push((json!({"action": "read_snapshot", "label": "s", "keys": wrong}), "keys".into()));
    }
    for wrong in [json!("1"), json!(["1"]), json!([-1]), json!([1.5])] {
        cases.push((json!({"action": "read_history", "key": "a", "versions": wrong}), "versions".into()));
    }
    for wrong in ["", "a b", "a/b", "é", "a\n", &"x".repeat(65)] {
        for action in ["snapshot", "read_snapshot", "restore_snapshot"] {
            cases.push((json!({"action": action, "label": wrong}), "label".into()));
        }
        cases.push((json!({"action": "diff", "from": wrong, "to": "now"}), "from".into()));
        cases.push((json!({"action": "diff", "from": "now", "to": wrong}), "to".into()));
    }
    cases.push((json!({"action": "diff", "from": -1, "to": "now"}), "from".into()));
    for (action, field) in [
        ("read", "key"),
        ("write", "value"),
        ("delete", "key"),
        ("read_batch", "keys"),
        ("read_history", "key"),
        ("snapshot", "label"),
        ("read_snapshot", "label"),
        ("restore_snapshot", "label"),
        ("diff", "from"),
    ] {
        cases.push((json!({"action": action}), field.into()));
    }
    cases.push((json!({}), "action".into()));
    cases.push((json!({"action": "diff", "from": 0}), "to".into()));
    for unknown in ["drop", "WRITE", "write ", "", "list_key"] {
        cases.push((json!({"action": unknown}), "action".into()));
    }
    for (request, field) in cases {
        let answer = room.try_as(&room.owner, request.clone()).await;
        assert!(!answer.text.contains("CANARY"), "{}", answer.text);
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "INVALID_REQUEST"), "{request}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(answer.refused(400, "INVALID_REQUEST")["field"], field, "{request}");
        assert!(message.contains(&field), "{message}");
    }
    assert_eq!(room.state().await, before);
}

#[tokio::test]
async fn every_action_refuses_the_fields_of_others_and_any_claim_of_identity() {
    let room = Room::new(json!({})).await;
    room.write("a", "1").await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    let good = [
        json!({"action": "list_keys"}),
        json!({"action": "read", "key": "a"}),
        json!({"action": "write", "key": "a", "value": "CANARY"}),
        json!({"action": "delete", "key": "a"}),
        json!({"action": "read_batch", "keys": ["a"]}),
        json!({"action": "read_history", "key": "a"}),
        json!({"action": "snapshot", "label": "t"}),
        json!({"action": "list_snapshots"}),
        json!({"action": "read_snapshot", "label": "s"}),
        json!({"action": "restore_snapshot", "label": "s"}),
        json!({"action": "diff", "from": "s", "to": "now"}),
    ];
    let before = room.state().await;
    for request in good {
        for field in ["written_by", "participant", "user_id", "session", "session_id", "Key", "expires_at", "rev"] {
            let mut spoilt = request.clone();
            spoilt[field] = json!("orchestrator");
            let details = room.refuses(spoilt, 400, "INVALID_REQUEST").await;
            assert_eq!(details["field"], field, "{request}");
        }
    }
    assert_eq!(room.state().await, before);
}

#[tokio::test]
async fn an_unknown_field_is_refused_even_when_it_says_null() {
    let room = Room::new(json!({})).await;
    let details = room.refuses(json!({"action": "list_keys", "extra": null}), 400, "INVALID_REQUEST").await;
    assert_eq!(details["field"], "extra");
    let claim = json!({"action": "list_keys", "written_by": null});
    assert_eq!(room.refuses(claim, 400, "INVALID_REQUEST").await["field"], "written_by");
}

#[tokio::test]
async fn the_guide_has_three_parts_and_the_keys_that_are_there() {
    let room = Room::new(json!({})).await;
    let review = room.participant("subagent:review:1").await;
    let path = format!("/sessions/{SESSION}/prompt");
    let empty = room.world.get(&path).by(&review).send().await.ok();
    assert_eq!(fields(&empty), ["participant", "prompt", "session"]);
    assert_eq!((&empty["session"], &empty["participant"]), (&json!(SESSION), &json!("subagent:review:1")));
    let text = empty["prompt"].as_str().unwrap();
    let default_keys = [
        "current_phase",
        "phase_status",
        "blocking_issues",
        "problem_summary",
        "scope",
        "constraints",
        "findings_summary",
        "open_questions",
        "decisions_made",
        "deliverables_status",
        "quality_checks",
    ];
    for key in default_keys {
        assert!(text.contains(key), "{key}");
    }
    for part in ["## Keys", "## Writing", "## Reading", "list_keys", "value_size_tokens", "subagent:review:1"] {
        assert!(text.contains(part), "{part}");
    }

    room.write("my_finding", &"CANARY".repeat(100)).await;
    let told = room.world.get(&path).by(&review).send().await;
    assert!(!told.text.contains("CANARY"), "sizes, not values");
    let text = told.ok()["prompt"].as_str().unwrap().to_owned();
    let line = text.lines().find(|line| line.contains("my_finding")).unwrap();
    assert!(line.contains("150"), "{line}");
    let bare = room.world.get(&path).by(&review).header("accept", "text/plain").send().await;
    assert_eq!(bare.text, text);
}

#[tokio::test]
async fn the_guide_shows_the_sessions_own_conventions_in_place_of_the_default_ones() {
    let conventions = json!([
        {"key": "inv:hypothesis", "purpose": "what we think it is", "shape": "one sentence"},
        {"key": "verdict", "purpose": "what it was"},
    ]);
    let room = Room::new(json!({"key_conventions": conventions, "namespaces": true, "max_value_tokens": 77})).await;
    let prompt = room.world.get(&format!("/sessions/{SESSION}/prompt")).by(&room.owner).send().await.ok();
    let text = prompt["prompt"].as_str().unwrap();
    for told in ["inv:hypothesis", "what we think it is", "one sentence", "verdict", "what it was", "77 tokens"] {
        assert!(text.contains(told), "{told}");
    }
    assert!(!text.contains("blocking_issues"));
}

#[tokio::test]
async fn tool_definitions_come_in_three_formats() {
    let world = World::new().await;
    let owner = world.owner().await;
    let schemas = async |format: &str| {
        let answer = world.get(&format!("/tools/schemas?format={format}")).by(&owner).send().await.ok();
        answer["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool.to_string().contains("shared_context"))
            .unwrap()
            .clone()
    };
    let (openai, anthropic, mcp) = (schemas("openai").await, schemas("anthropic").await, schemas("mcp").await);
    assert_eq!((&openai["type"], &openai["function"]["name"]), (&json!("function"), &json!("shared_context")));
    assert_eq!(fields(&anthropic), ["description", "input_schema", "name"]);
    assert_eq!(fields(&mcp), ["description", "inputSchema", "name"]);
    assert_eq!(openai["function"]["parameters"], anthropic["input_schema"]);
    assert_eq!(anthropic["input_schema"], mcp["inputSchema"]);
    let actions = mcp["inputSchema"]["properties"]["action"]["enum"].as_array().unwrap();
    assert_eq!(actions.len(), 11);
    for claim in ["written_by", "participant", "user_id"] {
        assert_eq!(mcp["inputSchema"]["properties"][claim], Value::Null);
    }
    world.get("/tools/schemas?format=xml").by(&owner).send().await.refused(400, "INVALID_REQUEST");
}
