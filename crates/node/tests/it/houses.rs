//! A house made for tests: it behaves as one does, notes what it was told, and fails in the way it is told to.

use super::scenes::NOW_MS;
use domain::digests::{NOTHING_STARTED, Parties, Plan, Shown, digest};
use domain::ids::{AgentId, ProjectId, UserId};
use domain::node_tools::{NodeTool, SCHEMA_VERSION};
use domain::times::Timestamp;
use node::{House, HouseError};
use protocol::tool_calls::{AcceptCall, CallResult, Preview, ToolCall};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// What a node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    List,
    Preview,
    Accept,
    Result,
}

/// How the house fails, until it is well again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failing {
    Unreachable,
    AnswerLost,
    /// It does not hear, and whoever asks waits.
    Silent,
    /// It hears, and whoever asks waits.
    HeardAndSilent,
    Refuses(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) call: String,
    pub(crate) status: String,
    pub(crate) result: Value,
    pub(crate) code: Option<String>,
}

#[derive(Default)]
struct Rows {
    calls: BTreeMap<String, ToolCall>,
    failing: BTreeMap<Word, Failing>,
    /// Given once instead of what is true.
    old_list: Option<Vec<ToolCall>>,
    on_yes: Option<fn()>,
    previews: Vec<Preview>,
    asked: Vec<(String, u64)>,
    told: Vec<Told>,
    /// Whoever waits for an answer that does not come.
    kept_waiting: usize,
}

/// Every clone is the same house.
#[derive(Clone, Default)]
pub(crate) struct TestHouse(Arc<Mutex<Rows>>);

impl TestHouse {
    pub(crate) fn with(call: ToolCall) -> Self {
        let house = Self::default();
        house.give(call);
        house
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap()
    }

    pub(crate) fn give(&self, call: ToolCall) {
        self.rows().calls.insert(call.id.clone(), call);
    }

    pub(crate) fn fails(&self, word: Word, failing: Failing) {
        self.rows().failing.insert(word, failing);
    }

    pub(crate) fn is_well(&self) {
        let mut rows = self.rows();
        rows.failing.clear();
        rows.kept_waiting = 0;
    }

    pub(crate) fn lists_once(&self, calls: Vec<ToolCall>) {
        self.rows().old_list = Some(calls);
    }

    pub(crate) fn on_yes(&self, act: fn()) {
        self.rows().on_yes = Some(act);
    }

    pub(crate) fn kept_waiting(&self) -> usize {
        self.rows().kept_waiting
    }

    pub(crate) fn status(&self, id: &str) -> String {
        self.rows().calls[id].status.clone()
    }

    pub(crate) fn previews(&self) -> Vec<Preview> {
        self.rows().previews.clone()
    }

    /// The calls that a node asked to begin, with the attempt, as often as it asked.
    pub(crate) fn asked(&self) -> Vec<(String, u64)> {
        self.rows().asked.clone()
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.rows().told.clone()
    }

    /// What was told of a call, which must have been the same every time.
    #[track_caller]
    pub(crate) fn told_of(&self, id: &str) -> Option<Told> {
        let told: Vec<Told> = self.told().into_iter().filter(|told| told.call == id).collect();
        assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "told differently: {told:?}");
        told.into_iter().next()
    }

    /// What the house makes of a word, and of its own trouble with it.
    async fn answer(
        &self,
        word: Word,
        hear: impl FnOnce(&mut Rows) -> Result<(), HouseError> + Send,
    ) -> Result<(), HouseError> {
        let failing = self.rows().failing.get(&word).copied();
        let lost = || Err(HouseError::Unreachable("the line is cut".to_owned()));
        match failing {
            None => hear(&mut self.rows()),
            Some(Failing::Unreachable) => lost(),
            Some(Failing::AnswerLost) => hear(&mut self.rows()).and_then(|()| lost()),
            Some(Failing::Refuses(code)) => refused(code),
            Some(silent) => {
                if silent == Failing::HeardAndSilent {
                    hear(&mut self.rows())?;
                }
                self.rows().kept_waiting += 1;
                std::future::pending().await
            }
        }
    }
}

fn refused(code: &str) -> Result<(), HouseError> {
    Err(HouseError::Refused { code: code.to_owned(), message: "no".to_owned() })
}

impl Rows {
    fn accept(&mut self, id: &str, asked: &AcceptCall) -> Result<(), HouseError> {
        self.asked.push((id.to_owned(), asked.attempt));
        let Some(call) = self.calls.get_mut(id) else { return refused("TOOL_CALL_NOT_FOUND") };
        if call.digest.as_deref() != Some(asked.digest.as_str()) {
            return refused("DIGEST_MISMATCH");
        }
        if call.attempt != asked.attempt || !matches!(call.status.as_str(), "dispatched" | "accepted") {
            return refused("CALL_MOVED_ON");
        }
        "accepted".clone_into(&mut call.status);
        if let Some(act) = self.on_yes {
            act();
        }
        Ok(())
    }

