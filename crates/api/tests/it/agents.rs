//! Agents: made, changed, shown to others and removed.

use super::room::fields;
use super::workshop::{Workshop, audit, pages, texts};
use serde_json::{Value, json};
use testkit::{Answer, World};

const AGENTS: &str = "/my/projects/garden/agents";

async fn scene() -> (World, String) {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    (world, owner)
}

async fn create(world: &World, token: &str, body: Value) -> Answer {
    world.post(AGENTS, &body).by(token).send().await
}

#[tokio::test]
async fn an_agent_is_what_it_was_told_to_be_or_something_sensible() {
    let (world, owner) = scene().await;
    let plain = create(&world, &owner, json!({"name": "plain"})).await;
    assert_eq!(plain.status, 201);
    let plain = plain.ok();
    let kinds = ["name", "role", "model", "temperature", "max_tokens", "concurrency_limit", "visibility", "audience"];
    assert_eq!(
        json!(kinds.map(|field| plain[field].clone())),
        json!(["plain", "assistant", "gpt-4", 0.7, 2048, 3, "private", "workspace"])
    );
    let mut all = kinds.to_vec();
    all.extend(["created_at", "id", "project", "updated_at"]);
    all.sort_unstable();
    assert_eq!(fields(&plain), all, "what it does not have is left out");
    let body = json!({
        "name": "full", "role": "gardener", "model": "claude-opus", "temperature": 2, "max_tokens": 1_000_000,
        "system_prompt": "You know\nplants.", "concurrency_limit": 10, "visibility": "shared", "audience": "everyone",
        "tools": ["workspace_*", "web.search"],
    });
    let full = create(&world, &owner, body.clone()).await.ok();
    for (field, value) in body.as_object().expect("fields") {
        if field == "temperature" {
            assert_eq!(full[field].as_f64(), Some(2.0));
        } else {
            assert_eq!(&full[field], value, "{field}");
        }
    }
    for (agent, name) in [(&plain, "plain"), (&full, "full")] {
        let id = agent["id"].as_str().expect("an id");
        for address in [id, name, &format!("{name}/"), &format!("{id}?workspace=personal")] {
            assert_eq!(&world.get(&format!("{AGENTS}/{address}")).by(&owner).send().await.ok(), agent);
        }
    }
    let listed = world.get(AGENTS).by(&owner).send().await.ok();
    let names = texts(listed["items"].as_array().expect("items"), "name");
    assert_eq!(names, ["agent_coder", "agent_analyzer", "agent_writer", "agent_researcher", "plain", "full"]);
}

#[tokio::test]
async fn every_field_has_its_range_and_the_refusal_names_it() {
    let (world, owner) = scene().await;
    let (long, prompt) = ("a".repeat(65), "x".repeat(32 * 1024 + 1));
    let many: Vec<String> = (0..101).map(|n| format!("tool_{n}")).collect();
    let cases = [
        ("name", json!(null)),
        ("name", json!("")),
        ("name", json!("Agent")),
        ("name", json!("1a")),
        ("name", json!("_a")),
        ("name", json!("a-b")),
        ("name", json!("a\n")),
        ("name", json!("ä")),
        ("name", json!(long)),
        ("name", json!(7)),
        ("role", json!("")),
        ("role", json!("two\nlines")),
        ("role", json!("x".repeat(201))),
        ("model", json!("")),
        ("model", json!("x".repeat(201))),
        ("temperature", json!(-0.1)),
        ("temperature", json!(2.1)),
        ("temperature", json!("hot")),
        ("max_tokens", json!(0)),
        ("max_tokens", json!(-1)),
        ("max_tokens", json!(1.5)),
        ("max_tokens", json!(1_000_001)),
        ("system_prompt", json!(prompt)),
        ("system_prompt", json!("a\0b")),
        ("concurrency_limit", json!(0)),
        ("concurrency_limit", json!(11)),
        ("visibility", json!("public")),
        ("audience", json!("house")),
        ("audience", json!("everyone")),
        ("tools", json!("all")),
        ("tools", json!([7])),
        ("tools", json!([""])),
        ("tools", json!(["a b"])),
        ("tools", json!(many)),
        ("id", json!("agt_1")),
        ("project", json!("other")),
        ("created_by", json!("usr_bea")),
    ];
    let before = world.get(AGENTS).by(&owner).send().await.ok();
    for (field, value) in cases {
        let mut body = json!({"name": "fine"});
        body[field] = value.clone();
        let refusal = create(&world, &owner, body).await.refused(400, "INVALID_REQUEST");
        assert!(refusal["field"].as_str().is_some_and(|named| named.starts_with(field)), "{field} {value}: {refusal}");
        if value.is_null() {
            continue;
        }
        let change = world.patch(&format!("{AGENTS}/agent_coder"), &json!({field: value})).by(&owner).send().await;
        let refusal = change.refused(400, "INVALID_REQUEST");
        assert!(refusal["field"].as_str().is_some_and(|named| named.starts_with(field)), "{field} {value}: {refusal}");
    }
    assert_eq!(world.get(AGENTS).by(&owner).send().await.ok(), before, "and nothing came of it");
    let longest = json!({"name": "a".repeat(64), "role": "é".repeat(200), "system_prompt": "x".repeat(32 * 1024)});
    create(&world, &owner, longest).await.ok();
}

