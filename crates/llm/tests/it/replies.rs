//! What comes back when nothing goes wrong.

use crate::asks::{BOTH, KEY, ask, providers, question};
use domain::prices::Usage;
use longhouse_llm::{Message, Stop, Timeouts};
use serde_json::json;
use testkit::{Fault, ImitatedProvider, Turn};

#[tokio::test]
async fn text_and_figures_arrive_in_both_protocols() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    for name in BOTH {
        provider.script(vec![Turn::say("Web-1 and wéb-2 run 😀, and nothing else does.").using(31, 9)]);
        let reply = ask(&providers, name, &question()).await.unwrap();
        assert_eq!(reply.text, "Web-1 and wéb-2 run 😀, and nothing else does.");
        assert_eq!((reply.stop, reply.model.as_str()), (Stop::Done, "imitated-1"));
        assert_eq!(reply.usage, Some(Usage { input_tokens: 31, output_tokens: 9 }));
        let reply = ask(&providers, name, &question()).await.unwrap();
        assert_eq!(reply.text, "You said: Which pods run?", "nothing was scripted");
    }
}

#[tokio::test]
async fn calls_and_their_results_go_round() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    for name in BOTH {
        let pod = json!({ "kind": "pod", "note": "ä\"😀" });
        provider.script(vec![Turn::say("Looking.").and_call("k8s.get", pod.clone()).and_call("k8s.get", json!({}))]);
        let mut request = question();
        let reply = ask(&providers, name, &request).await.unwrap();
        assert_eq!(reply.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["k8s.get", "k8s.get"]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&reply.calls[0].arguments).unwrap(), pod);
        assert_eq!(reply.calls[1].arguments, "{}");
        assert_ne!(reply.calls[0].id, reply.calls[1].id);
        let results = reply.calls.iter().zip(["web-1", "web-2"]).map(|(call, content)| Message::ToolResult {
            call_id: call.id.clone(),
            content: content.to_owned(),
            is_error: false,
        });
        let results: Vec<_> = results.collect();
        request.messages.push(Message::Assistant { text: reply.text, calls: reply.calls.clone() });
        request.messages.extend(results);
        ask(&providers, name, &request).await.unwrap();
        let asked = provider.requests().pop().unwrap();
        assert_eq!(asked.tool_names(), ["k8s__get"]);
        assert_eq!(asked.tool_results(), ["web-1", "web-2"]);
    }
}

#[tokio::test]
async fn each_protocol_is_spoken_as_its_provider_wants_it() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    for name in BOTH {
        ask(&providers, name, &question()).await.unwrap();
    }
    let asked = provider.requests();
    assert_eq!((asked[0].path.as_str(), asked[1].path.as_str()), ("/v1/chat/completions", "/v1/messages"));
    assert_eq!(asked[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!((asked[1].headers["x-api-key"].as_str(), asked[1].headers.get("authorization")), (KEY, None));
    assert_eq!(asked[1].headers["anthropic-version"], "2023-06-01");
    assert_eq!(asked[0].body["stream_options"], json!({ "include_usage": true }));
    for request in asked {
        assert_eq!(request.headers["content-type"], "application/json");
        assert_eq!((request.body["stream"].clone(), request.system()), (json!(true), "Be brief.".to_owned()));
    }
}

#[tokio::test]
async fn odd_but_whole_answers_are_replies() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    for name in BOTH {
        provider.script(vec![
            Turn::say("At once.").and_call("k8s.get", json!({ "kind": "pod" })).with(Fault::AtOnce),
            Turn::say("No figures.").with(Fault::NoUsage),
            Turn::say("Too lo").cut_short(),
            Turn::call("k8s.get", json!({ "kind": "pod" })).with(Fault::TruncatedToolJson),
            Turn::call("k8s.get", json!({ "kind": "pod" })).with(Fault::TruncatedToolJson).cut_short(),
        ]);
        let reply = ask(&providers, name, &question()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls[0].arguments.as_str()), ("At once.", r#"{"kind":"pod"}"#));
        assert_eq!(ask(&providers, name, &question()).await.unwrap().usage, None);
        assert_eq!(ask(&providers, name, &question()).await.unwrap().stop, Stop::Length);
        for stop in [Stop::Done, Stop::Length] {
            let reply = ask(&providers, name, &question()).await.unwrap();
            assert_eq!(reply.stop, stop);
            let arguments = &reply.calls[0].arguments;
            assert!(
                serde_json::from_str::<serde_json::Value>(arguments).is_err(),
                "as the model wrote it: {arguments}"
            );
        }
    }
}
