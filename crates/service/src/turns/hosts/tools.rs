//! The tools of a turn: which are on offer, and what becomes of a call. All of them are called as any door calls them.

use super::Host;
use crate::items::Acting;
use crate::turns::spans;
use crate::{Error, Result, platform_tools, policy, shared_context, tool_calls};
use agent::{Called, ProposedCall};
use domain::node_tools::NodeTool;
use domain::platform_tools::SHARED_CONTEXT;
use domain::requests::Request;
use domain::tool_calls::is_put_on_record;
use domain::{Code, Refusal, tool_schemas};
use llm::Tool;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Every tool of the platform and of nodes, as models are told of it.
static DESCRIBED: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let described = |tool: tool_schemas::Tool| Tool {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        parameters: tool.input,
    };
    tool_schemas::all().into_iter().chain(tool_schemas::node::all()).map(described).collect()
});

impl Host {
    pub(super) fn may_use_shared_context(&self) -> bool {
        policy::require_platform(&self.acting(self.role.clone()).caller, &self.agent, SHARED_CONTEXT).is_ok()
    }

    pub(super) async fn offered(&self) -> Result<Vec<Tool>> {
        let ctx = self.acting_now().await?;
        let mut names = platform_tools::of_own_agent(&ctx).await?;
        let reach = tool_calls::of_own_agent(&ctx).await?;
        names.extend(reach.tools.into_iter().map(NodeTool::as_str));
        let mut offered: Vec<Tool> =
            DESCRIBED.iter().filter(|tool| names.contains(&tool.name.as_str())).cloned().collect();
        for tool in offered.iter_mut().filter(|tool| NodeTool::parse(&tool.name).is_some()) {
            tool_schemas::node::choose_among(&mut tool.parameters, &reach.nodes);
        }
        let of_plugins = tool_calls::plugin_tools_of_own_agent(&ctx).await?;
        offered.extend(of_plugins.into_iter().map(|tool| Tool {
            name: tool.name,
            description: tool.description,
            parameters: Value::Object(tool.schema),
        }));
        Ok(offered)
    }

    /// Makes a call. What the rules refuse is told to the model; what the house cannot do ends the turn.
    pub(super) async fn make(&self, call: &ProposedCall) -> Result<Called> {
        let ctx = self.acting_now().await?;
        if is_put_on_record(&call.tool) {
            return self.make_on_record(&ctx, call).await;
        }
        let arguments = call.arguments.clone();
        let answer = if call.tool == SHARED_CONTEXT {
            match Request::parse(arguments) {
                Ok(request) => shared_context::execute(&ctx, self.session(), request).await.map(|answer| text(&answer)),
                Err(refusal) => Err(refusal.into()),
            }
        } else {
            platform_tools::call(&ctx, Acting::Own, &call.tool, arguments).await.map(|answer| text(&answer))
        };
        if let Err(error) = &answer {
            spans::failed(error.code());
        }
        match answer {
            Ok(content) => Ok(Called::Answered { content: content?, is_error: false }),
            Err(Error::Refused(refusal)) => {
                self.figures().tool_refused();
                Ok(Called::Answered { content: refused(&refusal), is_error: true })
            }
            Err(error) => Err(error),
        }
    }
}

fn text(answer: &impl Serialize) -> Result<String> {
    serde_json::to_string(answer).map_err(|_| Refusal::new(Code::Internal, "a result could not be written down").into())
}

pub(super) fn refused(refusal: &Refusal) -> String {
    json!({"error": {"code": refusal.code, "message": refusal.message, "details": refusal.details}}).to_string()
}