#[tokio::test]
async fn a_name_is_given_once_in_a_project() {
    let (world, owner) = scene().await;
    world.project(&owner, "orchard").await;
    let made = create(&world, &owner, json!({"name": "weeder"})).await.ok();
    create(&world, &owner, json!({"name": "weeder"})).await.refused(409, "AGENT_EXISTS");
    create(&world, &owner, json!({"name": "agent_coder"})).await.refused(409, "AGENT_EXISTS");
    let rename = json!({"name": "agent_coder"});
    world.patch(&format!("{AGENTS}/weeder"), &rename).by(&owner).send().await.refused(409, "AGENT_EXISTS");
    let same = world.patch(&format!("{AGENTS}/weeder"), &json!({"name": "weeder"})).by(&owner).send().await;
    assert_eq!(same.ok()["name"], "weeder");
    world.agent(&owner, "orchard", json!({"name": "weeder"})).await;
    // Neither its name nor its id leads to it from another project.
    let id = made["id"].as_str().expect("an id");
    let foreign = world.get(&format!("/my/projects/orchard/agents/{id}")).by(&owner).send().await;
    foreign.refused(404, "AGENT_NOT_FOUND");
    for nonsense in ["agt_1", "nobody", "%00", "agt_", "..%2f"] {
        let ask = world.get(&format!("{AGENTS}/{nonsense}")).by(&owner);
        ask.send().await.refused(404, "AGENT_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_change_says_what_changes_and_the_rest_stays() {
    let (world, owner) = scene().await;
    let body = json!({"name": "weeder", "system_prompt": "Weed.", "tools": ["workspace_read"], "temperature": 0});
    let made = create(&world, &owner, body).await.ok();
    let id = made["id"].as_str().expect("an id").to_owned();
    world.clock.advance_s(60);
    let change = async |body: Value| world.patch(&format!("{AGENTS}/{id}"), &body).by(&owner).send().await.ok();
    let touched = change(json!({})).await;
    assert_ne!(touched["updated_at"], made["updated_at"]);
    let mut expected = touched.clone();
    expected["updated_at"] = made["updated_at"].clone();
    assert_eq!(expected, made, "nothing else changed");
    expected = touched;
    for (field, value) in [
        ("name", json!("hoer")),
        ("role", json!("hoeing")),
        ("model", json!("gpt-5")),
        ("temperature", json!(1.5)),
        ("max_tokens", json!(1)),
        ("system_prompt", json!("Hoe.")),
        ("concurrency_limit", json!(1)),
        ("visibility", json!("shared")),
        ("audience", json!("everyone")),
        ("tools", json!([])),
    ] {
        expected[field] = value.clone();
        assert_eq!(change(json!({field: value})).await, expected);
    }
    for cleared in ["system_prompt", "tools"] {
        expected.as_object_mut().expect("fields").remove(cleared);
        assert_eq!(change(json!({cleared: null})).await, expected);
    }
    expected["visibility"] = json!("private");
    expected["audience"] = json!("workspace");
    assert_eq!(change(json!({"visibility": "private"})).await, expected, "nobody is shown a private agent");
    assert_eq!(world.get(&format!("{AGENTS}/hoer")).by(&owner).send().await.ok(), expected);
    world.get(&format!("{AGENTS}/weeder")).by(&owner).send().await.refused(404, "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn an_agent_that_is_asked_for_again_with_its_key_is_made_once() {
    let (world, owner) = scene().await;
    let send = |body: Value| world.post(AGENTS, &body).by(&owner).header("idempotency-key", "k1").send();
    let first = send(json!({"name": "weeder"})).await;
    let again = send(json!({"name": "weeder"})).await;
    assert_eq!((again.status.as_u16(), &again.text), (201, &first.text));
    send(json!({"name": "hoer"})).await.refused(422, "IDEMPOTENCY_MISMATCH");
    create(&world, &owner, json!({"name": "weeder"})).await.refused(409, "AGENT_EXISTS");
}

#[tokio::test]
async fn shared_agents_are_shown_to_members_and_to_everyone_as_they_say() {
    let workshop = Workshop::new().await;
    let (world, ann, bea, cy) = (&workshop.world, &workshop.ann, &workshop.bea, &workshop.cy);
    workshop.change_agent(ann, "wall", json!({"system_prompt": "SECRET", "role": "a wall"})).await.ok();
    workshop.change_agent(ann, "board", json!({"system_prompt": "SECRET"})).await.ok();
    let (board, wall) = (workshop.id("board"), workshop.id("wall"));
    let project = &workshop.project["id"];
    let member = |id: &str, name: &str, role: &str, audience: &str| {
        json!({"id": id, "name": name, "role": role, "audience": audience, "member": true, "project": project,
               "workspace": "team", "owner": "usr_ann"})
    };
    let expected =
        [member(board, "board", "assistant", "workspace"), member(wall, "wall", "a wall", "everyone")].to_vec();
    for token in [ann, bea] {
        assert_eq!(pages(world, token, "/agents/shared", 1).await, expected);
    }
    // A stranger learns what is needed to publish to it, from whom it is, and neither where it lives nor what it is told.
    let seen = json!({"id": wall, "name": "wall", "role": "a wall", "audience": "everyone", "member": false,
                      "owner": "usr_ann"});
    assert_eq!(pages(world, cy, "/agents/shared", 1).await, [seen]);
    let private = workshop.token(bea, "agent_coder").await;
    assert_eq!(pages(world, &private, "/agents/shared", 5).await, expected, "an agent looks for its person");
    let shared = workshop.token(bea, "board").await;
    world.get("/agents/shared").by(&shared).send().await.refused(403, "FORBIDDEN");
    workshop.change_agent(ann, "wall", json!({"audience": "workspace"})).await.ok();
    assert!(pages(world, cy, "/agents/shared", 1).await.is_empty(), "at once");
    workshop.change_agent(ann, "wall", json!({"visibility": "private"})).await.ok();
    assert_eq!(texts(&pages(world, bea, "/agents/shared", 1).await, "name"), ["board"]);
}

#[tokio::test]
async fn an_agent_with_items_stays_private_or_shared_until_they_are_gone() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    let flip = |agent: &'static str, to: &'static str| workshop.change_agent(ann, agent, json!({"visibility": to}));
    // What it made, even for somebody else and in nobody's sight.
    workshop.write(bea, "agent_coder", "hers", "x").await;
    flip("agent_coder", "shared").await.refused(409, "AGENT_HAS_DATA");
    flip("agent_coder", "private").await.ok();
    workshop.change_agent(ann, "agent_coder", json!({"role": "still itself"})).await.ok();
    workshop.delete(bea, "agent_writer", "hers").await;
    flip("agent_coder", "shared").await.ok();
    // What lies in its own scope, whoever made it.
    workshop.write(bea, "agent_coder", "the coder's", "x").await;
    flip("agent_coder", "private").await.refused(409, "AGENT_HAS_DATA");
    workshop.delete(ann, "agent_coder", "the coder's").await;
    flip("agent_coder", "private").await.ok();
    assert!(workshop.keys(bea, "agent_coder").await.is_empty());
    // A copy belongs to both: to the one that made it, and to the one that has it.
    workshop.write(ann, "agent_writer", "mine", "x").await;
    let copy = workshop.publish(ann, "mine", "board").await;
    workshop.delete(ann, "agent_writer", "mine").await;
    flip("agent_coder", "shared").await.refused(409, "AGENT_HAS_DATA");
    flip("board", "private").await.refused(409, "AGENT_HAS_DATA");
    flip("agent_writer", "shared").await.ok();
    assert_eq!(workshop.recall(ann, &copy).await.status, 204);
    flip("agent_coder", "shared").await.ok();
    flip("board", "private").await.ok();
}

#[tokio::test]
async fn an_agent_that_names_its_tools_has_no_others() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    let token = workshop.token(ann, "agent_coder").await;
    for (tools, allowed) in [
        (json!(["workspace_read"]), vec!["workspace_read"]),
        (json!(["workspace_*"]), vec!["workspace_list", "workspace_read", "workspace_write", "workspace_delete"]),
        (json!(["*_list", "shell"]), vec!["workspace_list"]),
        (json!([]), vec![]),
        (json!(["workspace"]), vec![]),
    ] {
        workshop.change_agent(ann, "agent_coder", json!({"tools": tools})).await.ok();
        for tool in ["workspace_list", "workspace_read", "workspace_write", "workspace_delete"] {
            let request = match tool {
                "workspace_list" => json!({}),
                "workspace_write" => json!({"key": "a", "value": "x"}),
                _ => json!({"key": "a"}),
            };
            for token in [ann, &token] {
                workshop.write(ann, "agent_writer", "a", "x").await;
                let answer = workshop.try_as(token, "agent_coder", tool, request.clone()).await;
                if allowed.contains(&tool) {
                    answer.ok();
                } else {
                    answer.refused(403, "FORBIDDEN");
                }
            }
        }
    }
    workshop.change_agent(ann, "agent_coder", json!({"tools": null})).await.ok();
    workshop.items(&token, "agent_coder").await;
}

#[tokio::test]
async fn every_change_of_an_agent_leaves_one_row_and_no_refusal_does() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    workshop.write(ann, "board", "a", "x").await;
    let before = audit(world, "agent.").await.len();
    workshop.change_agent(ann, "board", json!({"audience": "everyone", "system_prompt": "SECRET"})).await.ok();
    workshop.change_agent(ann, "board", json!({"visibility": "private"})).await.refused(409, "AGENT_HAS_DATA");
    workshop.change_agent(ann, "board", json!({"name": "wall"})).await.refused(409, "AGENT_EXISTS");
    workshop.change_agent(&workshop.bea, "board", json!({"role": "hers"})).await.refused(403, "FORBIDDEN");
    world.delete(&format!("{AGENTS}/board")).by(&workshop.bea).send().await.refused(403, "FORBIDDEN");
    world.delete(&format!("{AGENTS}/board")).by(ann).send().await.ok();
    let rows = audit(world, "agent.").await.split_off(before);
    assert_eq!(texts(&rows, "action"), ["agent.update", "agent.delete"]);
    for row in rows {
        let told = json!({"project": workshop.project["id"], "agent": workshop.id("board"), "name": "board",
                          "visibility": "shared", "audience": "everyone"});
        assert_eq!((&row["detail"], &row["user"], &row["workspace"]), (&told, &json!("usr_ann"), &json!("team")));
    }
}