    fn result(&mut self, id: &str, result: &CallResult) -> Result<(), HouseError> {
        let status = result.status.clone().unwrap_or_default();
        let code = result.reason.as_ref().map(|reason| reason.code.clone());
        let told = Told { call: id.to_owned(), status, result: Value::Object(result.result.clone()), code };
        let known = self.told.iter().find(|known| known.call == id).cloned();
        self.told.push(told.clone());
        let Some(call) = self.calls.get_mut(id) else { return refused("TOOL_CALL_NOT_FOUND") };
        let fits = match call.status.as_str() {
            "dispatched" => told.status == "refused",
            "accepted" | "running" => told.status != "refused",
            _ => return if known == Some(told) { Ok(()) } else { refused("CALL_MOVED_ON") },
        };
        if !fits || call.attempt != result.attempt {
            return refused("CALL_MOVED_ON");
        }
        call.status = told.status;
        Ok(())
    }
}

impl House for TestHouse {
    async fn open_calls(&self) -> Result<Vec<ToolCall>, HouseError> {
        self.answer(Word::List, |_| Ok(())).await?;
        let mut rows = self.rows();
        let is_open =
            |call: &&ToolCall| matches!(call.status.as_str(), "proposed" | "dispatched" | "accepted" | "running");
        let open = rows.calls.values().filter(is_open).cloned().collect();
        Ok(rows.old_list.take().unwrap_or(open))
    }

    async fn status_of(&self, _project: &str, call: &str) -> Result<String, HouseError> {
        self.answer(Word::List, |_| Ok(())).await?;
        let status = self.rows().calls.get(call).map(|call| call.status.clone());
        status.map_or_else(|| refused("TOOL_CALL_NOT_FOUND").map(|()| String::new()), Ok)
    }

    async fn preview(&self, _call: &ToolCall, preview: &Preview) -> Result<(), HouseError> {
        self.answer(Word::Preview, |rows| {
            rows.previews.push(preview.clone());
            Ok(())
        })
        .await
    }

    async fn accept(&self, call: &ToolCall, asked: &AcceptCall) -> Result<(), HouseError> {
        self.answer(Word::Accept, |rows| rows.accept(&call.id, asked)).await
    }

    async fn result(&self, call: &ToolCall, result: &CallResult) -> Result<(), HouseError> {
        self.answer(Word::Result, |rows| rows.result(&call.id, result)).await
    }
}

pub(crate) const NODE: &str = "nod_desk";
pub(crate) const PERSON: &str = "usr_sean";
pub(crate) const PROJECT: &str = "prj_alpha";

pub(crate) fn now() -> Timestamp {
    Timestamp::from_ms(NOW_MS)
}

/// A call that was approved and sent out, the first time.
pub(crate) fn call(id: &str, tool: &str, params: &Value) -> ToolCall {
    let call = json!({
        "id": id, "tool": tool, "params": params, "status": "dispatched", "consumed": false, "policy_epoch": 1,
        "expires_at": now().plus_seconds(300).to_string(), "node": NODE, "attempt": 1, "project": PROJECT,
        "agent": "coder", "agent_id": "agt_coder", "on_behalf_of": PERSON, "created_at": now().to_string(),
    });
    let mut call: ToolCall = serde_json::from_value(call).unwrap();
    sign(&mut call);
    call
}

/// Gives a call the digest of what it now is, as a house does, or one that was taken over.
pub(crate) fn sign(call: &mut ToolCall) {
    let preview = call.preview.as_ref();
    let plan = Plan {
        tool: NodeTool::parse(&call.tool).unwrap(),
        schema_version: SCHEMA_VERSION,
        arguments: &call.params,
        program: preview.and_then(|preview| preview.program.as_deref()),
        starts: preview.map_or(NOTHING_STARTED, |preview| &preview.starts),
        cwd: preview.and_then(|preview| preview.cwd.as_deref()),
        environment: preview.map_or(&[], |preview| preview.environment.as_slice()),
        base_sha256: preview.and_then(|preview| preview.base_sha256.as_deref()),
        network: call.network,
    };
    let parties = Parties {
        call: &call.id,
        project: &ProjectId::from_trusted(call.project.clone()),
        session: None,
        agent: &AgentId::from_trusted(call.agent_id.clone()),
        user: &UserId::from_trusted(call.on_behalf_of.clone()),
        node: call.node.as_deref(),
    };
    let (policy_epoch, expires_at) = (call.policy_epoch.unwrap(), call.expires_at.unwrap());
    call.digest = Some(digest(&Shown { plan, parties, policy_epoch, expires_at }));
}
