//! People: how they come, change and go, and who speaks for whom.

use axum::http::Method;
use serde_json::{Value, json};
use testkit::{Answer, World};

async fn patch(world: &World, by: &str, user: &str, role: &str) -> Answer {
    world.ask(Method::PATCH, &format!("/admin/users/{user}")).json(&json!({"role": role})).by(by).send().await
}

#[tokio::test]
async fn a_new_house_has_one_user_its_owner_and_admin() {
    let world = World::new().await;
    let users = world.get("/admin/users").by(&world.owner().await).send().await.ok();
    assert_eq!(users["items"].as_array().map(Vec::len), Some(1));
    assert_eq!((&users["items"][0]["id"], &users["items"][0]["role"]), (&json!("usr_owner"), &json!("admin")));
}

#[tokio::test]
async fn a_person_is_added_once_under_a_plain_name() {
    let world = World::new().await;
    let owner = world.owner().await;
    let add = |body: Value| world.post("/admin/users", &body).by(&owner).send();
    let bea = add(json!({"name": "bea"})).await.ok();
    assert_eq!((&bea["id"], &bea["name"], &bea["role"]), (&json!("usr_bea"), &json!("bea"), &json!("member")));
    assert_eq!(add(json!({"name": "cy", "role": "guest"})).await.ok()["role"], "guest");
    for again in ["bea", "usr_bea", "owner"] {
        add(json!({"name": again})).await.refused(409, "USER_EXISTS");
    }
    for name in ["", "Bea", "b ea", "bea\n", "usr_", "0day", "-x", "bea@x", "béa", "../x", &"x".repeat(33)] {
        add(json!({"name": name})).await.refused(400, "INVALID_REQUEST");
    }
    for body in [json!({}), json!({"name": "dee", "role": "king"}), json!({"name": "dee", "id": "usr_x"})] {
        add(body).await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_change_of_role_counts_from_the_next_request_on() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.get("/admin/users").by(&bea).send().await.refused(403, "FORBIDDEN");
    assert_eq!(patch(&world, &owner, "bea", "admin").await.ok()["role"], "admin");
    assert_eq!(world.get("/admin/users").by(&bea).send().await.status, 200);
    assert_eq!(patch(&world, &bea, "bea", "member").await.ok()["role"], "member");
    world.get("/admin/users").by(&bea).send().await.refused(403, "FORBIDDEN");
    patch(&world, &bea, "bea", "admin").await.refused(403, "FORBIDDEN");
    patch(&world, &owner, "nobody", "admin").await.refused(404, "USER_NOT_FOUND");
    patch(&world, &owner, "bea", "king").await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn the_last_admin_can_neither_go_nor_step_down() {
    let world = World::new().await;
    let owner = world.owner().await;
    for role in ["member", "guest"] {
        patch(&world, &owner, "owner", role).await.refused(403, "FORBIDDEN");
    }
    world.delete("/admin/users/owner").by(&owner).send().await.refused(403, "FORBIDDEN");
    world.delete("/admin/users/owner").locally().send().await.refused(403, "FORBIDDEN");
    let bea = world.member("bea").await;
    patch(&world, &owner, "bea", "admin").await.ok();
    // The owner may step down then, but stays: the house's own machine acts in that name.
    world.delete("/admin/users/owner").by(&bea).send().await.refused(403, "FORBIDDEN");
    patch(&world, &bea, "owner", "member").await.ok();
    patch(&world, &bea, "bea", "member").await.refused(403, "FORBIDDEN");
    world.delete("/admin/users/bea").by(&bea).send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn of_two_admins_who_remove_each_other_at_once_one_stays() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    patch(&world, &owner, "bea", "admin").await.ok();
    let (one, other) = tokio::join!(
        world.delete("/admin/users/bea").by(&owner).send(),
        world.delete("/admin/users/owner").by(&bea).send()
    );
    let gone = [one, other].iter().filter(|answer| answer.status == 204).count();
    assert_eq!(gone, 1);
}

#[tokio::test]
async fn who_is_removed_takes_tokens_streams_and_sessions_along() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.session(&bea, "hers", json!({})).await;
    world.write(&bea, "hers", "a", "b").await;
    let agent = world.participant(&bea, "hers", "subagent:review").await;
    let mut streams = [
        world.get("/my/events").by(&bea).stream().await,
        world.get("/sessions/hers/events").by(&bea).stream().await,
        world.get("/sessions/hers/events").by(&agent).stream().await,
    ];
    let mut own = world.get("/my/events").by(&owner).stream().await;
    assert_eq!(world.delete("/admin/users/bea").by(&owner).send().await.status, 204);
    world.get("/me").by(&bea).send().await.refused(401, "UNAUTHENTICATED");
    world.context(&agent, "hers", &json!({"action": "list_keys"})).send().await.refused(401, "UNAUTHENTICATED");
    for stream in &mut streams {
        assert_eq!(stream.next().await, None);
    }
    let inspect = world.get("/admin/sessions/hers/context?workspace=personal-usr_bea").by(&owner).send().await;
    inspect.refused(404, "SESSION_NOT_FOUND");
    world.delete("/admin/users/bea").by(&owner).send().await.refused(404, "USER_NOT_FOUND");
    world.session(&owner, "mine", json!({})).await;
    world.write(&owner, "mine", "a", "b").await;
    assert_eq!(own.next().await.expect("an event").data["session"], "mine", "the owner's goes on");
}

#[tokio::test]
async fn the_name_of_somebody_who_is_gone_is_never_given_again() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.member("bea").await;
    world.delete("/admin/users/bea").by(&owner).send().await.ok();
    let add = |world: &World| world.post("/admin/users", &json!({"name": "bea"})).locally().send();
    add(&world).await.refused(409, "USER_EXISTS");
    let world = world.reopened().await;
    add(&world).await.refused(409, "USER_EXISTS");
    let make = world.post("/my/tokens", &json!({"user": "bea"})).locally().send().await;
    make.refused(404, "USER_NOT_FOUND");
    patch(&world, &owner, "bea", "admin").await.refused(404, "USER_NOT_FOUND");
    world.post("/admin/users/bea/link", &json!({})).locally().send().await.refused(404, "USER_NOT_FOUND");
}