#[tokio::test]
async fn whoever_remembers_agents_is_told_by_the_commit_that_changes_one_and_by_no_other() {
    let Workshop { world, ann, .. } = &Workshop::new().await;
    let epoch = || world.house.store().agents_epoch();
    let orchard = json!({"name": "orchard", "workspace": "team"});
    world.post("/my/projects", &orchard).by(ann).send().await.ok();
    let begin = epoch();
    world.session(ann, "plans", json!({})).await;
    world.write(ann, "plans", "one", "x").await;
    world.agent(ann, "garden", json!({"name": "new", "visibility": "shared"})).await;
    world.patch("/my/projects/orchard", &json!({"name": "meadow"})).by(ann).send().await.ok();
    world.delete("/sessions/plans").by(ann).send().await.ok();
    let nobody = world.patch("/my/projects/garden/agents/nobody", &json!({"model": "demo"}));
    nobody.by(ann).send().await.refused(404, "AGENT_NOT_FOUND");
    assert_eq!(epoch(), begin);
    world.patch("/my/projects/garden/agents/board", &json!({"model": "demo"})).by(ann).send().await.ok();
    assert_eq!(epoch(), begin + 1);
    world.delete("/my/projects/garden/agents/board").by(ann).send().await.ok();
    assert_eq!(epoch(), begin + 2);
    world.delete("/my/projects/meadow").by(ann).send().await.ok();
    assert_eq!(epoch(), begin + 3);
}
