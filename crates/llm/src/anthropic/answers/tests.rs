//! Streams as the provider sends them, whole, cut at every byte and broken.

use super::*;
use crate::answers::Listening;
use crate::{Tool, ToolCall};
use serde_json::json;

fn read(pieces: &[&[u8]]) -> Result<Reply> {
    let tool = Tool { name: "k8s.get".to_owned(), description: String::new(), parameters: json!({}) };
    let mut answer = MessageAnswer::default();
    let mut listening = Listening::default();
    let mut heard = String::new();
    for piece in pieces {
        listening.hear(piece, &mut answer, &mut |text| heard.push_str(text))?;
    }
    let reply = answer.finish("asked-for", &WireNames::new(&[tool]))?;
    assert_eq!(heard, reply.text, "all text is heard once");
    Ok(reply)
}

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", text(event, "type"))).collect()
}

fn start() -> Value {
    let usage = json!({
        "input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1,
    });
    json!({ "type": "message_start", "message": { "model": "claude-sonnet-4-5-20250929", "usage": usage } })
}

fn block(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 42 } })
}

fn full() -> Vec<Value> {
    vec![
        start(),
        block(0, &json!({ "type": "thinking", "thinking": "" })),
        delta(0, &json!({ "type": "thinking_delta", "thinking": "hm" })),
        block(1, &json!({ "type": "text", "text": "" })),
        json!({ "type": "ping" }),
        delta(1, &json!({ "type": "text_delta", "text": "Hällo " })),
        delta(1, &json!({ "type": "text_delta", "text": "you 😀" })),
        json!({ "type": "content_block_stop", "index": 1 }),
        block(2, &json!({ "type": "tool_use", "id": "toolu_1", "name": "k8s__get", "input": {} })),
        delta(2, &json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(2, &json!({ "type": "input_json_delta", "partial_json": "{\"kind\":" })),
        delta(2, &json!({ "type": "input_json_delta", "partial_json": "\"pod\"}" })),
        json!({ "type": "content_block_stop", "index": 2 }),
        block(3, &json!({ "type": "tool_use", "id": "toolu_2", "name": "other", "input": {} })),
        json!({ "type": "content_block_stop", "index": 3 }),
        stop("tool_use"),
        json!({ "type": "message_stop" }),
    ]
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn a_whole_stream_is_a_reply_however_it_is_split() {
    let expected = Reply {
        text: "Hällo you 😀".to_owned(),
        calls: vec![call("toolu_1", "k8s.get", "{\"kind\":\"pod\"}"), call("toolu_2", "other", "{}")],
        stop: Stop::Done,
        usage: Some(Usage { input_tokens: 125, output_tokens: 42 }),
        model: "claude-sonnet-4-5-20250929".to_owned(),
    };
    let text = stream(&full());
    for text in [text.clone(), text.replace('\n', "\r\n"), text + "data: nonsense after the end\n\n"] {
        let bytes = text.as_bytes();
        assert_eq!(read(&[bytes]).unwrap(), expected);
        assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()).unwrap(), expected);
        for cut in 0..bytes.len() {
            assert_eq!(read(&[&bytes[..cut], &bytes[cut..]]).unwrap(), expected, "split at {cut}");
        }
    }
}

#[test]
fn a_stream_cut_anywhere_is_never_a_reply() {
    let text = stream(&full());
    for cut in 0..text.len() {
        assert_eq!(read(&[&text.as_bytes()[..cut]]), Err(Error::Cut), "cut at {cut}");
    }
    let no_reason = [start(), json!({ "type": "message_stop" })];
    assert_eq!(read(&[stream(&no_reason).as_bytes()]), Err(Error::Cut));
}

#[test]
fn stops_are_told_apart() {
    let other = |word: &str| Stop::Other(word.to_owned());
    let cases = [
        ("end_turn", Stop::Done),
        ("tool_use", Stop::Done),
        ("stop_sequence", Stop::Done),
        ("max_tokens", Stop::Length),
        ("refusal", other("refusal")),
        ("pause_turn", other("pause_turn")),
    ];
    for (reason, expected) in cases {
        let events = [start(), stop(reason), json!({ "type": "message_stop" })];
        assert_eq!(read(&[stream(&events).as_bytes()]).unwrap().stop, expected);
    }
}

