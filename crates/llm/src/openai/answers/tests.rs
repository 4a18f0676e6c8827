//! Streams as servers send them, whole, cut at every byte and broken.

use super::*;
use crate::answers::Listening;
use crate::{Tool, ToolCall};
use serde_json::json;

fn read(pieces: &[&[u8]]) -> Result<Reply> {
    let tool = Tool { name: "k8s.get".to_owned(), description: String::new(), parameters: json!({}) };
    let mut completion = Completion::default();
    let mut listening = Listening::default();
    let mut heard = String::new();
    for piece in pieces {
        listening.hear(piece, &mut completion, &mut |text| heard.push_str(text))?;
    }
    let reply = completion.finish("asked-for", &WireNames::new(&[tool]))?;
    assert_eq!(heard, reply.text, "all text is heard once");
    Ok(reply)
}

fn stream(chunks: &[Value], ending: &str) -> String {
    let chunks: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    chunks + ending
}

fn delta(delta: &Value) -> Value {
    json!({ "model": "gpt-4o-2024", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn parts(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    delta(&json!({ "tool_calls": [
        { "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }
    ]}))
}

fn full() -> Vec<Value> {
    vec![
        delta(&json!({ "role": "assistant", "content": "" })),
        delta(&json!({ "content": "Hällo " })),
        delta(&json!({ "content": "you 😀" })),
        parts(0, "call_a", "k8s__get", ""),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"kind\":" } }] })),
        parts(1, "call_b", "unknown__tool", "{}"),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"pod\"}" } }] })),
        finish("tool_calls"),
        json!({ "choices": [], "usage": { "prompt_tokens": 11, "completion_tokens": 7 } }),
    ]
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn a_whole_stream_is_a_reply_however_it_is_split() {
    let expected = Reply {
        text: "Hällo you 😀".to_owned(),
        calls: vec![call("call_a", "k8s.get", "{\"kind\":\"pod\"}"), call("call_b", "unknown__tool", "{}")],
        stop: Stop::Done,
        usage: Some(Usage { input_tokens: 11, output_tokens: 7 }),
        model: "gpt-4o-2024".to_owned(),
    };
    let text = stream(&full(), "data: [DONE]\n\n");
    for text in [text.clone(), text.replace('\n', "\r\n"), stream(&full(), ""), text + "data: {\"choices\": 7}\n\n"] {
        let bytes = text.as_bytes();
        assert_eq!(read(&[bytes]).unwrap(), expected);
        assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()).unwrap(), expected);
        for cut in 0..bytes.len() {
            assert_eq!(read(&[&bytes[..cut], &bytes[cut..]]).unwrap(), expected, "split at {cut}");
        }
    }
}

#[test]
fn a_stream_cut_before_the_model_stopped_is_never_a_reply() {
    let text = stream(&full(), "data: [DONE]\n\n");
    let until = stream(&full()[..8], "").len();
    for cut in 0..text.len() {
        let reply = read(&[&text.as_bytes()[..cut]]);
        if cut < until {
            assert_eq!(reply, Err(Error::Cut), "cut at {cut}");
        } else {
            assert_eq!(reply.unwrap().calls.len(), 2, "cut at {cut}");
        }
    }
    let no_finish: Vec<_> = full().into_iter().take(7).collect();
    assert_eq!(read(&[stream(&no_finish, "data: [DONE]\n\n").as_bytes()]), Err(Error::Cut));
}

#[test]
fn stops_are_told_apart() {
    let other = |word: &str| Stop::Other(word.to_owned());
    let long = "x".repeat(64);
    let cases = [
        ("stop", Stop::Done),
        ("tool_calls", Stop::Done),
        ("function_call", Stop::Done),
        ("length", Stop::Length),
        ("content_filter", other("content_filter")),
        (&"x".repeat(1000), other(&long)),
    ];
    for (reason, expected) in cases {
        assert_eq!(read(&[stream(&[finish(reason)], "").as_bytes()]).unwrap().stop, expected);
    }
}

#[test]
fn calls_are_told_apart_by_servers_that_number_them_oddly() {
    let unnumbered = |id: &str, name: &str, arguments: &Value| {
        delta(&json!({ "tool_calls": [{ "id": id, "function": { "name": name, "arguments": arguments } }] }))
    };
    let cases = [
        (vec![parts(0, "a", "one", "{}"), parts(0, "b", "two", "{}")], [("a", "one"), ("b", "two")]),
        (vec![parts(3, "", "one", "{}"), parts(5, "", "two", "{}")], [("call_0", "one"), ("call_1", "two")]),
        (vec![unnumbered("a", "one", &json!("{}")), unnumbered("b", "two", &json!({}))], [("a", "one"), ("b", "two")]),
        (
            vec![
                unnumbered("a", "one", &json!("{")),
                unnumbered("", "", &json!("}")),
                unnumbered("", "two", &json!("{}")),
            ],
            [("a", "one"), ("call_1", "two")],
        ),
        // Repeats its head in every part.
        (
            vec![parts(0, "a", "one", "{"), parts(0, "a", "one", "}"), parts(1, "b", "two", "")],
            [("a", "one"), ("b", "two")],
        ),
    ];
    for (mut chunks, expected) in cases {
        chunks.push(finish("tool_calls"));
        let reply = read(&[stream(&chunks, "").as_bytes()]).unwrap();
        assert_eq!(reply.calls, expected.map(|(id, name)| call(id, name, "{}")));
    }
}

