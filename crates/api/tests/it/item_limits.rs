//! Workspace items: how long, how large, how many, what a preview shows, and where a value never is.

use super::workshop::{Workshop, audit};
use serde_json::{Value, json};
use testkit::{keep_logs, kept_logs};

const LARGEST: usize = 256 * 1024;

#[tokio::test]
async fn a_preview_is_the_first_hundred_characters_whatever_they_are() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    let family = "👨‍👩‍👧‍👦";
    for (name, value) in [
        ("empty", String::new()),
        ("short", "milk".to_owned()),
        ("ninety-nine", "é".repeat(99)),
        ("hundred", "é".repeat(100)),
        ("one more", "é".repeat(101)),
        ("wide", "日本語".repeat(50)),
        ("four bytes", "🦀".repeat(101)),
        ("mixed", format!("{}🦀x", "a".repeat(99))),
        ("joined", family.repeat(40)),
        ("lines", "a\n\t\"\\\u{7f}\u{1}".repeat(30)),
        ("json", json!({"list": [1, 2, {"three": "é"}]}).to_string()),
    ] {
        workshop.write(ann, "agent_coder", name, &value).await;
        let listed = &workshop.items(ann, "agent_coder").await[0];
        let expected: String = value.chars().take(100).collect();
        assert_eq!((&listed["key"], &listed["preview"]), (&json!(name), &json!(expected)));
        assert_eq!(listed["size_bytes"], value.len(), "{name}");
        assert_eq!(workshop.read(ann, "agent_coder", name).await["value"], value, "{name}");
    }
    workshop.write(ann, "agent_coder", "short", "changed").await;
    assert_eq!(workshop.items(ann, "agent_coder").await[0]["preview"], "changed");
}

#[tokio::test]
async fn a_value_has_a_quarter_of_a_mebibyte_and_not_one_byte_more() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    let write = async |value: &str| {
        workshop.try_as(ann, "agent_coder", "workspace_write", json!({"key": "a", "value": value})).await
    };
    let largest = "x".repeat(LARGEST);
    assert_eq!(write(&largest).await.ok()["size_bytes"], LARGEST);
    assert_eq!(workshop.read(ann, "agent_coder", "a").await["value"], largest);
    let wide = "é".repeat(LARGEST / 2);
    assert_eq!(write(&wide).await.ok()["version"], 2, "bytes count, not characters");
    for large in [format!("{largest}x"), format!("{wide}x")] {
        let details = write(&large).await.refused(413, "VALUE_TOO_LARGE");
        assert_eq!(details, json!({"max_bytes": LARGEST, "size_bytes": LARGEST + 1}));
    }
    // Within the body's limit when it is written as escapes.
    assert_eq!(write(&"\n".repeat(LARGEST)).await.ok()["version"], 3);
    write(&"x".repeat(1024 * 1024)).await.refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(write("a\0b").await.refused(400, "INVALID_REQUEST")["field"], "value");
    for nonsense in [json!(null), json!(7), json!({"a": 1}), json!(["a"]), json!(true)] {
        let request = json!({"key": "a", "value": nonsense});
        let refusal = workshop.try_as(ann, "agent_coder", "workspace_write", request).await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], "value");
    }
    assert_eq!(workshop.read(ann, "agent_coder", "a").await["version"], 3);
}

#[tokio::test]
async fn a_key_is_any_line_of_256_characters_and_exactly_what_was_written() {
    let workshop = Workshop::new().await;
    let ann = &workshop.ann;
    let (longest, wide) = ("x".repeat(256), "日".repeat(256));
    let composed = ["é", "e\u{301}"];
    let good = ["a", "A", " ", " a", "a ", "a/b", "../x", "%00", "'; --", "\u{a0}", "\u{202e}abc", "日本", "🦀"];
    let all: Vec<&str> = good.into_iter().chain(composed).chain([longest.as_str(), wide.as_str()]).collect();
    for key in &all {
        assert_eq!(workshop.write(ann, "agent_coder", key, key).await["key"], *key);
    }
    for key in &all {
        let read = workshop.read(ann, "agent_coder", key).await;
        assert_eq!((&read["value"], &read["version"]), (&json!(key), &json!(1)), "none is taken for another");
    }
    assert_eq!(workshop.items(ann, "agent_coder").await.len(), all.len());
    let (too_long, too_wide) = (format!("{longest}x"), format!("{wide}x"));
    for bad in ["", "a\nb", "\n", "a\tb", "\u{0}", "\u{1b}[31m", "\u{7f}", "\u{85}", "\u{9f}", &too_long, &too_wide] {
        for tool in ["workspace_read", "workspace_write", "workspace_delete", "workspace_publish"] {
            let request = match tool {
                "workspace_write" => json!({"key": bad, "value": "x"}),
                "workspace_publish" => json!({"key": bad, "target_agent_id": workshop.id("board")}),
                _ => json!({"key": bad}),
            };
            let refusal = workshop.try_as(ann, "agent_coder", tool, request).await;
            assert_eq!(refusal.refused(400, "INVALID_KEY")["field"], "key", "{tool} {bad:?}");
        }
        let request = json!({"key": "a", "target_agent_id": workshop.id("board"), "target_key": bad});
        let refusal = workshop.try_publish(ann, request).await;
        assert_eq!(refusal.refused(400, "INVALID_KEY")["field"], "target_key", "{bad:?}");
    }
    for nonsense in [json!(null), json!(7), json!(["a"])] {
        let refusal = workshop.try_as(ann, "agent_coder", "workspace_read", json!({"key": nonsense})).await;
        assert_eq!(refusal.refused(400, "INVALID_REQUEST")["field"], "key");
    }
}

