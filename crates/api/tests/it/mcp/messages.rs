//! Bodies that are no messages, and messages that nobody would send.

use super::clients::{ALL, Client, NEW, OLD, ask, reply};
use axum::http::Method;
use serde_json::{Value, json};
use testkit::{Random, World};

const CANARY: &str = "CANARY_5d1e";

#[tokio::test]
async fn a_body_that_is_no_message_is_a_json_rpc_error_that_repeats_nothing() {
    let world = World::new().await;
    let owner = world.owner().await;
    let deep = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
    let cases: Vec<(Vec<u8>, i64)> = vec![
        (b"".to_vec(), -32700),
        (b"{".to_vec(), -32700),
        (CANARY.into(), -32700),
        (format!("{{\"a\": \"{CANARY}\", \"a\": 2}}").into(), -32700),
        (b"{\"a\": \"\xff\xfe\"}".to_vec(), -32700),
        (deep.into(), -32700),
        ("[".repeat(10_000).into(), -32700),
        (format!("\"{CANARY}\"").into(), -32600),
        (b"null".to_vec(), -32600),
        (b"[]".to_vec(), -32600),
        (format!("[{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{CANARY}\"}}]").into(), -32600),
        (b"{}".to_vec(), -32600),
        (format!("{{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"{CANARY}\"}}").into(), -32600),
        (format!("{{\"id\":1,\"method\":\"{CANARY}\"}}").into(), -32600),
        (format!("{{\"jsonrpc\":\"2.0\",\"id\":{{\"{CANARY}\":1}},\"method\":\"ping\"}}").into(), -32600),
        (format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":[\"{CANARY}\"]}}").into(), -32600),
    ];
    for version in ALL {
        let client = Client::new(&world, &owner, version).await;
        for (body, code) in &cases {
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            let got = reply(client.ask(Method::POST, None).bytes("application/json", body.clone())).await;
            assert_eq!(
                (got.status.as_u16(), &got.messages[0]["error"]["code"]),
                (400, &json!(code)),
                "{shown}: {}",
                got.text
            );
            assert_eq!(got.messages[0]["id"], Value::Null);
            assert!(!got.text.contains(CANARY), "{shown}: {}", got.text);
        }
    }
}

#[tokio::test]
async fn what_http_has_to_say_comes_in_the_envelope_of_every_door() {
    let world = World::new().await;
    let owner = world.owner().await;
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(1024 * 1024));
    let ask = |kind: &str, body: &str| ask(&world, Method::POST, &owner).bytes(kind, body.as_bytes().to_vec());
    ask("application/json", &large).send().await.refused(413, "PAYLOAD_TOO_LARGE");
    ask("text/plain", "{}").send().await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    ask("application/json", "{}").without("authorization").send().await.refused(401, "UNAUTHENTICATED");
    let unacceptable = reply(ask("application/json", "{\"jsonrpc\":\"2.0\"}").header("accept", "text/html")).await;
    assert_eq!((unacceptable.status.as_u16(), &unacceptable.messages[0]["error"]["code"]), (406, &json!(-32600)));
}

#[tokio::test]
async fn headers_that_contradict_the_message_are_refused() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let client = Client::joins(&world, &owner, "plans", "subagent:a", NEW).await;
    let arguments = json!({"action": "write", "key": "a", "value": "x"});
    let message = client.message("tools/call", json!({"name": "shared_context", "arguments": arguments}), 1);
    for (header, value) in [
        ("mcp-method", "tools/list"),
        ("mcp-name", "another_tool"),
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", "1999-01-01"),
    ] {
        let got = reply(client.ask(Method::POST, Some(&message)).header(header, value)).await;
        assert_eq!(got.status, 400, "{header}: {value}");
        assert!(got.messages[0]["error"]["code"].is_i64(), "{}", got.text);
    }
    for header in ["mcp-method", "mcp-name", "mcp-protocol-version"] {
        let got = reply(client.ask(Method::POST, Some(&message)).without(header)).await;
        assert_eq!(got.status, 400, "{header}");
    }
    let left = world.context(&owner, "plans", &json!({"action": "list_keys"})).send().await.ok();
    assert_eq!(left["keys"], json!([]), "and nothing was written");
}

#[tokio::test]
async fn a_client_that_hangs_up_in_the_middle_of_a_call_leaves_nothing_behind() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for version in ALL {
        let mut client = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        for round in 0..20_u32 {
            let arguments = json!({"action": "write", "key": "a", "value": round.to_string()});
            let message = client.message("tools/call", json!({"name": "shared_context", "arguments": arguments}), 100);
            let ask = client.ask(Method::POST, Some(&message));
            let patience = std::time::Duration::from_micros(u64::from(round) * 50);
            drop(tokio::time::timeout(patience, ask.raw()).await);
        }
        // Whatever became of those, the next is done whole.
        let written = client.write("a", "at last").await;
        let read = client.context(json!({"action": "read", "key": "a"})).await;
        assert_eq!((&read["value"], &read["version"]), (&json!("at last"), &written["version"]), "{version}");
    }
}

/// A value that no schema asks for.
pub(super) fn odd(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 3 { 8 } else { 10 }) {
        0 => Value::Null,
        1 => json!(random.once_in(2)),
        2 => json!(random.below(1 << 40)),
        3 => json!(-1),
        4 => json!(1.5),
        5 => json!("x".repeat(usize::try_from(random.below(5000)).expect("small"))),
        6 => json!(CANARY),
        7 => json!("plans"),
        8 => (0..random.below(4)).map(|_| odd(random, depth + 1)).collect(),
        _ => {
            let names = ["action", "key", "value", "uri", "name", "arguments", "_meta", "cursor", "session"];
            let mut object = json!({});
            for _ in 0..random.below(5) {
                let name = names[usize::try_from(random.below(names.len() as u64)).expect("small")];
                object[name] = odd(random, depth + 1);
            }
            object
        }
    }
}

#[tokio::test]
async fn no_message_is_answered_with_a_500_and_no_error_repeats_what_was_sent() {
    let methods = [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "tasks/cancel",
        "tasks/get",
        "tasks/update",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        CANARY,
    ];
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let mut random = Random::new(0x6d63_7001);
    for version in [NEW, OLD[0], OLD[2]] {
        let client = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        for _ in 0..400 {
            let method = methods[usize::try_from(random.below(methods.len() as u64)).expect("small")];
            let mut message = client.message(method, json!({}), random.below(1000));
            match odd(&mut random, 0) {
                Value::Object(fields) => message["params"].as_object_mut().expect("an object").extend(fields),
                other if random.once_in(3) => message["params"] = other,
                _ => {}
            }
            if method.starts_with("notifications/") || random.once_in(20) {
                message.as_object_mut().expect("an object").remove("id");
            }
            if random.once_in(20) {
                message["id"] = odd(&mut random, 3);
            }
            let got = reply(client.ask(Method::POST, Some(&message)).without("mcp-name")).await;
            assert!(got.status.as_u16() < 500, "{message}: {} {}", got.status, got.text);
            // An id comes back as it was: that is what ids are for.
            let refused = got.messages.iter().filter_map(|message| message.get("error"));
            for error in refused {
                assert!(!error.to_string().contains(CANARY), "{message}: {error}");
            }
        }
    }
}