#[test]
fn nonsense_is_an_error_and_never_a_panic() {
    let garbled = Err(Error::Garbled("an event is no JSON object"));
    for text in ["data: hello\n\n", "data: {\n\n", "data: [1]\n\n", "data: null\n\n", "data: \n\n"] {
        assert_eq!(read(&[text.as_bytes()]), garbled, "{text:?}");
    }
    let odd = [
        json!({}),
        json!({ "choices": null, "usage": 7, "model": [] }),
        json!({ "choices": [null, 1, "x", { "delta": null }, { "delta": { "content": 7, "tool_calls": [null, {}] } }] }),
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": u64::MAX, "function": 1 }] } }] }),
        json!({ "usage": { "prompt_tokens": -1, "completion_tokens": 1e300 } }),
    ];
    assert_eq!(read(&[stream(&odd, "").as_bytes()]), Err(Error::Cut));
    for html in ["<html><body>Bad gateway</body></html>", "{\"error\": 1}"] {
        assert_eq!(read(&[html.as_bytes()]), Err(Error::Cut), "no event at all");
    }
}

#[test]
fn an_error_in_the_stream_is_told_by_its_number_or_kind() {
    let failing = |status| Error::Failing { status, retry_after: None };
    let refused = |status| Error::Refused { status, excerpt: "no".to_owned() };
    let cases = [
        (json!({ "message": "no", "code": 502 }), failing(502)),
        (json!({ "message": "no", "code": 404 }), refused(404)),
        (json!({ "message": "no", "code": 7 }), failing(500)),
        (json!({ "message": "no", "type": "server_error" }), failing(500)),
        (json!({ "message": "no", "code": "rate_limit_exceeded" }), Error::RateLimited { retry_after: None }),
        (json!({ "message": "no", "type": "invalid_request_error", "code": null }), refused(400)),
        (json!({ "message": "no", "code": "context_length_exceeded" }), refused(400)),
        (json!("no"), failing(500)),
    ];
    for (error, expected) in cases {
        let chunk = json!({ "error": error });
        assert_eq!(read(&[stream(std::slice::from_ref(&chunk), "").as_bytes()]), Err(expected), "{chunk}");
        let after_text = stream(&[delta(&json!({ "content": "Hel" })), chunk], "");
        assert_eq!(read(&[after_text.as_bytes()]), Err(Error::Cut), "what was begun may have cost something");
    }
}

#[test]
fn a_damaged_byte_anywhere_is_no_panic() {
    let text = stream(&full(), "data: [DONE]\n\n").into_bytes();
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
    let mut completion = Completion::default();
    let body = json!({
        "model": "local",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": {
            "content": [{ "type": "text", "text": "Hi " }, { "type": "text", "text": "you" }],
            "tool_calls": [{ "id": "a", "function": { "name": "one", "arguments": { "b": 1 } } }],
        }}],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
    });
    completion.at_once(&body, &mut |_| {}).unwrap();
    let reply = completion.finish("asked-for", &WireNames::default()).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("Hi you", "local"));
    assert_eq!(reply.calls, [call("a", "one", r#"{"b":1}"#)]);
    let mut completion = Completion::default();
    let refused = completion.at_once(&json!({ "error": { "message": "no", "code": 400 } }), &mut |_| {});
    assert_eq!(refused, Err(Error::Refused { status: 400, excerpt: "no".to_owned() }));
    assert_eq!(Completion::default().finish("asked-for", &WireNames::default()), Err(Error::Cut));
}

#[test]
fn too_much_of_anything_is_an_error() {
    let piece = delta(&json!({ "content": "a".repeat(300 * 1024) }));
    assert_eq!(read(&[stream(&vec![piece; 4], "").as_bytes()]), Err(Error::TooLarge));
    let part = parts(0, "a", "one", &"1".repeat(300 * 1024));
    assert_eq!(read(&[stream(&vec![part; 4], "").as_bytes()]), Err(Error::TooLarge));
    let many: Vec<_> = (0..65).map(|index| parts(index, "", "one", "{}")).collect();
    assert_eq!(read(&[stream(&many, "").as_bytes()]), Err(Error::TooLarge));
    let comments = ": keep waiting\n".repeat(1024 * 1024);
    let pieces = vec![comments.as_bytes(); 5];
    assert_eq!(read(&pieces), Err(Error::TooLarge), "a stream without an end");
}
