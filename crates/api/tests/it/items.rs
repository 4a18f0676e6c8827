//! Workspace items: the tools by every hand, whose items they are, and how they are listed and numbered.

use super::room::fields;
use super::workshop::{Workshop, audit, texts};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::World;

#[tokio::test]
async fn an_item_is_written_listed_read_and_deleted() {
    let workshop = Workshop::new().await;
    let (ann, coder) = (&workshop.ann, workshop.id("agent_coder"));
    let written = workshop.write(ann, "agent_coder", "Shopping list", "milk").await;
    assert_eq!(fields(&written), ["created_by", "key", "size_bytes", "updated_at", "updated_by", "version"]);
    assert_eq!((&written["key"], &written["version"]), (&json!("Shopping list"), &json!(1)));
    assert_eq!((&written["size_bytes"], &written["created_by"]), (&json!(4), &json!(coder)));
    let items = workshop.items(ann, "agent_coder").await;
    let mut listed = written.clone();
    listed["preview"] = json!("milk");
    assert_eq!(items, [listed]);
    let read = workshop.read(ann, "agent_coder", "Shopping list").await;
    let mut expected = written.clone();
    expected["value"] = json!("milk");
    expected["created_at"] = written["updated_at"].clone();
    expected["on_behalf_of"] = json!("usr_ann");
    assert_eq!(read, expected);
    let deleted = workshop.delete(ann, "agent_coder", "Shopping list").await;
    assert_eq!(deleted, json!({"deleted": "Shopping list", "previous_version": 1}));
    workshop.lacks(ann, "agent_coder", "Shopping list").await;
    let again = workshop.try_as(ann, "agent_coder", "workspace_delete", json!({"key": "Shopping list"})).await;
    again.refused(404, "ITEM_NOT_FOUND");
    assert!(workshop.items(ann, "agent_coder").await.is_empty());
}

#[tokio::test]
async fn a_person_and_the_agents_own_token_do_the_same() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    for agent in ["agent_coder", "board"] {
        let token = workshop.token(ann, agent).await;
        workshop.write(ann, agent, "a", "by the person").await;
        assert_eq!(workshop.read(&token, agent, "a").await, workshop.read(ann, agent, "a").await);
        assert_eq!(workshop.write(&token, agent, "a", "by the agent").await["version"], 2);
        assert_eq!(workshop.items(&token, agent).await, workshop.items(ann, agent).await);
        assert_eq!(workshop.read(ann, agent, "a").await["value"], "by the agent");
        workshop.delete(&token, agent, "a").await;
        workshop.lacks(ann, agent, "a").await;
    }
}

#[tokio::test]
async fn the_private_agents_of_a_person_share_wherever_they_are_and_nobody_else_sees() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    world.project(ann, "kitchen").await;
    workshop.write(ann, "agent_coder", "list", "ann's").await;
    let read = json!({"key": "list"});
    let from_kitchen = world.tool(ann, "kitchen/agent_writer", "workspace_read", &read).send().await.ok();
    assert_eq!(from_kitchen["value"], "ann's", "items are the one thing that crosses projects");
    workshop.lacks(bea, "agent_coder", "list").await;
    workshop.write(bea, "agent_coder", "list", "bea's").await;
    assert_eq!(workshop.write(bea, "agent_writer", "list", "bea's").await["version"], 2);
    for (token, value, version) in [(ann, "ann's", 1), (bea, "bea's", 2)] {
        for agent in ["agent_coder", "agent_writer", "agent_analyzer"] {
            let read = workshop.read(token, agent, "list").await;
            assert_eq!((&read["value"], &read["version"]), (&json!(value), &json!(version)));
        }
    }
    workshop.delete(bea, "agent_researcher", "list").await;
    assert_eq!(workshop.keys(ann, "agent_coder").await, ["list"]);
}

