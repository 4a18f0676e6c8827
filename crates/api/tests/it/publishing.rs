//! Publishing: a one-way copy from a person's own items to a shared agent. What becomes of the copy: `publications`.

use super::room::fields;
use super::workshop::{Workshop, audit, texts};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn an_item_travels_from_private_to_shared_and_never_back() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_writer", "list", "milk").await;
    workshop.write(ann, "agent_writer", "list", "milk, eggs").await;
    let before = workshop.read(ann, "agent_writer", "list").await;
    let published = workshop.publish(ann, "list", "board").await;
    let names = ["key", "overwritten", "publication_id", "target_agent_id", "target_key", "version"];
    assert_eq!(fields(&published), names);
    let told = ["key", "target_key", "target_agent_id", "version", "overwritten"].map(|name| published[name].clone());
    assert_eq!(json!(told), json!(["list", "list", workshop.id("board"), 1, false]));
    let copy = workshop.read(bea, "board", "list").await;
    assert_eq!((&copy["value"], &copy["version"]), (&json!("milk, eggs"), &json!(1)));
    assert_eq!((&copy["created_by"], &copy["on_behalf_of"]), (&json!(workshop.id("agent_coder")), &json!("usr_ann")));
    assert_eq!(copy["published_from"], json!({"scope": "user-usr_ann", "key": "list", "version": 2}));
    assert_eq!(workshop.items(bea, "board").await[0]["published_from"], copy["published_from"]);
    assert_eq!(workshop.read(ann, "agent_writer", "list").await, before, "the source is as it was");
    // Later edits of either side do not flow to the other.
    workshop.write(ann, "agent_writer", "list", "a secret").await;
    assert_eq!(workshop.read(bea, "board", "list").await, copy);
    workshop.write(bea, "board", "list", "milk, eggs, tea").await;
    assert_eq!(workshop.read(ann, "agent_writer", "list").await["value"], "a secret");
    workshop.delete(ann, "agent_writer", "list").await;
    assert_eq!(workshop.read(bea, "board", "list").await["value"], "milk, eggs, tea");
}

#[tokio::test]
async fn a_shared_agent_does_not_publish_and_learns_nothing_by_trying() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "secret", "x").await;
    workshop.write(ann, "board", "notice", "x").await;
    let agent = workshop.token(ann, "board").await;
    let mut refusals = BTreeSet::new();
    for token in [ann, bea, &agent] {
        for key in ["secret", "notice", "nothing"] {
            for target in [workshop.id("wall"), workshop.id("board"), workshop.id("agent_coder"), "agt_1", "nonsense"] {
                let request = json!({"key": key, "target_agent_id": target});
                let answer = workshop.try_as(token, "board", "workspace_publish", request).await;
                refusals.insert(answer.text.clone());
                answer.refused(403, "FORBIDDEN");
            }
        }
    }
    assert_eq!(refusals.len(), 1, "the same words whatever is there: {refusals:?}");
}

