//! Workspaces that admins make, change and delete while the house runs.

use super::workshop::{Workshop, audit, pages, texts};
use axum::http::Method;
use serde_json::{Value, json};
use testkit::{Answer, World};

/// A house with the owner, ann and bea, who have a workspace `den` of theirs.
async fn den() -> (World, String, String, String) {
    let world = World::new().await;
    let (owner, ann, bea) = (world.owner().await, world.member("ann").await, world.member("bea").await);
    let den = json!({"name": "den", "description": "The den", "members": ["ann", "usr_bea"]});
    world.post("/admin/workspaces", &den).by(&owner).send().await.ok();
    (world, owner, ann, bea)
}

async fn change(world: &World, token: &str, workspace: &str, change: &Value) -> Answer {
    world.patch(&format!("/admin/workspaces/{workspace}"), change).by(token).send().await
}

async fn put_member(world: &World, token: &str, workspace: &str, user: &str) -> Answer {
    world.ask(Method::PUT, &format!("/admin/workspaces/{workspace}/members/{user}")).by(token).send().await
}

async fn drop_member(world: &World, token: &str, workspace: &str, user: &str) -> Answer {
    world.delete(&format!("/admin/workspaces/{workspace}/members/{user}")).by(token).send().await
}

async fn names(world: &World, token: &str) -> Vec<String> {
    texts(&pages(world, token, "/workspaces", 2).await, "id")
}

