//! Ready tool definitions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolSchemas {
    /// `openai`, `anthropic` or `mcp`.
    pub format: String,
    /// To be given to a model as they are.
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Value>,
}
