//! Requests made by chance from the OpenAPI document. None may be answered with a 500, and every refusal is in the
//! envelope and repeats nothing of what was sent.

use super::envelope::is_envelope;
use super::every_route::operations;
use axum::http::Method;
use domain::platform_tools::{OF_AGENTS, names_of};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use testkit::{Random, World};

const CANARY: &str = "CANARY fuzz";
const REQUESTS_EACH: usize = 300;

fn odd_text(random: &mut Random) -> String {
    let choices = [
        "",
        " ",
        "\0",
        "\n",
        "a",
        "plans",
        "now",
        "ses_1",
        "tok_x",
        "usr_owner",
        "owner",
        "personal",
        "a:b",
        "*",
        "%",
        "'; --",
        "🦀",
        "\u{202e}abc",
        "../../etc/passwd",
        "null",
        "-1",
        "9223372036854775808",
        "1e309",
        "orchestrator",
        "member",
        "guest",
        "subagent:a",
        "user:usr_owner",
        "24h",
        "99999999999d",
        "o200k",
        CANARY,
    ];
    match random.below(12) {
        0 => "x".repeat(usize::try_from(random.below(5000)).expect("small")),
        1 => {
            char::from_u32(u32::try_from(random.below(0x11_0000)).expect("small")).unwrap_or('x').to_string().repeat(70)
        }
        2 => format!("key_{}", random.below(5)),
        _ => (*random.one_of(&choices)).to_owned(),
    }
}

fn odd_value(random: &mut Random, depth: u32) -> Value {
    match random.below(if depth == 0 { 9 } else { 11 }) {
        0 => Value::Null,
        1 => json!(random.once_in(2)),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX - random.below(2)),
        5 => json!(i64::MIN),
        6 => json!(1e300),
        7 => json!(i64::MAX.unsigned_abs() + random.below(3) - 1),
        8 => json!(odd_text(random)),
        9 => json!([odd_value(random, depth - 1), odd_value(random, depth - 1)]),
        // The name of an unknown field is told, so it carries no canary.
        _ => json!({ odd_text(random).replace("CANARY", "field"): odd_value(random, depth - 1) }),
    }
}

/// Words that mean something, so that chance gets past the first check.
fn good_word(random: &mut Random, field: &str) -> Option<Value> {
    let words: &[&str] = match field {
        "role" => &["member", "guest"],
        "participant" => &["orchestrator", "subagent:a"],
        "ttl" => &["1h", "30d"],
        "session" => &["plans"],
        "workspace" => &["personal"],
        "tool" => &["filesystem.read", "k8s.get", "skill_read"],
        "user" => &["owner", "usr_bea"],
        "channel" => &["http"],
        "chat_id" => &["x", "y"],
        "key" | "prefix" => &["a", "b", "c"],
        "label" | "from" | "to" => &["one", "two", "now"],
        "format" => &["mcp"],
        "visibility" => &["private", "shared"],
        "audience" => &["workspace", "everyone"],
        "project" => &["garden"],
        "name" => &["garden", "agent_coder", "shared", "mine", "yours", "theirs", "ours"],
        _ => return None,
    };
    Some(json!(random.one_of(words)))
}

/// The fields that go with an action of the shared context: with any other it would only ever be refused.
const ACTIONS: [&[&str]; 11] = [
    &["list_keys", "prefix"],
    &["read", "key"],
    &["write", "key", "value", "if_version", "if_rev", "ttl_seconds", "readable_by", "writable_by"],
    &["delete", "key", "if_version", "if_rev"],
    &["read_batch", "keys"],
    &["read_history", "key", "versions"],
    &["snapshot", "label"],
    &["list_snapshots"],
    &["read_snapshot", "label", "keys"],
    &["restore_snapshot", "label"],
    &["diff", "from", "to"],
];

fn envelope(random: &mut Random, properties: &Value) -> Value {
    let fields = random.one_of(&ACTIONS);
    let mut object = Map::from_iter([("action".to_owned(), json!(fields[0]))]);
    for (number, name) in fields.iter().enumerate().skip(1) {
        if number < 3 || random.once_in(3) {
            let word = good_word(random, name).filter(|_| !random.once_in(4));
            object.insert((*name).to_owned(), word.unwrap_or_else(|| value(random, &properties[*name])));
        }
    }
    Value::Object(object)
}

