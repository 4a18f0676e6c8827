//! What the demo says and calls.

use super::*;
use crate::Tool;
use serde_json::{Value, json};

fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), description: String::new(), parameters: json!({ "type": "object" }) }
}

fn asked(text: &str, tools: Vec<Tool>) -> Request {
    Request {
        model: "demo".to_owned(),
        system: String::new(),
        messages: vec![Message::User { text: text.to_owned() }],
        tools,
        max_tokens: 1024,
        temperature: 0.5,
    }
}

fn calls(request: &Request) -> Vec<(String, Value)> {
    let value = |call: &ToolCall| serde_json::from_str(&call.arguments).unwrap();
    reply(request).calls.iter().map(|call| (call.name.clone(), value(call))).collect()
}

#[tokio::test]
async fn every_reply_begins_by_saying_what_it_is_and_streams_in_pieces() {
    let tools = || vec![tool("workspace_read"), tool("submit_plan")];
    for text in
        ["", "hello", "help", "call workspace_read {}", "plan a party", "Summarise the conversation.", "call x {1}"]
    {
        let request = asked(text, tools());
        let mut heard = Vec::new();
        let reply = Demo.ask(&request, &mut |piece| heard.push(piece.to_owned())).await.unwrap();
        assert_eq!(reply.text.lines().next(), Some(WHO_I_AM), "{text}");
        assert!(heard.len() > 2, "{text}");
        assert_eq!(heard.concat(), reply.text, "{text}");
        assert_eq!((reply.stop.clone(), reply.model.as_str()), (Stop::Done, "demo"));
        assert!(reply.usage.is_some_and(|usage| usage.input_tokens > 0 && usage.output_tokens > 0));
        assert_eq!(Demo.ask(&request, &mut |_| {}).await.unwrap(), reply, "twice the same");
    }
}

#[test]
fn it_calls_the_tools_that_it_is_told_to_call() {
    let cases = [
        ("call workspace_write {\"key\": \"a\"}", vec![("workspace_write", json!({ "key": "a" }))]),
        ("`call workspace_write {\"key\": \"a\"}`", vec![("workspace_write", json!({ "key": "a" }))]),
        ("Please `call k8s.get {\"kind\": \"pod\"}` now", vec![("k8s.get", json!({ "kind": "pod" }))]),
        (
            "first\n  Call k8s.get\ncall workspace_write {}",
            vec![("k8s.get", json!({})), ("workspace_write", json!({}))],
        ),
        ("```\ncall k8s.get {}\n```", vec![("k8s.get", json!({}))]),
        ("call unknown {\"a\": 1}", vec![]),
        ("call k8s.get [1]", vec![]),
        ("call k8s.get {\"kind\": ", vec![]),
        ("call me tomorrow", vec![]),
        ("I would call k8s.get {}", vec![]),
        ("cäll", vec![]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(calls(&asked(text, vec![tool("workspace_write"), tool("k8s.get")])), expected, "{text}");
    }
    let said = reply(&asked("call unknown {\"a\": 1}", vec![])).text;
    assert!(said.contains("no tool unknown"), "{said}");
    let said = reply(&asked("call k8s.get {\"kind\": ", vec![tool("k8s.get")])).text;
    assert!(said.contains("no JSON object"), "{said}");
}

#[test]
fn it_reports_what_the_tools_answered_and_calls_nothing_again() {
    let mut request = asked("call k8s.get {}\ncall k8s.get {}", vec![tool("k8s.get")]);
    let made = reply(&request);
    assert_eq!(made.calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["call_0", "call_1"]);
    request.messages.push(Message::Assistant { text: made.text, calls: made.calls });
    for (id, content, is_error) in [("call_0", "web-1", false), ("call_1", "not allowed", true)] {
        request.messages.push(Message::ToolResult { call_id: id.into(), content: content.into(), is_error });
    }
    let told = reply(&request);
    assert!(told.calls.is_empty());
    assert_eq!(told.text, format!("{WHO_I_AM}\nk8s.get answered: web-1\nk8s.get failed with: not allowed"));
}

#[test]
fn it_plans_two_tasks_over_the_agents_that_the_schema_names() {
    let mut submit = tool("submit_plan");
    submit.parameters = json!({ "properties": { "tasks": { "items": { "properties": {
        "agent": { "enum": ["agent_analyzer", "agent_coder"] }
    }}}}});
    let made = calls(&asked("Plan a release, please", vec![submit.clone()]));
    let tasks = made[0].1["tasks"].as_array().unwrap().clone();
    assert_eq!(tasks.len(), 2);
    assert_eq!((&tasks[0]["agent"], &tasks[1]["agent"]), (&json!("agent_analyzer"), &json!("agent_coder")));
    assert_eq!(tasks[1]["depends_on"], json!([tasks[0]["id"]]));
    assert!(calls(&asked("explain it", vec![submit])).is_empty());
    assert!(calls(&asked("plan it", vec![])).is_empty(), "nobody takes plans here");
}

#[test]
fn help_lists_the_tools_and_an_echo_is_bounded() {
    let said = reply(&asked("help", vec![tool("k8s.get"), tool("workspace_write")])).text;
    assert!(said.contains("k8s.get, workspace_write") && said.contains("ANTHROPIC_API_KEY"), "{said}");
    let mut request = asked(&"long ".repeat(10_000), vec![tool("k8s.get")]);
    request.messages.insert(0, Message::User { text: "earlier".to_owned() });
    let said = reply(&request).text;
    assert!(said.len() < 1_000 && said.contains("1 earlier message and 1 tool."), "{said}");
    assert!(said.lines().nth(1).is_some_and(|line| line.contains("OPENAI_API_KEY")), "{said}");
}

#[test]
fn asked_to_summarise_it_gives_a_digest() {
    let mut request = asked("The pods are web-1 and web-2.", vec![]);
    request.system = "Summarise the conversation for whoever goes on with it.".to_owned();
    let said = reply(&request).text;
    assert!(said.contains("Summary of 1 message") && said.contains("user: The pods are web-1"), "{said}");
}

#[test]
fn it_keeps_to_max_tokens_and_calls_nothing_then() {
    let mut request = asked("call k8s.get {}", vec![tool("k8s.get")]);
    request.max_tokens = 10;
    let reply = reply(&request);
    assert_eq!(reply.stop, Stop::Length);
    assert!(reply.calls.is_empty() && reply.usage.unwrap().output_tokens <= 10);
}
