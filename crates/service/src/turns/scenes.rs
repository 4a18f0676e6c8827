//! What a turn is told of its session: the history as it stands when the turn begins.

use crate::{Error, Result};
use agent::{KeptCall, Past, PastStep, Said};
use domain::Refusal;
use domain::ids::{MessageId, SessionId, UserId, WorkspaceId};
use domain::messages::{Message, Role, ToolUse};
use domain::tasks::Task;
use std::collections::{BTreeSet, HashSet};
use store::{Operation, Tx};

/// Messages read at once, and of how many bytes at most: more than any window holds.
const READ_AT_ONCE: u64 = 16;
const MESSAGES_MOST: usize = 2_000;
const BYTES_MOST: usize = 4 * 1024 * 1024;

pub(super) struct Scene {
    pub(super) history: Vec<Past>,
    pub(super) message: Past,
    /// What this turn did before it was parked.
    pub(super) steps: Vec<PastStep>,
}

pub(super) struct Read {
    pub(super) workspace: WorkspaceId,
    pub(super) session: SessionId,
    pub(super) task: Task,
    /// Whether the agent has one memory for all.
    pub(super) is_shared: bool,
    /// More would not fit into the model's window.
    pub(super) bytes_most: usize,
}

impl Operation for Read {
    type Output = Scene;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Scene> {
        let Self { workspace, session, task, .. } = self;
        let own = tx.scope(workspace).messages(session).get(task.talk.message_number).await?;
        let own = own.ok_or_else(|| Refusal::invalid("the message of this task has gone"))?;
        let summary = tx.scope(workspace).messages(session).newest_summary().await?;
        let covered = summary.as_ref().and_then(|summary| summary.covers).unwrap_or(0);
        let newest = self.newest(tx, covered).await?;
        let others = newest.into_iter().filter(|message| message.task.as_ref() != Some(&task.id)).collect();
        // Whatever was summarised since: what this turn has done it must not do again.
        let range = (task.talk.message_number, u64::MAX >> 1);
        let steps = tx.scope(workspace).messages(session).of_task(&task.id, range).await?;
        let heard = before_the_turn(others, &own);
        let people: BTreeSet<&UserId> = heard.iter().chain([&own]).filter_map(asker).collect();
        let several = people.len() > 1;
        let mut history: Vec<Past> = Vec::with_capacity(heard.len() + 1);
        if let Some(summary) = summary {
            history.push(Past { number: covered, said: Said::Summary { text: summary.content } });
        }
        let message = Past { number: own.number, said: self.said(own.clone(), several).unwrap_or_else(|| asked(&own)) };
        history.extend(heard.into_iter().filter_map(|message| {
            let number = message.number;
            self.said(message, several).map(|said| Past { number, said })
        }));
        let steps = steps.into_iter().filter(|message| message.role == Role::Assistant).map(step).collect();
        Ok(Scene { history, message, steps })
    }
}

impl Read {
    /// The newest messages after those that a summary stands for, oldest first, as many as are worth reading.
    async fn newest(&self, tx: &mut Tx, covered: u64) -> Result<Vec<Message>> {
        let (mut found, mut bytes, mut before) = (Vec::new(), 0, u64::MAX >> 1);
        while found.len() < MESSAGES_MOST && bytes < self.bytes_most.min(BYTES_MOST) {
            let page = tx.scope(&self.workspace).messages(&self.session).before(before, READ_AT_ONCE).await?;
            let is_last = (page.len() as u64) < READ_AT_ONCE;
            before = page.last().map_or(0, |message| message.number);
            let fresh = page.into_iter().filter(|message| message.number > covered && message.role != Role::Summary);
            for message in fresh {
                bytes += message.content.len() + message.calls.iter().map(size).sum::<usize>();
                found.push(message);
            }
            if is_last || before <= covered + 1 {
                break;
            }
        }
        found.reverse();
        Ok(found)
    }
}

fn size(call: &ToolUse) -> usize {
    call.arguments.len() + call.result.as_ref().map_or(0, |result| result.content.len())
}

fn asker(message: &Message) -> Option<&UserId> {
    (message.role == Role::User).then_some(&message.author.user)
}

/// What was said before the message, and what has been answered to that since. Questions that came later have turns of
/// their own.
fn before_the_turn(messages: Vec<Message>, own: &Message) -> Vec<Message> {
    let asked: HashSet<MessageId> =
        messages.iter().filter(|message| message.number < own.number).map(|message| message.id.clone()).collect();
    let belongs = |message: &Message| {
        message.number < own.number || message.in_reply_to.as_ref().is_some_and(|id| asked.contains(id))
    };
    messages.into_iter().filter(|message| message.id != own.id && belongs(message)).collect()
}

fn asked(message: &Message) -> Said {
    Said::Asked { by: None, to: None, text: message.content.clone() }
}

impl Read {
    /// How a message is told to the agent of this task; none if it is nothing to it.
    fn said(&self, message: Message, several: bool) -> Option<Said> {
        let speaker = message.author.agent.clone();
        let is_same = speaker.as_ref().is_some_and(|agent| agent.id == self.task.agent.id);
        // A private agent works on the things of whoever asks: what it did for others is not told to it.
        let is_own = is_same && (self.is_shared || message.author.user == self.task.sender.user);
        match message.role {
            Role::Summary => None,
            Role::User => Some(Said::Asked {
                by: several.then(|| message.author.user.name().to_owned()),
                to: speaker.filter(|_| !is_same).map(|agent| agent.name),
                text: message.content,
            }),
            Role::Assistant if is_own => {
                let is_empty = message.content.is_empty() && message.calls.is_empty();
                (!is_empty).then(|| Said::Answered(step(message)))
            }
            Role::Assistant if message.calls.is_empty() && !message.content.is_empty() => {
                speaker.map(|agent| Said::Overheard { agent: agent.name, text: message.content })
            }
            Role::Assistant => None,
        }
    }
}

fn step(message: Message) -> PastStep {
    let kept = |call: ToolUse| KeptCall {
        id: call.id,
        tool: call.tool,
        arguments: call.arguments,
        result: call.result.map(|result| (result.content, result.is_error)),
    };
    PastStep { text: message.content, calls: message.calls.into_iter().map(kept).collect() }
}
