//! Tokens: what each kind opens, who may make which, and how they end.

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::World;

async fn issue(world: &World, by: &str, body: Value) -> Value {
    world.post("/my/tokens", &body).by(by).send().await.ok()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("text")
}

fn lasts_s(issued: &Value) -> i64 {
    let at = |name: &str| serde_json::from_value::<domain::times::Timestamp>(issued[name].clone()).expect("a time");
    (at("expires_at").as_ms() - at("created_at").as_ms()) / 1000
}

#[tokio::test]
async fn each_kind_of_token_says_what_it_is_for() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let person = issue(&world, &owner, json!({"label": "laptop"})).await;
    assert_eq!((text(&person, "kind"), text(&person, "user"), text(&person, "label")), ("user", "usr_owner", "laptop"));
    let agent = issue(&world, &owner, json!({"session": "plans", "participant": "subagent:review:1"})).await;
    assert_eq!((text(&agent, "kind"), text(&agent, "session")), ("agent", "plans"));
    assert_eq!(text(&agent, "participant"), "subagent:review:1");
    let channel = issue(&world, &owner, json!({"channel": "http"})).await;
    assert_eq!((text(&channel, "kind"), text(&channel, "channel")), ("channel", "http"));
    let me = world.get("/me").by(text(&person, "token")).send().await.ok();
    assert_eq!(me["participant"], "user:usr_owner");
    let written = world.write(text(&agent, "token"), "plans", "a", "b").await;
    assert_eq!(written["written_by"], "subagent:review:1");
}

#[tokio::test]
async fn a_token_is_a_signed_jwt_with_every_claim() {
    let world = World::new().await;
    let issued = issue(&world, &world.owner().await, json!({})).await;
    let parts: Vec<_> = text(&issued, "token").split('.').collect();
    let json = |part: &str| -> Value {
        serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).expect("base64")).expect("JSON")
    };
    let (header, claims) = (json(parts[0]), json(parts[1]));
    assert_eq!(header["alg"], "HS256");
    assert_eq!((&claims["sub"], &claims["jti"], &claims["kind"]), (&json!("usr_owner"), &issued["id"], &json!("user")));
    for (claim, number) in [("iss", false), ("aud", false), ("exp", true), ("iat", true)] {
        assert_eq!(claims[claim].is_number(), number, "{claim}");
        assert!(!claims[claim].is_null(), "{claim}");
    }
}

#[tokio::test]
async fn a_token_lasts_a_day_unless_it_says_otherwise() {
    let world = World::new().await;
    let owner = world.owner().await;
    for (body, seconds) in [
        (json!({}), 86_400),
        (json!({"ttl": null}), 86_400),
        (json!({"ttl": "15m"}), 900),
        (json!({"ttl": "90s"}), 90),
        (json!({"ttl": "1h"}), 3600),
        // Never longer than the token it is made with.
        (json!({"ttl": "30d"}), 86_400),
    ] {
        assert_eq!(lasts_s(&issue(&world, &owner, body.clone()).await), seconds, "{body}");
    }
    for ttl in
        [json!(""), json!("0m"), json!("-1h"), json!("1.5h"), json!("1w"), json!("9999d"), json!(60), json!("5 m")]
    {
        let refusal = world.post("/my/tokens", &json!({"ttl": ttl})).by(&owner).send().await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], "ttl", "{ttl}");
    }
}

#[tokio::test]
async fn a_token_ends_when_its_time_is_over() {
    let world = World::new().await;
    let owner = world.owner().await;
    let short = issue(&world, &owner, json!({"ttl": "15m"})).await;
    let ask = || world.get("/me").by(text(&short, "token"));
    world.clock.advance_s(899);
    assert_eq!(ask().send().await.status, 200);
    world.clock.advance_s(1);
    ask().send().await.refused(401, "UNAUTHENTICATED");
    let listed = world.get("/my/tokens").by(&owner).send().await.ok();
    assert!(!listed.to_string().contains(text(&short, "id")), "nor is it listed");
}