#[tokio::test]
async fn a_shared_agent_has_one_memory_for_all_and_no_sight_of_anybodys_own() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "secret", "ann's").await;
    workshop.write(ann, "board", "notice", "for all").await;
    assert_eq!(workshop.read(bea, "board", "notice").await["on_behalf_of"], "usr_ann");
    let changed = workshop.write(bea, "board", "notice", "for all of us").await;
    assert_eq!(changed["version"], 2);
    assert_eq!(workshop.read(ann, "board", "notice").await["on_behalf_of"], "usr_bea", "for whom it was changed last");
    for token in [ann, bea] {
        assert_eq!(workshop.keys(token, "board").await, ["notice"]);
        workshop.lacks(token, "board", "secret").await;
        let delete = json!({"key": "secret"});
        workshop.try_as(token, "board", "workspace_delete", delete).await.refused(404, "ITEM_NOT_FOUND");
        assert!(workshop.keys(token, "wall").await.is_empty(), "nor of another shared agent's");
        workshop.lacks(token, "agent_coder", "notice").await;
    }
    workshop.write(bea, "board", "secret", "a coincidence").await;
    assert_eq!(workshop.read(ann, "agent_coder", "secret").await["value"], "ann's");
}

#[tokio::test]
async fn a_scope_cannot_be_asked_for() {
    let workshop = Workshop::new().await;
    workshop.write(&workshop.ann, "agent_coder", "secret", "ann's").await;
    let tools = ["workspace_list", "workspace_read", "workspace_write", "workspace_delete"];
    for field in ["scope", "workspace_id", "workspace", "user", "user_id", "agent_id", "on_behalf_of", "created_by"] {
        for tool in tools {
            let mut request = match tool {
                "workspace_list" => json!({}),
                "workspace_write" => json!({"key": "secret", "value": "taken"}),
                _ => json!({"key": "secret"}),
            };
            request[field] = json!("user-usr_ann");
            let refusal = workshop.try_as(&workshop.bea, "agent_coder", tool, request).await;
            assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], field, "{tool}");
        }
    }
    let (world, list) = (&workshop.world, json!({}));
    for query in ["?scope=user-usr_ann", "?workspace_id=user-usr_ann", "?user=ann"] {
        let path = format!("/my/projects/garden/agents/agent_coder/tools/workspace_list{query}");
        world.post(&path, &list).by(&workshop.bea).send().await.refused(400, "INVALID_REQUEST");
    }
    for tool in ["workspace_drop", "", "shell", "workspace_list%00", "Workspace_list", "workspace_list%2f.."] {
        let path = format!("/my/projects/garden/agents/agent_coder/tools/{tool}");
        let answer = world.post(&path, &list).by(&workshop.bea).send().await;
        assert_eq!(answer.status, 404, "{tool}: {}", answer.text);
    }
}

#[tokio::test]
async fn who_made_an_item_stays_and_who_changed_it_last_is_told() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let first = workshop.write(ann, "agent_coder", "a", "1").await;
    world.clock.advance_s(60);
    let second = workshop.write(ann, "agent_writer", "a", "22").await;
    assert_eq!((&second["created_by"], &second["version"]), (&first["created_by"], &json!(2)));
    assert_eq!(second["updated_by"], workshop.id("agent_writer"));
    let read = workshop.read(ann, "agent_analyzer", "a").await;
    assert_eq!((&read["created_at"], &read["updated_at"]), (&first["updated_at"], &second["updated_at"]));
    assert_ne!(read["created_at"], read["updated_at"]);
    // Deleted and made again it is another item.
    workshop.delete(ann, "agent_writer", "a").await;
    let third = workshop.write(ann, "agent_writer", "a", "333").await;
    assert_eq!((&third["created_by"], &third["version"]), (&second["updated_by"], &json!(1)));
}

