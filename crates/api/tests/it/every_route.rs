//! Every route, by everybody who should not get anything from it. A route that is missing here fails the first test.

use axum::http::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::World;

/// What nobody but the owner may ever see.
const CANARY: &str = "canary_7f3a";

/// A route, a good body for it, and what it answers: to somebody without a credential, to another member, to a token
/// of the owner's session, to one of another session of the owner, and to a channel.
struct Row(&'static str, &'static str, Value, [&'static str; 5]);

const OPEN: [&str; 5] = ["200", "200", "200", "200", "200"];
const ADMIN: [&str; 5] = ["401 UNAUTHENTICATED", "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN"];
/// A person's own things: another member gets an answer, about themselves.
const fn own(status: &'static str) -> [&'static str; 5] {
    ["401 UNAUTHENTICATED", status, "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN"]
}
/// For nodes, which nobody here is.
const ONLY_NODES: [&str; 5] =
    ["401 UNAUTHENTICATED", "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN"];
/// For participants of the session.
const INSIDE: [&str; 5] =
    ["401 UNAUTHENTICATED", "404 SESSION_NOT_FOUND", "200", "404 SESSION_NOT_FOUND", "403 FORBIDDEN"];
/// MCP has its own words for what is wrong with a message.
const INSIDE_MCP: [&str; 5] = ["401 UNAUTHENTICATED", "406", "406", "406", "403 FORBIDDEN"];

fn table() -> Vec<Row> {
    let unseen = own("404 SESSION_NOT_FOUND");
    let no_workspace = own("404 WORKSPACE_NOT_FOUND");
    let no_project = own("404 PROJECT_NOT_FOUND");
    let agent = "/my/projects/{project}/agents/{agent}";
    vec![
        Row("get", "/", Value::Null, OPEN),
        Row("get", "/welcome.css", Value::Null, OPEN),
        Row("get", "/welcome.js", Value::Null, OPEN),
        Row("get", "/health", Value::Null, OPEN),
        Row("get", "/openapi.json", Value::Null, OPEN),
        Row("get", "/docs", Value::Null, OPEN),
        Row("post", "/auth/sign-in", json!({"code": "guessed"}), ["401 UNAUTHENTICATED"; 5]),
        Row("post", "/auth/sign-out", Value::Null, own("204")),
        Row("get", "/metrics", Value::Null, ADMIN),
        Row("get", "/me", Value::Null, own("200")),
        Row("post", "/my/tokens", json!({}), own("201")),
        Row("get", "/my/tokens", Value::Null, own("200")),
        Row("delete", "/my/tokens/{token}", Value::Null, own("404 TOKEN_NOT_FOUND")),
        Row("get", "/my/events", Value::Null, own("200")),
        Row("post", "/my/projects", json!({"name": "mine"}), own("201")),
        Row("get", "/my/projects", Value::Null, own("200")),
        Row("get", "/my/projects/{project}", Value::Null, no_project),
        Row("patch", "/my/projects/{project}", json!({"name": "taken over"}), no_project),
        Row("delete", "/my/projects/{project}", Value::Null, no_project),
        Row("get", "/my/projects/{project}/events", Value::Null, no_project),
        Row("get", "/my/projects/{project}/worker-space", Value::Null, no_project),
        Row("post", "/my/projects/{project}/worker-space/cleanup", Value::Null, no_project),
        Row("post", "/admin/projects/{project}/worker-space/reset", Value::Null, ADMIN),
        Row("get", "/my/projects/{project}/tasks", Value::Null, no_project),
        Row("get", "/my/projects/{project}/tasks/{task}", Value::Null, no_project),
        Row("post", "/my/projects/{project}/tasks/{task}/cancel", Value::Null, no_project),
        Row("post", "/my/projects/{project}/agents", json!({"name": "spy"}), no_project),
        Row("get", "/my/projects/{project}/agents", Value::Null, no_project),
        Row("get", agent, Value::Null, no_project),
        Row("patch", agent, json!({"visibility": "shared"}), no_project),
        Row("delete", agent, Value::Null, no_project),
        Row("post", "/my/projects/{project}/agents/{agent}/tools/{tool}", json!({}), no_project),
        Row("get", "/agents/shared", Value::Null, own("200")),
        Row("get", "/my/projects/{project}/tools/available", Value::Null, no_project),
        Row("get", "/my/projects/{project}/tools", Value::Null, no_project),
        Row("get", "/my/projects/{project}/tools/{call}", Value::Null, no_project),
        Row(
            "post",
            "/my/projects/{project}/tools/execute",
            json!({"agent": "spy", "tool": "tool_read_file"}),
            no_project,
        ),
        Row("post", "/my/projects/{project}/tools/{call}/preview", json!({}), ONLY_NODES),
        Row("post", "/my/projects/{project}/tools/{call}/accept", json!({"attempt": 1, "digest": "d"}), ONLY_NODES),
        Row("post", "/my/projects/{project}/tools/{call}/result", json!({"attempt": 1}), ONLY_NODES),
        Row("get", "/my/approvals", Value::Null, own("200")),
        Row("get", "/my/approvals/{approval}", Value::Null, own("404 APPROVAL_NOT_FOUND")),
        Row("get", "/my/approvals/{approval}/context", Value::Null, own("404 APPROVAL_NOT_FOUND")),
        Row("post", "/my/approvals/decide", json!({"ids": ["apr_1"], "decision": "approve"}), own("200")),
        Row("post", "/my/projects/{project}/approvals/{approval}/approve", json!({}), own("404 APPROVAL_NOT_FOUND")),
        Row("post", "/my/projects/{project}/approvals/{approval}/reject", json!({}), own("404 APPROVAL_NOT_FOUND")),
        Row("get", "/my/standing-rules", Value::Null, own("200")),
        Row("delete", "/my/standing-rules/{rule}", Value::Null, own("404 STANDING_RULE_NOT_FOUND")),
        Row("get", "/nodes", Value::Null, own("200")),
        Row("delete", "/nodes/{node}", Value::Null, own("404 NODE_NOT_FOUND")),
        Row("post", "/nodes/pair/{code}/confirm", Value::Null, own("404 PAIRING_NOT_FOUND")),
        Row("post", "/nodes/pair", json!({"node": "nod_1", "key": "guessed"}), ["401 UNAUTHENTICATED"; 5]),
        Row("get", "/workspaces/{workspace}/budget", Value::Null, own("404 WORKSPACE_NOT_FOUND")),
        Row("get", "/my/publications", Value::Null, own("200")),
        Row("delete", "/my/publications/{publication}", Value::Null, own("404 PUBLICATION_NOT_FOUND")),
        Row("post", "/workspaces/{workspace}/policy/explain", json!({"user": "bea", "tool": "k8s.get"}), no_workspace),
        Row("get", "/workspaces/{workspace}/skills", Value::Null, no_workspace),
        Row("post", "/sessions", json!({}), own("201")),
        Row("get", "/sessions", Value::Null, own("200")),
        Row("get", "/sessions/{session}", Value::Null, unseen),
        Row("delete", "/sessions/{session}", Value::Null, unseen),
        Row("post", "/sessions/{session}/archive", Value::Null, unseen),
        Row("post", "/sessions/{session}/messages", json!({"content": "hello", "target_agent": "spy"}), unseen),
        Row("get", "/sessions/{session}/messages", Value::Null, unseen),
        Row("get", "/sessions/{session}/prompt", Value::Null, INSIDE),
        Row("get", "/sessions/{session}/events", Value::Null, INSIDE),
        Row("post", "/sessions/{session}/shared_context", json!({"action": "list_keys"}), INSIDE),
        Row("get", "/tools/schemas", Value::Null, ["401 UNAUTHENTICATED", "200", "200", "200", "200"]),
        // Without the headers that MCP asks for; what a stranger gets with them is told in `mcp`.
        Row("post", "/mcp", json!({"jsonrpc": "2.0"}), INSIDE_MCP),
        Row("get", "/mcp", Value::Null, INSIDE_MCP),
        Row("delete", "/mcp", Value::Null, ["401 UNAUTHENTICATED", "400", "400", "400", "403 FORBIDDEN"]),
        // A channel is let in; whom it brings is nobody here.
        Row(
            "post",
            "/channels/http/messages",
            json!({"chat_id": "x", "chat_type": "group", "sender_id": "y", "message_id": "1", "text": "hello"}),
            ["401 UNAUTHENTICATED", "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN", "200"],
        ),
        // Nobody is told updates here; where a bot is, only its provider knows the secret.
        Row("post", "/channels/telegram/webhook", json!({"update_id": 1}), ["404 ROUTE_NOT_FOUND"; 5]),
        Row("get", "/admin/channels", Value::Null, ADMIN),
        Row("post", "/gateway/route", json!({"channel": "http", "chat_id": "x", "sender_id": "y"}), ADMIN),
        Row("get", "/admin/pairings", Value::Null, ADMIN),
        Row("post", "/admin/pairings/{code}/approve", json!({"user": "bea"}), ADMIN),
        Row("post", "/admin/pairings/{code}/reject", Value::Null, ADMIN),
        Row("get", "/admin/deliveries", Value::Null, ADMIN),
        Row("post", "/admin/users", json!({"name": "mallory", "role": "admin"}), ADMIN),
        Row("get", "/admin/users", Value::Null, ADMIN),
        Row("patch", "/admin/users/{user}", json!({"role": "guest"}), ADMIN),
        Row("delete", "/admin/users/{user}", Value::Null, ADMIN),
        Row("post", "/admin/users/{user}/link", Value::Null, ADMIN),
        Row("delete", "/admin/tokens/{token}", Value::Null, ADMIN),
        Row("get", "/admin/audit", Value::Null, ADMIN),
        Row("post", "/admin/audit/verify", Value::Null, ADMIN),
        Row("post", "/admin/backup", json!({}), ADMIN),
        Row("get", "/admin/doctor", Value::Null, ADMIN),
        Row("get", "/admin/config", Value::Null, ADMIN),
        Row("get", "/admin/plugins", Value::Null, ADMIN),
        Row("post", "/admin/plugins/{plugin}/accept", json!({"tool": "k8s.get", "fingerprint": "f"}), ADMIN),
        Row("get", "/admin/sessions/{session}/context", Value::Null, unseen),
        Row("get", "/workspaces", Value::Null, own("200")),
        Row("get", "/workspaces/{workspace}", Value::Null, own("404 WORKSPACE_NOT_FOUND")),
        Row("post", "/admin/workspaces", json!({"name": "taken-over"}), ADMIN),
        Row("get", "/admin/workspaces", Value::Null, ADMIN),
        Row("get", "/admin/workspaces/{workspace}", Value::Null, ADMIN),
        Row("patch", "/admin/workspaces/{workspace}", json!({"description": "taken over"}), ADMIN),
        Row("delete", "/admin/workspaces/{workspace}", Value::Null, ADMIN),
        Row("put", "/admin/workspaces/{workspace}/members/{user}", Value::Null, ADMIN),
        Row("delete", "/admin/workspaces/{workspace}/members/{user}", Value::Null, ADMIN),
        Row("post", "/admin/workspaces/{workspace}/bindings", json!({"channel": "http", "chat_id": "x"}), ADMIN),
        Row("delete", "/admin/workspaces/{workspace}/bindings/{place}", Value::Null, ADMIN),
    ]
}

/// Method and path of every operation of the document.
pub(super) fn operations() -> Vec<(Method, String)> {
    let paths = api::document()["paths"].as_object().expect("paths");
    let each = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().expect("methods").keys().map(move |method| (method.to_uppercase(), path.clone()))
    });
    each.map(|(method, path)| (method.parse().expect("a method"), path)).collect()
}

