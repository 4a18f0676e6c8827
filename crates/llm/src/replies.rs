//! What a model answered.

use crate::ToolCall;
use domain::prices::Usage;

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub stop: Stop,
    /// As the provider reported it; some compatible ones do not.
    pub usage: Option<Usage>,
    /// The model that answered, as the provider calls it.
    pub model: String,
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It had said what it wanted to say, or asked for what it wanted to ask for.
    Done,
    /// It ran into `max_tokens`: what it said is not whole.
    Length,
    /// The provider stopped it, and this is the provider's word for why (bounded).
    Other(String),
}
