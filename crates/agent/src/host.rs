//! What the engine may ask of the house, and in which words.

use domain::Refusal;
use domain::ids::ModelCallId;
use domain::prices::Usage;
use llm::Tool;
use serde_json::{Map, Value};
use std::future::Future;

/// Why a turn cannot go on: the house said no.
pub type Stopped = Refusal;

/// Money that is set aside for one model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Ticket(pub ModelCallId);

/// How a model call ended, for the ledger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    Used(Usage),
    /// The provider did no work.
    NotAsked,
    /// It may have worked, and nobody will say how much.
    Unknown,
}

/// A call that the model asked for: whole, strict JSON, an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    pub id: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Called {
    /// A result, or a refusal in words that the model can act on.
    Answered { content: String, is_error: bool },
    /// Somebody else has to act first: the turn is parked and begins again from what was kept.
    Waits,
}

/// One step that is over: what the model said and asked for, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub text: String,
    pub calls: Vec<KeptCall>,
    pub model: String,
    /// The call of the model that it came from, to be settled together with it.
    pub ticket: Ticket,
    pub usage: Usage,
}

/// A call of a kept step. The arguments are as the model wrote them.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptCall {
    pub id: String,
    pub tool: String,
    pub arguments: String,
    /// None while it waits.
    pub result: Option<(String, bool)>,
}

/// The house, as far as a turn can see it. Every method may refuse, and then the turn is over.
pub trait ToolHost: Send + Sync {
    /// The tools that this agent may use for this person now.
    fn tools(&self) -> impl Future<Output = Result<Vec<Tool>, Stopped>> + Send;

    /// Checks a call against the policy and makes it.
    fn call(&self, call: &ProposedCall) -> impl Future<Output = Result<Called, Stopped>> + Send;

    /// Whether calls of this tool go on when the turn is cut off. They are made of steps that are kept already.
    fn outlives_turn(&self, tool: &str) -> bool;

    /// Sets money aside for one call of the model.
    fn set_aside(&self, prompt_tokens: u64, max_tokens: u64) -> impl Future<Output = Result<Ticket, Stopped>> + Send;

    /// Tells how a call ended that gave nothing to keep.
    fn settle(&self, ticket: Ticket, outcome: Outcome) -> impl Future<Output = Result<(), Stopped>> + Send;

    /// Keeps a step, durably, before the next begins, and settles its call. If it refuses, neither has happened.
    fn keep(&self, step: Step) -> impl Future<Output = Result<(), Stopped>> + Send;

    /// Keeps what came of the calls of the newest kept step, which a turn that began again has gone on with. All calls of
    /// the step are told, those that still wait too.
    fn keep_results(&self, calls: &[KeptCall]) -> impl Future<Output = Result<(), Stopped>> + Send;

    /// Keeps a summary that stands for the history before and up to that message of it, and settles its call. If it
    /// refuses, neither has happened.
    fn keep_summary(
        &self,
        text: String,
        up_to: u64,
        ticket: Ticket,
        usage: Usage,
    ) -> impl Future<Output = Result<(), Stopped>> + Send;

    /// Shows a piece of the answer to whoever watches.
    fn show(&self, delta: &str);
}