/// The path with the names of things that are there.
pub(super) fn concrete(path: &str, token: &str) -> String {
    path.replace("{session}", "plans")
        .replace("{user}", "usr_owner")
        .replace("{token}", token)
        .replace("{workspace}", "personal-usr_owner")
        .replace("{task}", "tsk_0123456789abcdef0123456789abcdef")
        .replace("{project}", "garden")
        .replace("{agent}", "agent_coder")
        .replace("{tool}", "workspace_list")
        .replace("{publication}", "pub_1")
        .replace("{node}", "laptop")
        .replace("{call}", "call_0123456789abcdef0123456789abcdef")
        .replace("{approval}", "apr_0123456789abcdef0123456789abcdef")
        .replace("{rule}", "rul_0123456789abcdef0123456789abcdef")
        .replace("{code}", "ABCD-EFGH")
        .replace("{workspace}", "den")
        .replace("{place}", "http:x")
}

/// The owner with a session full of canaries; gives the owner's token and its id.
async fn owner_with_secrets(world: &World) -> (String, String) {
    let owner = world.owner().await;
    let session = json!({"id": "plans", "title": CANARY});
    world.post("/sessions", &session).by(&owner).send().await.ok();
    world.write(&owner, "plans", CANARY, CANARY).await;
    let den = json!({"name": "den", "description": CANARY, "members": ["owner"]});
    world.post("/admin/workspaces", &den).by(&owner).send().await.ok();
    world.post("/my/projects", &json!({"name": "garden"})).by(&owner).send().await.ok();
    let agent = json!({"name": CANARY, "system_prompt": CANARY, "visibility": "shared"});
    world.post("/my/projects/garden/agents", &agent).by(&owner).send().await.ok();
    let item = json!({"key": CANARY, "value": CANARY});
    for agent in ["agent_coder", CANARY] {
        let path = format!("/my/projects/garden/agents/{agent}/tools/workspace_write");
        world.post(&path, &item).by(&owner).send().await.ok();
    }
    let issued = world.post("/my/tokens", &json!({"label": CANARY})).by(&owner).send().await.ok();
    (owner, issued["id"].as_str().expect("an id").to_owned())
}

