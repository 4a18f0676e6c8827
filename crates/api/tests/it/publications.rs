//! Publications: what became of the copies, and taking them back.

use super::workshop::{Workshop, pages, texts};
use futures_util::future::join_all;
use serde_json::{Value, json};

/// Publishes ann's `list` under another name.
async fn publish_as(workshop: &Workshop, target_key: &str) -> Value {
    let request = json!({"key": "list", "target_agent_id": workshop.id("board"), "target_key": target_key});
    workshop.try_publish(&workshop.ann, request).await.ok()
}

async fn states(workshop: &Workshop) -> Vec<String> {
    texts(&workshop.publications(&workshop.ann).await, "state")
}

#[tokio::test]
async fn a_publisher_sees_what_they_published_and_what_became_of_it() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_writer", "list", "1").await;
    let mut made = Vec::new();
    for name in ["kept", "changed", "deleted", "made again"] {
        made.push(publish_as(&workshop, name).await);
    }
    workshop.write(ann, "agent_writer", "list", "2").await;
    made.push(workshop.publish(ann, "list", "wall").await);
    workshop.write(bea, "board", "changed", "x").await;
    workshop.delete(bea, "board", "deleted").await;
    workshop.delete(bea, "board", "made again").await;
    workshop.write(bea, "board", "made again", "1").await;
    let listed = pages(world, ann, "/my/publications", 2).await;
    assert_eq!(texts(&listed, "state"), ["unchanged", "changed", "gone", "gone", "unchanged"], "oldest first");
    let first = json!({
        "id": made[0]["publication_id"], "key": "list", "version": 1, "agent_id": workshop.id("agent_coder"),
        "target_agent_id": workshop.id("board"), "target_key": "kept", "target_version": 1,
        "published_at": listed[0]["published_at"], "state": "unchanged",
    });
    assert_eq!(listed[0], first);
    assert_eq!((&listed[4]["version"], &listed[4]["target_key"]), (&json!(2), &json!("list")));
    for token in [bea, &workshop.cy] {
        assert!(workshop.publications(token).await.is_empty(), "each sees their own");
    }
    for bad in ["limit=0", "limit=501", "limit=x", "cursor=x", "cursor=AAAA", "user=ann"] {
        let ask = world.get(&format!("/my/publications?{bad}")).by(ann);
        ask.send().await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_copy_that_nobody_touched_is_taken_back_once() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "list", "1").await;
    let published = workshop.publish(ann, "list", "board").await;
    let id = published["publication_id"].as_str().expect("an id");
    for token in [bea, &workshop.cy, &world.owner().await] {
        let ask = world.delete(&format!("/my/publications/{id}")).by(token);
        ask.send().await.refused(404, "PUBLICATION_NOT_FOUND");
    }
    for nonsense in ["pub_1", "pub_", "x", "%00", workshop.id("board")] {
        let ask = world.delete(&format!("/my/publications/{nonsense}")).by(ann);
        ask.send().await.refused(404, "PUBLICATION_NOT_FOUND");
    }
    // Edits of the source are no edits of the copy.
    workshop.write(ann, "agent_coder", "list", "2").await;
    assert_eq!(workshop.recall(ann, &published).await.status, 204);
    workshop.lacks(bea, "board", "list").await;
    assert_eq!(workshop.read(ann, "agent_coder", "list").await["value"], "2", "the source stays");
    assert!(workshop.publications(ann).await.is_empty());
    workshop.recall(ann, &published).await.refused(404, "PUBLICATION_NOT_FOUND");
    assert_eq!(workshop.publish(ann, "list", "board").await["version"], 1, "and it can be published again");
}

#[tokio::test]
async fn a_copy_that_somebody_touched_is_no_longer_the_publishers() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "list", "1").await;
    let mut published = Vec::new();
    for name in ["a", "b", "c", "d"] {
        published.push(publish_as(&workshop, name).await);
    }
    workshop.write(bea, "board", "a", "x").await;
    // The same text is a change all the same: somebody took it over.
    workshop.write(ann, "board", "b", "1").await;
    workshop.delete(bea, "board", "c").await;
    workshop.delete(bea, "board", "d").await;
    workshop.write(bea, "board", "d", "1").await;
    let before = workshop.items(bea, "board").await;
    for publication in &published {
        workshop.recall(ann, publication).await.refused(409, "PUBLICATION_CHANGED");
    }
    assert_eq!(workshop.items(bea, "board").await, before);
    assert_eq!(states(&workshop).await, ["changed", "changed", "gone", "gone"], "and they stay listed");
}

