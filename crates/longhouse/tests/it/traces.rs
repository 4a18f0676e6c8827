//! Traces of turns, as a collector receives them from the real binary.

use super::binary::{Server, command};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Told;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use testkit::{Fault, ImitatedProvider, Turn};

/// What came in one request: its head, and its body.
type Received = (String, Vec<u8>);

/// Takes whatever it is sent.
struct Collector {
    url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    fn start() -> Self {
        Self::answering("200 OK")
    }

    /// With a status, and headers with it.
    fn answering(status: &str) -> Self {
        let status = status.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let taken = take(&mut stream.unwrap(), &status);
                kept.lock().unwrap().push(taken);
            }
        });
        Self { url, received }
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    fn spans(&self) -> Vec<Span> {
        let decoded =
            self.received().into_iter().map(|(_, body)| ExportTraceServiceRequest::decode(&body[..]).unwrap());
        let scopes = decoded.flat_map(|request| request.resource_spans).flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    fn everything(&self) -> String {
        let bytes: Vec<u8> = self.received().into_iter().flat_map(|(_, body)| body).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn take(stream: &mut TcpStream, status: &str) -> Received {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    (head, body)
}

/// A server with an imitated provider, and a session to talk in.
struct Scene {
    server: Server,
    provider: ImitatedProvider,
    token: String,
    log: PathBuf,
    _folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new(environment: &[(&str, &str)]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let provider = runtime.block_on(ImitatedProvider::start());
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let address = provider.openai_url();
        let mut told = vec![("OPENAI_API_KEY", "canary-key"), ("LONGHOUSE_OPENAI_BASE_URL", address.as_str())];
        told.extend_from_slice(environment);
        let server = Server::start_told(&folder.path().join("house"), &told, &log);
        let token = server.token();
        let scene = Self { server, provider, token, log, _folder: folder, _runtime: runtime };
        let project = scene.post("/my/projects", &json!({"name": "alpha"}))["id"].clone();
        scene.post("/sessions", &json!({"id": "s", "project": project}));
        scene
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.server.post(&self.token, path, body).unwrap();
        assert!(status < 300, "{path}: {status} {answer}");
        answer
    }

    fn ask(&self, content: &str) -> Value {
        self.post("/sessions/s/messages", &json!({"content": content, "target_agent": "agent_coder", "wait_s": 20}))
    }

    /// Stops it; gives how long that took, and what it logged.
    fn stop(self) -> (Duration, String) {
        let begun = Instant::now();
        assert_eq!(self.server.terminate(), Some(0));
        let (took, log) = (begun.elapsed(), std::fs::read_to_string(&self.log).unwrap());
        assert!(!log.contains("panicked"), "{log}");
        (took, log)
    }
}

fn attribute(attributes: &[KeyValue], key: &str) -> Value {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    told(found.and_then(|attribute| attribute.value.clone()).and_then(|value| value.value))
}

fn told(value: Option<Told>) -> Value {
    match value {
        Some(Told::StringValue(text)) => json!(text),
        Some(Told::IntValue(number)) => json!(number),
        Some(Told::DoubleValue(number)) => json!(number),
        Some(Told::ArrayValue(list)) => list.values.into_iter().map(|value| told(value.value)).collect(),
        Some(other) => panic!("{other:?}"),
        None => Value::Null,
    }
}

#[track_caller]
fn has(span: &Span, expected: &Value) {
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&attribute(&span.attributes, key), value, "{key} of {}", span.name);
    }
}