async fn token(world: &World, body: Value) -> String {
    let issued = world.post("/my/tokens", &body).locally().send().await.ok();
    issued["token"].as_str().expect("a token").to_owned()
}

#[test]
fn every_route_of_the_document_is_in_the_table_and_the_other_way_round() {
    let documented: BTreeSet<_> =
        operations().into_iter().map(|(method, path)| format!("{} {path}", method.as_str().to_lowercase())).collect();
    let tried: BTreeSet<_> = table().iter().map(|Row(method, path, ..)| format!("{method} {path}")).collect();
    assert_eq!(documented, tried);
}

#[tokio::test]
async fn nobody_gets_from_a_route_what_is_not_theirs() {
    let world = World::new().await;
    let (owner, owners_token) = owner_with_secrets(&world).await;
    world.session(&owner, "elsewhere", json!({})).await;
    world.member("bea").await;
    for Row(method, path, body, expected) in table() {
        // Fresh ones for each route, because a sign-out ends them.
        let credentials = [
            None,
            Some(token(&world, json!({"user": "bea"})).await),
            Some(token(&world, json!({"session": "plans", "participant": "subagent:review"})).await),
            Some(token(&world, json!({"session": "elsewhere"})).await),
            Some(token(&world, json!({"channel": "http"})).await),
        ];
        for (number, (credential, expected)) in credentials.into_iter().zip(expected).enumerate() {
            let method: Method = method.to_uppercase().parse().expect("a method");
            let mut ask = world.ask(method.clone(), &concrete(path, &owners_token));
            if !body.is_null() {
                ask = ask.json(&body);
            }
            if let Some(credential) = credential {
                ask = ask.by(&credential);
            }
            let answer = ask.send().await;
            let got = format!("{} {}", answer.status.as_u16(), answer.code());
            assert_eq!(got.trim(), expected, "{method} {path} by {number}: {}", answer.text);
            let inside = number == 2 && expected == "200";
            assert!(inside || !answer.text.contains(CANARY), "{method} {path} by {number}: {}", answer.text);
        }
    }
    let left = world.get("/sessions/plans").by(&owner).send().await.ok();
    assert_eq!((&left["state"], &left["key_count"]), (&json!("active"), &json!(1)), "and nothing was changed");
    assert_eq!(world.get("/admin/users").by(&owner).send().await.ok()["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_method_that_the_document_does_not_have_is_405_in_the_envelope() {
    let world = World::new().await;
    let (owner, id) = owner_with_secrets(&world).await;
    let documented: BTreeSet<_> = operations().into_iter().map(|(method, path)| (path, method.to_string())).collect();
    let paths: BTreeSet<_> = documented.iter().map(|(path, _)| path.clone()).collect();
    for path in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if documented.contains(&(path.clone(), method.to_owned())) {
                continue;
            }
            let method: Method = method.parse().expect("a method");
            let answer = world.ask(method.clone(), &concrete(&path, &id)).by(&owner).send().await;
            assert_eq!(
                (answer.status.as_u16(), answer.code().as_str()),
                (405, "METHOD_NOT_ALLOWED"),
                "{method} {path} is not in the document"
            );
            assert!(!answer.header("allow").is_empty(), "{method} {path}: a 405 says what is allowed");
        }
    }
}

