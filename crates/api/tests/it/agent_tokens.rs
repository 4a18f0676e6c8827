//! Tokens for agents: what they reach, as whom, and how they end.

use super::workshop::{Workshop, audit, pages};
use serde_json::{Value, json};
use testkit::World;

async fn issue(world: &World, by: &str, body: Value) -> Value {
    world.post("/my/tokens", &body).by(by).send().await.ok()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("text")
}

async fn session(world: &World, token: &str, body: Value) {
    world.post("/sessions", &body).by(token).send().await.ok();
}

const LIST: &str = "list_keys";

#[tokio::test]
async fn an_agents_token_says_which_agent_where_and_as_whom() {
    let workshop = Workshop::new().await;
    let (world, bea) = (&workshop.world, &workshop.bea);
    session(world, bea, json!({"id": "plans", "project": "garden"})).await;
    let agent = workshop.id("board");
    let wide = issue(world, bea, json!({"agent": agent})).await;
    assert_eq!((text(&wide, "kind"), text(&wide, "user")), ("agent", "usr_bea"));
    assert_eq!((text(&wide, "agent"), text(&wide, "workspace")), (agent, "team"));
    assert_eq!(wide["project"], workshop.project["id"]);
    assert_eq!((text(&wide, "participant"), wide.get("session")), ("subagent:board", None));
    let narrow = json!({"agent": agent, "session": "plans", "participant": "subagent:board:2"});
    let narrow = issue(world, bea, narrow).await;
    assert_eq!((text(&narrow, "session"), text(&narrow, "participant")), ("plans", "subagent:board:2"));
    let written = world.write(text(&wide, "token"), "plans", "a", "x").await;
    assert_eq!(written["written_by"], "subagent:board");
    let written = world.write(text(&narrow, "token"), "plans", "a", "x").await;
    assert_eq!(written["written_by"], "subagent:board:2");
    let listed = pages(world, bea, "/my/tokens", 50).await;
    for issued in [&wide, &narrow] {
        let mut about = issued.clone();
        about.as_object_mut().expect("fields").remove("token");
        assert!(listed.contains(&about), "{about}");
    }
    let rows = audit(world, "token.create").await;
    let row = rows.iter().find(|row| row["detail"]["token"] == narrow["id"]).expect("a row");
    assert_eq!((&row["workspace"], &row["session"]), (&json!("team"), &json!("plans")));
    assert_eq!((&row["detail"]["agent"], &row["detail"]["user"]), (&json!(agent), &json!("usr_bea")));
    // A renamed agent keeps the name under which its token was made.
    workshop.change_agent(&workshop.ann, "board", json!({"name": "panel"})).await.ok();
    assert_eq!(world.write(text(&wide, "token"), "plans", "a", "x").await["written_by"], "subagent:board");
    workshop.write(text(&wide, "token"), "panel", "a", "x").await;
}

