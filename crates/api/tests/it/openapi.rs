//! The published contract: complete, readable without a network, and what the answers really look like.

use super::every_route::operations;
use serde_json::{Value, json};
use testkit::World;

const ANONYMOUS: [&str; 9] = [
    "GET /",
    "GET /welcome.css",
    "GET /welcome.js",
    "GET /health",
    "GET /openapi.json",
    "GET /docs",
    "POST /auth/sign-in",
    "POST /nodes/pair",
    "POST /channels/telegram/webhook",
];

fn operation(method: &axum::http::Method, path: &str) -> &'static Value {
    &api::document()["paths"][path][method.as_str().to_lowercase()]
}

#[tokio::test]
async fn the_document_is_served_as_it_is_and_is_openapi_3_1() {
    let world = World::new().await;
    let served = world.get("/openapi.json").send().await;
    assert_eq!(served.header("content-type"), "application/json");
    let document = served.ok();
    assert_eq!(&document, api::document());
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")), "{}", document["openapi"]);
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_operation_says_what_it_does_takes_and_answers() {
    for (method, path) in operations() {
        let about = operation(&method, &path);
        let summary = about["summary"].as_str().unwrap_or("");
        assert!((5..=120).contains(&summary.len()), "{method} {path}: {summary:?}");
        assert_eq!(about["tags"].as_array().map(Vec::len), Some(1), "{method} {path}");
        let good = about["responses"].as_object().into_iter().flatten();
        assert!(good.filter(|(status, _)| status.starts_with('2')).count() > 0, "{method} {path}");
        for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            let declared = about["parameters"].as_array().into_iter().flatten();
            let declared = declared.filter(|parameter| parameter["name"] == name && parameter["in"] == "path");
            assert_eq!(declared.count(), 1, "{method} {path}: {name}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_an_id_of_its_own() {
    let document = api::document();
    for piece in document.to_string().split("\"#/").skip(1) {
        let pointer = format!("/{}", piece.split('"').next().expect("a reference"));
        assert!(document.pointer(&pointer).is_some(), "{pointer}");
    }
    let ids = operations().into_iter().map(|(method, path)| (operation(&method, &path)["operationId"].clone(), path));
    let mut seen = std::collections::HashMap::new();
    for (id, path) in ids {
        if let Some(other) = seen.insert(id.clone(), path.clone()) {
            panic!("{id} is both {other} and {path}");
        }
    }
}

#[test]
fn a_credential_is_asked_for_everywhere_but_at_the_anonymous_routes() {
    let document = api::document();
    let schemes = document["components"]["securitySchemes"].as_object().expect("schemes");
    assert_eq!(schemes["bearer"]["scheme"], "bearer");
    assert_eq!(schemes["cookie"]["in"], "cookie");
    let asked = document["security"].as_array().expect("a default");
    assert!(
        asked.iter().all(|one| one.as_object().is_some_and(|one| one.keys().all(|name| schemes.contains_key(name))))
    );
    for (method, path) in operations() {
        let security = &operation(&method, &path)["security"];
        let open = security == &json!([{}]) || security == &json!([]);
        assert!(open || security.is_null(), "{method} {path}: {security}");
        assert_eq!(open, ANONYMOUS.contains(&format!("{method} {path}").as_str()), "{method} {path}");
    }
}

#[test]
fn every_code_is_listed_and_every_code_that_is_promised_exists() {
    let document = api::document();
    let listed = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().expect("codes");
    for code in [
        "INVALID_REQUEST",
        "INVALID_KEY",
        "UNAUTHENTICATED",
        "FORBIDDEN",
        "KEY_NOT_FOUND",
        "SESSION_NOT_FOUND",
        "SNAPSHOT_NOT_FOUND",
        "SESSION_EXISTS",
        "SNAPSHOT_EXISTS",
        "SESSION_ARCHIVED",
        "VERSION_CONFLICT",
        "STORE_FULL",
        "AMBIGUOUS_SESSION",
        "EXPIRED",
        "VALUE_TOO_LARGE",
        "PAYLOAD_TOO_LARGE",
        "RATE_LIMITED",
        "QUEUE_FULL",
        "UNAVAILABLE",
        "STORAGE_FULL",
        "IDEMPOTENCY_MISMATCH",
        "PROJECT_NOT_FOUND",
        "PROJECT_EXISTS",
        "AMBIGUOUS_PROJECT",
        "AGENT_NOT_FOUND",
        "AGENT_EXISTS",
        "AGENT_HAS_DATA",
        "ITEM_NOT_FOUND",
        "ITEM_EXISTS",
        "PUBLICATION_NOT_FOUND",
        "PUBLICATION_CHANGED",
    ] {
        assert!(listed.contains(&json!(code)), "{code}");
    }
    for (method, path) in operations() {
        for (status, response) in operation(&method, &path)["responses"].as_object().into_iter().flatten() {
            let words =
                response["description"].as_str().unwrap_or("").split(|c: char| !c.is_ascii_uppercase() && c != '_');
            for word in words.filter(|word| word.contains('_')) {
                assert!(listed.contains(&json!(word)), "{method} {path} {status}: {word}");
            }
        }
    }
}

#[tokio::test]
async fn the_docs_tell_of_every_route_and_need_nothing_from_elsewhere() {
    let world = World::new().await;
    for path in ["/docs", "/"] {
        let page = world.get(path).send().await;
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let policy = page.header("content-security-policy").to_owned();
        for rule in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"] {
            assert!(policy.contains(rule), "{rule}: {policy}");
        }
        for loose in ["unsafe-inline", "unsafe-eval", "*", "http:", "https:", "data:"] {
            assert!(!policy.contains(loose), "{loose}: {policy}");
        }
        assert_eq!(page.header("x-frame-options"), "DENY");
        for remote in ["http://", "https://", "src=\"//", "href=\"//", "style=\"", "onclick", "<script>"] {
            assert!(!page.text.contains(remote), "{path}: {remote}");
        }
    }
    let docs = world.get("/docs").send().await.text;
    for (method, path) in operations() {
        assert!(docs.contains(&format!("<code>{method} {path}</code>")), "{method} {path} has no place on the page");
    }
    for schema in api::document()["components"]["schemas"].as_object().expect("schemas").keys() {
        assert!(docs.contains(&format!("id=\"{schema}\"")), "{schema}");
    }
    for asset in ["/welcome.css", "/welcome.js"] {
        let text = world.get(asset).send().await.text;
        assert!(!text.contains("://") && !text.contains("@import"), "{asset} reaches outside");
    }
}

/// Times, ids, hashes and tokens are different every time, and the version now and then.
fn redact(value: &mut Value) {
    match value {
        Value::String(text) => {
            let is_time = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
            let prefixes = ["tok_", "ses_", "prj_", "agt_", "itm_", "pub_"];
            let generated = prefixes.iter().any(|prefix| text.starts_with(prefix)) && text.len() == 36;
            let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let word = match () {
                () if is_time => "[time]",
                () if generated => "[id]",
                () if is_hash => "[hash]",
                () if text.starts_with("eyJ") => "[token]",
                () if text == env!("CARGO_PKG_VERSION") => "[version]",
                () if text.starts_with('/') && text.contains("backups") => "[path]",
                () => return,
            };
            word.clone_into(text);
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(fields) => fields.values_mut().for_each(redact),
        _ => {}
    }
}

fn snapshot(name: &str, mut value: Value) {
    redact(&mut value);
    insta::with_settings!({sort_maps => true, prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_json_snapshot!(name, value);
    });
}

#[tokio::test]
async fn the_answers_of_the_house_have_the_shapes_they_have() {
    let world = World::new().await;
    let owner = world.owner().await;
    let get = async |path: &str| world.get(path).by(&owner).send().await.json();
    let post = async |path: &str, body: Value| world.post(path, &body).by(&owner).send().await.json();
    let context = async |body: Value| world.context(&owner, "plans", &body).send().await.json();
    snapshot("me", get("/me").await);
    snapshot("health", get("/health").await);
    snapshot("user", post("/admin/users", json!({"name": "bea"})).await);
    snapshot("users", get("/admin/users").await);
    snapshot("session_created", post("/sessions", json!({"id": "plans", "title": "Plans"})).await);
    snapshot("token_person", post("/my/tokens", json!({"label": "laptop"})).await);
    snapshot(
        "token_session",
        post("/my/tokens", json!({"session": "plans", "participant": "subagent:review:1"})).await,
    );
    snapshot("token_channel", post("/my/tokens", json!({"channel": "http", "ttl": "30d"})).await);
    let write = |key: &str, value: &str| json!({"action": "write", "key": key, "value": value});
    snapshot("context_write", context(write("problem_summary", "Throughput dropped.")).await);
    snapshot("context_write_warning", context(write("long", &"x".repeat(3300))).await);
    snapshot("context_read", context(json!({"action": "read", "key": "problem_summary"})).await);
    snapshot("context_list_keys", context(json!({"action": "list_keys"})).await);
    snapshot("context_snapshot", context(json!({"action": "snapshot", "label": "one"})).await);
    snapshot("context_delete", context(json!({"action": "delete", "key": "long"})).await);
    snapshot("context_diff", context(json!({"action": "diff", "from": "one", "to": "now"})).await);
    snapshot("context_history", context(json!({"action": "read_history", "key": "problem_summary"})).await);
    snapshot("context_restore", context(json!({"action": "restore_snapshot", "label": "one"})).await);
    snapshot("inspection", get("/admin/sessions/plans/context").await);
    snapshot("session", get("/sessions/plans").await);
    snapshot("sessions", get("/sessions").await);
    snapshot("prompt", get("/sessions/plans/prompt").await);
    for format in ["openai", "anthropic", "mcp"] {
        snapshot(&format!("tool_schemas_{format}"), get(&format!("/tools/schemas?format={format}")).await);
    }
    snapshot("archived", post("/sessions/plans/archive", json!({})).await);
    snapshot("audit", get("/admin/audit?limit=3").await);
    snapshot("audit_verdict", post("/admin/audit/verify", json!({})).await);
    snapshot("backup", post("/admin/backup", json!({})).await);
}

#[tokio::test]
async fn projects_agents_and_items_have_the_shapes_they_have() {
    let world = World::new().await;
    let owner = world.owner().await;
    let get = async |path: &str| world.get(path).by(&owner).send().await.json();
    let post = async |path: &str, body: Value| world.post(path, &body).by(&owner).send().await.json();
    let call = async |agent: &str, tool: &str, body: Value| {
        world.tool(&owner, &format!("garden/{agent}"), tool, &body).send().await.json()
    };
    let conventions = json!([{"key": "beds", "purpose": "Which bed grows what.", "shape": "a list"}]);
    snapshot("project_created", post("/my/projects", json!({"name": "garden", "key_conventions": conventions})).await);
    let board = json!({"name": "board", "visibility": "shared", "audience": "everyone", "system_prompt": "Be brief.",
                       "tools": ["workspace_*"]});
    let board = post("/my/projects/garden/agents", board).await;
    snapshot("agent_created", board.clone());
    snapshot("projects", get("/my/projects").await);
    snapshot("agents", get("/my/projects/garden/agents").await);
    snapshot("shared_agents", get("/agents/shared").await);
    let bea = world.member("bea").await;
    snapshot("shared_agents_of_a_stranger", world.get("/agents/shared").by(&bea).send().await.json());
    snapshot("token_agent", post("/my/tokens", json!({"agent": board["id"]})).await);
    snapshot("session_of_a_project", post("/sessions", json!({"id": "plans", "project": "garden"})).await);
    snapshot("item_write", call("agent_coder", "workspace_write", json!({"key": "list", "value": "milk"})).await);
    let publish = json!({"key": "list", "target_agent_id": board["id"], "target_key": "shopping"});
    snapshot("item_publish", call("agent_coder", "workspace_publish", publish.clone()).await);
    snapshot("item_list", call("board", "workspace_list", json!({})).await);
    snapshot("item_read", call("board", "workspace_read", json!({"key": "shopping"})).await);
    snapshot("publications", get("/my/publications").await);
    snapshot("refusal_item_exists", call("agent_coder", "workspace_publish", publish).await);
    snapshot("item_delete", call("board", "workspace_delete", json!({"key": "shopping"})).await);
    snapshot("refusal_item_not_found", call("board", "workspace_read", json!({"key": "shopping"})).await);
    let stale = json!({"key": "list", "value": "tea", "if_version": 7});
    snapshot("refusal_item_version", call("agent_coder", "workspace_write", stale).await);
    snapshot("refusal_project_exists", post("/my/projects", json!({"name": "garden"})).await);
    let flip = world.patch("/my/projects/garden/agents/agent_coder", &json!({"visibility": "shared"})).by(&owner);
    snapshot("refusal_agent_has_data", flip.send().await.json());
}

#[tokio::test]
async fn refusals_have_the_shapes_they_have() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "a", "x").await;
    let context = async |body: Value| world.context(&owner, "plans", &body).send().await.json();
    let stale = json!({"action": "write", "key": "a", "value": "y", "if_version": 7});
    snapshot("refusal_version_conflict", context(stale).await);
    snapshot("refusal_key_not_found", context(json!({"action": "read", "key": "b"})).await);
    snapshot("refusal_invalid_key", context(json!({"action": "read", "key": "B"})).await);
    let large = json!({"action": "write", "key": "a", "value": "x".repeat(4001)});
    snapshot("refusal_value_too_large", context(large).await);
    snapshot("refusal_unknown_action", context(json!({"action": "dance"})).await);
    snapshot("refusal_unauthenticated", world.get("/me").send().await.json());
    snapshot("refusal_route_not_found", world.get("/nothing").send().await.json());
    snapshot("refusal_foreign_host", world.get("/me").header("host", "evil.example").send().await.json());
    let exists = world.post("/sessions", &json!({"id": "plans"})).by(&owner).send().await.json();
    snapshot("refusal_session_exists", exists);
}
