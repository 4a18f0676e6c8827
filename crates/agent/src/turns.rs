//! A turn: what it is given and how it ends.

use crate::host::{KeptCall, Ticket};
use domain::Refusal;
use domain::prices::Usage;
use llm::ChatModel;

/// Everything a turn is given at its start. It sees the history as it was then.
pub struct Turn<'a> {
    pub profile: Profile,
    pub model: &'a dyn ChatModel,
    /// How many tokens the model can be told and can say together.
    pub window_tokens: u64,
    /// What the agent is told of the skills of its workspace; may be empty.
    pub skills: String,
    /// What it is told of the session's shared context; may be empty.
    pub guide: String,
    /// The session's history before the message, oldest first, from its newest summary on.
    pub history: Vec<Past>,
    /// The message to be answered.
    pub message: Past,
    /// Steps of this very turn that are kept already, if it begins again after it was parked.
    pub steps: Vec<PastStep>,
    pub steps_most: u32,
    /// For the little differences between pauses.
    pub seed: u64,
}

/// The agent, as far as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    pub name: String,
    pub role: String,
    pub system_prompt: Option<String>,
    /// The name that the provider knows the model by.
    pub model: String,
    pub temperature: f64,
    pub max_tokens: u64,
}

/// One thing that was said in the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Its number in the session.
    pub number: u64,
    pub said: Said,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// By a person, or by an agent from outside. `by` is set where several people talk, `to` if it was not to this agent.
    Asked { by: Option<String>, to: Option<String>, text: String },
    /// By this agent.
    Answered(PastStep),
    /// By another agent.
    Overheard { agent: String, text: String },
    /// What stands for everything before it.
    Summary { text: String },
}

/// What this agent said once, and what it asked for then.
#[derive(Debug, Clone, PartialEq)]
pub struct PastStep {
    pub text: String,
    pub calls: Vec<KeptCall>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    Replied(Answer),
    /// A call waits for somebody; the step with it is kept.
    Parked,
    Failed(Refusal),
}

/// The last words of a turn. Its call is still to be settled, together with keeping them.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub model: String,
    pub ticket: Ticket,
    pub usage: Usage,
    /// Whether it ran into `max_tokens`.
    pub truncated: bool,
}