#[tokio::test]
async fn a_token_is_made_for_an_agent_that_its_maker_may_use() {
    let workshop = Workshop::new().await;
    let (world, ann, cy) = (&workshop.world, &workshop.ann, &workshop.cy);
    let ask = |token: &str, body: Value| world.post("/my/tokens", &body).by(token).send();
    ask(cy, json!({"agent": workshop.id("board")})).await.refused(404, "AGENT_NOT_FOUND");
    ask(cy, json!({"agent": workshop.id("agent_coder")})).await.refused(404, "AGENT_NOT_FOUND");
    // Seen, and published to, but not talked to.
    ask(cy, json!({"agent": workshop.id("wall")})).await.refused(403, "FORBIDDEN");
    for nonsense in ["board", "", "agt_", "agt_1", "prj_1", "agt_\u{0}"] {
        ask(ann, json!({"agent": nonsense})).await.refused(404, "AGENT_NOT_FOUND");
    }
    let agent = workshop.id("board");
    for (body, field) in [
        (json!({"agent": agent, "channel": "http"}), "channel"),
        (json!({"agent": agent, "participant": "user:usr_ann"}), "participant"),
        (json!({"agent": agent, "participant": "*"}), "participant"),
        (json!({"agent": 7}), "agent"),
    ] {
        assert_eq!(ask(ann, body.clone()).await.refused(400, "INVALID_REQUEST")["field"], field, "{body}");
    }
    ask(ann, json!({"agent": agent, "user": "bea"})).await.refused(403, "FORBIDDEN");
    let made = world.post("/my/tokens", &json!({"agent": agent, "user": "bea"})).locally().send().await.ok();
    assert_eq!(made["user"], "usr_bea", "on the house's own machine for anybody who may use it");
    let stranger = world.post("/my/tokens", &json!({"agent": agent, "user": "cy"})).locally().send().await;
    stranger.refused(404, "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn the_agent_and_its_session_are_of_one_workspace_and_project() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let orchard = json!({"name": "orchard", "workspace": "team"});
    world.post("/my/projects", &orchard).by(ann).send().await.ok();
    session(world, ann, json!({"id": "mine"})).await;
    session(world, ann, json!({"id": "other", "project": "orchard"})).await;
    session(world, ann, json!({"id": "loose", "workspace": "team"})).await;
    let ask = |session: &str| {
        let body = json!({"agent": workshop.id("agent_coder"), "session": session});
        world.post("/my/tokens", &body).by(ann).send()
    };
    assert_eq!(ask("other").await.refused(400, "INVALID_REQUEST")["field"], "session");
    ask("mine").await.refused(404, "SESSION_NOT_FOUND");
    ask("nothing").await.refused(404, "SESSION_NOT_FOUND");
    assert_eq!(ask("loose").await.ok()["session"], "loose");
    let body = json!({"agent": workshop.id("agent_coder"), "session": "mine", "workspace": "personal"});
    assert_eq!(
        world.post("/my/tokens", &body).by(ann).send().await.refused(400, "INVALID_REQUEST")["field"],
        "session"
    );
}

#[tokio::test]
async fn an_agent_takes_part_in_the_sessions_of_its_project_and_in_loose_ones() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    let orchard = json!({"name": "orchard", "workspace": "team"});
    world.post("/my/projects", &orchard).by(ann).send().await.ok();
    session(world, ann, json!({"id": "plans", "project": "garden"})).await;
    session(world, ann, json!({"id": "loose", "workspace": "team"})).await;
    session(world, ann, json!({"id": "foreign", "project": "orchard"})).await;
    session(world, bea, json!({"id": "own"})).await;
    let wide = workshop.token(bea, "board").await;
    let narrow = json!({"agent": workshop.id("board"), "session": "plans"});
    let narrow = world.agent_token(bea, narrow).await;
    let list = json!({"action": LIST});
    for (token, id, reached) in [
        (&wide, "plans", true),
        (&wide, "loose", true),
        (&wide, "foreign", false),
        (&wide, "own", false),
        (&narrow, "plans", true),
        (&narrow, "loose", false),
        (&narrow, "foreign", false),
        (&narrow, "own", false),
    ] {
        let asks = [
            world.context(token, id, &list),
            world.get(&format!("/sessions/{id}/prompt")).by(token),
            world.get(&format!("/sessions/{id}/events")).by(token),
        ];
        for ask in asks {
            let answer = ask.send().await;
            if reached {
                assert_eq!(answer.status, 200, "{id}: {}", answer.text);
            } else {
                answer.refused(404, "SESSION_NOT_FOUND");
            }
        }
    }
    let elsewhere = world.post("/sessions/own/shared_context?workspace=personal", &list).by(&wide).send().await;
    elsewhere.refused(404, "SESSION_NOT_FOUND");
    let prompt = world.get("/sessions/plans/prompt").by(&wide).send().await.ok();
    assert_eq!(prompt["participant"], "subagent:board");
}

