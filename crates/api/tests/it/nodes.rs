//! Nodes: how they come in, whose they are, how they go.

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::{Answer, World};

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn wanted(name: &str, project: &str) -> Value {
    let key_hash = HEXLOWER.encode(&Sha256::digest(KEY.as_bytes()));
    json!({"name": name, "project": project, "root_label": "work", "platform": "linux", "version": "0.1.0",
        "key_hash": key_hash})
}

async fn pair(world: &World, body: &Value) -> Answer {
    world.post("/nodes/pair", body).send().await
}

async fn sign_in(world: &World, node: &Value) -> Answer {
    pair(world, &json!({"node": node["id"], "key": KEY})).await
}

/// A node that its person's token let in.
async fn node(world: &World, owner: &str, name: &str, project: &str) -> Value {
    world.post("/nodes/pair", &wanted(name, project)).by(owner).send().await.ok()["node"].clone()
}

async fn names(world: &World, token: &str) -> Vec<String> {
    let list = world.get("/nodes").by(token).send().await.ok();
    list["items"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_node_shows_a_code_a_person_confirms_it_and_only_the_node_gets_the_token() {
    let world = World::new().await;
    let owner = world.owner().await;
    let project = world.project(&owner, "garden").await;
    let asked = pair(&world, &wanted("laptop", "garden")).await;
    assert_eq!(asked.status, 201);
    let asked = asked.ok();
    assert_eq!((&asked["status"], &asked["node"], &asked["token"]), (&json!("pending"), &Value::Null, &Value::Null));
    let code = asked["code"].as_str().unwrap();
    let poll = json!({"code": code, "key": KEY});
    assert_eq!(pair(&world, &poll).await.status, 202);
    assert!(names(&world, &owner).await.is_empty());
    // As somebody types it.
    let typed = code.to_lowercase().replace('-', "");
    let confirm = format!("/nodes/pair/{typed}/confirm");
    let node = world.post(&confirm, &json!({})).by(&owner).send().await.ok();
    assert_eq!((&node["project"], &node["user"]), (&project["id"], &json!("usr_owner")));
    assert_eq!(
        (&node["name"], &node["online"], &node["root_label"]),
        (&json!("laptop"), &json!(false), &json!("work"))
    );
    world.post(&confirm, &json!({})).by(&owner).send().await.refused(404, "PAIRING_NOT_FOUND");
    // Whoever saw the code has no use for it.
    pair(&world, &json!({"code": code, "key": KEY.replace('0', "1")})).await.refused(404, "PAIRING_NOT_FOUND");
    let signed_in = pair(&world, &poll).await;
    assert_eq!(signed_in.status, 200);
    let signed_in = signed_in.ok();
    assert_eq!((&signed_in["status"], &signed_in["node"]["id"]), (&json!("paired"), &node["id"]));
    assert!(signed_in["token"].is_string());
    assert_eq!(names(&world, &owner).await, ["laptop"]);
}

#[tokio::test]
async fn a_code_nobody_confirms_ends_and_so_does_what_waited_for_it() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let asked = pair(&world, &wanted("laptop", "garden")).await.ok();
    world.clock.advance_s(600);
    let code = asked["code"].as_str().unwrap();
    pair(&world, &json!({"code": code, "key": KEY})).await.refused(404, "PAIRING_NOT_FOUND");
    let confirm = format!("/nodes/pair/{code}/confirm");
    let owner = world.owner().await;
    world.post(&confirm, &json!({})).by(&owner).send().await.refused(404, "PAIRING_NOT_FOUND");
}

#[tokio::test]
async fn a_token_of_a_node_opens_nothing_that_is_a_persons() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    world.session(&owner, "plans", json!({})).await;
    let node = node(&world, &owner, "laptop", "garden").await;
    let token = sign_in(&world, &node).await.ok()["token"].as_str().unwrap().to_owned();
    for path in
        ["/me", "/sessions", "/sessions/plans", "/sessions/plans/prompt", "/my/projects", "/nodes", "/my/tokens"]
    {
        world.get(path).by(&token).send().await.refused(403, "FORBIDDEN");
    }
    world.post("/nodes/pair", &wanted("second", "garden")).by(&token).send().await.refused(403, "FORBIDDEN");
    world.post("/my/tokens", &json!({})).by(&token).send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_node_is_seen_by_its_person_only_and_names_are_taken_once() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mary = world.member("mary").await;
    world.workspace("den", &["owner", "mary"]).await;
    world.post("/my/projects", &json!({"name": "shared", "workspace": "den"})).by(&owner).send().await.ok();
    let own = node(&world, &owner, "laptop", "shared").await;
    assert_eq!(names(&world, &owner).await, ["laptop"]);
    assert!(names(&world, &mary).await.is_empty(), "it is the owner's own machine");
    let id = own["id"].as_str().unwrap();
    for name in [id, "laptop"] {
        world.delete(&format!("/nodes/{name}")).by(&mary).send().await.refused(404, "NODE_NOT_FOUND");
    }
    let twice = world.post("/nodes/pair", &wanted("laptop", "shared")).by(&mary).send().await;
    twice.refused(409, "NODE_EXISTS");
    node(&world, &mary, "desk", "shared").await;
    assert_eq!(names(&world, &mary).await, ["desk"]);
}

