//! Events about items: what they tell, to whom, and to whom they do not.

use super::room::fields;
use super::workshop::Workshop;
use serde_json::{Value, json};
use testkit::{Events, StreamEvent, World};

async fn stream(world: &World, token: &str, path: &str, after: Option<u64>) -> Events {
    let ask = world.get(path).by(token);
    match after {
        Some(id) => ask.header("last-event-id", &id.to_string()).stream().await,
        None => ask.stream().await,
    }
}

const MINE: &str = "/my/events";
const GARDEN: &str = "/my/projects/garden/events";

fn told(event: &StreamEvent) -> Value {
    json!([event.kind, event.data["key"], event.data["version"], event.data["size_bytes"], event.data["on_behalf_of"]])
}

/// One of each: in ann's own scope and in the board's.
async fn life(workshop: &Workshop) {
    let (ann, bea) = (&workshop.ann, &workshop.bea);
    workshop.write(ann, "agent_coder", "list", "CANARY").await;
    workshop.write(ann, "agent_writer", "list", "CANARY 2").await;
    let published = workshop.publish(ann, "list", "board").await;
    workshop.recall(ann, &published).await;
    workshop.delete(ann, "agent_coder", "list").await;
    workshop.write(bea, "board", "notice", "CANARY").await;
    workshop.delete(ann, "board", "notice").await;
}

#[tokio::test]
async fn an_event_tells_what_happened_to_an_item_and_never_the_value() {
    let workshop = Workshop::new().await;
    let mut mine = stream(&workshop.world, &workshop.ann, MINE, None).await;
    life(&workshop).await;
    let events = mine.take(7).await;
    let expected = [
        json!(["ITEM_WRITTEN", "list", 1, 6, "usr_ann"]),
        json!(["ITEM_WRITTEN", "list", 2, 8, "usr_ann"]),
        json!(["ITEM_PUBLISHED", "list", 1, 8, "usr_ann"]),
        json!(["ITEM_RECALLED", "list", 1, 0, "usr_ann"]),
        json!(["ITEM_DELETED", "list", 2, 0, "usr_ann"]),
        json!(["ITEM_WRITTEN", "notice", 1, 6, "usr_bea"]),
        json!(["ITEM_DELETED", "notice", 1, 0, "usr_ann"]),
    ];
    assert_eq!(events.iter().map(told).collect::<Vec<_>>(), expected);
    let board = format!("agent-{}", workshop.id("board"));
    let own = ("user-usr_ann", "personal-usr_ann");
    let shared = (board.as_str(), "team");
    let places = [own, own, shared, shared, own, shared, shared];
    let hands = ["agent_coder", "agent_writer", "agent_coder", "agent_coder", "agent_coder", "board", "board"];
    for ((event, (scope, workspace)), agent) in events.iter().zip(places).zip(hands) {
        let names = [
            "at",
            "key",
            "on_behalf_of",
            "project",
            "scope",
            "size_bytes",
            "type",
            "updated_by",
            "version",
            "workspace",
        ];
        assert_eq!(fields(&event.data), names);
        assert_eq!((&event.data["scope"], &event.data["workspace"]), (&json!(scope), &json!(workspace)));
        assert_eq!((&event.data["updated_by"], &event.data["type"]), (&json!(workshop.id(agent)), &json!(event.kind)));
        assert_eq!(event.data["project"], workshop.project["id"]);
        assert!(!event.data.to_string().contains("CANARY"), "{}", event.data);
    }
    assert!(events.is_sorted_by(|one, next| one.id < next.id));
}