#[tokio::test]
async fn a_scope_holds_ten_thousand_items_and_says_when_it_is_full() {
    let workshop = Workshop::new().await;
    let (world, ann, bea) = (&workshop.world, &workshop.ann, &workshop.bea);
    world.fill_items("ann", 9_999).await;
    workshop.write(ann, "agent_coder", "the last", "x").await;
    let write = async |key: &str| {
        workshop.try_as(ann, "agent_writer", "workspace_write", json!({"key": key, "value": "y"})).await
    };
    let refused = write("one more").await.refused(409, "STORE_FULL");
    assert_eq!(refused, json!({"max_items": 10_000}));
    workshop.lacks(ann, "agent_coder", "one more").await;
    assert_eq!(write("the last").await.ok()["version"], 2, "what is there can be changed");
    assert_eq!(write("filling-0").await.ok()["version"], 2);
    let items = workshop.items(ann, "agent_coder").await;
    assert_eq!((items.len(), &items[0]["key"]), (10_000, &json!("filling-0")));
    workshop.write(bea, "agent_coder", "hers", "x").await;
    workshop.delete(ann, "agent_coder", "filling-77").await;
    write("one more").await.ok();
    write("and another").await.refused(409, "STORE_FULL");
    // A full scope can be published from.
    workshop.publish(ann, "the last", "board").await;
    let world = world.post("/my/projects/garden/agents/agent_coder/tools/workspace_delete", &json!({"key": "nothing"}));
    world.by(ann).send().await.refused(404, "ITEM_NOT_FOUND");
    write("and another").await.refused(409, "STORE_FULL");
}

#[tokio::test]
async fn a_value_is_in_no_row_no_event_no_refusal_and_no_log() {
    keep_logs();
    let workshop = Workshop::new().await;
    let (world, ann) = (&workshop.world, &workshop.ann);
    let canary = "ITEM-CANARY-51c9";
    let mut mine = world.get("/my/events").by(ann).stream().await;
    let mut ending = world.get("/my/projects/garden/events?keys=nothing").by(ann).stream().await;
    workshop.write(ann, "agent_coder", "a", canary).await;
    workshop.write(ann, "agent_coder", "a", &format!("{canary} again")).await;
    let copy = workshop.publish(ann, "a", "board").await;
    workshop.write(ann, "board", "b", canary).await;
    workshop.recall(ann, &copy).await;
    workshop.delete(ann, "agent_coder", "a").await;
    let board = workshop.id("board");
    let refusals: [(&str, Value); 10] = [
        ("workspace_write", json!({"key": "b", "value": canary, "if_version": 7})),
        ("workspace_write", json!({"key": "b", "value": canary.repeat(20_000)})),
        ("workspace_write", json!({"key": "b", "value": [canary]})),
        ("workspace_write", json!({"key": "b", "value": format!("{canary}\0")})),
        ("workspace_write", json!({"key": format!("{canary}\n"), "value": canary})),
        ("workspace_write", json!({"key": "b", "value": canary, "if_version": canary})),
        ("workspace_write", json!({"key": "b", "value": canary, "user_id": canary})),
        ("workspace_read", json!({"key": canary})),
        ("workspace_publish", json!({"key": canary, "target_agent_id": board})),
        ("workspace_publish", json!({"key": "b", "target_agent_id": canary})),
    ];
    for (tool, request) in refusals {
        let answer = workshop.try_as(ann, "agent_coder", tool, request).await;
        assert!(answer.status.is_client_error(), "{tool}");
        assert!(!answer.text.contains(canary), "{tool}: {}", answer.text);
    }
    let broken = format!("{{\"key\": \"b\", \"value\": \"{canary}\"");
    let path = "/my/projects/garden/agents/agent_coder/tools/workspace_write";
    let ask = world.ask(axum::http::Method::POST, path).by(ann).bytes("application/json", broken.into_bytes());
    let answer = ask.send().await;
    assert!(answer.status == 400 && !answer.text.contains(canary), "{}", answer.text);
    for event in mine.take(6).await {
        assert!(!event.data.to_string().contains(canary), "{event:?}");
    }
    let rows = audit(world, "").await;
    assert!(rows.len() > 10 && !json!(rows).to_string().contains(canary));
    let metrics = world.get("/metrics").by(&world.owner().await).send().await;
    assert!(metrics.status == 200 && !metrics.text.contains(canary));
    world.delete("/my/projects/garden").by(ann).send().await.ok();
    assert_eq!(ending.next().await, None);
    let logs = kept_logs();
    assert!(logs.contains("a stream ends"), "the log is kept: {logs}");
    assert!(!logs.contains(canary), "{logs}");
}
