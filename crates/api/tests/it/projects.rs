//! Projects: made with their agents, read, changed and listed. Who may do that, and how they go: `project_rights`.

use super::room::fields;
use super::workshop::{Workshop, audit, pages, texts};
use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::World;

async fn create(world: &World, token: &str, body: Value) -> testkit::Answer {
    world.post("/my/projects/", &body).by(token).send().await
}

#[tokio::test]
async fn a_new_project_is_ready_with_four_agents() {
    let world = World::new().await;
    let bea = world.member("bea").await;
    let answer = create(&world, &bea, json!({"name": "garden"})).await;
    assert_eq!(answer.status, 201);
    let project = answer.ok();
    assert_eq!(
        fields(&project),
        ["agents", "approval", "created_at", "created_by", "id", "name", "worker_space", "workspace"],
        "key_conventions only where there are some"
    );
    assert_eq!((&project["name"], &project["workspace"]), (&json!("garden"), &json!("personal-usr_bea")));
    assert_eq!((&project["created_by"], &project["approval"]), (&json!("usr_bea"), &json!("by_risk")));
    assert_eq!(project["worker_space"], json!({"status": "ready"}));
    assert!(project["id"].as_str().is_some_and(|id| id.starts_with("prj_") && id.len() == 36));
    let expected = [
        ("agent_coder", "developer", 0.3, 4096),
        ("agent_analyzer", "analyst", 0.5, 2048),
        ("agent_writer", "writer", 0.7, 2048),
        ("agent_researcher", "researcher", 0.6, 3096),
    ];
    let agents = project["agents"].as_array().expect("agents");
    assert_eq!(agents.len(), 4);
    for (agent, (name, role, temperature, max_tokens)) in agents.iter().zip(expected) {
        let told =
            ["name", "role", "model", "temperature", "max_tokens", "concurrency_limit", "visibility", "audience"]
                .map(|field| agent[field].clone());
        assert_eq!(json!(told), json!([name, role, "gpt-4", temperature, max_tokens, 3, "private", "workspace"]));
        assert_eq!((&agent["project"], &agent["created_at"]), (&project["id"], &project["created_at"]));
        assert!(agent["id"].as_str().is_some_and(|id| id.starts_with("agt_") && id.len() == 36));
    }
}

#[tokio::test]
async fn a_project_is_read_by_id_or_name_and_is_the_same_everywhere() {
    let mut world = World::new().await;
    let owner = world.owner().await;
    // More than one, because four agents come in the right order by chance now and then.
    for number in 0..8 {
        let made = world.project(&owner, &format!("garden {number}")).await;
        let id = made["id"].as_str().expect("an id");
        for address in [id, &format!("garden%20{number}"), &format!("{id}/"), &format!("{id}?workspace=personal")] {
            let read = world.get(&format!("/my/projects/{address}")).by(&owner).send().await.ok();
            assert_eq!(read, made, "{address}");
        }
        let agents = world.get(&format!("/my/projects/{id}/agents/")).by(&owner).send().await.ok();
        assert_eq!(agents, json!({"items": made["agents"], "next_cursor": null}));
    }
    let listed = pages(&world, &owner, "/my/projects", 3).await;
    assert_eq!(texts(&listed, "name"), (0..8).map(|number| format!("garden {number}")).collect::<Vec<_>>());
    world = world.reopened().await;
    assert_eq!(pages(&world, &owner, "/my/projects", 8).await, listed, "also after a restart");
}

#[tokio::test]
async fn a_name_is_one_line_that_cannot_be_taken_for_an_id_or_a_path() {
    let world = World::new().await;
    let owner = world.owner().await;
    for good in ["x", "Küche & Garten", "日本", "a.b", "personal", "agent", &"é".repeat(100)] {
        assert_eq!(create(&world, &owner, json!({"name": good})).await.ok()["name"], good);
    }
    let long = "é".repeat(101);
    for bad in ["", " ", " a", "a ", "a\nb", "a\tb", "a\0b", "prj_", "prj_1", "a/b", "/", &long] {
        let refusal = create(&world, &owner, json!({"name": bad})).await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], "name", "{bad:?}");
    }
    let cases = [
        (json!({}), "name"),
        (json!({"name": null}), "name"),
        (json!({"name": 7}), "name"),
        (json!({"name": "a", "id": "prj_1"}), "id"),
        (json!({"name": "a", "created_by": "usr_bea"}), "created_by"),
        (json!({"name": "a", "agents": []}), "agents"),
        (json!({"name": "a", "workspace": ["personal"]}), "workspace"),
        (json!({"name": "a", "key_conventions": "all"}), "key_conventions"),
        (json!({"name": "a", "key_conventions": [{"key": "x", "purpose": "y", "z": 1}]}), "key_conventions[0].z"),
        (json!({"name": "a", "key_conventions": [{"key": "x", "purpose": "two\nlines"}]}), "key_conventions"),
    ];
    for (body, field) in cases {
        let refusal = create(&world, &owner, body.clone()).await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], field, "{body}");
    }
    let bad_key = json!({"name": "a", "key_conventions": [{"key": "Not a key", "purpose": "y"}]});
    create(&world, &owner, bad_key).await.refused(400, "INVALID_KEY");
    for workspace in ["nowhere", "personal-usr_nobody", "@house", "", "A"] {
        let refusal = create(&world, &owner, json!({"name": "a", "workspace": workspace})).await;
        refusal.refused(404, "WORKSPACE_NOT_FOUND");
    }
    assert_eq!(pages(&world, &owner, "/my/projects", 50).await.len(), 7, "nothing came of what was refused");
}