#[tokio::test]
async fn of_private_items_only_their_person_hears() {
    let workshop = Workshop::new().await;
    let world = &workshop.world;
    let owner = world.owner().await;
    let live = [
        stream(world, &workshop.bea, MINE, None).await,
        stream(world, &workshop.bea, GARDEN, None).await,
        stream(world, &workshop.ann, GARDEN, None).await,
    ];
    let mut silent = [stream(world, &workshop.cy, MINE, None).await, stream(world, &owner, MINE, None).await];
    life(&workshop).await;
    let replayed = [
        stream(world, &workshop.bea, MINE, Some(0)).await,
        stream(world, &workshop.bea, GARDEN, Some(0)).await,
        stream(world, &workshop.ann, GARDEN, Some(0)).await,
    ];
    let board = format!("agent-{}", workshop.id("board"));
    for mut events in live.into_iter().chain(replayed) {
        let seen = events.take(4).await;
        assert!(seen.iter().all(|event| event.data["scope"] == board), "{seen:?}");
        let kinds: Vec<&str> = seen.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["ITEM_PUBLISHED", "ITEM_RECALLED", "ITEM_WRITTEN", "ITEM_DELETED"]);
    }
    // A stranger hears of nothing, nor does an admin who is no member.
    for (token, events) in [&workshop.cy, &owner].into_iter().zip(&mut silent) {
        world.session(token, "mine", json!({})).await;
        world.write(token, "mine", "first", "x").await;
        assert_eq!(events.next().await.expect("an event").data["key"], "first");
    }
}

#[tokio::test]
async fn in_a_project_of_ones_own_one_hears_of_both() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    world.agent(&owner, "garden", json!({"name": "board", "visibility": "shared"})).await;
    world.project(&owner, "kitchen").await;
    let mut garden = stream(&world, &owner, GARDEN, None).await;
    let write = |agent: &str, key: &str| {
        let request = json!({"key": key, "value": "x"});
        world.tool(&owner, agent, "workspace_write", &request).send()
    };
    write("kitchen/agent_coder", "elsewhere").await.ok();
    write("garden/agent_coder", "private").await.ok();
    write("garden/board", "shared").await.ok();
    let keys: Vec<Value> = garden.take(2).await.iter().map(|event| event.data["key"].clone()).collect();
    assert_eq!(keys, ["private", "shared"]);
}

#[tokio::test]
async fn a_reader_resumes_where_it_left_off_also_after_a_restart() {
    let workshop = Workshop::new().await;
    life(&workshop).await;
    let all = stream(&workshop.world, &workshop.ann, MINE, Some(0)).await.take(7).await;
    let workshop = Workshop { world: workshop.world.reopened().await, ..workshop };
    let world = &workshop.world;
    for (at, event) in all.iter().enumerate().take(6) {
        let rest = stream(world, &workshop.ann, MINE, Some(event.id)).await.take(6 - at).await;
        assert_eq!(rest, all[at + 1..]);
    }
    // Only what can be said as keys of a selection is selected by it.
    workshop.write(&workshop.ann, "board", "Shopping list", "x").await;
    workshop.write(&workshop.ann, "board", "notice", "x").await;
    let mut selected = stream(world, &workshop.ann, "/my/events?keys=not*", all.last().map(|event| event.id)).await;
    assert_eq!(selected.next().await.expect("an event").data["key"], "notice");
    let mut lost = stream(world, &workshop.ann, MINE, Some(1_000_000)).await;
    assert_eq!(lost.next().await.expect("an event").kind, "RESET");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_changes_is_told_in_the_order_it_happened() {
    let workshop = Workshop::new().await;
    let mut live = stream(&workshop.world, &workshop.bea, GARDEN, None).await;
    let writes = (0..100).map(|n| {
        let hand = if n % 2 == 0 { &workshop.ann } else { &workshop.bea };
        workshop.write(hand, "board", "counter", "x")
    });
    futures_util::future::join_all(writes).await;
    let events = live.take(100).await;
    let versions: Vec<_> = events.iter().map(|event| event.data["version"].as_u64()).collect();
    assert_eq!(versions, (1..=100).map(Some).collect::<Vec<_>>());
    let again = stream(&workshop.world, &workshop.ann, GARDEN, Some(0)).await.take(100).await;
    assert_eq!(again, events);
}

#[tokio::test]
async fn what_an_agent_told_goes_with_it_and_nobody_elses() {
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    workshop.write(ann, "wall", "the wall's", "x").await;
    workshop.write(ann, "board", "the board's", "x").await;
    workshop.write(ann, "agent_coder", "mine", "x").await;
    workshop.write(ann, "board", "the board's", "y").await;
    world.delete("/my/projects/garden/agents/board").by(ann).send().await.ok();
    workshop.write(ann, "wall", "later", "x").await;
    let left = stream(world, ann, MINE, Some(0)).await.take(3).await;
    let keys: Vec<&str> = left.iter().filter_map(|event| event.data["key"].as_str()).collect();
    assert_eq!(keys, ["the wall's", "mine", "later"]);
}