#[tokio::test]
async fn members_see_their_workspace_and_strangers_do_not() {
    let (world, owner, ann, _) = den().await;
    let cy = world.member("cy").await;
    assert_eq!(names(&world, &ann).await, ["den", "personal-usr_ann"]);
    assert_eq!(names(&world, &cy).await, ["personal-usr_cy"]);
    let seen = world.get("/workspaces/den").by(&ann).send().await.ok();
    assert_eq!(seen["description"], "The den");
    assert_eq!(seen["tools"], json!({"allow": [], "deny": []}), "a new workspace allows nothing");
    assert_eq!(seen["members"][0], json!({"user": "usr_ann", "role": "member", "defined_in": ["admin"]}));
    assert_eq!(seen["budget"], Value::Null);
    world.get("/workspaces/den").by(&cy).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    world.get("/workspaces/nowhere").by(&cy).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    world.get("/workspaces/den").by(&owner).send().await.ok();
    world.get("/admin/workspaces/den").by(&ann).send().await.refused(403, "FORBIDDEN");
    let own = world.get("/workspaces/personal").by(&ann).send().await.ok();
    assert_eq!(own["id"], "personal-usr_ann");
    assert_eq!(own["tools"]["allow"], json!(["filesystem.*", "exec.sandboxed"]));
    assert_eq!(own["budget"]["daily_usd"], json!(5.0));
    world.get("/workspaces/personal-usr_bea").by(&ann).send().await.refused(404, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn sessions_and_projects_of_a_workspace_are_its_members_alone() {
    let (world, owner, ann, bea) = den().await;
    world.post("/sessions", &json!({"id": "plan", "workspace": "den"})).by(&ann).send().await.ok();
    world.post("/my/projects", &json!({"name": "hut", "workspace": "den"})).by(&ann).send().await.ok();
    world.get("/sessions/plan").by(&bea).send().await.ok();
    world.get("/my/projects/hut").by(&bea).send().await.ok();
    // An admin sees the rules of every workspace, and what is in it only as a member.
    world.get("/sessions/plan").by(&owner).send().await.refused(404, "SESSION_NOT_FOUND");
    world.get("/my/projects/hut").by(&owner).send().await.refused(404, "PROJECT_NOT_FOUND");
    put_member(&world, &owner, "den", "owner").await.ok();
    world.get("/my/projects/hut").by(&owner).send().await.ok();
}

#[tokio::test]
async fn a_change_says_only_what_changes_and_null_takes_away() {
    let (world, owner, ann, _) = den().await;
    let tools = json!({"allow": ["k8s.*", "calendar.list"], "deny": ["k8s.delete"]});
    let budget =
        json!({"daily_usd": 12.5, "member_daily_usd": 3, "members": {"ann": 0.000001}, "timezone": "Europe/Berlin"});
    let asked = json!({"tools": tools, "budget": budget, "model": "gpt-4", "nodes": ["laptop"]});
    change(&world, &owner, "den", &asked).await.ok();
    let seen = change(&world, &owner, "den", &json!({"model": null})).await.ok();
    assert_eq!(seen["description"], "The den");
    assert_eq!(seen["tools"], tools);
    assert_eq!(seen["nodes"], json!(["laptop"]));
    assert_eq!(seen["model"], Value::Null);
    assert_eq!(seen["budget"]["members"], json!({"usr_ann": 0.000001}));
    assert_eq!(seen["budget"]["daily_usd"], json!(12.5));
    assert_eq!(world.get("/workspaces/den").by(&ann).send().await.ok(), seen);
    let zone = change(&world, &owner, "den", &json!({"budget": {"timezone": "UTC"}, "tools": {"deny": []}})).await.ok();
    assert_eq!(zone["budget"]["daily_usd"], json!(12.5), "a limit goes only when that is said");
    assert_eq!(zone["tools"], json!({"allow": tools["allow"], "deny": []}));
    let seen = change(&world, &owner, "den", &json!({"budget": {"daily_usd": null}})).await.ok();
    assert_eq!((&seen["budget"]["daily_usd"], &seen["budget"]["member_daily_usd"]), (&Value::Null, &json!(3.0)));
    // Somebody's own follows the template but for what an admin says.
    let own = change(&world, &owner, "personal-usr_ann", &json!({"budget": {"daily_usd": 1}})).await.ok();
    assert_eq!(own["budget"]["daily_usd"], json!(1.0));
    assert_eq!(own["tools"]["allow"], json!(["filesystem.*", "exec.sandboxed"]));
    let world = world.reopened().await;
    assert_eq!(world.get("/workspaces/den").by(&ann).send().await.ok(), seen, "it survives a restart");
}

#[tokio::test]
async fn a_bad_change_is_refused_by_field_and_changes_nothing() {
    let (world, owner, ann, _) = den().await;
    let before = world.get("/workspaces/den").by(&ann).send().await.ok();
    let long = "x".repeat(1_001);
    let many: Vec<String> = (0..501).map(|number| format!("t{number}")).collect();
    let bad = [
        ("allow", json!({"tools": {"allow": ["k8s*"]}})),
        ("allow", json!({"tools": {"allow": ["*.get"]}})),
        ("allow", json!({"tools": {"allow": many}})),
        ("deny", json!({"tools": {"deny": ["K8s.get"]}})),
        ("daily_usd", json!({"budget": {"daily_usd": -1}})),
        ("daily_usd", json!({"budget": {"daily_usd": 0.0000001}})),
        ("daily_usd", json!({"budget": {"daily_usd": 1e18}})),
        ("members", json!({"budget": {"members": {"ann": -1}}})),
        ("user", json!({"budget": {"members": {"A b": 1}}})),
        ("timezone", json!({"budget": {"timezone": "Europe/Nowhere"}})),
        ("description", json!({"description": long})),
        ("description", json!({"description": "two\nlines"})),
        ("model", json!({"model": long})),
        ("skills", json!({"skills": ["no-such-skill"]})),
        ("nodes", json!({"nodes": vec!["n"; 101]})),
    ];
    for (field, body) in bad {
        let answer = change(&world, &owner, "den", &body).await.refused(400, "INVALID_REQUEST");
        assert_eq!(answer["field"], field, "{body}");
    }
    let unpriced = json!({"model": "home-made", "budget": {"daily_usd": 1}});
    change(&world, &owner, "den", &unpriced).await.refused(402, "PRICE_UNKNOWN");
    change(&world, &owner, "personal-usr_ann", &json!({"model": "home-made"})).await.refused(402, "PRICE_UNKNOWN");
    for body in [json!({"tools": ["k8s.*"]}), json!({"budget": 5}), json!({"descripton": "x"}), json!({"members": []})]
    {
        change(&world, &owner, "den", &body).await.refused(400, "INVALID_REQUEST");
    }
    assert_eq!(world.get("/workspaces/den").by(&ann).send().await.ok(), before);
    for name in ["", "Den", "a b", "personal", "personal-x", &"x".repeat(65), "@house"] {
        let made = world.post("/admin/workspaces", &json!({"name": name})).by(&owner).send().await;
        made.refused(400, "INVALID_REQUEST");
    }
    let twice = world.post("/admin/workspaces", &json!({"name": "den"})).by(&owner).send().await;
    twice.refused(409, "WORKSPACE_EXISTS");
    let unknown = json!({"name": "half", "members": ["ann", "nobody"]});
    world.post("/admin/workspaces", &unknown).by(&owner).send().await.refused(404, "USER_NOT_FOUND");
    world.get("/workspaces/half").by(&owner).send().await.refused(404, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn a_removed_member_is_out_at_every_door_and_open_streams_end() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    let owner = world.owner().await;
    world.post("/sessions", &json!({"id": "plan", "workspace": "team"})).by(ann).send().await.ok();
    let agent = workshop.token(bea, "board").await;
    let participant = world.participant(bea, "plan", "subagent:review").await;
    let mut streams = Vec::new();
    for (path, token) in
        [("/sessions/plan/events", bea), ("/my/projects/garden/events", bea), ("/sessions/plan/events", &participant)]
    {
        streams.push(world.get(path).by(token).stream().await);
    }
    let mut mine = world.get("/my/events").by(bea).stream().await;
    world.write(ann, "plan", "before", "x").await;
    mine.next().await.expect("what happened while she was a member");
    drop_member(world, &owner, "team", "bea").await.ok();
    for stream in &mut streams {
        while let Some(event) = stream.next().await {
            assert_eq!(event.data["key"], "before", "nothing after it");
        }
    }
    world.write(ann, "plan", "after", "x").await;
    let own = json!({"id": "own"});
    world.post("/sessions", &own).by(bea).send().await.ok();
    world.write(bea, "own", "mine", "x").await;
    assert_eq!(mine.next().await.expect("her own goes on").data["key"], "mine");
    world.get("/workspaces/team").by(bea).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    world.get("/sessions/plan").by(bea).send().await.refused(404, "SESSION_NOT_FOUND");
    world.get("/my/projects/garden").by(bea).send().await.refused(404, "PROJECT_NOT_FOUND");
    let list = json!({"action": "list_keys"});
    world.context(&participant, "plan", &list).send().await.refused(404, "SESSION_NOT_FOUND");
    world.context(&agent, "plan", &list).send().await.refused(404, "SESSION_NOT_FOUND");
    let tool = world.tool(&agent, "garden/board", "workspace_list", &json!({})).send().await;
    tool.refused(404, "PROJECT_NOT_FOUND");
    assert_eq!(names(world, bea).await, ["personal-usr_bea"]);
    drop_member(world, &owner, "team", "bea").await.refused(404, "MEMBER_NOT_FOUND");
    put_member(world, &owner, "team", "bea").await.ok();
    world.get("/sessions/plan").by(bea).send().await.ok();
}

#[tokio::test]
async fn nobody_else_belongs_to_a_personal_workspace() {
    let (world, owner, ..) = den().await;
    put_member(&world, &owner, "personal-usr_ann", "bea").await.refused(403, "FORBIDDEN");
    drop_member(&world, &owner, "personal-usr_ann", "ann").await.refused(403, "FORBIDDEN");
    let place = json!({"channel": "http", "chat_id": "x"});
    let bound = world.post("/admin/workspaces/personal-usr_ann/bindings", &place).by(&owner).send().await;
    bound.refused(403, "FORBIDDEN");
    world.delete("/admin/workspaces/personal-usr_ann").by(&owner).send().await.refused(403, "FORBIDDEN");
    put_member(&world, &owner, "den", "nobody").await.refused(404, "USER_NOT_FOUND");
    put_member(&world, &owner, "nowhere", "ann").await.refused(404, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn a_place_belongs_to_one_workspace_however_many_ask_at_once() {
    let (world, owner, ..) = den().await;
    let bind = |workspace: String| {
        let place = json!({"channel": "telegram", "chat_id": -100123456, "reply": "all"});
        world.post(&format!("/admin/workspaces/{workspace}/bindings"), &place).by(&owner).send()
    };
    let rivals: Vec<String> = (0..10).map(|number| format!("rival-{number}")).collect();
    for name in &rivals {
        world.post("/admin/workspaces", &json!({"name": name})).by(&owner).send().await.ok();
    }
    let answers = futures_util::future::join_all(rivals.iter().map(|name| bind(name.clone()))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "one winner");
    let winner = answers.into_iter().find(|answer| answer.status == 200).expect("a winner").ok();
    assert_eq!(winner["bindings"][0]["place"], "telegram:-100123456");
    let id = winner["id"].as_str().expect("an id").to_owned();
    bind(id.clone()).await.ok();
    bind("den".to_owned()).await.refused(409, "BINDING_EXISTS");
    let path = format!("/admin/workspaces/{id}/bindings/telegram:-100123456");
    assert_eq!(world.delete(&path).by(&owner).send().await.ok()["bindings"], json!([]));
    world.delete(&path).by(&owner).send().await.refused(404, "BINDING_NOT_FOUND");
    for place in [
        json!({"channel": "telegram", "chat_id": "@homelab"}),
        json!({"channel": "discord", "chat_id": "1"}),
        json!({"channel": "smoke", "chat_id": "1"}),
        json!({"channel": "http"}),
        json!({"channel": "http", "chat_id": [1]}),
        json!({"chat_id": "1"}),
    ] {
        let answer = world.post("/admin/workspaces/den/bindings", &place).by(&owner).send().await;
        answer.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_workspace_with_something_in_it_is_deleted_only_on_request_and_leaves_nothing_behind() {
    let (world, owner, ann, _) = den().await;
    world.post("/sessions", &json!({"id": "plan", "workspace": "den"})).by(&ann).send().await.ok();
    world.post("/my/projects", &json!({"name": "hut", "workspace": "den"})).by(&ann).send().await.ok();
    world.write(&ann, "plan", "secret", "x").await;
    let participant = world.participant(&ann, "plan", "subagent:review").await;
    let mut stream = world.get("/sessions/plan/events").by(&ann).stream().await;
    let refused = world.delete("/admin/workspaces/den").by(&owner).send().await.refused(409, "WORKSPACE_HAS_DATA");
    assert_eq!(refused, json!({"projects": 1, "sessions": 1}));
    world.delete("/admin/workspaces/den").by(&ann).send().await.refused(403, "FORBIDDEN");
    assert_eq!(world.delete("/admin/workspaces/den?with_data=true").by(&owner).send().await.status, 204);
    while stream.next().await.is_some() {}
    world.get("/workspaces/den").by(&ann).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    world.get("/sessions/plan").by(&participant).send().await.refused(401, "UNAUTHENTICATED");
    world.delete("/admin/workspaces/den").by(&owner).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    // A later one of the same name begins empty.
    world.post("/admin/workspaces", &json!({"name": "den", "members": ["bea", "ann"]})).by(&owner).send().await.ok();
    world.get("/sessions/plan").by(&ann).send().await.refused(404, "SESSION_NOT_FOUND");
    world.get("/my/projects/hut").by(&ann).send().await.refused(404, "PROJECT_NOT_FOUND");
    let actions = texts(&audit(&world, "workspace.").await, "action");
    assert_eq!(actions, ["workspace.create", "workspace.delete", "workspace.create"], "the audit stays");
}

#[tokio::test]
async fn making_one_twice_with_one_key_makes_one() {
    let (world, owner, ..) = den().await;
    let body = json!({"name": "attic", "members": ["ann"]});
    let make = || world.post("/admin/workspaces", &body).by(&owner).header("idempotency-key", "k").send();
    let answers = futures_util::future::join_all((0..8).map(|_| make())).await;
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.json() == answers[0].json()));
}

#[tokio::test]
async fn the_doctor_names_workspaces_without_a_budget() {
    let (world, owner, ..) = den().await;
    let told = |checks: &Value| {
        let checks = checks["checks"].as_array().expect("checks").clone();
        checks.iter().any(|check| check["name"] == "budget" && check["detail"].as_str().unwrap().contains("`den`"))
    };
    assert!(told(&world.get("/admin/doctor").by(&owner).send().await.ok()));
    change(&world, &owner, "den", &json!({"budget": {"daily_usd": 0}})).await.ok();
    assert!(!told(&world.get("/admin/doctor").by(&owner).send().await.ok()));
}
