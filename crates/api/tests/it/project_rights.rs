//! Projects: who may do what with them, their sessions and streams, and what goes when they go.

use super::workshop::{Workshop, pages, texts};
use serde_json::{Value, json};
use testkit::{Ask, World};

async fn session_in(world: &World, token: &str, body: Value) -> Value {
    world.post("/sessions", &body).by(token).send().await.ok()
}

/// One request of each kind that changes a project, none of which changes much.
fn changes(world: &World) -> [Ask; 5] {
    [
        world.patch("/my/projects/garden", &json!({})),
        world.post("/my/projects/garden/agents", &json!({"name": "agent_coder"})),
        world.patch("/my/projects/garden/agents/agent_coder", &json!({})),
        world.delete("/my/projects/garden/agents/agent_coder"),
        world.delete("/my/projects/garden"),
    ]
}

#[tokio::test]
async fn a_member_uses_a_project_and_its_creator_changes_it() {
    let workshop = Workshop::new().await;
    let (world, bea) = (&workshop.world, &workshop.bea);
    assert_eq!(world.get("/my/projects/garden").by(bea).send().await.ok(), workshop.project);
    assert_eq!(texts(&pages(world, bea, "/my/projects", 5).await, "name"), ["garden"]);
    let coder = world.get("/my/projects/garden/agents/agent_coder").by(bea).send().await.ok();
    assert_eq!(coder, workshop.project["agents"][0]);
    for ask in changes(world) {
        ask.by(bea).send().await.refused(403, "FORBIDDEN");
    }
    // What she makes there is hers to change, and not ann's.
    let hers = json!({"name": "hers", "workspace": "team"});
    world.post("/my/projects", &hers).by(bea).send().await.ok();
    let renamed = json!({"name": "still hers"});
    world.patch("/my/projects/hers", &renamed).by(&workshop.ann).send().await.refused(403, "FORBIDDEN");
    world.patch("/my/projects/hers", &renamed).by(bea).send().await.ok();
}

