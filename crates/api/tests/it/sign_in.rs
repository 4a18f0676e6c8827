//! How a browser gets in with a one-time code, what its cookie is good for, and how it gets out.

use api::{Hosts, Options, RateLimit};
use axum::http::Method;
use serde_json::json;
use testkit::{Answer, Ask, World};

const ORIGIN: &str = "http://localhost:7700";

async fn code(world: &World) -> String {
    let link = world.post("/admin/users/owner/link", &json!({})).locally().send().await.ok();
    let code = link["code"].as_str().expect("a code").to_owned();
    assert!(link["url"].as_str().is_some_and(|url| url.ends_with(&format!("/#/sign-in/{code}"))), "{link}");
    code
}

async fn sign_in(world: &World, code: &str) -> Answer {
    world.post("/auth/sign-in", &json!({"code": code})).send().await
}

/// The cookie as a browser sends it back.
fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().expect("a cookie").to_owned()
}

fn with(ask: Ask, cookie: &str) -> Ask {
    ask.header("cookie", cookie)
}

#[tokio::test]
async fn a_code_lets_a_browser_in_and_the_cookie_is_out_of_reach_for_scripts_and_strangers() {
    let world = World::new().await;
    let answer = sign_in(&world, &code(&world).await).await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""));
    let set = answer.header("set-cookie").to_owned();
    for flag in ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=604800"] {
        assert!(set.split("; ").any(|part| part == flag), "{flag}: {set}");
    }
    assert!(!set.contains("Domain") && !set.contains("Secure"), "plain loopback: {set}");
    let me = with(world.get("/me"), &cookie(&answer)).send().await.ok();
    assert_eq!((&me["user"], &me["role"]), (&json!("usr_owner"), &json!("admin")));
}

#[tokio::test]
async fn behind_https_the_cookie_is_secure() {
    let (public_url, hosts) = ("https://house.example".to_owned(), Hosts::new(["house.example".to_owned()]));
    let world = World::with(Options { hosts, public_url, rate_limit: RateLimit::Off, ..Options::default() }).await;
    let answer = sign_in(&world, &code(&world).await).await;
    assert!(answer.header("set-cookie").ends_with("; Secure"), "{}", answer.header("set-cookie"));
}

#[tokio::test]
async fn of_twenty_who_try_a_code_at_once_one_gets_in() {
    let world = World::new().await;
    let code = code(&world).await;
    let tries: Vec<_> = (0..20)
        .map(|_| {
            let ask = world.post("/auth/sign-in", &json!({"code": code}));
            tokio::spawn(ask.send())
        })
        .collect();
    let mut entered = 0;
    for attempt in tries {
        let answer = attempt.await.expect("a try");
        match answer.status.as_u16() {
            204 => entered += 1,
            _ => assert!(answer.header("set-cookie").is_empty(), "{}", answer.text),
        }
    }
    assert_eq!(entered, 1);
    assert_ne!(sign_in(&world, &code).await.status, 204, "nor later");
}