#[tokio::test]
async fn a_node_for_a_whole_workspace_needs_an_admin_and_its_name_in_the_rules() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mary = world.member("mary").await;
    world.workspace("den", &["owner", "mary"]).await;
    let mut body = wanted("shed", "x");
    body.as_object_mut().unwrap().remove("project");
    body["workspace"] = json!("den");
    world.post("/nodes/pair", &body).by(&owner).send().await.refused(403, "FORBIDDEN");
    world.patch("/admin/workspaces/den", &json!({"nodes": ["shed"]})).by(&owner).send().await.ok();
    world.post("/nodes/pair", &body).by(&mary).send().await.refused(403, "FORBIDDEN");
    world.post("/nodes/pair", &body).by(&owner).send().await.ok();
    assert_eq!(names(&world, &mary).await, ["shed"], "it serves her, too");
    world.delete("/nodes/shed").by(&mary).send().await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_node_that_is_removed_or_whose_person_has_left_is_out_at_once() {
    let world = World::new().await;
    let owner = world.owner().await;
    let mary = world.member("mary").await;
    world.workspace("den", &["owner", "mary"]).await;
    world.post("/my/projects", &json!({"name": "shared", "workspace": "den"})).by(&owner).send().await.ok();
    let (first, second) = (node(&world, &owner, "laptop", "shared").await, node(&world, &mary, "desk", "shared").await);
    let token = |answer: Answer| answer.ok()["token"].as_str().unwrap().to_owned();
    let (of_first, of_second) = (token(sign_in(&world, &first).await), token(sign_in(&world, &second).await));
    world.get("/nodes").by(&of_first).send().await.refused(403, "FORBIDDEN");
    assert_eq!(world.delete("/nodes/laptop").by(&owner).send().await.status, 204);
    world.get("/nodes").by(&of_first).send().await.refused(401, "UNAUTHENTICATED");
    sign_in(&world, &first).await.refused(401, "UNAUTHENTICATED");
    world.leave("den", "mary").await;
    world.get("/nodes").by(&of_second).send().await.refused(401, "UNAUTHENTICATED");
    sign_in(&world, &second).await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_node_goes_with_its_project() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let node = node(&world, &owner, "laptop", "garden").await;
    assert_eq!(world.delete("/my/projects/garden").by(&owner).send().await.status, 204);
    assert!(names(&world, &owner).await.is_empty());
    sign_in(&world, &node).await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn what_a_node_says_of_itself_is_checked() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let good = wanted("laptop", "garden");
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("a/b")),
        ("name", json!("x".repeat(65))),
        ("name", json!(7)),
        ("name", Value::Null),
        ("key_hash", json!("short")),
        ("key_hash", json!("Z".repeat(64))),
        ("key_hash", Value::Null),
        ("root_label", json!("x".repeat(200))),
        ("root_label", Value::Null),
        ("project", Value::Null),
        ("key", json!(KEY)),
        ("code", json!("ABCD-EFGH")),
        ("extra", json!(1)),
    ] {
        let mut body = good.clone();
        if value.is_null() {
            body.as_object_mut().unwrap().remove(field);
        } else {
            body[field] = value.clone();
        }
        for ask in [world.post("/nodes/pair", &body), world.post("/nodes/pair", &body).by(&owner)] {
            assert_eq!(ask.send().await.status, 400, "{field} {value}");
        }
    }
    world.post("/nodes/pair", &wanted("laptop", "nowhere")).by(&owner).send().await.refused(404, "PROJECT_NOT_FOUND");
    // A credential that is no good is not passed over.
    world.post("/nodes/pair", &good).by("guessed").send().await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_confirmation_that_is_sent_again_under_its_key_lets_in_one_node() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let asked = pair(&world, &wanted("laptop", "garden")).await.ok();
    let path = format!("/nodes/pair/{}/confirm", asked["code"].as_str().unwrap());
    let confirm = |key: &str| world.post(&path, &json!({})).by(&owner).header("idempotency-key", key).send();
    let node = confirm("k").await.ok();
    assert_eq!(confirm("k").await.ok(), node);
    confirm("another").await.refused(404, "PAIRING_NOT_FOUND");
    assert_eq!(names(&world, &owner).await, ["laptop"]);
}

#[tokio::test]
async fn an_admin_who_is_no_member_lets_no_node_in_and_still_removes_one() {
    let world = World::new().await;
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    for (workspace, members) in [("den", &["owner", "mary"][..]), ("attic", &["mary"])] {
        world.workspace(workspace, members).await;
        let listed = json!({"nodes": ["shed"]});
        world.patch(&format!("/admin/workspaces/{workspace}"), &listed).by(&owner).send().await.ok();
    }
    let mut body = wanted("shed", "x");
    body.as_object_mut().unwrap().remove("project");
    body["workspace"] = json!("attic");
    let code = pair(&world, &body).await.ok()["code"].as_str().unwrap().to_owned();
    let confirm = world.post(&format!("/nodes/pair/{code}/confirm"), &json!({})).by(&owner).send().await;
    assert!(confirm.text.contains("is a member of it"), "{}", confirm.text);
    confirm.refused(403, "FORBIDDEN");
    assert_eq!(names(&world, &mary).await, Vec::<String>::new());
    // One that came in while the admin was a member.
    body["workspace"] = json!("den");
    world.post("/nodes/pair", &body).by(&owner).send().await.ok();
    world.leave("den", "owner").await;
    assert_eq!((names(&world, &owner).await, names(&world, &mary).await), (vec!["shed".into()], vec!["shed".into()]));
    assert_eq!(world.delete("/nodes/shed").by(&owner).send().await.status, 204);
    assert_eq!(names(&world, &mary).await, Vec::<String>::new());
}