#[tokio::test]
async fn a_participant_is_an_orchestrator_or_a_subagent_and_goes_with_a_session() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let made = issue(&world, &owner, json!({"session": "plans"})).await;
    assert_eq!(made["participant"], "orchestrator", "if none is given");
    for participant in
        ["user:usr_owner", "user:usr_bea", "", "*", "subagent:", "subagent:*", "subagent:a:1:2", "Orchestrator"]
    {
        let body = json!({"session": "plans", "participant": participant});
        let refusal = world.post("/my/tokens", &body).by(&owner).send().await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], "participant", "{participant}");
    }
    for body in [
        json!({"participant": "orchestrator"}),
        json!({"session": "plans", "channel": "http"}),
        json!({"channel": "http", "participant": "orchestrator"}),
        json!({"channel": "smoke-signals"}),
        json!({"kind": "user"}),
        json!({"label": "x".repeat(101)}),
        json!({"label": "two\nlines"}),
    ] {
        world.post("/my/tokens", &body).by(&owner).send().await.refused(400, "INVALID_REQUEST");
    }
    let unknown = json!({"session": "nowhere"});
    world.post("/my/tokens", &unknown).by(&owner).send().await.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_token_never_grants_more_than_its_maker_has() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.session(&owner, "plans", json!({})).await;
    let agent = world.participant(&owner, "plans", "orchestrator").await;
    let channel = issue(&world, &owner, json!({"channel": "http"})).await;
    for maker in [agent.as_str(), text(&channel, "token")] {
        for body in [json!({}), json!({"session": "plans"}), json!({"channel": "http"})] {
            world.post("/my/tokens", &body).by(maker).send().await.refused(403, "FORBIDDEN");
        }
        world.get("/my/tokens").by(maker).send().await.refused(403, "FORBIDDEN");
    }
    for body in [json!({"user": "owner"}), json!({"user": "nobody"}), json!({"channel": "http"})] {
        world.post("/my/tokens", &body).by(&bea).send().await.refused(403, "FORBIDDEN");
    }
    let foreign = json!({"session": "plans"});
    world.post("/my/tokens", &foreign).by(&bea).send().await.refused(404, "SESSION_NOT_FOUND");
    let named = json!({"session": "plans", "workspace": "personal-usr_owner"});
    world.post("/my/tokens", &named).by(&bea).send().await.refused(404, "SESSION_NOT_FOUND");
    world.post("/my/tokens", &json!({"user": "bea"})).by(&owner).send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_session_token_reaches_its_own_session_and_not_one_of_the_same_name() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.session(&owner, "plans", json!({})).await;
    world.session(&bea, "plans", json!({})).await;
    world.write(&owner, "plans", "whose", "the owner's").await;
    world.write(&bea, "plans", "whose", "bea's").await;
    let token = world.participant(&bea, "plans", "orchestrator").await;
    let read = json!({"action": "read", "key": "whose"});
    assert_eq!(world.context(&token, "plans", &read).send().await.ok()["value"], "bea's");
    let foreign = world.post("/sessions/plans/shared_context?workspace=personal-usr_owner", &read).by(&token);
    foreign.send().await.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_session_that_is_made_again_does_not_open_to_the_tokens_of_the_old_one() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let token = world.participant(&owner, "plans", "orchestrator").await;
    world.delete("/sessions/plans").by(&owner).send().await.ok();
    world.session(&owner, "plans", json!({})).await;
    world.context(&token, "plans", &json!({"action": "list_keys"})).send().await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn ones_own_tokens_are_listed_in_pages_without_their_text() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    let mut made = Vec::new();
    for number in 0..7 {
        let issued = issue(&world, &bea, json!({"label": format!("number {number}")})).await;
        made.push(issued["id"].clone());
    }
    issue(&world, &owner, json!({"label": "the owner's"})).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/my/tokens?limit=3{cursor}")).by(&bea).send().await;
        assert!(!page.text.contains("eyJ") && !page.text.contains("the owner's"), "{}", page.text);
        let page = page.ok();
        let items = page["items"].as_array().expect("items").clone();
        assert!(items.len() <= 3);
        seen.extend(items.into_iter().map(|item| item["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 8, "her first one and seven more");
    assert!(made.iter().all(|id| seen.contains(id)));
}

#[tokio::test]
async fn a_revoked_token_is_refused_at_once_and_its_streams_end() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let doomed = issue(&world, &owner, json!({"session": "plans", "participant": "subagent:review"})).await;
    let token = text(&doomed, "token");
    let list = json!({"action": "list_keys"});
    assert_eq!(world.context(token, "plans", &list).send().await.status, 200);
    let mut stream = world.get("/sessions/plans/events").by(token).stream().await;
    let mut other = world.get("/sessions/plans/events").by(&owner).stream().await;
    let path = format!("/my/tokens/{}", text(&doomed, "id"));
    assert_eq!(world.delete(&path).by(&owner).send().await.status, 204);
    world.context(token, "plans", &list).send().await.refused(401, "UNAUTHENTICATED");
    world.get("/sessions/plans/events").by(token).send().await.refused(401, "UNAUTHENTICATED");
    world.write(&owner, "plans", "after", "x").await;
    assert_eq!(stream.next().await, None, "the stream has ended, without what came later");
    assert_eq!(other.next().await.expect("an event").data["key"], "after", "and nobody else's");
    world.delete(&path).by(&owner).send().await.refused(404, "TOKEN_NOT_FOUND");
}

#[tokio::test]
async fn a_stream_that_lags_behind_shows_nothing_that_was_written_after_its_token_was_revoked() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({"history_keep": 0})).await;
    for number in 0..300 {
        world.write(&owner, "plans", "before", &number.to_string()).await;
    }
    let doomed = issue(&world, &owner, json!({})).await;
    let ask = world.get("/sessions/plans/events").by(text(&doomed, "token")).header("last-event-id", "0");
    let mut stream = ask.stream().await;
    stream.next().await.expect("the first of many");
    world.delete(&format!("/my/tokens/{}", text(&doomed, "id"))).by(&owner).send().await.ok();
    world.write(&owner, "plans", "after", "x").await;
    while let Some(event) = stream.next().await {
        assert_eq!(event.data["key"], "before", "event {} came after the revocation", event.id);
    }
}

