//! A request for a completion, read as strictly as the strictest provider reads it. Nothing is decided here.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

pub(crate) struct Conversation {
    pub(crate) session: String,
    pub(crate) participant: String,
    pub(crate) turns: Vec<Turn>,
}

pub(crate) enum Turn {
    User(String),
    Said,
    Called(Vec<Call>),
}

/// A tool call with what came of it.
pub(crate) struct Call {
    wire: Value,
    /// Null if the arguments were no JSON.
    pub(crate) arguments: Value,
    pub(crate) result: Value,
}

impl Call {
    pub(crate) fn error_code(&self) -> Option<&str> {
        self.result["error"]["code"].as_str()
    }

    fn id(&self) -> &str {
        self.wire["id"].as_str().unwrap_or_default()
    }
}

impl Conversation {
    pub(crate) fn read(request: &Value) -> Result<Self> {
        ensure!(request["model"].as_str().is_some_and(|model| !model.is_empty()), "no `model`");
        ensure!(request["stream"] != true, "this model does not stream");
        // Every JWT begins so: the first thing in it is an object.
        ensure!(!request.to_string().contains("eyJ"), "a token was told to the model");
        check_tools(&request["tools"])?;
        let messages = request["messages"].as_array().context("no `messages`")?;
        let (system, messages) = messages.split_first().context("no messages")?;
        ensure!(system["role"] == "system", "the first message is not the system's");
        let told = text(system)?;
        let session =
            quoted_after(told, "# Shared context of session ").context("nobody told which session this is")?;
        let participant = quoted_after(told, "You are ").context("nobody told who I am")?;
        Ok(Self { session: session.to_owned(), participant: participant.to_owned(), turns: turns(messages)? })
    }

    /// Whether the model is asked for the first time.
    pub(crate) fn is_new(&self) -> bool {
        self.turns.len() == 1
    }

    /// What the model said must come back as it was said.
    pub(crate) fn check_echo(&self, asked_for: &HashMap<String, Value>) -> Result<()> {
        for call in self.calls() {
            ensure!(asked_for.get(call.id()) == Some(&call.wire), "I never asked for the call {}", call.wire);
        }
        Ok(())
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        calls_of(&self.turns)
    }

    /// The last thing the model was asked for, and the calls it made since.
    pub(crate) fn task(&self) -> (&str, Vec<&Call>) {
        let last = self.turns.iter().rposition(|turn| matches!(turn, Turn::User(_)));
        match last.and_then(|last| self.turns.get(last).map(|turn| (last, turn))) {
            Some((last, Turn::User(text))) => (text, calls_of(&self.turns[last..]).collect()),
            _ => ("", Vec::new()),
        }
    }
}

fn calls_of(turns: &[Turn]) -> impl Iterator<Item = &Call> {
    turns.iter().flat_map(|turn| if let Turn::Called(calls) = turn { calls.as_slice() } else { &[] })
}

fn check_tools(tools: &Value) -> Result<()> {
    let tools = tools.as_array().context("no `tools`")?;
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "shared_context").context("no shared_context")?;
    ensure!(tool["type"] == "function", "a tool is of type function");
    ensure!(tool["function"]["description"].is_string(), "a tool without a description");
    let parameters = &tool["function"]["parameters"];
    ensure!(parameters["type"] == "object", "a tool without a schema");
    let actions = parameters["properties"]["action"]["enum"].as_array().context("a schema without its actions")?;
    for action in ["list_keys", "read", "write"] {
        ensure!(actions.iter().any(|known| known == action), "the schema does not know {action}");
    }
    Ok(())
}

fn text(message: &Value) -> Result<&str> {
    message["content"].as_str().with_context(|| format!("a message without text: {message}"))
}

/// `b` in "a `b` c", if `a ` is what comes before.
fn quoted_after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.split_once(&format!("{before}`"))?.1.split('`').next()
}

/// Every call is answered at once, in messages of its own, and nothing else is.
fn turns(messages: &[Value]) -> Result<Vec<Turn>> {
    let mut turns = Vec::new();
    let mut ids = HashSet::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        let wanted = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        match message["role"].as_str() {
            Some("user") => turns.push(Turn::User(text(message)?.to_owned())),
            Some("assistant") if wanted.is_empty() => text(message).map(|_| turns.push(Turn::Said))?,
            Some("assistant") => {
                ensure!(wanted.iter().all(|call| ids.insert(call["id"].to_string())), "two calls have one id");
                ensure!(rest.len() >= wanted.len(), "a call was not answered");
                let (answers, after) = rest.split_at(wanted.len());
                rest = after;
                turns.push(Turn::Called(wanted.iter().map(|call| answered(call, answers)).collect::<Result<_>>()?));
            }
            Some("tool") => bail!("a tool message that answers nothing: {message}"),
            _ => bail!("a message of nobody: {message}"),
        }
    }
    match turns.last() {
        Some(Turn::User(_) | Turn::Called(_)) => Ok(turns),
        _ => bail!("it is not my turn"),
    }
}