#[tokio::test]
async fn where_keys_have_access_lists_only_the_creators_agents_take_part() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    session(world, ann, json!({"id": "plans", "project": "garden", "config": {"acl": true}})).await;
    let hidden = json!({"action": "write", "key": "hidden", "value": "x", "readable_by": ["subagent:board"]});
    world.context(ann, "plans", &hidden).send().await.ok();
    let (anns, beas) = (workshop.token(ann, "board").await, workshop.token(bea, "board").await);
    let read = json!({"action": "read", "key": "hidden"});
    assert_eq!(world.context(&anns, "plans", &read).send().await.ok()["value"], "x");
    world.context(&beas, "plans", &read).send().await.refused(403, "FORBIDDEN");
    world.get("/sessions/plans/events").by(&beas).send().await.refused(403, "FORBIDDEN");
    world.get("/sessions/plans/prompt").by(&beas).send().await.refused(403, "FORBIDDEN");
    let wanted = json!({"agent": workshop.id("board"), "session": "plans"});
    world.post("/my/tokens", &wanted).by(bea).send().await.refused(403, "FORBIDDEN");
    world.agent_token(ann, wanted).await;
}

#[tokio::test]
async fn an_agents_token_works_for_its_agent_and_no_other() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let orchard = json!({"name": "orchard", "workspace": "team"});
    world.post("/my/projects", &orchard).by(ann).send().await.ok();
    // Of the same name as another one that ann can see: her agent has only ever one garden.
    world.project(ann, "garden").await;
    let id = text(&workshop.project, "id");
    for agent in ["agent_coder", "board"] {
        let token = workshop.token(ann, agent).await;
        for project in ["garden", id] {
            let list = world.tool(&token, &format!("{project}/{agent}"), "workspace_list", &json!({}));
            assert_eq!(list.send().await.ok(), json!({"items": []}), "{project}");
            let by_id = format!("{project}/{}", workshop.id(agent));
            world.tool(&token, &by_id, "workspace_list", &json!({})).send().await.ok();
        }
        for other in ["agent_writer", "wall", workshop.id("wall"), "nobody"] {
            let list = workshop.try_as(&token, other, "workspace_list", json!({})).await;
            list.refused(404, "AGENT_NOT_FOUND");
        }
        for elsewhere in ["orchard/agent_coder", "nowhere/agent_coder"] {
            let list = world.tool(&token, elsewhere, "workspace_list", &json!({})).send().await;
            list.refused(404, "PROJECT_NOT_FOUND");
        }
        let own = format!("/my/projects/garden/agents/{agent}/tools/workspace_list?workspace=personal");
        world.post(&own, &json!({})).by(&token).send().await.refused(404, "PROJECT_NOT_FOUND");
    }
}

#[tokio::test]
async fn an_agents_token_is_no_persons() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let owner = world.owner().await;
    world.workspace("team", &["owner"]).await;
    session(world, ann, json!({"id": "plans", "project": "garden"})).await;
    workshop.write(ann, "agent_coder", "mine", "x").await;
    let published = workshop.publish(ann, "mine", "board").await;
    let recall = format!("/my/publications/{}", text(&published, "publication_id"));
    // The second one's person is an admin.
    for token in [workshop.token(ann, "agent_coder").await, workshop.token(&owner, "board").await] {
        for ask in [
            world.get("/me"),
            world.get("/my/tokens"),
            world.post("/my/tokens", &json!({})),
            world.post("/my/tokens", &json!({"agent": workshop.id("board")})),
            world.get("/my/events"),
            world.get("/my/publications"),
            world.delete(&recall),
            world.get("/sessions"),
            world.get("/sessions/plans"),
            world.post("/sessions", &json!({})),
            world.post("/sessions/plans/archive", &json!({})),
            world.delete("/sessions/plans"),
            world.get("/admin/users"),
            world.get("/admin/audit"),
            world.get("/admin/sessions/plans/context"),
            world.post("/admin/backup", &json!({})),
            world.get("/metrics"),
        ] {
            ask.by(&token).send().await.refused(403, "FORBIDDEN");
        }
        assert_eq!(world.get("/tools/schemas").by(&token).send().await.status, 200);
    }
    assert_eq!(workshop.publications(ann).await.len(), 1);
}