#[tokio::test]
async fn a_name_is_given_once_in_a_workspace_and_home_never() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    let in_team = |name: &str| json!({"name": name, "workspace": "team"});
    for token in [ann, bea] {
        create(world, token, in_team("garden")).await.refused(409, "PROJECT_EXISTS");
        create(world, token, in_team("home")).await.refused(409, "PROJECT_EXISTS");
        create(world, token, json!({"name": "home"})).await.refused(409, "PROJECT_EXISTS");
    }
    create(world, ann, in_team("Garden")).await.ok();
    let rename = |name: &str| world.patch("/my/projects/Garden", &json!({"name": name})).by(ann).send();
    rename("garden").await.refused(409, "PROJECT_EXISTS");
    rename("home").await.refused(409, "PROJECT_EXISTS");
    assert_eq!(rename("Garden").await.ok()["name"], "Garden", "its own name is not taken");
    assert_eq!(create(world, &workshop.cy, json!({"name": "garden"})).await.status, 201, "elsewhere it is free");
}

#[tokio::test]
async fn where_two_projects_have_a_name_the_id_or_the_workspace_says_which() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let own = world.project(ann, "garden").await;
    for ask in [
        world.get("/my/projects/garden"),
        world.delete("/my/projects/garden"),
        world.patch("/my/projects/garden", &json!({"name": "other"})),
        world.get("/my/projects/garden/agents"),
        world.get("/my/projects/garden/events"),
        world.post("/my/projects/garden/agents/agent_coder/tools/workspace_list", &json!({})),
        world.post("/sessions", &json!({"project": "garden"})),
    ] {
        ask.by(ann).send().await.refused(409, "AMBIGUOUS_PROJECT");
    }
    let team = &workshop.project;
    for (workspace, project) in [("team", team), ("personal", &own), ("personal-usr_ann", &own)] {
        let read = world.get(&format!("/my/projects/garden?workspace={workspace}")).by(ann).send().await.ok();
        assert_eq!(read["id"], project["id"], "{workspace}");
        let id = project["id"].as_str().expect("an id");
        assert_eq!(world.get(&format!("/my/projects/{id}")).by(ann).send().await.ok()["id"], id);
        let listed = world.get(&format!("/my/projects?workspace={workspace}")).by(ann).send().await.ok();
        assert_eq!(texts(listed["items"].as_array().expect("items"), "id"), [id]);
    }
    let elsewhere = format!("/my/projects/{}?workspace=personal", team["id"].as_str().expect("an id"));
    world.get(&elsewhere).by(ann).send().await.refused(404, "PROJECT_NOT_FOUND");
    for nowhere in ["nowhere", "Not%20one", "personal-usr_bea", "%00"] {
        let ask = world.get(&format!("/my/projects/garden?workspace={nowhere}")).by(ann);
        ask.send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    for nonsense in ["prj_1", "prj_", "%00", "nothing", "..%2f", "%20"] {
        let ask = world.get(&format!("/my/projects/{nonsense}")).by(ann);
        ask.send().await.refused(404, "PROJECT_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_change_says_what_changes_and_the_rest_stays() {
    let world = World::new().await;
    let owner = world.owner().await;
    let conventions = json!([{"key": "plan", "purpose": "What comes next."}]);
    let body = json!({"name": "garden", "key_conventions": conventions});
    let made = create(&world, &owner, body).await.ok();
    world.clock.advance_s(60);
    let change = async |body: Value| world.patch("/my/projects/garden", &body).by(&owner).send().await;
    assert_eq!(change(json!({})).await.ok(), made, "nothing said, nothing changed");
    assert_eq!(change(json!({"name": null})).await.ok(), made);
    let others = json!([{"key": "ns:seeds", "purpose": "What is sown.", "shape": "a list"}]);
    let mut expected = made.clone();
    expected["key_conventions"] = others.clone();
    assert_eq!(change(json!({"key_conventions": others})).await.ok(), expected);
    expected.as_object_mut().expect("an object").remove("key_conventions");
    assert_eq!(change(json!({"key_conventions": null})).await.ok(), expected);
    assert_eq!(change(json!({"approval": "by_risk"})).await.ok(), expected, "as it was");
    expected["approval"] = json!("always");
    assert_eq!(change(json!({"approval": "always"})).await.ok(), expected);
    assert_eq!(change(json!({"approval": null})).await.ok(), expected);
    for (body, field) in [
        (json!({"name": "a/b"}), "name"),
        (json!({"approval": "never"}), "approval"),
        (json!({"approval": "Always"}), "approval"),
        (json!({"approval": ["always"]}), "approval"),
        (json!({"approval": true}), "approval"),
        (json!({"workspace": "team"}), "workspace"),
        (json!({"id": "prj_1"}), "id"),
        (json!({"key_conventions": 1}), "key_conventions"),
    ] {
        assert_eq!(change(body.clone()).await.refused(400, "INVALID_REQUEST")["field"], field, "{body}");
    }
    expected["name"] = json!("orchard");
    assert_eq!(change(json!({"name": "orchard"})).await.ok(), expected);
    world.get("/my/projects/garden").by(&owner).send().await.refused(404, "PROJECT_NOT_FOUND");
    assert_eq!(world.get("/my/projects/orchard").by(&owner).send().await.ok(), expected);
    world.project(&owner, "garden").await;
}

#[tokio::test]
async fn a_project_that_is_asked_for_again_with_its_key_is_made_once() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    let body = json!({"name": "garden", "idempotency_key": "k1"});
    let first = create(&world, &owner, body.clone()).await;
    let again = create(&world, &owner, body.clone()).await;
    assert_eq!((again.status.as_u16(), &again.text), (201, &first.text), "its agents have the same ids too");
    let other = json!({"name": "orchard", "idempotency_key": "k1"});
    create(&world, &owner, other).await.refused(422, "IDEMPOTENCY_MISMATCH");
    create(&world, &owner, json!({"name": "garden"})).await.refused(409, "PROJECT_EXISTS");
    assert_ne!(create(&world, &bea, body).await.ok()["id"], first.json()["id"], "another's key is another key");
    assert_eq!(pages(&world, &owner, "/my/projects", 50).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_the_same_name_one_gets_it() {
    let workshop = Workshop::new().await;
    let body = json!({"name": "wanted", "workspace": "team"});
    let makers = (0..20).map(|n| if n % 2 == 0 { &workshop.ann } else { &workshop.bea });
    let answers = join_all(makers.map(|token| create(&workshop.world, token, body.clone()))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "PROJECT_EXISTS").count(), 19);
    let found = workshop.world.get("/my/projects/wanted").by(&workshop.bea).send().await.ok();
    assert_eq!(found["agents"].as_array().map(Vec::len), Some(4));
}

#[tokio::test]
async fn a_workspace_has_so_many_projects_and_a_project_so_many_agents() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.fill_projects("owner", 999).await;
    world.project(&owner, "garden").await;
    create(&world, &owner, json!({"name": "one more"})).await.refused(409, "STORE_FULL");
    world.delete("/my/projects/filling-7").by(&owner).send().await.ok();
    create(&world, &owner, json!({"name": "one more"})).await.ok();
    for number in 4..100 {
        world.agent(&owner, "garden", json!({"name": format!("a{number}")})).await;
    }
    let more = json!({"name": "more"});
    world.post("/my/projects/garden/agents", &more).by(&owner).send().await.refused(409, "STORE_FULL");
    world.delete("/my/projects/garden/agents/a50").by(&owner).send().await.ok();
    world.agent(&owner, "garden", more).await;
    let listed = pages(&world, &owner, "/my/projects/garden/agents", 7).await;
    assert_eq!((listed.len(), &listed[0]["name"], &listed[99]["name"]), (100, &json!("agent_coder"), &json!("more")));
    for bad in ["limit=0", "limit=501", "cursor=x", "name=a4"] {
        let ask = world.get(&format!("/my/projects/garden/agents?{bad}")).by(&owner);
        ask.send().await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn every_change_of_a_project_leaves_one_row_and_no_refusal_does() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    world.patch("/my/projects/garden", &json!({"name": "orchard"})).by(ann).send().await.ok();
    world.patch("/my/projects/orchard", &json!({"name": "home"})).by(ann).send().await.refused(409, "PROJECT_EXISTS");
    let rename = json!({"name": "hers"});
    world.patch("/my/projects/orchard", &rename).by(&workshop.bea).send().await.refused(403, "FORBIDDEN");
    let careful = json!({"approval": "always"});
    world.patch("/my/projects/orchard", &careful).by(&workshop.bea).send().await.refused(403, "FORBIDDEN");
    world.patch("/my/projects/orchard", &careful).by(ann).send().await.ok();
    world.delete("/my/projects/orchard").by(&workshop.cy).send().await.refused(404, "PROJECT_NOT_FOUND");
    world.delete("/my/projects/orchard").by(ann).send().await.ok();
    let rows = audit(world, "project.").await;
    assert_eq!(texts(&rows, "action"), ["project.create", "project.update", "project.update", "project.delete"]);
    let said = [("garden", "by_risk"), ("orchard", "by_risk"), ("orchard", "always"), ("orchard", "always")];
    for (row, (name, approval)) in rows.iter().zip(said) {
        assert_eq!(row["detail"], json!({"project": workshop.project["id"], "name": name, "approval": approval}));
        assert_eq!((&row["user"], &row["workspace"]), (&json!("usr_ann"), &json!("team")));
    }
}