fn answered(call: &Value, answers: &[Value]) -> Result<Call> {
    let answer = answers.iter().find(|answer| answer["role"] == "tool" && answer["tool_call_id"] == call["id"]);
    let answer = answer.with_context(|| format!("the call {} was not answered", call["id"]))?;
    let result: Value = serde_json::from_str(text(answer)?).context("a result that is not JSON")?;
    let arguments: Value =
        call["function"]["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    ensure!(result.is_object(), "a result that is not an object: {result}");
    let fails = result["error"]["code"].is_string();
    ensure!(fails || arguments.is_object(), "{call} cannot have succeeded");
    ensure!(
        fails || arguments["key"] == Value::Null || arguments["key"] == result["key"],
        "{call} got another's answer"
    );
    Ok(Call { wire: call.clone(), arguments, result })
}

#[cfg(test)]
mod tests {
    use super::Conversation;
    use serde_json::{Value, json};

    /// A request at the model's second turn: it listed the keys and read one.
    fn request() -> Value {
        let call = |id: &str, arguments: Value| {
            json!({"id": id, "type": "function",
                "function": {"name": "shared_context", "arguments": arguments.to_string()}})
        };
        let calls = [call("a", json!({"action": "list_keys"})), call("b", json!({"action": "read", "key": "scope"}))];
        let actions = json!({"action": {"enum": ["list_keys", "read", "write"]}});
        json!({
            "model": "m",
            "tools": [{"type": "function", "function": {"name": "shared_context", "description": "…",
                "parameters": {"type": "object", "properties": actions}}}],
            "messages": [
                {"role": "system", "content": "# Shared context of session `s`\nYou are `orchestrator`."},
                {"role": "user", "content": "Write `output`."},
                {"role": "assistant", "content": "", "tool_calls": calls},
                {"role": "tool", "tool_call_id": "a", "content": "{\"keys\": []}"},
                {"role": "tool", "tool_call_id": "b", "content": "{\"key\": \"scope\", \"value\": \"all\"}"},
            ],
        })
    }

    #[test]
    fn a_well_formed_request_is_understood() {
        let conversation = Conversation::read(&request()).unwrap();
        assert_eq!((conversation.session.as_str(), conversation.participant.as_str()), ("s", "orchestrator"));
        let (task, calls) = conversation.task();
        assert_eq!((task, calls.len()), ("Write `output`.", 2));
        assert_eq!(calls[1].result["value"], "all");
        assert!(!conversation.is_new());
    }

    #[test]
    fn what_was_never_asked_for_is_noticed() {
        let request = request();
        let conversation = Conversation::read(&request).unwrap();
        let calls = request["messages"][2]["tool_calls"].as_array().unwrap();
        let mut asked_for = calls.iter().map(|call| (call["id"].as_str().unwrap().to_owned(), call.clone())).collect();
        conversation.check_echo(&asked_for).unwrap();
        asked_for.insert("b".to_owned(), json!({"id": "b"}));
        assert!(conversation.check_echo(&asked_for).is_err());
    }

    #[test]
    fn malformed_requests_are_refused() {
        type Fault = (&'static str, fn(&mut Value));
        let faults: [Fault; 13] = [
            ("no model", |request| request["model"] = json!("")),
            ("a stream", |request| request["stream"] = json!(true)),
            ("no tools", |request| request["tools"] = json!([])),
            ("no schema", |request| request["tools"][0]["function"]["parameters"] = json!({})),
            ("no system message", |request| request["messages"][0]["role"] = json!("user")),
            ("no prompt", |request| request["messages"][0]["content"] = json!("You are `orchestrator`.")),
            ("a token in a message", |request| request["messages"][1]["content"] = json!("Bearer eyJhbGciOi")),
            ("an unknown id", |request| request["messages"][4]["tool_call_id"] = json!("c")),
            ("answers exchanged", |request| {
                request["messages"][3]["tool_call_id"] = json!("b");
                request["messages"][4]["tool_call_id"] = json!("a");
            }),
            ("one id twice", |request| request["messages"][2]["tool_calls"][1]["id"] = json!("a")),
            ("a result that is no JSON", |request| request["messages"][4]["content"] = json!("all")),
            ("a call without an answer", |request| {
                request["messages"].as_array_mut().unwrap().pop();
            }),
            ("an answer too many", |request| {
                let again = request["messages"][4].clone();
                request["messages"].as_array_mut().unwrap().push(again);
            }),
        ];
        for (fault, plant) in faults {
            let mut request = request();
            plant(&mut request);
            assert!(Conversation::read(&request).is_err(), "{fault} was not noticed");
        }
    }
}
