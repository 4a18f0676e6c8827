//! How much a session may hold, and how it is counted.

use super::room::Room;
use futures_util::future::join_all;
use serde_json::{Value, json};

#[tokio::test]
async fn a_value_may_have_four_thousand_characters_and_not_one_more() {
    let room = Room::new(json!({})).await;
    // Characters, whatever they weigh in bytes.
    for letter in ["a", "é", "漢", "🦀"] {
        let written = room.write("a", &letter.repeat(4000)).await;
        assert_eq!(written["value_size_tokens"], 1000, "{letter}");
        let before = room.state().await;
        let request = json!({"action": "write", "key": "a", "value": letter.repeat(4001)});
        let details = room.refuses(request, 413, "VALUE_TOO_LARGE").await;
        assert_eq!(details, json!({"value_size_tokens": 1001, "max_value_tokens": 1000}));
        assert_eq!(room.state().await, before);
    }
}

#[tokio::test]
async fn sizes_are_rounded_up() {
    let room = Room::new(json!({})).await;
    for (length, tokens) in [(0, 0), (1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)] {
        assert_eq!(room.write("a", &"ß".repeat(length)).await["value_size_tokens"], tokens, "{length}");
    }
}

#[tokio::test]
async fn a_large_value_is_taken_with_a_warning() {
    let room = Room::new(json!({})).await;
    let fine = room.write("a", &"x".repeat(3200)).await;
    assert_eq!((&fine["value_size_tokens"], fine.get("warning")), (&json!(800), None));
    let large = room.write("a", &"x".repeat(3201)).await;
    assert!(large["warning"].as_str().is_some_and(|warning| warning.contains("801")));

    let strict = Room::new(json!({"warn_value_tokens": 0})).await;
    assert!(strict.write("a", "x").await["warning"].is_string());
    assert_eq!(strict.write("a", "").await.get("warning"), None);
}

#[tokio::test]
async fn a_full_store_says_what_it_holds_and_what_it_would_have_had_to() {
    let room = Room::new(json!({"max_store_tokens": 10})).await;
    room.write("a", &"x".repeat(24)).await;
    let before = room.state().await;
    let details = room.refuses(write("b", 20), 409, "STORE_FULL").await;
    assert_eq!(details, json!({"total_size_tokens": 6, "needed_size_tokens": 11, "max_store_tokens": 10}));
    assert_eq!(room.state().await, before);

    room.does(write("b", 16)).await;
    assert_eq!(room.does(json!({"action": "list_keys"})).await["total_size_tokens"], 10);
    // Overwriting counts the difference, so a full store can be rearranged.
    room.does(write("a", 20)).await;
    room.does(write("c", 4)).await;
    room.refuses(write("a", 24), 409, "STORE_FULL").await;
    room.delete("b").await;
    assert_eq!(room.does(write("a", 36)).await["total_size_tokens"], 10);
    // What weighs nothing always fits.
    assert_eq!(room.does(write("d", 0)).await["total_size_tokens"], 10);
}

fn write(key: &str, length: usize) -> Value {
    json!({"action": "write", "key": key, "value": "x".repeat(length)})
}

#[tokio::test]
async fn the_value_limit_is_told_before_the_stores_and_a_conflict_before_both() {
    let room = Room::new(json!({"max_value_tokens": 5, "max_store_tokens": 3})).await;
    room.refuses(write("a", 21), 413, "VALUE_TOO_LARGE").await;
    room.refuses(write("a", 20), 409, "STORE_FULL").await;
    let mut stale = write("a", 21);
    stale["if_version"] = json!(4);
    room.refuses(stale, 409, "VERSION_CONFLICT").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_five_writers_at_once_fill_exactly_ten_entries() {
    let room = Room::new(json!({})).await;
    let requests: Vec<Value> = (0..25).map(|n| write(&format!("k{n}"), 4000)).collect();
    let answers = join_all(requests.iter().map(|request| room.ask(&room.owner, request).send())).await;
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((taken.len(), refused.len()), (10, 15));
    for answer in refused {
        let details = answer.refused(409, "STORE_FULL");
        assert_eq!((&details["total_size_tokens"], &details["needed_size_tokens"]), (&json!(10_000), &json!(11_000)));
    }
    let listing = room.does(json!({"action": "list_keys"})).await;
    assert_eq!((listing["keys"].as_array().unwrap().len(), &listing["total_size_tokens"]), (10, &json!(10_000)));
}

#[tokio::test]
async fn an_exact_counter_counts_what_the_tokenizer_does() {
    let room = Room::new(json!({"token_counter": "o200k", "max_value_tokens": 20, "warn_value_tokens": 10})).await;
    // By the tokenizer: words are one each, though they have more than four letters.
    let written = room.write("a", "hello world hello world").await;
    assert_eq!(written["value_size_tokens"], 4);
    assert_eq!(room.write("b", "").await["value_size_tokens"], 0);
    let large = room.write("c", &"hello ".repeat(15)).await;
    assert!(large["warning"].is_string(), "{large}");
    let details = room
        .refuses(json!({"action": "write", "key": "d", "value": "hello ".repeat(40)}), 413, "VALUE_TOO_LARGE")
        .await;
    assert!(details["value_size_tokens"].as_u64().unwrap() > 20);
    let sizes = room.does(json!({"action": "list_keys"})).await;
    let total: u64 =
        sizes["keys"].as_array().unwrap().iter().map(|key| key["value_size_tokens"].as_u64().unwrap()).sum();
    assert_eq!(sizes["total_size_tokens"], total);
    // Words that mean something to a tokenizer are text like any other.
    assert!(room.write("e", "<|endoftext|>").await["value_size_tokens"].as_u64().unwrap() > 1);
    assert_eq!(room.read("e").await["value"], "<|endoftext|>");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_counting_keeps_the_limit_under_concurrent_writes_too() {
    let room = Room::new(json!({"token_counter": "o200k", "max_store_tokens": 20})).await;
    let requests: Vec<Value> = (0..12)
        .map(|n| json!({"action": "write", "key": format!("k{n}"), "value": "hello world hello world"}))
        .collect();
    let answers = join_all(requests.iter().map(|request| room.ask(&room.owner, request).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 5);
    assert_eq!(room.does(json!({"action": "list_keys"})).await["total_size_tokens"], 20);
}

#[tokio::test]
async fn the_limits_of_a_session_are_its_own() {
    let room = Room::new(json!({"max_value_tokens": 2, "max_store_tokens": 3})).await;
    room.does(write("a", 8)).await;
    room.refuses(write("b", 9), 413, "VALUE_TOO_LARGE").await;
    room.refuses(write("b", 5), 409, "STORE_FULL").await;
    room.world.session(&room.owner, "roomy", json!({})).await;
    room.world.write(&room.owner, "roomy", "a", &"x".repeat(4000)).await;
    assert_eq!(room.does(json!({"action": "list_keys"})).await["total_size_tokens"], 2);
}

#[tokio::test]
async fn a_value_made_to_choke_the_tokenizer_is_refused_like_any_other_that_is_too_large() {
    let room = Room::new(json!({"token_counter": "o200k"})).await;
    for hostile in ["a", " ", "\n", "\u{1f980}", "a1", "'", "="] {
        let request = json!({"action": "write", "key": "a", "value": hostile.repeat(400_000 / hostile.len())});
        room.refuses(request, 413, "VALUE_TOO_LARGE").await;
    }
}
