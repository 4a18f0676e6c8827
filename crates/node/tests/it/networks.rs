//! The network of commands, and how old a decision may be: what a node does for a house, and for one that was taken over and
//! makes its digests anew.

use super::scenes::{NOW_MS, Scene};
use domain::digests::{NOTHING_STARTED, Parties, Plan, Shown, digest};
use domain::ids::{AgentId, ProjectId, UserId};
use domain::node_tools::{NodeTool, SCHEMA_VERSION};
use domain::times::Timestamp;
use node::commands::Launcher;
use node::{Daemon, Hands, House, HouseError, Identity, Setup, Vetoes};
use protocol::tool_calls::{AcceptCall, CallResult, Preview, ToolCall};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const PATIENCE: Duration = Duration::from_secs(60);
const CONNECT: &str = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or die \"$!\\n\"; \
                       connect($s, pack_sockaddr_in($ARGV[0], inet_aton('127.0.0.1'))) or die \"$!\\n\"; print 'connected'";
const DAY_S: u64 = 24 * 3600;

fn now() -> Timestamp {
    Timestamp::from_ms(NOW_MS)
}

enum Heard {
    Preview(Preview),
    Result(CallResult),
}

/// A house with one call, which says yes to everything.
struct OneCall {
    call: ToolCall,
    heard: UnboundedSender<Heard>,
}

impl House for OneCall {
    async fn open_calls(&self) -> Result<Vec<ToolCall>, HouseError> {
        Ok(vec![self.call.clone()])
    }

    async fn status_of(&self, _: &str, _: &str) -> Result<String, HouseError> {
        Ok(self.call.status.clone())
    }

    async fn preview(&self, _: &ToolCall, preview: &Preview) -> Result<(), HouseError> {
        self.heard.send(Heard::Preview(preview.clone())).unwrap();
        Ok(())
    }

    async fn accept(&self, _: &ToolCall, _: &AcceptCall) -> Result<(), HouseError> {
        Ok(())
    }

    async fn result(&self, _: &ToolCall, result: &CallResult) -> Result<(), HouseError> {
        self.heard.send(Heard::Result(result.clone())).unwrap();
        Ok(())
    }
}

/// What a house says of a call, before its digest is made.
struct Told {
    tool: NodeTool,
    params: Value,
    network: bool,
    expires_at: Timestamp,
}

impl Told {
    fn connect_to(port: u16, network: bool) -> Self {
        let params = json!({"program": "perl", "args": ["-e", CONNECT, port.to_string()]});
        Self { tool: NodeTool::ExecuteCommand, params, network, expires_at: now().plus_seconds(600) }
    }

    fn call(&self, status: &str) -> ToolCall {
        let parties = Parties {
            call: "call_1",
            project: &ProjectId::from_trusted("prj_1".into()),
            session: None,
            agent: &AgentId::from_trusted("agt_1".into()),
            user: &UserId::from_trusted("usr_sean".into()),
            node: Some("nod_1"),
        };
        let plan = Plan {
            tool: self.tool,
            schema_version: SCHEMA_VERSION,
            arguments: &self.params,
            program: None,
            starts: NOTHING_STARTED,
            cwd: None,
            environment: &[],
            base_sha256: None,
            network: self.network,
        };
        let digest = digest(&Shown { plan, parties, policy_epoch: 1, expires_at: self.expires_at });
        let call = json!({
            "id": "call_1", "tool": self.tool.as_str(), "params": self.params, "status": status, "consumed": false,
            "digest": digest, "policy_epoch": 1, "expires_at": self.expires_at, "network": self.network,
            "node": "nod_1", "attempt": 1, "project": "prj_1", "agent": "coder", "agent_id": "agt_1",
            "on_behalf_of": "usr_sean", "created_at": now(),
        });
        serde_json::from_value(call).unwrap()
    }
}