#[tokio::test]
async fn the_target_is_looked_at_before_the_item_and_the_item_before_the_copy() {
    let workshop = Workshop::new().await;
    let (world, ann, cy) = (&workshop.world, &workshop.ann, &workshop.cy);
    workshop.write(ann, "agent_coder", "list", "x").await;
    workshop.write(ann, "board", "list", "x").await;
    workshop.write(ann, "board", "unlike", "x").await;
    world.project(cy, "hers").await;
    let hers = world.agent(cy, "hers", json!({"name": "hidden", "visibility": "shared"})).await;
    let hers = hers["id"].as_str().expect("an id");
    let publish = async |key: &str, target: &str, more: Value| {
        let mut request = json!({"key": key, "target_agent_id": target});
        request.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        workshop.try_publish(ann, request).await
    };
    let board = workshop.id("board");
    for key in ["list", "nothing"] {
        for unseen in [hers, "agt_1", "agt_", "", "board", "prj_1", "agt_\u{0}"] {
            publish(key, unseen, json!({})).await.refused(404, "AGENT_NOT_FOUND");
        }
        for private in ["agent_writer", "agent_coder"] {
            publish(key, workshop.id(private), json!({})).await.refused(403, "FORBIDDEN");
        }
    }
    publish("nothing", board, json!({})).await.refused(404, "ITEM_NOT_FOUND");
    publish("unlike", board, json!({})).await.refused(404, "ITEM_NOT_FOUND");
    publish("nothing", board, json!({"target_key": "list"})).await.refused(404, "ITEM_NOT_FOUND");
    publish("list", board, json!({})).await.refused(409, "ITEM_EXISTS");
    publish("list", board, json!({"overwrite": false})).await.refused(409, "ITEM_EXISTS");
    publish("list", board, json!({"target_key": "unlike"})).await.refused(409, "ITEM_EXISTS");
    for (more, field) in [
        (json!({"overwrite": "yes"}), "overwrite"),
        (json!({"overwrite": 1}), "overwrite"),
        (json!({"target_key": 7}), "target_key"),
        (json!({"if_version": 1}), "if_version"),
        (json!({"source": "user-usr_bea"}), "source"),
    ] {
        let refusal = publish("list", board, more).await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], field);
    }
    let missing = workshop.try_publish(ann, json!({"key": "list"})).await;
    assert_eq!(missing.refused(400, "INVALID_REQUEST")["field"], "target_agent_id");
    assert!(workshop.publications(ann).await.is_empty());
}

#[tokio::test]
async fn everyone_publishes_to_an_agent_that_is_shown_to_everyone() {
    let workshop = Workshop::new().await;
    let (world, ann, cy) = (&workshop.world, &workshop.ann, &workshop.cy);
    world.project(cy, "hers").await;
    let write = json!({"key": "gift", "value": "from afar"});
    let made = world.tool(cy, "hers/agent_coder", "workspace_write", &write).send().await.ok();
    let publish = |target: &str| {
        let request = json!({"key": "gift", "target_agent_id": workshop.id(target)});
        world.tool(cy, "hers/agent_coder", "workspace_publish", &request).send()
    };
    publish("wall").await.ok();
    publish("board").await.refused(404, "AGENT_NOT_FOUND");
    publish("agent_coder").await.refused(404, "AGENT_NOT_FOUND");
    let gift = workshop.read(ann, "wall", "gift").await;
    assert_eq!((&gift["value"], &gift["on_behalf_of"]), (&json!("from afar"), &json!("usr_cy")));
    assert_eq!(gift["created_by"], made["created_by"]);
    // To give is not to talk.
    let list = workshop.try_as(cy, "wall", "workspace_list", json!({})).await;
    list.refused(404, "PROJECT_NOT_FOUND");
    workshop.change_agent(ann, "wall", json!({"audience": "workspace"})).await.ok();
    publish("wall").await.refused(404, "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn under_another_name_the_shared_side_does_not_learn_the_first() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "SECRET-KEY", "milk").await;
    let request = json!({"key": "SECRET-KEY", "target_agent_id": workshop.id("board"), "target_key": "list"});
    let published = workshop.try_publish(ann, request).await.ok();
    assert_eq!((&published["key"], &published["target_key"]), (&json!("SECRET-KEY"), &json!("list")));
    let copy = workshop.read(bea, "board", "list").await;
    assert_eq!(copy["published_from"], json!({"scope": "user-usr_ann", "version": 1}));
    for token in [ann, bea] {
        let listing = workshop.try_as(token, "board", "workspace_list", json!({})).await.text;
        let read = workshop.try_as(token, "board", "workspace_read", json!({"key": "list"})).await.text;
        assert!(!listing.contains("SECRET-KEY") && !read.contains("SECRET-KEY"), "{listing} {read}");
        workshop.lacks(token, "board", "SECRET-KEY").await;
    }
    workshop.write(bea, "board", "list", "tea").await;
    let read = workshop.read(bea, "board", "list").await;
    assert_eq!(read["published_from"], copy["published_from"], "where it came from stays with it");
    assert_eq!(workshop.publications(ann).await[0]["key"], "SECRET-KEY", "the publisher knows");
}

#[tokio::test]
async fn what_is_there_is_overwritten_only_where_that_is_said() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(bea, "board", "list", "the board's own").await;
    workshop.write(ann, "agent_coder", "list", "ann's").await;
    let request = json!({"key": "list", "target_agent_id": workshop.id("board"), "overwrite": true});
    let published = workshop.try_publish(ann, request.clone()).await.ok();
    assert_eq!((&published["version"], &published["overwritten"]), (&json!(2), &json!(true)));
    let copy = workshop.read(bea, "board", "list").await;
    assert_eq!((&copy["value"], &copy["created_by"]), (&json!("ann's"), &json!(workshop.id("board"))));
    assert_eq!((&copy["updated_by"], &copy["on_behalf_of"]), (&json!(workshop.id("agent_coder")), &json!("usr_ann")));
    workshop.delete(bea, "board", "list").await;
    let again = workshop.try_publish(ann, request).await.ok();
    assert_eq!((&again["version"], &again["overwritten"]), (&json!(1), &json!(false)), "nothing to overwrite");
}