#[tokio::test]
async fn an_unknown_route_is_404_in_the_envelope() {
    let world = World::new().await;
    let owner = world.owner().await;
    for path in ["/nothing", "/sessions/a/b/c", "/my", "/admin", "/Sessions", "/..", "/sessions/../me", "//health/x"] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            world.ask(method, path).by(&owner).send().await.refused(404, "ROUTE_NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn a_trailing_slash_makes_no_difference_anywhere() {
    let world = World::new().await;
    let (owner, _) = owner_with_secrets(&world).await;
    for (method, path) in operations() {
        let path = concrete(&path, "tok_unknown").replace("usr_owner", "usr_unknown");
        let changes_nothing = method == Method::GET || path.contains("unknown");
        if !changes_nothing {
            continue;
        }
        let plain = world.ask(method.clone(), &path).by(&owner).send().await;
        let slashed = world.ask(method.clone(), &format!("{path}/")).by(&owner).send().await;
        assert_eq!(slashed.status, plain.status, "{method} {path}/");
        assert_eq!(slashed.code(), plain.code(), "{method} {path}/");
    }
    let body = json!({"action": "read", "key": CANARY});
    let read = world.post("/sessions/plans/shared_context/?workspace=personal", &body).by(&owner).send().await.ok();
    assert_eq!(read["value"], CANARY);
}

/// The document is gathered from `routes!`; a route made in any other way would be in the router alone.
#[test]
fn no_route_is_made_beside_the_document() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("a source file");
    let router = read(&source.join("router.rs"));
    for file in std::fs::read_dir(&source).expect("the sources") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|kind| kind != "rs") {
            continue;
        }
        let (text, name) = (read(&path), path.file_stem().expect("a name").to_string_lossy().into_owned());
        for made in [".route(", ".nest(", ".route_service(", ".nest_service(", "fallback_service("] {
            assert!(!text.contains(made), "{name}: `{made}` makes a route that no document knows");
        }
        let declared = text.matches("#[utoipa::path").count();
        let listed = text.split("routes!(").skip(1).filter_map(|rest| rest.split(')').next());
        let listed: usize = listed.map(|names| names.split(',').count()).sum();
        assert_eq!(declared, listed, "{name}: every door is in `routes!`, and every one of those in the document");
        let merged = router.contains(&format!(".merge({name}::routes())"));
        assert_eq!(merged, declared > 0, "{name}: the router has its doors");
    }
}