#[tokio::test]
async fn a_write_may_say_which_version_it_expects() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    let write = async |expected: Value| {
        let request = json!({"key": "a", "value": "x", "if_version": expected});
        workshop.try_as(ann, "agent_coder", "workspace_write", request).await
    };
    let conflict = write(json!(1)).await.refused(409, "VERSION_CONFLICT");
    assert_eq!(conflict, json!({"current_version": 0}), "there is none");
    assert_eq!(write(json!(0)).await.ok()["version"], 1, "0 is: only if there is none");
    let conflict = write(json!(0)).await.refused(409, "VERSION_CONFLICT");
    assert_eq!(conflict, json!({"current_version": 1, "current_updated_by": workshop.id("agent_coder")}));
    assert_eq!(write(json!(1)).await.ok()["version"], 2);
    assert_eq!(write(json!(null)).await.ok()["version"], 3, "nothing said, nothing expected");
    for version in [json!(2), json!(4), json!(u64::MAX)] {
        assert_eq!(write(version).await.refused(409, "VERSION_CONFLICT")["current_version"], 3);
    }
    for nonsense in [json!("3"), json!(-1), json!(1.5), json!([3]), json!(true)] {
        assert_eq!(write(nonsense).await.refused(400, "INVALID_REQUEST")["field"], "if_version");
    }
    workshop.delete(ann, "agent_coder", "a").await;
    write(json!(3)).await.refused(409, "VERSION_CONFLICT");
    assert_eq!(write(json!(0)).await.ok()["version"], 1);
}

#[tokio::test]
async fn the_newest_comes_first_also_within_one_moment() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    // The clock stands still all the while.
    for number in 0..30 {
        workshop.write(ann, "agent_coder", &format!("k{number:02}"), "x").await;
    }
    workshop.write(ann, "agent_coder", "k07", "again").await;
    workshop.delete(ann, "agent_coder", "k29").await;
    let mut expected: Vec<String> = (0..29).rev().map(|number| format!("k{number:02}")).collect();
    expected.retain(|key| key != "k07");
    expected.insert(0, "k07".to_owned());
    assert_eq!(workshop.keys(ann, "agent_writer").await, expected);
    // Nor does the order follow a clock that was put back.
    workshop.world.clock.advance_s(-3600);
    workshop.write(ann, "agent_coder", "earlier?", "x").await;
    assert_eq!(workshop.keys(ann, "agent_coder").await[0], "earlier?");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_writers_of_one_key_each_has_a_version_of_its_own() {
    let workshop = Workshop::new().await;
    for agent in ["agent_coder", "board"] {
        let second = if agent == "board" { &workshop.bea } else { &workshop.ann };
        let hands = [workshop.ann.clone(), workshop.token(second, agent).await];
        let writes = (0..50).map(|n| {
            let request = json!({"key": "counter", "value": n.to_string()});
            workshop.try_as(&hands[n % 2], agent, "workspace_write", request)
        });
        let answers: Vec<Value> = join_all(writes).await.into_iter().map(testkit::Answer::ok).collect();
        let versions: BTreeSet<u64> = answers.iter().map(|answer| answer["version"].as_u64().expect("one")).collect();
        assert_eq!(versions, (1..=50).collect());
        let read = workshop.read(&workshop.ann, agent, "counter").await;
        assert_eq!(read["version"], 50);
        let last = answers.iter().position(|answer| answer["version"] == 50).expect("the last");
        assert_eq!(read["value"], last.to_string(), "the last one's value");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_make_or_delete_one_key_one_does() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    let hands = |n: usize| if n.is_multiple_of(2) { ann } else { bea };
    let absent = json!({"key": "a", "value": "x", "if_version": 0});
    let makes = (0..20).map(|n| workshop.try_as(hands(n), "board", "workspace_write", absent.clone()));
    let answers = join_all(makes).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "VERSION_CONFLICT").count(), 19);
    let deletes = (0..20).map(|n| workshop.try_as(hands(n), "board", "workspace_delete", json!({"key": "a"})));
    let answers = join_all(deletes).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "ITEM_NOT_FOUND").count(), 19);
    assert!(workshop.items(ann, "board").await.is_empty());
}