#[tokio::test]
async fn a_publication_that_is_refused_leaves_nothing_behind() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "list", "x").await;
    workshop.write(ann, "wall", "list", "taken").await;
    world.fill_agent(workshop.id("board"), 10_000).await;
    let mut stream = world.get("/my/events").by(bea).stream().await;
    let state = async || {
        let listings = [workshop.items(ann, "board").await, workshop.items(ann, "wall").await];
        (listings, workshop.items(ann, "agent_coder").await, workshop.publications(ann).await)
    };
    let (before, rows) = (state().await, audit(world, "item.").await);
    for (target, status, code) in [("board", 409, "STORE_FULL"), ("wall", 409, "ITEM_EXISTS")] {
        for key in ["k1", "k1", "k2"] {
            let request = json!({"key": "list", "target_agent_id": workshop.id(target),
                                 "idempotency_key": format!("{target}-{key}")});
            workshop.try_publish(ann, request).await.refused(status, code);
        }
    }
    assert_eq!(state().await, before);
    assert_eq!(audit(world, "item.").await, rows);
    workshop.delete(ann, "board", "filling-5").await;
    assert_eq!(stream.next().await.expect("an event").data["key"], "filling-5", "and nothing was told before");
    workshop.publish(ann, "list", "board").await;
    let told = stream.next().await.expect("an event");
    assert_eq!((told.kind.as_str(), &told.data["key"]), ("ITEM_PUBLISHED", &json!("list")));
    workshop
        .try_publish(ann, json!({"key": "list", "target_agent_id": workshop.id("board"), "target_key": "more"}))
        .await
        .refused(409, "STORE_FULL");
}

#[tokio::test]
async fn a_publication_that_is_sent_again_with_its_key_is_made_once() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    workshop.write(ann, "agent_coder", "list", "1").await;
    let request = json!({"key": "list", "target_agent_id": workshop.id("board"), "overwrite": true,
                         "idempotency_key": "k1"});
    let first = workshop.try_publish(ann, request.clone()).await;
    workshop.write(ann, "agent_coder", "list", "2").await;
    let again = workshop.try_publish(ann, request).await;
    assert_eq!((again.status.as_u16(), &again.text), (200, &first.text));
    assert_eq!(workshop.read(ann, "board", "list").await["value"], "1");
    assert_eq!(workshop.publications(ann).await.len(), 1);
    let other = json!({"key": "list", "target_agent_id": workshop.id("wall"), "idempotency_key": "k1"});
    workshop.try_publish(ann, other).await.refused(422, "IDEMPOTENCY_MISMATCH");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_publish_to_one_key_each_is_told_the_truth() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    for token in [ann, bea] {
        workshop.write(token, "agent_coder", "list", "x").await;
    }
    let publish = |overwrite: bool| {
        let request = json!({"key": "list", "target_agent_id": workshop.id("board"), "overwrite": overwrite});
        let hands = (0..20).map(|n| if n % 2 == 0 { ann } else { bea });
        join_all(hands.map(|token| workshop.try_publish(token, request.clone())).collect::<Vec<_>>())
    };
    let answers = publish(false).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "ITEM_EXISTS").count(), 19);
    let answers = publish(true).await;
    let versions: BTreeSet<u64> = answers.into_iter().filter_map(|answer| answer.ok()["version"].as_u64()).collect();
    assert_eq!(versions, (2..=21).collect());
    let mut publications = workshop.publications(ann).await;
    publications.extend(workshop.publications(bea).await);
    assert_eq!(publications.len(), 21);
    let unchanged: Vec<&Value> = publications.iter().filter(|one| one["state"] == "unchanged").collect();
    assert_eq!((unchanged.len(), &unchanged[0]["target_version"]), (1, &json!(21)));
}