/// A value that fits the schema, more or less.
fn value(random: &mut Random, schema: &Value) -> Value {
    if random.once_in(6) {
        return odd_value(random, 3);
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let target = api::document().pointer(reference.trim_start_matches('#')).expect("a schema");
        return value(random, target);
    }
    if let Some(choices) = schema["enum"].as_array() {
        return random.one_of(choices).clone();
    }
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let choice = random.one_of(choices);
        return value(random, choice);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => random.one_of(kinds).as_str().unwrap_or("null"),
        kind => kind.as_str().unwrap_or("null"),
    };
    match kind {
        "string" => json!(odd_text(random)),
        "integer" => json!(random.below(4)),
        "boolean" => json!(random.once_in(2)),
        "array" => {
            let length = if random.once_in(20) { 150 } else { random.below(4) };
            (0..length).map(|_| value(random, &schema["items"])).collect()
        }
        "object" if !schema["properties"]["action"].is_null() => envelope(random, &schema["properties"]),
        "object" => {
            let mut object = Map::new();
            for (name, of) in schema["properties"].as_object().into_iter().flatten() {
                let required = schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
                if random.below(10) < if required { 9 } else { 3 } {
                    let word = good_word(random, name).filter(|_| random.once_in(2));
                    object.insert(name.clone(), word.unwrap_or_else(|| value(random, of)));
                }
            }
            if random.once_in(15) {
                object.insert("extra".to_owned(), odd_value(random, 1));
            }
            Value::Object(object)
        }
        _ => Value::Null,
    }
}

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn address(random: &mut Random, path: &str, operation: &Value) -> String {
    let mut address = String::new();
    for part in path.split('/').skip(1) {
        address.push('/');
        let odd = match part {
            "{session}" if !random.once_in(4) => "plans".to_owned(),
            "{workspace}" if !random.once_in(4) => {
                (*random.one_of(&["personal", "personal-usr_bea", "lab", "lab"])).to_owned()
            }
            "{user}" if !random.once_in(3) => "usr_bea".to_owned(),
            "{project}" if !random.once_in(4) => "garden".to_owned(),
            "{agent}" if !random.once_in(4) => (*random.one_of(&["agent_coder", "agent_writer", "shared"])).to_owned(),
            "{tool}" if !random.once_in(6) => (*random.one_of(&names_of(&OF_AGENTS))).to_owned(),
            part if part.starts_with('{') && random.once_in(10) => "%FF%fe".to_owned(),
            part if part.starts_with('{') => percent(&odd_text(random).chars().take(300).collect::<String>()),
            part => part.to_owned(),
        };
        address.push_str(&odd);
    }
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" && random.once_in(3) {
            let given = value(random, &parameter["schema"]);
            let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            query.push(format!("{}={}", parameter["name"].as_str().unwrap_or("x"), percent(&text)));
        }
    }
    if random.once_in(20) {
        query.push(format!("{}=%zz&&=", percent(&odd_text(random))));
    }
    if query.is_empty() { address } else { format!("{address}?{}", query.join("&")) }
}

/// The schema of the body; where the address names a tool, that of this tool.
fn schema_for<'a>(operation: &'a Value, address: &str) -> &'a Value {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let tools = api::document()["components"]["schemas"]["WorkspaceToolRequest"]["anyOf"].as_array();
    let named = |tool: &&Value| tool["title"].as_str().is_some_and(|name| address.contains(name));
    tools.into_iter().flatten().find(named).unwrap_or(schema)
}

fn body(random: &mut Random, schema: &Value) -> (String, Vec<u8>) {
    let value = if schema.is_null() { odd_value(random, 2) } else { value(random, schema) };
    let mut bytes = value.to_string().into_bytes();
    if random.once_in(25) && !bytes.is_empty() {
        let at = usize::try_from(random.below(bytes.len() as u64)).expect("small");
        bytes[at] = u8::try_from(random.below(256)).expect("a byte");
    }
    let kind = if random.once_in(40) { "text/plain" } else { "application/json" };
    (kind.to_owned(), bytes)
}

