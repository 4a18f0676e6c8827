//! How often somebody may knock.

use api::{Options, RateLimit};
use serde_json::json;
use std::net::IpAddr;
use std::num::NonZeroU32;
use testkit::World;

fn few(burst: u32) -> Options {
    let count = |number| NonZeroU32::new(number).expect("a number");
    Options { rate_limit: RateLimit::PerSecond { rate: count(1), burst: count(burst) }, ..Options::default() }
}

#[tokio::test]
async fn a_credential_that_asks_too_often_waits_and_another_does_not() {
    let world = World::with(few(5)).await;
    let (loud, quiet) = (world.owner().await, world.member("bea").await);
    let mut answers = Vec::new();
    for _ in 0..12 {
        answers.push(world.get("/me").by(&loud).send().await);
    }
    assert!(answers[..5].iter().all(|answer| answer.status == 200));
    let refused = answers.pop().expect("an answer");
    let wait_s: u64 = refused.header("retry-after").parse().expect("seconds");
    let details = refused.refused(429, "RATE_LIMITED");
    let wait_ms = details["retry_after_ms"].as_u64().expect("milliseconds");
    assert!((1..=60).contains(&wait_s) && wait_s * 1000 >= wait_ms, "{wait_s} s is no shorter than {wait_ms} ms");
    assert_eq!(world.get("/me").by(&quiet).send().await.status, 200);
    assert_eq!(world.get("/health").send().await.status, 200);
}

#[tokio::test]
async fn a_cookie_counts_like_a_bearer() {
    let world = World::with(few(3)).await;
    let owner = world.owner().await;
    let cookie = format!("longhouse={owner}");
    let mut refused = 0;
    for _ in 0..4 {
        refused += u32::from(world.get("/me").by(&owner).send().await.status == 429);
        refused += u32::from(world.get("/me").header("cookie", &cookie).send().await.status == 429);
    }
    assert!(refused >= 4, "{refused}");
}

async fn guess(world: &World, address: &str) -> testkit::Answer {
    let address: IpAddr = address.parse().expect("an address");
    world.post("/auth/sign-in", &json!({"code": "guessed"})).from(address).send().await
}

#[tokio::test]
async fn twenty_wrong_codes_a_minute_are_enough_from_one_address() {
    let world = World::new().await;
    for _ in 0..20 {
        guess(&world, "192.0.2.1").await.refused(401, "UNAUTHENTICATED");
    }
    let refused = guess(&world, "192.0.2.1").await;
    let wait_s: u64 = refused.header("retry-after").parse().expect("seconds");
    let details = refused.refused(429, "RATE_LIMITED");
    let wait_ms = details["retry_after_ms"].as_u64().expect("milliseconds");
    assert!(wait_s * 1000 >= wait_ms, "Retry-After says {wait_s} s, the details {wait_ms} ms");
    guess(&world, "192.0.2.2").await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn who_has_guessed_too_often_waits_even_with_the_right_code() {
    let world = World::new().await;
    let link = world.post("/admin/users/owner/link", &json!({})).locally().send().await.ok();
    for _ in 0..21 {
        guess(&world, "192.0.2.1").await;
    }
    let body = json!({"code": link["code"]});
    let ask = |address: &str| world.post("/auth/sign-in", &body).from(address.parse().expect("an address"));
    ask("192.0.2.1").send().await.refused(429, "RATE_LIMITED");
    assert_eq!(ask("192.0.2.2").send().await.status, 204, "the code is still good");
}

#[tokio::test]
async fn wrong_bearers_are_counted_by_address_and_do_not_shut_out_a_right_one() {
    let world = World::new().await;
    let owner = world.owner().await;
    let address: IpAddr = "192.0.2.1".parse().expect("an address");
    let mut statuses = Vec::new();
    for _ in 0..1100 {
        statuses.push(world.get("/me").by("x.y.z").from(address).send().await.status.as_u16());
    }
    assert_eq!((statuses[0], statuses[1099]), (401, 429));
    assert_eq!(world.get("/me").by(&owner).from(address).send().await.status, 200);
}