#[tokio::test]
async fn a_publication_is_written_down_on_both_sides_and_the_key_on_one() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    workshop.write(ann, "agent_coder", "SECRET-KEY", "12345").await;
    let (board, coder) = (workshop.id("board"), workshop.id("agent_coder"));
    let request = json!({"key": "SECRET-KEY", "target_agent_id": board, "target_key": "list"});
    let published = workshop.try_publish(ann, request).await.ok();
    workshop.recall(ann, &published).await;
    for action in ["item.publish", "item.recall"] {
        let rows = audit(world, action).await;
        assert_eq!(texts(&rows, "workspace"), ["personal-usr_ann", "team"]);
        assert_eq!(texts(&rows, "user"), ["usr_ann", "usr_ann"]);
        let own = json!({"publication": published["publication_id"], "scope": "user-usr_ann", "key": "SECRET-KEY",
                         "target_agent": board, "target_key": "list"});
        let shared = json!({"scope": format!("agent-{board}"), "key": "list", "version": 1, "size_bytes": 5,
                            "agent": coder});
        assert_eq!((&rows[0]["detail"], &rows[1]["detail"]), (&own, &shared), "{action}");
    }
    let chains = world.post("/admin/audit/verify", &json!({})).by(&world.owner().await).send().await.ok();
    assert_eq!(chains["intact"], true);
}

#[tokio::test]
async fn a_stranger_replaces_own_copies_only() {
    let workshop = Workshop::new().await;
    let (world, ann, cy) = (&workshop.world, &workshop.ann, &workshop.cy);
    world.project(cy, "hers").await;
    workshop.write(ann, "wall", "rules", "be kind").await;
    let hand = "/my/projects/hers/agents/agent_coder/tools";
    let write = json!({"key": "junk", "value": "SPAM"});
    world.post(&format!("{hand}/workspace_write"), &write).by(cy).send().await.ok();
    let publish = async |target_key: &str, overwrite: bool| {
        let request = json!({"key": "junk", "target_agent_id": workshop.id("wall"), "target_key": target_key,
                             "overwrite": overwrite});
        world.post(&format!("{hand}/workspace_publish"), &request).by(cy).send().await
    };
    publish("rules", false).await.refused(409, "ITEM_EXISTS");
    publish("rules", true).await.refused(403, "FORBIDDEN");
    assert_eq!(workshop.read(ann, "wall", "rules").await["value"], "be kind", "and nobody wiped it");
    publish("junk", false).await.ok();
    assert_eq!(publish("junk", true).await.ok()["version"], 2, "one's own copy is one's own");
}

#[tokio::test]
async fn a_guest_shows_no_agent_to_everyone() {
    let workshop = Workshop::new().await;
    let world = &workshop.world;
    world.patch("/admin/users/usr_cy", &json!({"role": "guest"})).locally().send().await.ok();
    world.project(&workshop.cy, "hers").await;
    let sign = json!({"name": "sign", "visibility": "shared", "audience": "everyone"});
    world.post("/my/projects/hers/agents", &sign).by(&workshop.cy).send().await.refused(403, "FORBIDDEN");
    let quiet = json!({"name": "sign", "visibility": "shared"});
    world.post("/my/projects/hers/agents", &quiet).by(&workshop.cy).send().await.ok();
    let louder = json!({"audience": "everyone"});
    world.patch("/my/projects/hers/agents/sign", &louder).by(&workshop.cy).send().await.refused(403, "FORBIDDEN");
}