#[tokio::test]
async fn who_publishes_over_a_copy_takes_it_over() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    let over = json!({"key": "list", "target_agent_id": workshop.id("board"), "overwrite": true});
    workshop.write(ann, "agent_coder", "list", "ann's").await;
    workshop.write(bea, "agent_coder", "list", "bea's").await;
    let first = workshop.try_publish(ann, over.clone()).await.ok();
    let second = workshop.try_publish(ann, over.clone()).await.ok();
    assert_eq!(states(&workshop).await, ["changed", "unchanged"]);
    let third = workshop.try_publish(bea, over).await.ok();
    for publication in [&first, &second] {
        workshop.recall(ann, publication).await.refused(409, "PUBLICATION_CHANGED");
    }
    assert_eq!(workshop.recall(bea, &third).await.status, 204);
    workshop.lacks(ann, "board", "list").await;
    assert_eq!(states(&workshop).await, ["gone", "gone"]);
}

#[tokio::test]
async fn what_was_given_is_taken_back_also_where_one_could_no_longer_give() {
    let workshop = Workshop::new().await;
    let (world, ann, bea, cy) = (&workshop.world, &workshop.ann, &workshop.bea, &workshop.cy);
    world.project(cy, "hers").await;
    let write = json!({"key": "gift", "value": "x"});
    world.tool(cy, "hers/agent_coder", "workspace_write", &write).send().await.ok();
    let request = json!({"key": "gift", "target_agent_id": workshop.id("wall")});
    let gift = world.tool(cy, "hers/agent_coder", "workspace_publish", &request).send().await.ok();
    workshop.write(bea, "agent_coder", "list", "x").await;
    let list = workshop.publish(bea, "list", "board").await;
    workshop.change_agent(ann, "wall", json!({"audience": "workspace"})).await.ok();
    world.leave("team", "bea").await;
    world.delete("/my/projects/hers").by(cy).send().await.ok();
    for (token, publication) in [(cy, &gift), (bea, &list)] {
        assert_eq!(texts(&workshop.publications(token).await, "state"), ["unchanged"]);
        assert_eq!(workshop.recall(token, publication).await.status, 204);
    }
    assert!(workshop.items(ann, "wall").await.is_empty() && workshop.items(ann, "board").await.is_empty());
}

/// An agent that was shared and is private now has no scope of its own: the caller's must not be taken for it.
#[tokio::test]
async fn a_target_that_became_private_gives_nothing_back() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "list", "mine").await;
    let published = workshop.publish(ann, "list", "board").await;
    workshop.delete(bea, "board", "list").await;
    workshop.change_agent(ann, "board", json!({"visibility": "private"})).await.ok();
    workshop.recall(ann, &published).await.refused(409, "PUBLICATION_CHANGED");
    assert_eq!(workshop.read(ann, "agent_coder", "list").await["value"], "mine");
    assert_eq!(states(&workshop).await, ["gone"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_recalls_one_takes_it_back() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    workshop.write(ann, "agent_coder", "list", "1").await;
    let published = workshop.publish(ann, "list", "board").await;
    let answers = join_all((0..20).map(|_| workshop.recall(ann, &published))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 204).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "PUBLICATION_NOT_FOUND").count(), 19);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recall_and_a_change_at_once_do_not_both_win() {
    let workshop = Workshop::new().await;
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "list", "1").await;
    for round in 0..20 {
        let key = format!("copy {round}");
        let published = publish_as(&workshop, &key).await;
        let change = json!({"key": key, "value": "bea's", "if_version": 1});
        let (recalled, changed) =
            tokio::join!(workshop.recall(ann, &published), workshop.try_as(bea, "board", "workspace_write", change));
        match recalled.status.as_u16() {
            204 => {
                changed.refused(409, "VERSION_CONFLICT");
                workshop.lacks(bea, "board", &key).await;
            }
            _ => {
                recalled.refused(409, "PUBLICATION_CHANGED");
                assert_eq!(changed.ok()["version"], 2);
                assert_eq!(workshop.read(bea, "board", &key).await["value"], "bea's");
            }
        }
    }
}