#[test]
fn a_turn_its_model_calls_and_its_tools_are_told_to_the_collector_and_no_word_of_them() {
    let collector = Collector::start();
    let header = "authorization=Bearer%20collector-token";
    let endpoint = collector.url.clone();
    let scene =
        Scene::new(&[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_EXPORTER_OTLP_HEADERS", header)]);
    let write = json!({"action": "write", "key": "key_canary", "value": "value canary"});
    let wrong = json!({"action": "read", "key": "wrong canary"});
    let calls = Turn::call("shared_context", write).and_call("shared_context", wrong).using(100, 20);
    let refused = Turn::fault(Fault::Status(400, None));
    scene.provider.script(vec![calls, Turn::say("reply canary").using(200, 3), refused]);
    let task = scene.ask("prompt canary")["task_id"].clone();
    assert_eq!(scene.ask("prompt canary again")["status"], "failed");
    let token = scene.token.clone();
    let (took, log) = scene.stop();
    assert!(took < Duration::from_secs(5), "{took:?}");

    let received = collector.received();
    assert!(received[0].0.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{}", received[0].0);
    assert!(received[0].0.contains("authorization: Bearer collector-token"), "{}", received[0].0);
    let spans = collector.spans();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let expected = [
        "chat gpt-4",
        "execute_tool shared_context",
        "execute_tool shared_context",
        "chat gpt-4",
        "invoke_agent agent_coder",
        "chat gpt-4",
        "invoke_agent agent_coder",
    ];
    assert_eq!(names, expected);
    let (first, root, second) = (&spans[..4], &spans[4], &spans[6]);
    assert!(root.parent_span_id.is_empty() && second.parent_span_id.is_empty());
    assert!(first.iter().all(|span| span.parent_span_id == root.span_id && span.trace_id == root.trace_id));
    assert!(spans[5].parent_span_id == second.span_id && second.trace_id != root.trace_id);
    let turn = json!({
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent_coder", "gen_ai.conversation.id": "s",
        "longhouse.workspace": "personal-usr_owner", "longhouse.turn.end": "completed", "error.type": null,
    });
    has(root, &turn);
    assert!(task.is_string());
    has(root, &json!({ "longhouse.task": task }));
    for id in ["gen_ai.agent.id", "longhouse.project"] {
        assert!(attribute(&root.attributes, id).is_string(), "{id}");
    }
    let chat = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4",
        "gen_ai.response.model": "gpt-4", "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20, "error.type": null,
    });
    has(&first[0], &chat);
    assert!(attribute(&first[0].attributes, "gen_ai.request.max_tokens").is_i64());
    assert!(attribute(&first[0].attributes, "gen_ai.request.temperature").is_f64());
    has(&first[3], &json!({"gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.input_tokens": 200}));
    let tool =
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shared_context", "error.type": null});
    has(&first[1], &tool);
    assert!(attribute(&first[1].attributes, "gen_ai.tool.call.id").is_string());
    assert!(attribute(&first[2].attributes, "error.type").is_string(), "{:?}", first[2]);
    has(&spans[5], &json!({"error.type": "PROVIDER_REFUSED"}));
    has(second, &json!({"error.type": "PROVIDER_REFUSED", "longhouse.turn.end": "failed"}));
    assert_eq!(second.status.as_ref().unwrap().code, 2);

    let everything = collector.everything();
    assert!(everything.contains("longhouse") && everything.contains(env!("CARGO_PKG_VERSION")));
    for secret in ["canary", &token, "collector-token", "eyJ", "src/"] {
        assert!(!everything.contains(secret), "{secret}");
        assert!(!log.contains(secret), "{secret}\n{log}");
    }
    for word in ["gen_ai", "invoke_agent", "otel"] {
        assert!(!log.contains(word), "the log is as it was: {log}");
    }
}

#[test]
fn nobody_is_told_anything_unless_the_environment_says_so() {
    let collector = Collector::start();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str());
    let off = [("OTEL_SDK_DISABLED", "true"), endpoint];
    let none = [("OTEL_TRACES_EXPORTER", "none"), endpoint];
    let empty = [("OTEL_EXPORTER_OTLP_ENDPOINT", "")];
    for environment in [&off[..], &none, &empty] {
        let scene = Scene::new(environment);
        assert_eq!(scene.ask("hello")["status"], "completed");
        scene.stop();
    }
    assert!(collector.received().is_empty());
}

#[test]
fn a_collector_that_is_gone_or_silent_costs_nothing_but_its_traces() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    // Nobody listens on the port that only the system gives out.
    for endpoint in ["http://127.0.0.1:1", &silent] {
        let quick = ("OTEL_BSP_SCHEDULE_DELAY", "50");
        let scene = Scene::new(&[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), quick]);
        for _ in 0..5 {
            let begun = Instant::now();
            assert_eq!(scene.ask("hello")["status"], "completed");
            // The exporter would wait for ten seconds.
            assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        }
        let (took, log) = scene.stop();
        assert!(took < Duration::from_secs(10), "{endpoint} {took:?}");
        assert_eq!(log.matches("collector").count(), 1, "it is said once: {log}");
    }
}

#[test]
fn what_cannot_be_spoken_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let grpc = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    let no_url = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://secret@host/")];
    for (environment, word) in [(&grpc[..], "http/protobuf"), (&no_url, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")] {
        let mut serve = command(folder.path());
        let output =
            serve.args(["serve", "--listen", "127.0.0.1:0"]).envs(environment.iter().copied()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(word) && !said.contains("secret"), "{said}");
    }
}

#[test]
fn a_collector_that_points_elsewhere_is_not_followed_with_its_token() {
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let elsewhere = Collector::start();
        let collector = Collector::answering(&format!("{status}\r\nlocation: {}/v1/traces", elsewhere.url));
        let scene = Scene::new(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collector-token"),
        ]);
        scene.provider.script(vec![Turn::say("yes")]);
        assert_eq!(scene.ask("hello")["status"], "completed");
        let (_, log) = scene.stop();
        assert!(log.contains(&format!("it answered {status}")), "{log}");
        assert_eq!((collector.received().len(), elsewhere.received().len()), (1, 0), "{status}");
    }
}