#[tokio::test]
async fn people_are_listed_in_pages() {
    let world = World::new().await;
    let owner = world.owner().await;
    for name in ["ada", "bea", "cy", "dee"] {
        world.member(name).await;
    }
    let first = world.get("/admin/users?limit=3").by(&owner).send().await.ok();
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let second = world.get(&format!("/admin/users?limit=3&cursor={cursor}")).by(&owner).send().await.ok();
    let names = [&first, &second].into_iter().flat_map(|page| page["items"].as_array().expect("items").clone());
    let names: Vec<_> = names.map(|user| user["name"].as_str().unwrap_or("").to_owned()).collect();
    assert_eq!(names, ["ada", "bea", "cy", "dee", "owner"]);
    assert!(second["next_cursor"].is_null());
}

#[tokio::test]
async fn a_link_into_the_console_is_made_for_oneself_or_on_the_houses_own_machine() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    assert_eq!(world.post("/admin/users/owner/link", &json!({})).by(&owner).send().await.status, 201);
    world.post("/admin/users/bea/link", &json!({})).by(&owner).send().await.refused(403, "FORBIDDEN");
    world.post("/admin/users/bea/link", &json!({})).by(&bea).send().await.refused(403, "FORBIDDEN");
    assert_eq!(world.post("/admin/users/bea/link", &json!({})).locally().send().await.status, 201);
}

#[tokio::test]
async fn on_the_houses_own_machine_one_says_for_whom_one_acts() {
    let world = World::new().await;
    world.member("bea").await;
    let me = world.get("/me").locally().send().await.ok();
    assert_eq!(me["user"], "usr_owner", "the owner, unless somebody is named");
    let me = world.get("/me").locally().header("x-longhouse-user", "bea").send().await.ok();
    assert_eq!((&me["user"], &me["participant"]), (&json!("usr_bea"), &json!("user:usr_bea")));
    let body = json!({"id": "hers"});
    let made = world.post("/sessions", &body).locally().header("x-longhouse-user", "usr_bea").send().await.ok();
    assert_eq!(made["workspace"], "personal-usr_bea");
    let write = json!({"action": "write", "key": "a", "value": "b"});
    let ask = world.post("/sessions/hers/shared_context", &write).locally().header("x-longhouse-user", "bea");
    let written = ask.header("x-longhouse-participant", "subagent:review").send().await.ok();
    assert_eq!(written["written_by"], "subagent:review");
    let named = |user: &str| world.get("/me").locally().header("x-longhouse-user", user);
    named("nobody").send().await.refused(404, "USER_NOT_FOUND");
    named("../x").send().await.refused(400, "INVALID_REQUEST");
    named("").send().await.refused(400, "INVALID_REQUEST");
    let unreadable = world.get("/me").locally().also("x-longhouse-user", b"b\xe9a").send().await;
    assert_ne!(unreadable.status, 200, "a name that cannot be read is not the owner's: {}", unreadable.text);
    let claimed = world.get("/me").locally().header("x-longhouse-participant", "user:usr_owner");
    claimed.send().await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn from_the_network_nobody_says_for_whom_they_act() {
    let world = World::new().await;
    let bea = world.member("bea").await;
    let headers =
        |ask: testkit::Ask| ask.header("x-longhouse-user", "owner").header("x-longhouse-participant", "orchestrator");
    headers(world.get("/me")).send().await.refused(401, "UNAUTHENTICATED");
    let me = headers(world.get("/me").by(&bea)).send().await.ok();
    assert_eq!((&me["user"], &me["participant"]), (&json!("usr_bea"), &json!("user:usr_bea")));
    headers(world.get("/admin/users").by(&bea)).send().await.refused(403, "FORBIDDEN");
}