/// Puts back what chance has taken away.
async fn repair(world: &World) -> String {
    for (path, body) in [("/admin/users", json!({"name": "bea"})), ("/sessions", json!({"id": "plans"}))] {
        world.post(path, &body).locally().send().await;
    }
    world.post("/admin/workspaces", &json!({"name": "lab", "members": ["owner"]})).locally().send().await;
    world.post("/my/projects", &json!({"name": "garden"})).locally().send().await;
    for agent in ["agent_coder", "agent_writer", "shared"] {
        let agent = json!({"name": agent, "visibility": if agent == "shared" { "shared" } else { "private" }});
        world.post("/my/projects/garden/agents", &agent).locally().send().await;
    }
    world.owner().await
}

#[tokio::test]
async fn no_request_is_answered_with_a_500_and_every_refusal_is_in_the_envelope() {
    let world = World::new().await;
    let mut owner = repair(&world).await;
    let mut random = Random::new(20_260_220);
    let mut outcomes: BTreeMap<String, BTreeMap<u16, u32>> = BTreeMap::new();
    for round in 0..REQUESTS_EACH {
        if round % 20 == 0 {
            owner = repair(&world).await;
        }
        for (method, path) in operations() {
            let operation = &api::document()["paths"][&path][method.as_str().to_lowercase()];
            let address = address(&mut random, &path, operation);
            let Ok(uri) = address.parse::<axum::http::Uri>() else { continue };
            // It answers in JSON-RPC, and is fuzzed with that in `mcp`.
            if path == "/mcp" {
                continue;
            }
            // Her name would never be given again.
            if method == Method::DELETE && address.contains("bea") {
                continue;
            }
            // What others are tried on does not go, or change its name, too often.
            let lasting = address.contains("/garden") || address.contains("/plans");
            let uproots = lasting && (matches!(method, Method::DELETE | Method::PATCH) || path.ends_with("/archive"));
            if uproots && !random.once_in(15) {
                continue;
            }
            let mut ask = world.ask(method.clone(), &uri.to_string()).by(&owner);
            let mut sent = String::new();
            // Where no body belongs, one is sent now and then all the same.
            let often = if operation["requestBody"].is_null() { 3 } else { 10 };
            if method != Method::GET && random.once_in(often) == (often == 3) {
                let (kind, bytes) = body(&mut random, schema_for(operation, &address));
                sent = String::from_utf8_lossy(&bytes).into_owned();
                ask = ask.bytes(&kind, bytes);
            }
            if random.once_in(20) {
                ask = ask.also("idempotency-key", &[b'a' + u8::try_from(random.below(3)).expect("small")]);
            }
            if random.once_in(10) && path.ends_with("/events") {
                let text = odd_value(&mut random, 0).to_string();
                ask = ask.also("last-event-id", text.replace(|c: char| c.is_control(), "").as_bytes());
            }
            // Where backups go is for the operator to say; chance shall not.
            if random.once_in(10) && path != "/admin/backup" {
                ask = ask.locally();
            }
            let answer = ask.send().await;
            let status = answer.status.as_u16();
            *outcomes.entry(format!("{method} {path}")).or_default().entry(status).or_default() += 1;
            assert!(status < 500, "{method} {address} {sent}: {} {}", answer.status, answer.text);
            if status >= 400 {
                is_envelope(&answer);
                assert!(!answer.text.contains(CANARY), "{method} {address} {sent}: {}", answer.text);
            }
            if path == "/auth/sign-out" && status == 204 {
                owner = world.owner().await;
            }
        }
    }
    let verdict = world.post("/admin/audit/verify", &json!({})).locally().send().await.ok();
    assert_eq!(verdict["intact"], true);
    // A fuzzer that only ever meets refusals tests nothing.
    for (operation, statuses) in &outcomes {
        let good: u32 = statuses.range(200..300).map(|(_, count)| count).sum();
        let rare = [
            "/my/publications/{publication}",
            "sign-in",
            "/my/tokens/{token}",
            "/admin/tokens",
            "/link",
            "/bindings",
            "/tasks/{task}",
            "/nodes",
            "/admin/plugins/{plugin}/accept",
            "/admin/pairings/",
            // For channels' tokens, and for names of channels: `gateway` tells what comes of good ones.
            "/channels/http/messages",
            "/channels/telegram/webhook",
            "/gateway/route",
            "/tools/",
            "/my/approvals/",
            "/approvals/{approval}",
            "/my/standing-rules/",
            "/sessions/{session}/messages",
            "DELETE /admin/workspaces/{workspace}/members/{user}",
        ];
        assert!(good > 0 || rare.iter().any(|name| operation.contains(name)), "{operation}: {statuses:?}");
    }
}
