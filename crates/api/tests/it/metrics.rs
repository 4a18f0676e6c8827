//! The house's figures and its health.

use api::{Options, RateLimit};
use axum::http::Method;
use serde_json::json;
use testkit::World;

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