#[tokio::test]
async fn an_agent_that_goes_takes_its_items_its_tokens_and_their_streams_along_at_once() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    session(world, ann, json!({"id": "plans", "project": "garden"})).await;
    workshop.write(bea, "board", "the board's", "x").await;
    workshop.write(bea, "agent_coder", "hers", "x").await;
    workshop.publish(bea, "hers", "board").await;
    let kept = workshop.publish(bea, "hers", "wall").await;
    let doomed = [workshop.token(ann, "board").await, workshop.token(bea, "board").await];
    let other = workshop.token(bea, "wall").await;
    let mut streams = Vec::new();
    for token in &doomed {
        streams.push(world.get("/sessions/plans/events").by(token).stream().await);
    }
    let mut goes_on = world.get("/sessions/plans/events").by(&other).stream().await;
    assert_eq!(world.delete("/my/projects/garden/agents/board").by(ann).send().await.status, 204);
    world.write(ann, "plans", "after", "x").await;
    for (token, stream) in doomed.iter().zip(&mut streams) {
        assert_eq!(stream.next().await, None, "it ended, without what came later");
        workshop.try_as(token, "board", "workspace_list", json!({})).await.refused(401, "UNAUTHENTICATED");
        world.context(token, "plans", &json!({"action": LIST})).send().await.refused(401, "UNAUTHENTICATED");
    }
    assert_eq!(goes_on.next().await.expect("an event").data["key"], "after");
    workshop.try_as(bea, "board", "workspace_list", json!({})).await.refused(404, "AGENT_NOT_FOUND");
    world.delete("/my/projects/garden/agents/board").by(ann).send().await.refused(404, "AGENT_NOT_FOUND");
    let left = workshop.publications(bea).await;
    assert_eq!((left.len(), &left[0]["id"]), (1, &kept["publication_id"]), "what was published to it is no more");
    // One of the same name is another one.
    world.agent(ann, "garden", json!({"name": "board", "visibility": "shared"})).await;
    assert!(workshop.keys(bea, "board").await.is_empty());
    workshop.try_as(&doomed[0], "board", "workspace_list", json!({})).await.refused(401, "UNAUTHENTICATED");
    // A private agent that goes leaves its people what is theirs.
    world.delete("/my/projects/garden/agents/agent_coder").by(ann).send().await.ok();
    let hers = workshop.read(bea, "agent_writer", "hers").await;
    assert_eq!((&hers["value"], text(&hers, "created_by")), (&json!("x"), workshop.id("agent_coder")));
    assert_eq!(workshop.recall(bea, &kept).await.status, 204, "and what it published can be recalled");
}

#[tokio::test]
async fn a_token_of_an_agent_ends_with_time_with_its_maker_and_stays_ended() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let parent = issue(world, ann, json!({})).await;
    let child = world.agent_token(text(&parent, "token"), json!({"agent": workshop.id("board")})).await;
    let short = world.agent_token(ann, json!({"agent": workshop.id("board"), "ttl": "1m"})).await;
    let revoked = issue(world, ann, json!({"agent": workshop.id("board")})).await;
    let mut all = vec![child, short, text(&revoked, "token").to_owned()];
    for token in &all {
        workshop.items(token, "board").await;
    }
    for id in [text(&parent, "id"), text(&revoked, "id")] {
        world.delete(&format!("/my/tokens/{id}")).by(ann).send().await.ok();
    }
    world.clock.advance_s(60);
    all.push(workshop.token(ann, "agent_coder").await);
    world.delete("/my/projects/garden/agents/agent_coder").by(ann).send().await.ok();
    let workshop = Workshop { world: workshop.world.reopened().await, ..workshop };
    for token in &all {
        workshop.try_as(token, "board", "workspace_list", json!({})).await.refused(401, "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn an_agent_that_becomes_shared_or_private_leaves_its_tokens_behind() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    for (agent, to) in [("board", "private"), ("agent_coder", "shared")] {
        let token = workshop.token(bea, agent).await;
        workshop.change_agent(ann, agent, json!({"role": "the same still"})).await.ok();
        let path = format!("/my/projects/garden/agents/{agent}/tools/workspace_list");
        workshop.world.post(&path, &json!({})).by(&token).send().await.ok();
        workshop.change_agent(ann, agent, json!({"visibility": to})).await.ok();
        workshop.world.post(&path, &json!({})).by(&token).send().await.refused(401, "UNAUTHENTICATED");
    }
}
