//! Whatever is wrong with a request, the answer is the error envelope, and it does not repeat what was sent.

use super::every_route::operations;
use axum::http::Method;
use serde_json::{Value, json};
use testkit::{Answer, World};

const CANARY: &str = "CANARY_91b2";

#[track_caller]
pub(super) fn is_envelope(answer: &Answer) {
    let body = answer.json();
    let error = &body["error"];
    let known = &api::document()["components"]["schemas"]["ErrorCode"]["enum"];
    assert_eq!(answer.header("content-type"), "application/json", "{}", answer.text);
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
    assert!(known.as_array().is_some_and(|codes| codes.contains(&error["code"])), "an unlisted code: {body}");
    assert!(error["message"].as_str().is_some_and(|text| text.len() > 10 && text.len() < 1000), "{body}");
    assert!(error.get("details").is_none_or(Value::is_object), "{body}");
}

/// The routes that take a body, with a path that is there. `/mcp` answers in JSON-RPC: its story is in `mcp`.
fn with_bodies() -> Vec<(Method, String)> {
    let takes_body = |(method, path): &(Method, String)| {
        let operation = &api::document()["paths"][path][method.as_str().to_lowercase()];
        // What a provider posts is read by its adapter, which passes over what it cannot read.
        !["/mcp", "/channels/telegram/webhook"].contains(&path.as_str()) && !operation["requestBody"].is_null()
    };
    let there = |(method, path): (Method, String)| {
        (method, path.replace("{session}", "plans").replace("{user}", "usr_unknown"))
    };
    operations().into_iter().filter(takes_body).map(there).collect()
}

