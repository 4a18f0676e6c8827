//! Who waits behind whom.

use super::operations::{Put, open, open_with};
use std::sync::{Arc, Mutex};
use store::Error;

#[tokio::test]
async fn a_flood_from_one_workspace_does_not_hold_up_another() {
    let house = open().await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let held = house.held().await;
    let mut waiting = Vec::new();
    for n in 0..1_000 {
        waiting.push(house.queued("loud", Put::new(&format!("loud {n}")).noting(&order)).await);
    }
    for n in 0..3 {
        waiting.push(house.queued("quiet", Put::new(&format!("quiet {n}")).noting(&order)).await);
    }
    held.release().await;
    for write in waiting {
        write.await.unwrap().unwrap();
    }
    let order = order.lock().unwrap();
    let expected = ["loud 0", "quiet 0", "loud 1", "quiet 1", "loud 2", "quiet 2", "loud 3", "loud 4"];
    assert_eq!(order[..8], expected, "turn by turn, each line in its own order");
    assert_eq!(order.len(), 1_003);
}

#[tokio::test]
async fn a_full_queue_says_so_and_takes_more_when_there_is_room() {
    let house = open_with(3).await;
    let held = house.held().await;
    let mut waiting = Vec::new();
    // No workspace gets more than half of the places.
    for (n, workspace) in ["any", "any", "other"].into_iter().enumerate() {
        waiting.push(house.queued(workspace, Put::new(&format!("w{n}"))).await);
    }
    assert!(matches!(house.put("one too many").await, Err(Error::QueueFull)));
    held.release().await;
    for write in waiting {
        write.await.unwrap().unwrap();
    }
    house.put("later").await.unwrap();
    assert!(!house.has("one too many").await);
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_not_done() {
    let house = open().await;
    let held = house.held().await;
    let given_up = house.queued("any", Put::new("given up")).await;
    let kept = house.queued("any", Put::new("kept")).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    held.release().await;
    kept.await.unwrap().unwrap();
    assert!(!house.has("given up").await && house.has("kept").await);
}
