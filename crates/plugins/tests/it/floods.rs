//! Plugins that send too much. None of them costs the house more than the message that was one too many.

use crate::scenes::Scene;
use domain::Code;
use serde_json::json;

/// What this process has at most had in memory, in KiB.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_flood_ends_the_connection_and_the_call_and_the_plugin_begins_anew() {
    let cases = [
        ("bomb", "it sent a message that is too large"),
        ("flood_line", "it sent a message that is too large"),
        ("flood_notifications", "it sent more messages than anybody asked for"),
        ("flood_requests", "it sent more messages than anybody asked for"),
        ("flood_garbage", "it prints other things than messages"),
    ];
    for (tool, why) in cases {
        let scene = Scene::odd("plain").await;
        let before = peak_memory_kib();
        let error = scene.call(tool, json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.may_have_run()), (Code::PluginUnavailable, true), "{tool}");
        assert!(error.to_string().contains(why), "{tool}: {error}");
        scene.answers_again().await;
        let grown = peak_memory_kib() - before;
        assert!(grown < 96 * 1024, "{tool}: {grown} KiB more");
    }
}

#[tokio::test]
async fn a_large_answer_is_cut_and_a_giant_one_ends_the_call() {
    let scene = Scene::odd("plain").await;
    let whole = scene.call("giant", json!({"bytes": 60_000})).await.unwrap();
    assert_eq!((whole.text.len(), whole.is_cut), (60_000, false));
    let cut = scene.call("giant", json!({"bytes": 1_000_000})).await.unwrap();
    assert!(cut.is_cut && cut.text.len() < 66_000 && cut.text.ends_with("is cut off]"), "{}", cut.text.len());
    let error = scene.call("giant", json!({"bytes": 5_000_000})).await.unwrap_err();
    assert!(error.may_have_run() && error.to_string().contains("too large"), "{error}");
    scene.answers_again().await;
}

#[tokio::test]
async fn what_is_printed_beside_messages_disturbs_nobody() {
    let scene = Scene::odd("noisy").await;
    assert_eq!(scene.call("echo", json!({"a": 1})).await.unwrap().text, r#"{"a":1}"#);
    let words = scene.plugins.last_words("odd");
    assert!(words.is_none_or(|words| words.len() <= 1024));
}

#[tokio::test]
async fn a_list_without_an_end_is_cut_and_that_is_told() {
    let scene = Scene::odd("endless").await;
    let listing = scene.plugins.listing();
    let listed = &listing.plugins["odd"];
    assert!(listed.is_cut && listed.offers.tools.len() == 64, "a tool on each of the pages that were read");
    let few = Scene::with(&[("odd", crate::scenes::odd("plain"))], |options| options.limits.tools = 3).await;
    let listing = few.ready("odd").await;
    assert!(listing.plugins["odd"].is_cut && listing.plugins["odd"].offers.tools.len() == 3);
    let small =
        Scene::with(&[("odd", crate::scenes::odd("plain"))], |options| options.limits.listing_bytes = 200).await;
    let listing = small.ready("odd").await;
    assert!(listing.plugins["odd"].is_cut && listing.plugins["odd"].offers.tools.len() < 5);
}

#[tokio::test]
async fn a_plugin_that_stops_reading_is_given_up() {
    let scene = Scene::odd("plain").await;
    let large = json!({"a": "x".repeat(500_000)});
    let (deaf, unread) = tokio::join!(biased; scene.call("deaf", json!({})), scene.call("echo", large));
    for error in [deaf.unwrap_err(), unread.unwrap_err()] {
        assert!(error.to_string().contains("does not take what is sent to it"), "{error}");
    }
    scene.answers_again().await;
}