#[tokio::test]
async fn a_code_that_is_used_too_old_unknown_or_of_somebody_gone_opens_nothing() {
    let world = World::new().await;
    let used = code(&world).await;
    assert_eq!(sign_in(&world, &used).await.status, 204);
    sign_in(&world, &used).await.refused(401, "UNAUTHENTICATED");
    let old = code(&world).await;
    world.clock.advance_s(24 * 3600);
    sign_in(&world, &old).await.refused(401, "UNAUTHENTICATED");
    world.member("bea").await;
    let link = world.post("/admin/users/bea/link", &json!({})).locally().send().await.ok();
    world.delete("/admin/users/bea").locally().send().await.ok();
    sign_in(&world, link["code"].as_str().expect("a code")).await.refused(401, "UNAUTHENTICATED");
    for unknown in ["", "x", &"x".repeat(10_000)] {
        sign_in(&world, unknown).await.refused(401, "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn a_code_survives_a_restart_and_its_use_does_too() {
    let world = World::new().await;
    let (first, second) = (code(&world).await, code(&world).await);
    assert_eq!(sign_in(&world, &first).await.status, 204);
    let world = world.reopened().await;
    sign_in(&world, &first).await.refused(401, "UNAUTHENTICATED");
    assert_eq!(sign_in(&world, &second).await.status, 204);
}

#[tokio::test]
async fn with_a_cookie_reading_is_free_and_changing_needs_the_very_same_origin() {
    let world = World::new().await;
    let entered = sign_in(&world, &code(&world).await).await;
    let cookie = cookie(&entered);
    for path in ["/me", "/sessions", "/my/tokens", "/my/events", "/admin/users"] {
        assert_eq!(with(world.get(path), &cookie).send().await.status, 200, "{path}");
    }
    let create = || with(world.post("/sessions", &json!({})), &cookie);
    create().send().await.refused(403, "FORBIDDEN");
    for foreign in
        ["null", "https://evil.example", "http://localhost:3000", "http://127.0.0.1:7700", "http://localhost"]
    {
        create().header("origin", foreign).send().await.refused(403, "FORBIDDEN");
    }
    assert_eq!(create().header("origin", ORIGIN).send().await.status, 201);
    for (method, path) in [(Method::DELETE, "/sessions/x"), (Method::PATCH, "/admin/users/owner")] {
        with(world.ask(method, path), &cookie).send().await.refused(403, "FORBIDDEN");
    }
}

#[tokio::test]
async fn signing_out_ends_the_cookie_everywhere() {
    let world = World::new().await;
    let entered = sign_in(&world, &code(&world).await).await;
    let cookie = cookie(&entered);
    let mut stream = with(world.get("/my/events"), &cookie).stream().await;
    let out = || with(world.ask(Method::POST, "/auth/sign-out"), &cookie);
    out().send().await.refused(403, "FORBIDDEN");
    let answer = out().header("origin", ORIGIN).send().await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").starts_with("longhouse=;"), "{}", answer.header("set-cookie"));
    assert!(answer.header("set-cookie").contains("Max-Age=0"));
    with(world.get("/me"), &cookie).send().await.refused(401, "UNAUTHENTICATED");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_persons_token_signs_in_for_as_long_as_it_lasts_itself() {
    let world = World::new().await;
    let issued = world.post("/my/tokens", &json!({"ttl": "15m"})).locally().send().await.ok();
    let token = issued["token"].as_str().expect("a token").to_owned();
    let answer = world.post("/auth/sign-in", &json!({"token": token})).send().await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").contains("Max-Age=900"), "{}", answer.header("set-cookie"));
    assert!(!answer.header("set-cookie").contains(&token), "the browser gets one of its own");
    world.clock.advance_s(901);
    with(world.get("/me"), &cookie(&answer)).send().await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn only_a_person_signs_in() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let session = world.participant(&owner, "plans", "orchestrator").await;
    let channel = world.post("/my/tokens", &json!({"channel": "http"})).by(&owner).send().await.ok();
    for token in [session.as_str(), channel["token"].as_str().expect("a token")] {
        let answer = world.post("/auth/sign-in", &json!({"token": token})).send().await;
        assert!(answer.header("set-cookie").is_empty());
        answer.refused(403, "FORBIDDEN");
    }
    world.post("/auth/sign-in", &json!({"token": "x.y.z"})).send().await.refused(401, "UNAUTHENTICATED");
    for body in [json!({}), json!({"code": "a", "token": "b"}), json!({"code": 1}), json!({"user": "owner"})] {
        world.post("/auth/sign-in", &body).send().await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_cookie_of_another_kind_is_no_credential() {
    let world = World::new().await;
    let owner = world.owner().await;
    for cookie in ["", "longhouse", "longhouse=", "other=x", "Longhouse=x", &format!("xlonghouse={owner}")] {
        with(world.get("/me"), cookie).send().await.refused(401, "UNAUTHENTICATED");
    }
    let among_others = format!("a=b; longhouse={owner}; c=d");
    assert_eq!(with(world.get("/me"), &among_others).send().await.status, 200);
    let ask = with(world.get("/me"), &format!("longhouse={owner}")).header("authorization", "Bearer x");
    ask.send().await.refused(401, "UNAUTHENTICATED");
}
