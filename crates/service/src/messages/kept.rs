//! How a message comes into a session's history: its number, its row, its event.

use crate::Result;
use domain::events::Event;
use domain::ids::{MessageId, WorkspaceId};
use domain::messages::{Author, Message, Role};
use domain::participants::Participant;
use domain::sessions::Session;
use domain::tasks::Task;
use domain::times::Timestamp;
use store::Tx;

/// What an agent is called in the session it works in.
pub(crate) fn participant(task: &Task) -> Participant {
    Participant::of_worker(&task.agent.name, 1)
}

/// A message of the agent that works on a task; it gets its number when it is put.
pub(crate) fn by_agent(task: &Task, id: MessageId, content: String, now: Timestamp) -> Message {
    Message {
        number: 0,
        id,
        session: task.session.clone(),
        role: Role::Assistant,
        content,
        author: Author {
            participant: participant(task),
            user: task.sender.user.clone(),
            agent: Some(task.agent.clone()),
        },
        task: Some(task.id.clone()),
        in_reply_to: Some(task.talk.message.clone()),
        made_by: None,
        calls: Vec::new(),
        error: None,
        covers: None,
        created_at: now,
    }
}

/// What stands in history where an answer would, with as much of it as had been shown.
pub(crate) fn ending(task: &Task, id: MessageId, shown: String, now: Timestamp) -> Message {
    Message { error: task.error.clone(), ..by_agent(task, id, shown, now) }
}

/// Puts a message of an agent at the end of the session and tells of it; whoever calls saves the session. Answers its
/// number.
pub(crate) async fn append(tx: &mut Tx, session: &mut Session, message: Message) -> Result<u64> {
    let (workspace, id) = (session.workspace.clone(), session.id.clone());
    let number = tx.scope(&workspace).messages(&id).newest_number().await? + 1;
    let message = Message { number, ..message };
    tx.scope(&workspace).messages(&id).append(&message).await?;
    if let Some(project) = session.project.clone() {
        let event = Event::message(&message, &project);
        tx.scope(&workspace).events().append(&id, &mut session.counters, &event);
    }
    Ok(number)
}

/// The newest step of a task's turn that asked for tools.
pub(crate) async fn newest_step(tx: &mut Tx, workspace: &WorkspaceId, task: &Task) -> Result<Option<Message>> {
    let from = task.talk.message_number;
    Ok(tx.scope(workspace).messages(&task.session).newest_with_calls(&task.id, from).await?)
}
