//! Calls under way that nobody waits for any more.

use crate::plugins::Boxed;
use crate::{Error, House, Result};
use domain::events::StreamId;
use domain::ids::{ProjectId, TaskId, WorkspaceId};
use domain::tool_calls::ToolCall;
use store::{News, Operation, Tx};

/// Ends when the turn that waits for a call has ended without it; never, if none waits.
pub(super) fn unwanted<'a>(house: &'a House, workspace: &'a WorkspaceId, call: &'a ToolCall) -> Boxed<'a, ()> {
    let (Some(waiter), Some(session)) = (&call.origin.waiter, &call.origin.session) else {
        return Box::pin(std::future::pending());
    };
    Box::pin(async move {
        // Watched before the row is looked at, so that nothing falls in between.
        let mut watch = house.store().watch(workspace, &StreamId::of_session(session));
        loop {
            let (project, task) = (call.origin.project.clone(), waiter.task.clone());
            let look = HasEnded { workspace: workspace.clone(), project, task };
            // What cannot be read now is looked at again with the next event.
            if house.store().read(look).await.unwrap_or(false) {
                return;
            }
            loop {
                match watch.next().await {
                    News::Event(event) if event.kind.starts_with("TASK_") => break,
                    News::Missed => break,
                    News::Event(_) | News::Whisper(_) => {}
                }
            }
        }
    })
}

struct HasEnded {
    workspace: WorkspaceId,
    project: ProjectId,
    task: TaskId,
}

impl Operation for HasEnded {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let task = tx.scope(&self.workspace).tasks().get(&self.project, &self.task).await?;
        Ok(task.is_none_or(|task| task.status.has_ended()))
    }
}