#[tokio::test]
async fn a_write_that_is_sent_again_with_its_key_acts_once() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let send = |token: &str, agent: &str, request: Value| {
        let ask = world.tool(token, &format!("garden/{agent}"), "workspace_write", &request);
        ask.header("idempotency-key", "k1").send()
    };
    let write = json!({"key": "a", "value": "1"});
    let first = send(ann, "agent_coder", write.clone()).await;
    workshop.write(ann, "agent_coder", "a", "2").await;
    let again = send(ann, "agent_coder", write.clone()).await;
    assert_eq!((again.status.as_u16(), &again.text), (200, &first.text));
    assert_eq!(workshop.read(ann, "agent_coder", "a").await["value"], "2", "the replay did not write");
    send(ann, "agent_coder", json!({"key": "a", "value": "3"})).await.refused(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(send(ann, "agent_writer", write.clone()).await.ok()["version"], 3, "another address");
    assert_eq!(send(&workshop.bea, "agent_coder", write.clone()).await.ok()["version"], 1, "another person");
    let token = workshop.token(ann, "agent_coder").await;
    assert_eq!(send(&token, "agent_coder", write).await.ok()["version"], 4, "another hand");
    let refused = json!({"key": "a", "value": "x", "if_version": 9, "idempotency_key": "k2"});
    let refuse = async || workshop.try_as(ann, "agent_coder", "workspace_write", refused.clone()).await;
    let first = refuse().await;
    workshop.delete(ann, "agent_coder", "a").await;
    assert_eq!(refuse().await.text, first.text, "a refusal is an answer too");
}

/// A path may name an agent by its name, and so another one later.
#[tokio::test]
async fn what_was_answered_about_an_agent_is_not_said_again_about_the_next_of_its_name() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let write = json!({"key": "a", "value": "x", "idempotency_key": "k1"});
    let hire = json!({"name": "helper", "idempotency_key": "k2"});
    let board = json!({"name": "board", "visibility": "shared"});
    let write = async || workshop.as_(ann, "board", "workspace_write", write.clone()).await;
    assert_eq!(write().await, write().await);
    world.delete("/my/projects/garden/agents/board").by(ann).send().await.ok();
    world.agent(ann, "garden", board.clone()).await;
    write().await;
    assert_eq!(workshop.read(ann, "board", "a").await["value"], "x", "what was acknowledged is there");
    let helper = world.agent(ann, "garden", hire.clone()).await;
    world.delete("/my/projects/garden").by(ann).send().await.ok();
    world.post("/my/projects", &json!({"name": "garden", "workspace": "team"})).by(ann).send().await.ok();
    assert_ne!(world.agent(ann, "garden", hire).await["id"], helper["id"]);
    world.agent(ann, "garden", board).await;
    write().await;
    assert_eq!(workshop.read(ann, "board", "a").await["value"], "x");
}

#[tokio::test]
async fn items_outlast_a_restart() {
    let workshop = Workshop::new().await;
    workshop.write(&workshop.ann, "agent_coder", "b", "2").await;
    workshop.write(&workshop.ann, "agent_coder", "a", "1").await;
    workshop.write(&workshop.bea, "board", "c", "3").await;
    let published = workshop.publish(&workshop.ann, "a", "board").await;
    let look = async |workshop: &Workshop| {
        let looks = [(&workshop.ann, "agent_coder"), (&workshop.bea, "board"), (&workshop.bea, "agent_coder")];
        let mut seen = Vec::new();
        for (token, agent) in looks {
            seen.push(workshop.items(token, agent).await);
        }
        seen.push(workshop.publications(&workshop.ann).await);
        seen
    };
    let before = look(&workshop).await;
    let workshop = Workshop { world: workshop.world.reopened().await, ..workshop };
    assert_eq!(look(&workshop).await, before);
    assert_eq!(workshop.read(&workshop.ann, "agent_coder", "b").await["value"], "2");
    assert_eq!(workshop.write(&workshop.ann, "agent_coder", "b", "22").await["version"], 2);
    assert_eq!(workshop.keys(&workshop.ann, "agent_coder").await, ["b", "a"]);
    assert_eq!(workshop.recall(&workshop.ann, &published).await.status, 204);
}