#[tokio::test]
async fn a_bad_body_is_refused_in_the_envelope_at_every_route_that_takes_one() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let deep = format!("{}{}", "{\"a\":".repeat(65), "1".to_owned() + &"}".repeat(65));
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(1024 * 1024));
    let cases: Vec<(&str, Vec<u8>, u16, &str)> = vec![
        ("application/json", b"{".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", CANARY.into(), 400, "INVALID_REQUEST"),
        ("application/json", format!("{{\"a\": \"{CANARY}\"").into(), 400, "INVALID_REQUEST"),
        ("application/json", format!("[\"{CANARY}\"]").into(), 400, "INVALID_REQUEST"),
        ("application/json", format!("\"{CANARY}\"").into(), 400, "INVALID_REQUEST"),
        ("application/json", b"null".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"{} {}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"\xef\xbb\xbf{}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"{\"a\": \"\xff\xfe\"}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"{\"a\": \"\\ud800\"}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"{\"a\": 1e999}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"{\"a\": NaN}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", format!("{{\"a\": \"{CANARY}\", \"a\": 2}}").into(), 400, "INVALID_REQUEST"),
        ("application/json", b"{\"a\": {\"b\": 1, \"b\": 1}}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", b"{\"a\": 1, \"\\u0061\": 1}".to_vec(), 400, "INVALID_REQUEST"),
        ("application/json", deep.into(), 400, "INVALID_REQUEST"),
        ("application/json", "[".repeat(10_000).into(), 400, "INVALID_REQUEST"),
        ("application/json", large.clone().into(), 413, "PAYLOAD_TOO_LARGE"),
        ("text/plain", large.into(), 413, "PAYLOAD_TOO_LARGE"),
        ("text/plain", b"{}".to_vec(), 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("application/x-www-form-urlencoded", b"{}".to_vec(), 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("application/jsonp", b"{}".to_vec(), 415, "UNSUPPORTED_MEDIA_TYPE"),
    ];
    for (method, path) in with_bodies() {
        for (kind, body, status, code) in &cases {
            // Those that bring files along take more.
            let takes_more = ["/tools/execute", "/preview", "/result"].iter().any(|end| path.ends_with(end));
            if takes_more && body.len() > 1024 * 1024 {
                continue;
            }
            let what = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            let answer = world.ask(method.clone(), &path).by(&owner).bytes(kind, body.clone()).send().await;
            assert_eq!((answer.status.as_u16(), answer.code().as_str()), (*status, *code), "{method} {path} {what}");
            is_envelope(&answer);
            assert!(!answer.text.contains(CANARY), "{method} {path} {what}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_body_of_exactly_a_mebibyte_and_64_levels_is_read() {
    let world = World::new().await;
    let owner = world.owner().await;
    let body = |filler: usize| format!("{{\"a\": \"{}\"}}", "x".repeat(filler)).into_bytes();
    let fits = body(1024 * 1024 - body(0).len());
    assert_eq!(fits.len(), 1024 * 1024);
    let answer = world.ask(Method::POST, "/sessions").by(&owner).bytes("application/json", fits).send().await;
    assert_eq!(answer.refused(400, "INVALID_REQUEST")["field"], "a");
    let deep = format!("{}1{}", "{\"a\":".repeat(64), "}".repeat(64));
    let answer = world.ask(Method::POST, "/sessions").by(&owner).bytes("application/json", deep.into()).send().await;
    assert_eq!(answer.refused(400, "INVALID_REQUEST")["field"], "a", "it is the field that is wrong, not the depth");
}

#[tokio::test]
async fn a_field_of_the_wrong_type_is_named_and_its_value_is_not_repeated() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let context = "/sessions/plans/shared_context";
    let cases = [
        ("/sessions", json!({"id": CANARY.repeat(20)}), "id"),
        ("/sessions", json!({"id": "ses_CANARY_91b2"}), "id"),
        ("/sessions", json!({"config": CANARY}), "config"),
        ("/sessions", json!({"config": {"acl": CANARY}}), "config.acl"),
        ("/sessions", json!({"config": {"token_counter": CANARY}}), "config.token_counter"),
        ("/sessions", json!({"title": format!("{CANARY}\n")}), "title"),
        ("/my/tokens", json!({"ttl": CANARY}), "ttl"),
        ("/my/tokens", json!({"ttl": 5}), "ttl"),
        ("/my/tokens", json!({"channel": CANARY}), "channel"),
        ("/my/tokens", json!({"session": "plans", "participant": CANARY}), "participant"),
        ("/my/tokens", json!({"user": CANARY}), "user"),
        ("/admin/users", json!({"name": CANARY}), "user"),
        ("/admin/users", json!({"name": "bea", "role": CANARY}), "role"),
        (context, json!({"action": CANARY}), "action"),
        (context, json!({"action": "write", "key": "a", "value": [CANARY]}), "value"),
        (context, json!({"action": "write", "key": "a", "value": "b", "written_by": CANARY}), "written_by"),
        (context, json!({"action": "write", "key": "a", "value": "b", "if_version": CANARY}), "if_version"),
        (context, json!({"action": "snapshot", "label": format!("{CANARY} /")}), "label"),
        (context, json!({"action": "list_keys", "idempotency_key": {"a": CANARY}}), "idempotency_key"),
    ];
    for (path, body, field) in cases {
        let answer = world.post(path, &body).by(&owner).send().await;
        is_envelope(&answer);
        assert!(!answer.text.contains(CANARY), "{body}: {}", answer.text);
        assert_eq!(answer.refused(400, "INVALID_REQUEST")["field"], field, "{body}");
    }
    let invalid_key = json!({"action": "write", "key": CANARY, "value": CANARY});
    let answer = world.context(&owner, "plans", &invalid_key).send().await;
    assert!(!answer.text.contains(CANARY), "{}", answer.text);
    answer.refused(400, "INVALID_KEY");
}

#[tokio::test]
async fn the_path_and_the_query_are_read_as_strictly_as_the_body() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let long = format!("/sessions/{}", "x".repeat(10_000));
    let cases = [
        ("/sessions/%ff", 400, "INVALID_REQUEST"),
        ("/sessions/%ff/prompt", 400, "INVALID_REQUEST"),
        ("/sessions/plans%00", 404, "SESSION_NOT_FOUND"),
        ("/sessions/plans%2Fevents", 404, "SESSION_NOT_FOUND"),
        ("/sessions/CANARY_91b2%20", 404, "SESSION_NOT_FOUND"),
        ("/sessions/..%2f..%2fetc", 404, "SESSION_NOT_FOUND"),
        (long.as_str(), 404, "SESSION_NOT_FOUND"),
        ("/sessions/plans?CANARY_91b2=1", 400, "INVALID_REQUEST"),
        ("/sessions/plans?workspace=a&workspace=b", 400, "INVALID_REQUEST"),
        ("/sessions/plans?workspace=CANARY_91b2", 404, "SESSION_NOT_FOUND"),
        ("/sessions?limit=CANARY_91b2", 400, "INVALID_REQUEST"),
        ("/sessions?limit=0", 400, "INVALID_REQUEST"),
        ("/sessions?limit=501", 400, "INVALID_REQUEST"),
        ("/sessions?limit=-1", 400, "INVALID_REQUEST"),
        ("/sessions?limit=99999999999999999999", 400, "INVALID_REQUEST"),
        ("/sessions?cursor=CANARY_91b2", 400, "INVALID_REQUEST"),
        ("/sessions?cursor=%ff", 400, "INVALID_REQUEST"),
        ("/my/tokens?cursor=YQpi", 400, "INVALID_REQUEST"),
        ("/admin/audit?cursor=YQpi", 400, "INVALID_REQUEST"),
        ("/admin/audit?seq=1", 400, "INVALID_REQUEST"),
        ("/tools/schemas?format=CANARY_91b2", 400, "INVALID_REQUEST"),
        ("/my/events?keys=CANARY_91b2", 400, "INVALID_REQUEST"),
        ("/sessions/plans/events?key=a", 400, "INVALID_REQUEST"),
    ];
    for (path, status, code) in cases {
        let answer = world.get(path).by(&owner).send().await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{path}");
        is_envelope(&answer);
        assert!(!answer.text.contains(CANARY), "{path}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_token_in_the_address_is_refused_at_every_route_even_beside_a_good_one() {
    let world = World::new().await;
    let owner = world.owner().await;
    for (method, path) in operations() {
        let path = path.replace("{session}", "plans").replace("{user}", "usr_x").replace("{token}", "tok_x");
        for query in [format!("token={owner}"), format!("Access_Token={owner}"), format!("a=1&q={owner}")] {
            let answer = world.ask(method.clone(), &format!("{path}?{query}")).by(&owner).send().await;
            assert!(!answer.text.contains(&owner), "the token is not repeated");
            answer.refused(400, "INVALID_REQUEST");
        }
    }
}

#[tokio::test]
async fn every_answer_forbids_guessing_its_kind_and_keeping_it() {
    let world = World::new().await;
    let owner = world.owner().await;
    for path in ["/me", "/nothing", "/sessions/none", "/health", "/docs", "/my/events"] {
        let answer = world.get(path).by(&owner).send().await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    }
}
