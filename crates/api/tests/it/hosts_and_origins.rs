//! Which names the house answers to, and which pages may talk to it: the same for every route.

use super::every_route::{concrete, operations};
use api::{Hosts, Options, RateLimit};
use axum::http::Method;
use serde_json::json;
use testkit::World;

#[tokio::test]
async fn a_foreign_host_is_421_at_every_route_even_with_a_good_token() {
    let world = World::new().await;
    let owner = world.owner().await;
    for (method, path) in operations() {
        let path = concrete(&path, "tok_x");
        let ask = || world.ask(method.clone(), &path).by(&owner);
        ask().header("host", "evil.example").send().await.refused(421, "FOREIGN_HOST");
        ask().without("host").send().await.refused(421, "FOREIGN_HOST");
        ask().also("host", b"localhost:7700").send().await.refused(421, "FOREIGN_HOST");
        ask().also("host", b"evil.example").send().await.refused(421, "FOREIGN_HOST");
        let absolute = format!("http://evil.example{path}");
        world.ask(method.clone(), &absolute).by(&owner).send().await.refused(421, "FOREIGN_HOST");
    }
}

#[tokio::test]
async fn only_the_names_of_the_house_are_its_names() {
    let hosts = Hosts::new(["house.example".to_owned()]);
    let world = World::with(Options { hosts, rate_limit: RateLimit::Off, ..Options::default() }).await;
    for good in
        ["localhost", "LOCALHOST:7700", "127.0.0.1:9", "[::1]", "[::1]:7700", "house.example", "House.Example:1"]
    {
        assert_eq!(world.get("/health").header("host", good).send().await.status, 200, "{good}");
    }
    assert_eq!(world.get("http://localhost:7700/health").send().await.status, 200, "absolute, and ours");
    let foreign = [
        "",
        "evil.example",
        "localhost.evil.example",
        "evil.house.example",
        "localhost@evil.example",
        "localhost:7700@evil.example",
        "localhost:evil.example",
        "[::1].evil.example",
        "[::1]evil.example:7700",
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "::1",
        "localhost, evil.example",
        "localhost localhost",
    ];
    for bad in foreign {
        let status = world.get("/health").header("host", bad).send().await.status;
        assert_eq!(status, 421, "{bad:?}");
    }
}

#[tokio::test]
async fn a_foreign_origin_may_neither_change_nor_stream_bearer_or_not() {
    let world = World::new().await;
    let owner = world.owner().await;
    for (method, path) in operations() {
        let guarded = method != Method::GET || path.ends_with("/events") || path == "/mcp";
        let path = concrete(&path, "tok_x");
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://", "localhost:7700", ""]
        {
            for token in [Some(&owner), None] {
                let ask = world.ask(method.clone(), &path).header("origin", origin);
                let answer = match token {
                    Some(token) => ask.by(token).send().await,
                    None => ask.send().await,
                };
                let refused = answer.status == 403 && answer.text.contains("origin");
                assert_eq!(refused, guarded, "{method} {path} from {origin:?}: {} {}", answer.status, answer.text);
            }
        }
        // With a slash at the end it is the same route.
        if guarded {
            let ask = world.ask(method.clone(), &format!("{path}/")).by(&owner);
            ask.header("origin", "https://evil.example").send().await.refused(403, "FORBIDDEN");
        }
    }
}

#[tokio::test]
async fn two_origins_are_none_of_ours() {
    let world = World::new().await;
    let owner = world.owner().await;
    let ask = world.post("/sessions", &json!({})).by(&owner).header("origin", "http://localhost:7700");
    ask.also("origin", b"https://evil.example").send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_page_of_the_house_and_a_program_without_a_page_may_change_things() {
    let world = World::new().await;
    let owner = world.owner().await;
    for origin in ["http://localhost:7700", "http://127.0.0.1:7700", "http://[::1]:7700"] {
        let ask = world.post("/sessions", &json!({})).by(&owner).header("origin", origin);
        assert_eq!(ask.send().await.status, 201, "{origin}");
    }
    assert_eq!(world.post("/sessions", &json!({})).by(&owner).send().await.status, 201);
}

#[tokio::test]
async fn no_answer_invites_other_origins_to_read_it() {
    let world = World::new().await;
    let owner = world.owner().await;
    for path in ["/me", "/health", "/openapi.json", "/nothing"] {
        let answer = world.get(path).by(&owner).header("origin", "https://evil.example").send().await;
        assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{path}");
    }
}
