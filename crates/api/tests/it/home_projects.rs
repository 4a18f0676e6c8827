//! A workspace's own project.

use serde_json::{Value, json};
use testkit::World;

async fn scene() -> (World, String, String) {
    let world = World::new().await;
    let (owner, ann) = (world.owner().await, world.member("ann").await);
    let family = json!({"name": "family", "members": ["ann", "owner"], "model": "claude-opus-4-6",
        "key_conventions": [{"key": "menu", "purpose": "What is for dinner"}]});
    world.post("/admin/workspaces", &family).by(&owner).send().await.ok();
    (world, owner, ann)
}

async fn use_home(world: &World, token: &str, workspace: &str) -> Value {
    world.post("/sessions", &json!({"project": "home", "workspace": workspace})).by(token).send().await.ok()
}

#[tokio::test]
async fn it_is_made_on_first_use_once_and_its_agents_are_shared() {
    let (world, _, ann) = scene().await;
    let before = world.get("/workspaces/family").by(&ann).send().await.ok();
    assert_eq!(before["home_project"], Value::Null);
    world.get("/my/projects/home?workspace=family").by(&ann).send().await.refused(404, "PROJECT_NOT_FOUND");
    let uses = futures_util::future::join_all((0..8).map(|_| use_home(&world, &ann, "family"))).await;
    assert!(uses.iter().all(|session| session["project"] == uses[0]["project"] && session["workspace"] == "family"));
    let home = world.get("/my/projects/home?workspace=family").by(&ann).send().await.ok();
    assert_eq!(home["id"], uses[0]["project"]);
    let agents = home["agents"].as_array().expect("agents");
    assert_eq!(agents.len(), 4);
    assert!(agents.iter().all(|agent| agent["visibility"] == "shared" && agent["model"] == "claude-opus-4-6"));
    let after = world.get("/workspaces/family").by(&ann).send().await.ok();
    assert_eq!(after["home_project"], home["id"]);
    let own = use_home(&world, &ann, "personal").await;
    let home = world.get(&format!("/my/projects/{}", own["project"].as_str().unwrap())).by(&ann).send().await.ok();
    assert!(home["agents"].as_array().unwrap().iter().all(|agent| agent["visibility"] == "private"));
}

#[tokio::test]
async fn it_belongs_to_the_workspace() {
    let (world, owner, ann) = scene().await;
    let home = use_home(&world, &ann, "family").await["project"].as_str().expect("a project").to_owned();
    let path = format!("/my/projects/{home}");
    let conventions = json!({"key_conventions": [{"key": "list", "purpose": "What to buy"}]});
    world.patch(&path, &conventions).by(&ann).send().await.refused(403, "FORBIDDEN");
    world.patch(&path, &conventions).by(&owner).send().await.ok();
    world.patch(&path, &json!({"name": "house"})).by(&owner).send().await.refused(403, "FORBIDDEN");
    world.delete(&path).by(&ann).send().await.refused(403, "FORBIDDEN");
    world.delete(&path).by(&owner).send().await.refused(403, "FORBIDDEN");
    let agents = format!("{path}/agents");
    world
        .post(&agents, &json!({"name": "cook", "visibility": "shared"}))
        .by(&ann)
        .send()
        .await
        .refused(403, "FORBIDDEN");
    let private = world.post(&agents, &json!({"name": "cook"})).by(&owner).send().await;
    private.refused(400, "INVALID_REQUEST");
    world.post(&agents, &json!({"name": "cook", "visibility": "shared"})).by(&owner).send().await.ok();
    let flipped = world.patch(&format!("{agents}/cook"), &json!({"visibility": "private"})).by(&owner).send().await;
    flipped.refused(400, "INVALID_REQUEST");
    let own = use_home(&world, &ann, "personal").await["project"].as_str().expect("a project").to_owned();
    let path = format!("/my/projects/{own}");
    world.patch(&path, &conventions).by(&ann).send().await.ok();
    world.delete(&path).by(&ann).send().await.refused(403, "FORBIDDEN");
    world.post("/my/projects", &json!({"name": "home"})).by(&ann).send().await.refused(409, "PROJECT_EXISTS");
}

#[tokio::test]
async fn a_stranger_cannot_make_or_find_it() {
    let (world, _, ann) = scene().await;
    let cy = world.member("cy").await;
    let asked = json!({"project": "home", "workspace": "family"});
    world.post("/sessions", &asked).by(&cy).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    use_home(&world, &ann, "family").await;
    world.post("/sessions", &asked).by(&cy).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    world.get("/my/projects/home").by(&cy).send().await.refused(404, "PROJECT_NOT_FOUND");
}

#[tokio::test]
async fn sessions_take_what_is_said_about_keys_from_the_project_then_from_the_workspace() {
    let (world, _, ann) = scene().await;
    let key = |session: &Value| session["config"]["key_conventions"][0]["key"].clone();
    let bare = world.post("/sessions", &json!({"workspace": "family"})).by(&ann).send().await.ok();
    assert_eq!(key(&bare), "menu");
    let project =
        json!({"name": "trip", "workspace": "family", "key_conventions": [{"key": "route", "purpose": "Where"}]});
    world.post("/my/projects", &project).by(&ann).send().await.ok();
    let of_project = world.post("/sessions", &json!({"project": "trip"})).by(&ann).send().await.ok();
    assert_eq!(key(&of_project), "route");
    let made = world.get("/my/projects/trip").by(&ann).send().await.ok();
    assert!(made["agents"].as_array().unwrap().iter().all(|agent| agent["model"] == "claude-opus-4-6"));
}