#[tokio::test]
async fn an_admin_changes_what_an_admin_can_see() {
    let workshop = Workshop::new().await;
    let world = &workshop.world;
    let owner = world.owner().await;
    for ask in changes(world) {
        ask.by(&owner).send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    world.workspace("team", &["owner"]).await;
    for (ask, status) in changes(world).into_iter().zip([200, 409, 200, 204, 204]) {
        assert_eq!(ask.by(&owner).send().await.status, status);
    }
}

#[tokio::test]
async fn a_stranger_finds_no_project() {
    let workshop = Workshop::new().await;
    let (world, cy) = (&workshop.world, &workshop.cy);
    let id = workshop.project["id"].as_str().expect("an id");
    for ask in changes(world) {
        ask.by(cy).send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    for project in ["garden", id, "garden?workspace=team", &format!("{id}?workspace=team")] {
        world.get(&format!("/my/projects/{project}")).by(cy).send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    for path in ["agents", "agents/board", "events"] {
        let ask = world.get(&format!("/my/projects/{id}/{path}")).by(cy);
        ask.send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    let into_team = json!({"name": "x", "workspace": "team"});
    world.post("/my/projects", &into_team).by(cy).send().await.refused(404, "WORKSPACE_NOT_FOUND");
    for list in ["/my/projects", "/my/projects?workspace=team"] {
        let listed = world.get(list).by(cy).send().await.ok();
        assert_eq!(listed, json!({"items": [], "next_cursor": null}), "{list}");
    }
}

#[tokio::test]
async fn tokens_of_agents_sessions_and_channels_manage_nothing() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    session_in(world, ann, json!({"id": "plans", "project": "garden"})).await;
    let channel = world.post("/my/tokens", &json!({"channel": "http"})).locally().send().await.ok();
    let tokens = [
        workshop.token(ann, "agent_coder").await,
        workshop.token(ann, "board").await,
        world.participant(ann, "plans", "orchestrator").await,
        channel["token"].as_str().expect("a token").to_owned(),
    ];
    for token in &tokens {
        let looks = [
            world.get("/my/projects"),
            world.get("/my/projects/garden"),
            world.get("/my/projects/garden/agents"),
            world.get("/my/projects/garden/agents/agent_coder"),
            world.get("/my/projects/garden/events"),
            world.post("/my/projects", &json!({"name": "x"})),
            world.post("/sessions", &json!({"project": "garden"})),
        ];
        for ask in looks.into_iter().chain(changes(world)) {
            ask.by(token).send().await.refused(403, "FORBIDDEN");
        }
    }
    assert_eq!(world.get("/my/projects/garden").by(ann).send().await.ok(), workshop.project);
}

#[tokio::test]
async fn who_leaves_the_workspace_leaves_its_projects() {
    let workshop = Workshop::new().await;
    let (world, bea) = (&workshop.world, &workshop.bea);
    session_in(world, &workshop.ann, json!({"id": "plans", "project": "garden"})).await;
    let agent = workshop.token(bea, "board").await;
    let mut streams = [
        world.get("/my/projects/garden/events").by(bea).stream().await,
        world.get("/sessions/plans/events").by(bea).stream().await,
        world.get("/sessions/plans/events").by(&agent).stream().await,
    ];
    let mut anns = world.get("/my/projects/garden/events").by(&workshop.ann).stream().await;
    world.leave("team", "bea").await;
    world.write(&workshop.ann, "plans", "after", "x").await;
    for stream in &mut streams {
        assert_eq!(stream.next().await, None, "it ended, without what came later");
    }
    assert_eq!(anns.next().await.expect("an event").data["key"], "after");
    world.get("/my/projects/garden").by(bea).send().await.refused(404, "PROJECT_NOT_FOUND");
    let list = workshop.try_as(&agent, "board", "workspace_list", json!({})).await;
    list.refused(404, "PROJECT_NOT_FOUND");
    let read = json!({"action": "list_keys"});
    world.context(&agent, "plans", &read).send().await.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_session_of_a_project_belongs_to_its_workspace() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    let id = workshop.project["id"].as_str().expect("an id");
    let made = session_in(world, bea, json!({"id": "plans", "project": "garden"})).await;
    assert_eq!((&made["workspace"], &made["project"]), (&json!("team"), &json!(id)));
    assert_eq!(made["created_by"], "usr_bea");
    world.write(ann, "plans", "a", "x").await;
    for body in [json!({"project": id, "workspace": "team"}), json!({"project": "garden", "workspace": "team"})] {
        assert_eq!(session_in(world, ann, body).await["project"], id);
    }
    for (token, body) in [
        (ann, json!({"project": "garden", "workspace": "personal"})),
        (ann, json!({"project": id, "workspace": "personal-usr_ann"})),
        (ann, json!({"project": id, "workspace": "nowhere"})),
        (ann, json!({"project": "nothing"})),
        (&workshop.cy, json!({"project": id})),
        (&workshop.cy, json!({"project": "garden", "workspace": "team"})),
    ] {
        world.post("/sessions", &body).by(token).send().await.refused(404, "PROJECT_NOT_FOUND");
    }
    let sessions = pages(world, &workshop.cy, "/sessions", 5).await;
    assert!(sessions.is_empty(), "{sessions:?}");
}

#[tokio::test]
async fn a_session_is_told_its_projects_conventions_unless_it_has_its_own() {
    let world = World::new().await;
    let owner = world.owner().await;
    let conventions = json!([{"key": "beds", "purpose": "Which bed grows what."}]);
    let body = json!({"name": "garden", "key_conventions": conventions});
    world.post("/my/projects", &body).by(&owner).send().await.ok();
    let inherited = session_in(&world, &owner, json!({"id": "inherited", "project": "garden"})).await;
    assert_eq!(inherited["config"]["key_conventions"], conventions);
    let own = json!([{"key": "mine", "purpose": "My own."}]);
    let body = json!({"id": "own", "project": "garden", "config": {"key_conventions": own}});
    assert_eq!(session_in(&world, &owner, body).await["config"]["key_conventions"], own);
    let none = json!({"id": "none", "project": "garden", "config": {"key_conventions": []}});
    assert_eq!(session_in(&world, &owner, none).await["config"]["key_conventions"], json!([]), "none is a choice");
    let prompt = world.get("/sessions/inherited/prompt").by(&owner).send().await.ok();
    assert!(prompt["prompt"].as_str().is_some_and(|text| text.contains("Which bed grows what.")), "{prompt}");
    let change = json!({"key_conventions": null});
    world.patch("/my/projects/garden", &change).by(&owner).send().await.ok();
    let later = session_in(&world, &owner, json!({"id": "later", "project": "garden"})).await;
    assert_eq!(later["config"].get("key_conventions"), None);
    let before = world.get("/sessions/inherited").by(&owner).send().await.ok();
    assert_eq!(before["config"]["key_conventions"], conventions, "what a session began with stays");
}

#[tokio::test]
async fn a_project_that_goes_takes_agents_sessions_tokens_and_streams_along() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    session_in(world, bea, json!({"id": "plans", "project": "garden"})).await;
    session_in(world, ann, json!({"id": "other", "workspace": "team"})).await;
    world.write(ann, "other", "a", "kept").await;
    workshop.write(bea, "agent_coder", "hers", "kept").await;
    workshop.write(bea, "board", "the board's", "x").await;
    let (agent, session) = (workshop.token(bea, "board").await, world.participant(bea, "plans", "orchestrator").await);
    let mut streams = [
        world.get("/my/projects/garden/events").by(bea).stream().await,
        world.get("/sessions/plans/events").by(ann).stream().await,
        world.get("/sessions/plans/events").by(&agent).stream().await,
        world.get("/sessions/other/events").by(&agent).stream().await,
        world.get("/sessions/plans/events").by(&session).stream().await,
    ];
    assert_eq!(world.delete("/my/projects/garden").by(ann).send().await.status, 204);
    for stream in &mut streams {
        assert_eq!(stream.next().await, None);
    }
    for token in [&agent, &session] {
        let list = json!({"action": "list_keys"});
        world.context(token, "plans", &list).send().await.refused(401, "UNAUTHENTICATED");
    }
    world.delete("/my/projects/garden").by(ann).send().await.refused(404, "PROJECT_NOT_FOUND");
    world.get("/sessions/plans").by(bea).send().await.refused(404, "SESSION_NOT_FOUND");
    let shared = world.get("/agents/shared").by(bea).send().await.ok();
    assert_eq!(shared["items"], json!([]));
    let read = json!({"action": "read", "key": "a"});
    assert_eq!(world.context(bea, "other", &read).send().await.ok()["value"], "kept");
    // Another of the same name begins with nothing; what was bea's own is still hers.
    let again = json!({"name": "garden", "workspace": "team"});
    let again = world.post("/my/projects", &again).by(ann).send().await.ok();
    assert_ne!(again["id"], workshop.project["id"]);
    world.agent(ann, "garden", json!({"name": "board", "visibility": "shared"})).await;
    assert!(workshop.keys(ann, "board").await.is_empty());
    assert_eq!(workshop.read(bea, "agent_coder", "hers").await["value"], "kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_comes_into_a_project_that_is_going() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    workshop.write(bea, "agent_coder", "hers", "x").await;
    let sessions = (0..20).map(|_| world.post("/sessions", &json!({"project": "garden"})).by(bea).send());
    let publishes = (0..20).map(|n| {
        let target_key = format!("copy {n}");
        let request = json!({"key": "hers", "target_agent_id": workshop.id("wall"), "target_key": target_key});
        workshop.try_publish(bea, request)
    });
    let tokens = (0..20).map(|_| world.post("/my/tokens", &json!({"agent": workshop.id("board")})).by(bea).send());
    let (sessions, publishes, tokens, gone) = tokio::join!(
        futures_util::future::join_all(sessions),
        futures_util::future::join_all(publishes),
        futures_util::future::join_all(tokens),
        world.delete("/my/projects/garden").by(ann).send()
    );
    assert_eq!(gone.status, 204);
    for answer in sessions.iter().chain(&publishes).chain(&tokens).filter(|answer| !answer.status.is_success()) {
        assert_eq!(answer.status, 404, "{}", answer.text);
    }
    assert!(pages(world, bea, "/sessions", 50).await.is_empty());
    assert!(workshop.publications(bea).await.is_empty());
    for answer in tokens.iter().filter(|answer| answer.status.is_success()) {
        let token = answer.json()["token"].as_str().expect("a token").to_owned();
        world.get("/agents/shared").by(&token).send().await.refused(401, "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn a_projects_events_are_of_its_sessions_and_shared_agents() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    let id = workshop.project["id"].as_str().expect("an id");
    session_in(world, ann, json!({"id": "plans", "project": "garden"})).await;
    session_in(world, ann, json!({"id": "loose", "workspace": "team"})).await;
    session_in(world, bea, json!({"id": "hers"})).await;
    let mut live = world.get("/my/projects/garden/events").by(bea).stream().await;
    world.write(ann, "plans", "first", "x").await;
    world.write(ann, "loose", "of_no_project", "x").await;
    world.write(bea, "hers", "elsewhere", "x").await;
    workshop.write(ann, "board", "second", "x").await;
    workshop.write(ann, "agent_coder", "private", "x").await;
    world.write(bea, "plans", "third", "x").await;
    let seen = live.take(3).await;
    for (event, key) in seen.iter().zip(["first", "second", "third"]) {
        assert_eq!((&event.data["key"], &event.data["project"]), (&json!(key), &json!(id)), "{}", event.data);
    }
    assert!(seen.is_sorted_by(|one, next| one.id < next.id));
    let path = format!("/my/projects/{id}/events/?keys=third,second&workspace=team");
    let mut selected = world.get(&path).by(ann).header("last-event-id", "0").stream().await;
    assert_eq!(selected.take(2).await, seen[1..]);
    let resumed = world.get("/my/projects/garden/events").by(ann).header("last-event-id", &seen[0].id.to_string());
    assert_eq!(resumed.stream().await.take(2).await, seen[1..]);
    let lost = world.get("/my/projects/garden/events").by(ann).header("last-event-id", "1000000");
    assert_eq!(lost.stream().await.next().await.expect("an event").kind, "RESET");
}