#[tokio::test]
async fn a_stream_shows_nothing_that_was_written_after_its_token_expired() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let short = issue(&world, &owner, json!({"ttl": "1m"})).await;
    let mut stream = world.get("/sessions/plans/events").by(text(&short, "token")).stream().await;
    world.write(&owner, "plans", "before", "x").await;
    assert_eq!(stream.next().await.expect("an event").data["key"], "before");
    world.clock.advance_s(61);
    world.write(&owner, "plans", "after", "x").await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_revoked_token_stays_revoked_after_a_restart() {
    let world = World::new().await;
    let owner = world.owner().await;
    let doomed = issue(&world, &owner, json!({})).await;
    world.delete(&format!("/my/tokens/{}", text(&doomed, "id"))).by(&owner).send().await.ok();
    let world = world.reopened().await;
    world.get("/me").by(text(&doomed, "token")).send().await.refused(401, "UNAUTHENTICATED");
    assert_eq!(world.get("/me").by(&owner).send().await.status, 200, "the others are good as before");
}

#[tokio::test]
async fn nobody_revokes_anothers_token_but_the_operator() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    let hers = issue(&world, &bea, json!({})).await;
    let id = text(&hers, "id");
    world.delete(&format!("/my/tokens/{id}")).by(&owner).send().await.refused(404, "TOKEN_NOT_FOUND");
    for nonsense in ["tok_none", "x", "%20", "..%2f", "tok_%00"] {
        let ask = world.delete(&format!("/my/tokens/{nonsense}")).by(&bea);
        ask.send().await.refused(404, "TOKEN_NOT_FOUND");
    }
    assert_eq!(world.get("/me").by(text(&hers, "token")).send().await.status, 200);
    assert_eq!(world.delete(&format!("/admin/tokens/{id}")).locally().send().await.status, 204);
    world.get("/me").by(text(&hers, "token")).send().await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_token_that_this_house_did_not_sign_opens_nothing() {
    let (world, other) = (World::new().await, World::new().await);
    let owner = world.owner().await;
    let parts: Vec<_> = owner.split('.').collect();
    let encode = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let claims = String::from_utf8(BASE64URL_NOPAD.decode(parts[1].as_bytes()).expect("base64")).expect("text");
    let forged = encode(&claims.replace("usr_owner", "usr_bea"));
    let none = encode(r#"{"alg":"none","typ":"JWT"}"#);
    let rs256 = encode(r#"{"alg":"RS256","typ":"JWT"}"#);
    let bad = [
        other.owner().await,
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{rs256}.{}.{}", parts[1], parts[2]),
        format!("{}.{forged}.{}", parts[0], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[1], parts[2].chars().rev().collect::<String>()),
        format!("{owner}x"),
        format!("{owner}.{owner}"),
        owner[1..].to_owned(),
        String::new(),
        "null".to_owned(),
        "x".repeat(20_000),
    ];
    for token in bad {
        let answer = world.get("/me").by(&token).send().await;
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        assert!(token.is_empty() || !answer.text.contains(&token));
        answer.refused(401, "UNAUTHENTICATED");
    }
    for header in ["", "Bearer", "Basic b3duZXI6", &format!("Token {owner}"), &owner, &format!("Bearer{owner}")] {
        let answer = world.get("/me").header("authorization", header).send().await;
        answer.refused(401, "UNAUTHENTICATED");
    }
    assert_eq!(world.get("/me").header("authorization", &format!("bearer  {owner}")).send().await.status, 200);
}

/// Even the secret does not help: what a token says must be what the house wrote down when it was made.
#[tokio::test]
async fn a_well_signed_token_that_was_never_issued_opens_nothing() {
    let world = World::new().await;
    let (owner, _) = (world.owner().await, world.member("bea").await);
    let payload = BASE64URL_NOPAD.decode(owner.split('.').nth(1).expect("claims").as_bytes()).expect("base64");
    let claims: Value = serde_json::from_slice(&payload).expect("JSON");
    let secret = std::fs::read_to_string(world.folder().join("data/secret.key")).expect("the secret");
    let secret = data_encoding::HEXLOWER.decode(secret.trim().as_bytes()).expect("hex");
    let mut hasher = Sha256::new();
    hasher.update(b"longhouse token signing v1");
    hasher.update(&secret);
    let key = EncodingKey::from_secret(&hasher.finalize());
    let sign = |claims: &Value| jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &key).expect("signed");
    assert_eq!(world.get("/me").by(&sign(&claims)).send().await.status, 200, "the key is the right one");
    for (claim, value) in [
        ("jti", json!("tok_never")),
        ("sub", json!("usr_bea")),
        ("kind", json!("channel")),
        ("kind", json!("node")),
        ("role", json!("admin")),
        ("exp", json!(0)),
        ("exp", json!("soon")),
        ("iat", json!(4_000_000_000_u64)),
        ("aud", json!("elsewhere")),
        ("iss", json!("elsewhere")),
    ] {
        let mut forged = claims.clone();
        forged[claim] = value.clone();
        let answer = world.get("/me").by(&sign(&forged)).send().await;
        assert_eq!(answer.status, 401, "{claim} {value}");
    }
    let raw = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &EncodingKey::from_secret(&secret));
    world.get("/me").by(&raw.expect("signed")).send().await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_token_ends_with_the_one_it_was_made_with() {
    let world = World::new().await;
    let owner = world.owner().await;
    let parent = issue(&world, &owner, json!({})).await;
    let child = issue(&world, text(&parent, "token"), json!({})).await;
    let grandchild = issue(&world, text(&child, "token"), json!({})).await;
    let revoke = world.delete(&format!("/my/tokens/{}", text(&parent, "id"))).by(&owner);
    assert_eq!(revoke.send().await.status, 204);
    for token in [&parent, &child, &grandchild] {
        world.get("/me").by(text(token, "token")).send().await.refused(401, "UNAUTHENTICATED");
    }
    world.get("/me").by(&owner).send().await.ok();
}
