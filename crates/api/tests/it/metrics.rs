//! The house's figures and its health.

use crate::it::talk::Talk;
use api::{Options, RateLimit};
use axum::http::Method;
use serde_json::json;
use testkit::{Fault, Turn, World};

#[tokio::test]
async fn the_figures_are_for_admins() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.get("/metrics").send().await.refused(401, "UNAUTHENTICATED");
    world.get("/metrics").by(&bea).send().await.refused(403, "FORBIDDEN");
    let answer = world.get("/metrics").by(&owner).send().await;
    assert!(answer.header("content-type").starts_with("text/plain"), "{}", answer.header("content-type"));
    for name in ["longhouse_http_requests_total", "longhouse_event_streams", "longhouse_store_commits_total"] {
        assert!(answer.text.contains(name), "{name}");
    }
    assert!(answer.text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn the_figures_are_open_where_the_settings_say_so() {
    let world = World::with(Options { metrics_open: true, rate_limit: RateLimit::Off, ..Options::default() }).await;
    assert_eq!(world.get("/metrics").send().await.status, 200);
    world.get("/metrics").header("host", "evil.example").send().await.refused(421, "FOREIGN_HOST");
}

#[tokio::test]
async fn the_figures_count_and_name_nobody() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.session(&owner, "session-canary", json!({})).await;
    world.write(&owner, "session-canary", "key_canary", "value canary").await;
    world.get("/sessions/session-canary").by(&bea).send().await.refused(404, "SESSION_NOT_FOUND");
    world.get("/canary-path?canary=1").send().await.refused(404, "ROUTE_NOT_FOUND");
    let stream = world.get("/my/events").by(&owner).stream().await;
    let text = world.get("/metrics").by(&owner).send().await.text;
    assert!(text.contains("longhouse_event_streams 1"), "{text}");
    let line =
        r#"longhouse_http_requests_total{method="POST",route="/sessions/{session}/shared_context",status="200"} 1"#;
    assert!(text.contains(line), "{text}");
    for name in ["canary", "usr_", "bea", "tok_", "eyJ"] {
        assert!(!text.contains(name), "{name}");
    }
    drop(stream);
    let text = world.get("/metrics").by(&owner).send().await.text;
    assert!(text.contains("longhouse_event_streams 0"), "{text}");
}

#[tokio::test]
async fn the_figures_tell_what_agents_do_and_not_which() {
    let talk = Talk::new().await;
    let write = json!({"action": "write", "key": "key_canary", "value": "value canary"});
    let wrong = json!({"action": "read", "key": "not a key canary"});
    let calls = Turn::call("shared_context", write).and_call("shared_context", wrong).using(100, 20);
    let refused = Turn::fault(Fault::Status(400, None));
    talk.provider.script(vec![calls, Turn::say("Canary.").using(200, 3), refused]);
    assert_eq!(talk.ask("canary?").await["status"], "completed");
    assert_eq!(talk.ask("canary!").await["status"], "failed");
    // Whoever waits has the answer a moment before it is counted.
    talk.quiet().await;
    let text = talk.world.get("/metrics").by(&talk.owner).send().await.text;
    assert!(text.contains("longhouse_turn_seconds_count 2\n"), "{text}");
    let lines = [
        r#"turns_total{end="completed"} 1"#,
        r#"turns_total{end="failed"} 1"#,
        r#"turns_total{end="cancelled"} 0"#,
        r#"turn_seconds_bucket{le="+Inf"} 2"#,
        r#"model_calls_total{outcome="ok"} 2"#,
        r#"model_calls_total{outcome="failed"} 1"#,
        r#"model_call_seconds_count{provider="openai"} 3"#,
        r#"model_call_seconds_bucket{le="1800.0",provider="openai"} 3"#,
        r#"model_call_seconds_count{provider="demo"} 0"#,
        r#"tokens_total{direction="input"} 300"#,
        r#"tokens_total{direction="output"} 23"#,
        "tool_calls_total 2",
        "tool_calls_refused_total 1",
        "tasks_running 0",
        "worker_spaces_open 1",
        "agent_cache_size 4",
        r#"alerts_total{kind="provider_failing"} 0"#,
    ];
    for line in lines {
        assert!(text.lines().any(|one| one == format!("longhouse_{line}")), "{line}\n{text}");
    }
    for name in ["agent_cache_hits_total", "agent_cache_misses_total", "turn_seconds_sum"] {
        assert!(text.contains(&format!("longhouse_{name} ")), "{name}");
    }
    for name in ["canary", "usr_", "agent_coder", "gpt-4", "prj_", &talk.project] {
        assert!(!text.contains(name), "{name}");
    }
}

/// Every label costs memory for good, so a stranger must not be able to invent them.
#[tokio::test]
async fn a_stranger_cannot_make_the_figures_grow() {
    let world = World::new().await;
    let owner = world.owner().await;
    for number in 0..50 {
        let method: Method = format!("CANARY{number}").parse().expect("a method");
        world.ask(method.clone(), "/health").send().await.refused(405, "METHOD_NOT_ALLOWED");
        world.ask(method, &format!("/canary-{number}")).send().await;
    }
    let text = world.get("/metrics").by(&owner).send().await.text;
    assert!(!text.contains("CANARY") && !text.contains("canary"), "{text}");
}

#[tokio::test]
async fn health_says_how_the_house_is_to_anybody() {
    let world = World::new().await;
    let health = world.get("/health").send().await.ok();
    assert_eq!((&health["status"], &health["version"]), (&json!("healthy"), &json!(env!("CARGO_PKG_VERSION"))));
    let checks = health["checks"].as_array().expect("checks");
    assert!(!checks.is_empty());
    for check in checks {
        assert!(check["name"].is_string() && check["detail"].is_string() && check["status"] == "healthy", "{check}");
    }
    assert!(!health.to_string().contains(&world.folder().display().to_string()), "and not where it lives");
}