#[tokio::test]
async fn every_change_of_an_item_leaves_one_row_where_it_belongs() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    let agent = workshop.token(bea, "agent_coder").await;
    workshop.write(&agent, "agent_coder", "hers", "12345").await;
    workshop.write(ann, "board", "notice", "123").await;
    workshop.delete(bea, "board", "notice").await;
    let stale = json!({"key": "hers", "value": "x", "if_version": 9});
    workshop.try_as(bea, "agent_coder", "workspace_write", stale).await.refused(409, "VERSION_CONFLICT");
    workshop.lacks(bea, "board", "notice").await;
    let rows = audit(&workshop.world, "item.").await;
    assert_eq!(texts(&rows, "action"), ["item.write", "item.write", "item.delete"]);
    assert_eq!(texts(&rows, "workspace"), ["personal-usr_bea", "team", "team"], "a private one is the person's own");
    assert_eq!(texts(&rows, "user"), ["usr_bea", "usr_ann", "usr_bea"]);
    assert_eq!(texts(&rows, "participant"), ["subagent:agent_coder", "user:usr_ann", "user:usr_bea"]);
    let coder = json!({"scope": "user-usr_bea", "key": "hers", "version": 1, "size_bytes": 5,
                       "agent": workshop.id("agent_coder")});
    assert_eq!(rows[0]["detail"], coder);
    let scope = format!("agent-{}", workshop.id("board"));
    assert_eq!((&rows[1]["detail"]["scope"], &rows[1]["detail"]["size_bytes"]), (&json!(scope), &json!(3)));
}

#[tokio::test]
async fn who_is_removed_takes_projects_items_and_publications_along() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.project(&owner, "garden").await;
    let board = json!({"name": "board", "visibility": "shared", "audience": "everyone"});
    let board = world.agent(&owner, "garden", board.clone()).await;
    world.project(&bea, "hers").await;
    let wall = json!({"name": "wall", "visibility": "shared", "audience": "everyone"});
    let wall = world.agent(&bea, "hers", wall).await;
    let write = json!({"key": "a", "value": "bea's"});
    world.tool(&bea, "hers/agent_coder", "workspace_write", &write).send().await.ok();
    let publish = json!({"key": "a", "target_agent_id": board["id"]});
    world.tool(&bea, "hers/agent_coder", "workspace_publish", &publish).send().await.ok();
    let own = json!({"key": "a", "value": "the owner's"});
    world.tool(&owner, "garden/agent_coder", "workspace_write", &own).send().await.ok();
    let publish = json!({"key": "a", "target_agent_id": wall["id"]});
    world.tool(&owner, "garden/agent_coder", "workspace_publish", &publish).send().await.ok();
    let agent = world.agent_token(&bea, json!({"agent": wall["id"]})).await;
    world.delete("/admin/users/bea").by(&owner).send().await.ok();
    let list = world.tool(&agent, "hers/wall", "workspace_list", &json!({})).send().await;
    list.refused(401, "UNAUTHENTICATED");
    let shared = world.get("/agents/shared").by(&owner).send().await.ok();
    assert_eq!(texts(shared["items"].as_array().expect("items"), "name"), ["board"]);
    let publications = world.get("/my/publications").by(&owner).send().await.ok();
    assert_eq!(publications["items"], json!([]), "what was published to her agent went with it");
    // What she gave to others is theirs.
    let kept = world.tool(&owner, "garden/board", "workspace_read", &json!({"key": "a"})).send().await.ok();
    assert_eq!((&kept["value"], &kept["published_from"]["scope"]), (&json!("bea's"), &json!("user-usr_bea")));
}