#[test]
fn an_error_in_the_stream_is_told_by_its_kind() {
    let cases = [
        ("overloaded_error", Error::Failing { status: 529, retry_after: None }),
        ("api_error", Error::Failing { status: 500, retry_after: None }),
        ("of another kind", Error::Failing { status: 500, retry_after: None }),
        ("rate_limit_error", Error::RateLimited { retry_after: None }),
        ("invalid_request_error", Error::Refused { status: 400, excerpt: "no".to_owned() }),
    ];
    for (kind, expected) in cases {
        let error = json!({ "type": "error", "error": { "type": kind, "message": "no" } });
        assert_eq!(read(&[stream(&[start(), error.clone()]).as_bytes()]), Err(expected), "{kind}");
        let begun = [start(), block(0, &json!({ "type": "text", "text": "Hel" })), error];
        assert_eq!(read(&[stream(&begun).as_bytes()]), Err(Error::Cut), "what was begun may have cost something");
    }
}

#[test]
fn figures_are_reported_only_if_they_are_whole() {
    let closing =
        |usage: &Value| json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage });
    let bare = json!({ "type": "message_start", "message": {} });
    let cases = [
        (start(), json!({ "output_tokens": 9 }), Some((125, 9))),
        (start(), json!({ "output_tokens": 9, "input_tokens": 0 }), Some((125, 9))),
        (start(), json!(null), None),
        (bare.clone(), json!({ "output_tokens": 9 }), None),
        (bare.clone(), json!({ "output_tokens": 9, "input_tokens": 4 }), Some((4, 9))),
        (bare, json!({ "output_tokens": -9, "input_tokens": "4" }), None),
    ];
    for (start, usage, expected) in cases {
        let events = [start, closing(&usage), json!({ "type": "message_stop" })];
        let found = read(&[stream(&events).as_bytes()]).unwrap().usage;
        assert_eq!(found.map(|usage| (usage.input_tokens, usage.output_tokens)), expected, "{usage}");
    }
}

#[test]
fn nonsense_is_an_error_and_never_a_panic() {
    let garbled = Err(Error::Garbled("an event is no JSON object"));
    for text in ["data: hello\n\n", "data: {\n\n", "data: [1]\n\n", "event: message_stop\ndata:\n\n"] {
        assert_eq!(read(&[text.as_bytes()]), garbled, "{text:?}");
    }
    let odd = [
        json!({}),
        json!({ "type": 7 }),
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": u64::MAX, "cache_read_input_tokens": 9 } } }),
        json!({ "type": "content_block_start", "content_block": null }),
        delta(9, &json!({ "type": "input_json_delta", "partial_json": "{}" })),
        json!({ "type": "content_block_delta", "index": -1 }),
    ];
    assert_eq!(read(&[stream(&odd).as_bytes()]), Err(Error::Cut));
}

#[test]
fn a_damaged_byte_anywhere_is_no_panic() {
    let text = stream(&full()).into_bytes();
    for place in 0..text.len() {
        for byte in [0, b'\n', b'"', b'{', b'9', 0xff] {
            let mut damaged = text.clone();
            damaged[place] = byte;
            if let Ok(reply) = read(&[&damaged]) {
                assert!(reply.calls.len() <= 3, "damaged at {place}");
            }
        }
    }
}

#[test]
fn a_server_that_does_not_stream_answers_at_once() {
    let mut answer = MessageAnswer::default();
    let body = json!({
        "type": "message", "model": "claude", "stop_reason": "tool_use", "usage": { "input_tokens": 3, "output_tokens": 2 },
        "content": [
            { "type": "text", "text": "Hi" }, { "type": "tool_use", "id": "a", "name": "one", "input": { "b": 1 } },
        ],
    });
    answer.at_once(&body, &mut |_| {}).unwrap();
    let reply = answer.finish("asked-for", &WireNames::default()).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str(), reply.usage.is_some()), ("Hi", "claude", true));
    assert_eq!(reply.calls, [call("a", "one", r#"{"b":1}"#)]);
}

#[test]
fn too_much_of_anything_is_an_error() {
    let piece = delta(0, &json!({ "type": "text_delta", "text": "a".repeat(300 * 1024) }));
    assert_eq!(read(&[stream(&vec![piece; 4]).as_bytes()]), Err(Error::TooLarge));
    let call = |index| block(index, &json!({ "type": "tool_use", "id": "", "name": "one" }));
    assert_eq!(read(&[stream(&(0..65).map(call).collect::<Vec<_>>()).as_bytes()]), Err(Error::TooLarge));
    let part = delta(0, &json!({ "type": "input_json_delta", "partial_json": "1".repeat(300 * 1024) }));
    let events: Vec<_> = std::iter::once(call(0)).chain(vec![part; 4]).collect();
    assert_eq!(read(&[stream(&events).as_bytes()]), Err(Error::TooLarge));
}
