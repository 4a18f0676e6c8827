//! Whether an agent knows what it would overwrite: it has read the file whole, or written it itself, in this session and for this
//! person on this machine, and the file is still as that left it. Told by hashes, so that what somebody changed since is not known.

use crate::Result;
use domain::ids::{SessionId, ToolCallId, WorkspaceId};
use domain::node_tools::{Mode, NodeRequest, NodeTool};
use domain::tool_calls::{Preview, ToolCall};
use serde_json::Value;
use store::Tx;

/// How far back a file counts as read.
const READS_LOOKED_AT: u64 = 500;
const CALLS_OF_ONE_FILE: usize = 3;
/// How many changes one after the other are followed back to what the agent knew.
const CHANGES_FOLLOWED: usize = 10;

/// What an earlier call says about a file that had a certain content after it.
enum Knowledge {
    Known,
    /// It is what another content became, by a change that the agent made to a part.
    FromBase(String),
    Nothing,
}

/// `request`: what the call asks for.
pub(super) async fn knows_the_file(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    (call, request): (&ToolCall, &NodeRequest),
    preview: Option<&Preview>,
) -> Result<bool> {
    let NodeRequest::Write(write) = request else { return Ok(false) };
    let base = preview.and_then(|preview| preview.base_sha256.clone());
    let (Some(mut content), Some(session)) = (base, &call.origin.session) else { return Ok(false) };
    let look = Look { workspace, call, session, path: &write.path };
    let reads = look.reads(tx).await?;
    for _ in 0..CHANGES_FOLLOWED {
        if look.has_read(tx, &reads, &content).await? {
            return Ok(true);
        }
        match look.has_written(tx, &content).await? {
            Knowledge::Known => return Ok(true),
            Knowledge::FromBase(before) => content = before,
            Knowledge::Nothing => return Ok(false),
        }
    }
    Ok(false)
}

struct Look<'a> {
    workspace: &'a WorkspaceId,
    call: &'a ToolCall,
    session: &'a SessionId,
    path: &'a str,
}

impl Look<'_> {
    /// The newest reads of the file.
    async fn reads(&self, tx: &mut Tx) -> Result<Vec<ToolCallId>> {
        let what = (&self.call.origin.agent.id, NodeTool::ReadFile.as_str());
        let mut calls = tx.scope(self.workspace).tool_calls();
        let reads = calls.completed_of_session(self.session, what, READS_LOOKED_AT).await?;
        let is_of_path = |params: &str| request_of(NodeTool::ReadFile, params).is_some_and(|read| self.is_about(&read));
        let of_path = reads.into_iter().filter(|(_, params)| is_of_path(params)).take(CALLS_OF_ONE_FILE);
        Ok(of_path.map(|(id, _)| id).collect())
    }

    async fn has_read(&self, tx: &mut Tx, reads: &[ToolCallId], content: &str) -> Result<bool> {
        for id in reads {
            let Some((_, result)) = self.brought(tx, id, content).await? else { continue };
            if result["truncated"] != true {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn has_written(&self, tx: &mut Tx, content: &str) -> Result<Knowledge> {
        for tool in [NodeTool::WriteFile, NodeTool::EditFile] {
            let what = (&self.call.origin.agent.id, tool.as_str());
            let mut calls = tx.scope(self.workspace).tool_calls();
            let found = calls.completed_with_hash(self.session, what, content, CALLS_OF_ONE_FILE as u64).await?;
            for id in found {
                let Some((earlier, _)) = self.brought(tx, &id, content).await? else { continue };
                match request_of(tool, &earlier.wish.params).filter(|request| self.is_about(request)) {
                    Some(NodeRequest::Write(write)) if write.mode == Mode::Write => return Ok(Knowledge::Known),
                    Some(_) => return Ok(from_base(&earlier)),
                    None => {}
                }
            }
        }
        Ok(Knowledge::Nothing)
    }

    fn is_about(&self, request: &NodeRequest) -> bool {
        request.path() == Some(self.path)
    }

    /// An earlier call with its result, if it left or found just this content, for this person on this machine.
    async fn brought(&self, tx: &mut Tx, id: &ToolCallId, content: &str) -> Result<Option<(ToolCall, Value)>> {
        let found = tx.scope(self.workspace).tool_calls().get(&self.call.origin.project, id).await?;
        let Some(earlier) = found else { return Ok(None) };
        let (now, then) = (self.call, &earlier);
        let is_same = then.origin.user == now.origin.user && then.delivery.node == now.delivery.node;
        let result = earlier.outcome.result.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let fitting = result.filter(|result| is_same && result["success"] == true && result["sha256"] == content);
        Ok(fitting.map(|result| (earlier, result)))
    }
}

fn request_of(tool: NodeTool, params: &str) -> Option<NodeRequest> {
    NodeRequest::parse(tool, &serde_json::from_str(params).ok()?).ok()
}

fn from_base(earlier: &ToolCall) -> Knowledge {
    let preview = earlier.judgement.as_ref().and_then(|judgement| judgement.preview.as_ref());
    match preview.and_then(|preview| preview.base_sha256.clone()) {
        Some(base) => Knowledge::FromBase(base),
        // It made the file, and so wrote all of it.
        None if preview.is_some_and(|preview| preview.exists == Some(false)) => Knowledge::Known,
        None => Knowledge::Nothing,
    }
}