/// What a node says that was started so, of a call as a house tells it.
async fn hear(scene: &Scene, allow_network: bool, call: ToolCall) -> Heard {
    let launcher = Launcher { program: PathBuf::from(env!("CARGO_BIN_EXE_longhouse-confined")), arguments: Vec::new() };
    let (user, project) = (Some("usr_sean".to_owned()), Some("prj_1".to_owned()));
    let setup = Setup {
        root: &scene.root(),
        state: &scene.state,
        launcher: Some(launcher),
        identity: Identity { node: "nod_1".to_owned(), user, project },
        vetoes: Vetoes { allow_network, ..Vetoes::default() },
        now: now(),
    };
    let hands = Hands::open(setup).unwrap();
    assert!(hands.commands().is_ok(), "this machine cannot confine commands, so nothing was shown");
    let (heard, mut hears): (_, UnboundedReceiver<Heard>) = unbounded_channel();
    let daemon = Arc::new(Daemon::new(OneCall { call, heard }, hands, now, |_| {}));
    daemon.look().await.unwrap();
    tokio::time::timeout(PATIENCE, hears.recv()).await.unwrap().unwrap()
}

async fn outcome(allow_network: bool, call: ToolCall) -> CallResult {
    match hear(&Scene::new(), allow_network, call).await {
        Heard::Result(result) => result,
        Heard::Preview(preview) => panic!("{preview:?}"),
    }
}

/// The code of a refusal, and that it is one.
async fn refusal(allow_network: bool, call: ToolCall) -> (String, String) {
    let said = outcome(allow_network, call).await;
    assert_eq!(said.status.as_deref(), Some("refused"), "{said:?}");
    let reason = said.reason.unwrap();
    (reason.code, reason.message)
}

#[tokio::test]
async fn a_command_reaches_the_network_only_if_house_and_node_both_say_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let control = Command::new("perl").args(["-e", CONNECT, &port.to_string()]).status().unwrap();
    assert!(control.success() && listener.accept().is_ok(), "the control");
    for (allow_network, network, expected) in [(true, true, true), (true, false, false), (false, false, false)] {
        let said = outcome(allow_network, Told::connect_to(port, network).call("dispatched")).await;
        assert_eq!(said.status.as_deref(), Some("completed"), "{said:?}");
        assert_eq!(said.result["success"], expected, "{allow_network} {network}: {said:?}");
        assert_eq!(said.result["stdout"], if expected { "connected" } else { "" });
        assert_eq!(listener.accept().is_ok(), expected, "{allow_network} {network}");
    }
}

#[tokio::test]
async fn a_house_that_was_taken_over_cannot_give_the_network_to_a_node_that_does_not_allow_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let told = Told::connect_to(listener.local_addr().unwrap().port(), true);
    let (code, message) = refusal(false, told.call("dispatched")).await;
    assert_eq!((code.as_str(), message.contains("--allow-network")), ("FORBIDDEN", true), "{message}");
    // Not even if it says that the node has accepted it already.
    let gone_on = outcome(false, told.call("accepted")).await;
    assert_eq!(gone_on.status.as_deref(), Some("unknown"), "{gone_on:?}");
    let look = Told { tool: NodeTool::ReadFile, params: json!({"path": "a"}), ..told };
    assert_eq!(refusal(true, look.call("dispatched")).await.0, "FORBIDDEN");
    assert!(listener.accept().is_err(), "nobody came");
}

#[tokio::test]
async fn a_yes_without_the_network_is_none_with_it() {
    let approved = Told::connect_to(9, false).call("dispatched");
    let changed = ToolCall { network: true, ..approved };
    assert_eq!(refusal(true, changed).await.0, "DIGEST_MISMATCH");
}

#[tokio::test]
async fn a_preview_says_whether_the_node_would_allow_the_network() {
    for allow_network in [true, false] {
        match hear(&Scene::new(), allow_network, Told::connect_to(9, false).call("proposed")).await {
            Heard::Preview(preview) => assert_eq!((preview.network, preview.refusal), (allow_network, None)),
            Heard::Result(result) => panic!("{result:?}"),
        }
    }
}

#[tokio::test]
async fn a_decision_that_is_too_old_or_would_hold_for_longer_than_any_may_is_none() {
    let read = |expires_at| Told { tool: NodeTool::ReadFile, params: json!({"path": "a"}), network: false, expires_at };
    let ago = |seconds: i64| now().plus_ms(-seconds * 1000);
    for (expires_at, expected) in [
        (ago(600), None),
        (ago(601), Some("EXPIRED")),
        (now().plus_seconds(DAY_S), None),
        (now().plus_seconds(DAY_S + 601), Some("FORBIDDEN")),
    ] {
        let said = outcome(false, read(expires_at).call("dispatched")).await;
        assert_eq!(said.reason.as_ref().map(|reason| reason.code.as_str()), expected, "{said:?}");
    }
}
