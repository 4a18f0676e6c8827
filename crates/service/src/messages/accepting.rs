//! Taking a message in: checked, kept together with its task, handed to the bus.

use crate::budgets::Room;
use crate::sessions::{self, SessionRef};
use crate::worker_spaces::{self, alerts};
use crate::{Ctx, Error, House, Result, agents, idempotency, models, rules};
use domain::agents::Agent;
use domain::audit::AuditRecord;
use domain::callers::{Caller, Credential};
use domain::ids::{AgentId, MessageId, ProjectId, SessionId, TaskId, WorkspaceId};
use domain::messages::{Author, MESSAGES_MOST, Message, NamedAgent, Role, check_content};
use domain::rules::Rules;
use domain::sessions::Session;
use domain::tasks::{Priority, Sender, Task, TaskStatus, TaskTalk, TaskTimes, check_chain, queue_full};
use domain::times::Timestamp;
use domain::worker_spaces::{Alert, is_nearly_full};
use domain::{Code, Refusal};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{LITTLE_BYTES, Operation, QueuedFor, Tx};

#[derive(Debug, Clone)]
pub struct SendMessage {
    pub content: String,
    pub target_agent: Option<String>,
    pub priority: Priority,
}

/// What was taken in, and where to look for what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    pub message: MessageId,
    pub task: TaskId,
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub session: SessionId,
}

/// Queues a message for an agent. When this returns, it will be worked on, also if the server stops now.
pub async fn send(ctx: &Ctx, session: SessionRef, input: SendMessage) -> Result<Accepted> {
    let turn = session.turn(&ctx.caller);
    let operation = prepare(ctx, session, input).await?;
    let ctx = ctx.clone();
    // On its own feet: once the task is on disk its agent must hear of it, whether or not the sender still waits.
    let done = tokio::spawn(async move {
        let sent = idempotency::write(&ctx, &turn, operation).await?;
        Ok(announce(&ctx.house, sent).await)
    });
    done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("taking a message in panicked").into()))
}

/// The operation that takes a message in, ready to be run by itself or within another one.
pub(crate) async fn prepare(ctx: &Ctx, session: SessionRef, input: SendMessage) -> Result<Send> {
    super::require_talker(&ctx.caller)?;
    check_content(&input.content)?;
    let rules = rules::in_force(&ctx.house).await?;
    Ok(Send {
        caller: ctx.caller.clone(),
        session,
        input,
        models: models::table(&ctx.house, &rules)?,
        rules,
        message: MessageId::generated(ctx.house.unique()),
        task: TaskId::generated(ctx.house.unique()),
        now: ctx.now(),
    })
}

/// Tells the agent of a message that was taken in, once that has committed.
pub(crate) async fn announce(house: &House, sent: Sent) -> Accepted {
    let Sent { accepted, agent, queued, most } = sent;
    let for_agent =
        QueuedFor { workspace: accepted.workspace.clone(), project: accepted.project.clone(), agent: agent.id.clone() };
    worker_spaces::wake_surely(house, for_agent).await;
    if is_nearly_full(queued, most) {
        let text = format!("{queued} of {most} places in the queue of {} are taken", agent.name);
        let place = (&accepted.workspace, &accepted.project);
        alerts::raise(house, place.0, place.1, Alert::QueueNearlyFull, agent.id.as_str(), &text).await;
    }
    accepted
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) accepted: Accepted,
    pub(crate) agent: NamedAgent,
    /// How many tasks wait for the agent now, and how many may.
    queued: u64,
    most: u64,
}

#[derive(Clone)]
pub(crate) struct Send {
    caller: Arc<Caller>,
    session: SessionRef,
    input: SendMessage,
    rules: Arc<Rules>,
    models: models::Table,
    message: MessageId,
    task: TaskId,
    now: Timestamp,
}

impl Operation for Send {
    type Output = Sent;
    type Error = Error;

    fn is_small(&self) -> bool {
        self.input.content.len() <= LITTLE_BYTES
    }

    async fn run(&self, tx: &mut Tx) -> Result<Sent> {
        let mut session = sessions::find(tx, &self.caller, &self.session).await?;
        session.require_active()?;
        let project = session.project.clone().ok_or_else(has_no_project)?;
        let agent = self.find_agent(tx, &session, &project).await?;
        self.check_room(tx, &agent).await?;
        let most = self.rules.house.worker_space.queue_size;
        let queued = tx.scope(&session.workspace).tasks().unfinished(&agent.id).await?.queued;
        if queued >= most {
            return Err(queue_full(most).into());
        }
        let hops = self.hops(tx, &session).await?;
        let number = tx.scope(&session.workspace).messages(&session.id).newest_number().await? + 1;
        if number > MESSAGES_MOST {
            let message = format!("a session has at most {MESSAGES_MOST} messages: begin a new one");
            return Err(Refusal::new(Code::StoreFull, message).into());
        }
        let task = self.task(&session, project.clone(), &agent, number, hops);
        tx.scope(&session.workspace).messages(&session.id).append(&self.message(&session, &agent, number)).await?;
        tx.scope(&session.workspace).tasks().create(&task).await?;
        self.record(tx, &mut session, &task).await?;
        let accepted = Accepted {
            message: self.message.clone(),
            task: self.task.clone(),
            workspace: session.workspace,
            project,
            session: session.id,
        };
        Ok(Sent { accepted, agent: task.agent, queued: queued + 1, most })
    }
}

impl Send {
    /// The same message to that agent in that session.
    pub(crate) fn to(self, session: SessionRef, agent: &AgentId) -> Self {
        let input = SendMessage { target_agent: Some(agent.as_str().to_owned()), ..self.input };
        Self { session, input, ..self }
    }

    async fn find_agent(&self, tx: &mut Tx, session: &Session, project: &ProjectId) -> Result<Agent> {
        let Some(name) = &self.input.target_agent else {
            let found = tx.scope(&session.workspace).agents(project).all().await?;
            let names: Vec<String> = found.into_iter().map(|agent| agent.name).collect();
            let message = "`target_agent` is missing: say which agent of the project is to answer";
            return Err(Refusal::invalid_field("target_agent", message).with("agents", names).into());
        };
        agents::find_by_name(tx, &session.workspace, project, name).await
    }

    /// A first call that could not be paid for is refused at the door.
    async fn check_room(&self, tx: &mut Tx, agent: &Agent) -> Result<()> {
        let chosen = self.models.choose(&agent.settings.model)?;
        let prompt = agent.settings.system_prompt.as_deref().map_or(0, llm::tokens::of_text);
        let prompt_tokens = prompt + llm::tokens::of_text(&self.input.content);
        let (user, settings) = (&self.caller.user, &agent.settings);
        let room =
            Room::needed(&self.rules, &agent.workspace, user, &chosen.model, (prompt_tokens, settings.max_tokens));
        room.check(tx, self.now).await
    }

    /// How many agents have spoken one after another; a person ends the chain.
    async fn hops(&self, tx: &mut Tx, session: &Session) -> Result<u64> {
        if !matches!(self.caller.credential, Credential::Agent { .. }) {
            return Ok(0);
        }
        const LOOKED_AT: u64 = 64;
        let recent = tx.scope(&session.workspace).tasks().newest_of_session(&session.id, LOOKED_AT).await?;
        let hops = recent.first().map_or(0, |task| task.hops) + 1;
        let unfinished = recent.iter().filter(|task| task.sender.is_agent() && !task.status.has_ended()).count();
        check_chain(hops, unfinished as u64 + 1)?;
        Ok(hops)
    }

    fn task(&self, session: &Session, project: ProjectId, agent: &Agent, number: u64, hops: u64) -> Task {
        Task {
            id: self.task.clone(),
            project,
            session: session.id.clone(),
            agent: NamedAgent { id: agent.id.clone(), name: agent.name.clone() },
            talk: TaskTalk { message: self.message.clone(), message_number: number, reply_number: None },
            sender: Sender { user: self.caller.user.clone(), participant: self.caller.participant.clone() },
            status: TaskStatus::Queued,
            priority: self.input.priority,
            hops,
            times: TaskTimes { created_at: self.now, started_at: None, ended_at: None, deadline_at: None },
            holder: None,
            error: None,
        }
    }

    fn message(&self, session: &Session, agent: &Agent, number: u64) -> Message {
        Message {
            number,
            id: self.message.clone(),
            session: session.id.clone(),
            role: Role::User,
            content: self.input.content.clone(),
            author: Author {
                participant: self.caller.participant.clone(),
                user: self.caller.user.clone(),
                agent: Some(NamedAgent { id: agent.id.clone(), name: agent.name.clone() }),
            },
            task: Some(self.task.clone()),
            in_reply_to: None,
            made_by: None,
            calls: Vec::new(),
            error: None,
            covers: None,
            created_at: self.now,
        }
    }

    async fn record(&self, tx: &mut Tx, session: &mut Session, task: &Task) -> Result<()> {
        crate::tasks::transitions::tell(tx, session, task, self.now);
        tx.scope(&session.workspace.clone()).sessions().save(session).await?;
        let record = AuditRecord::new(&self.caller, "message.send", self.now)
            .in_session(&session.id)
            .with("message", self.message.as_str())
            .with("task", self.task.as_str())
            .with("agent", task.agent.id.as_str())
            .with("bytes", self.input.content.len());
        tx.scope(&session.workspace).audit().append(record);
        Ok(())
    }
}

fn has_no_project() -> Refusal {
    let message = "this session belongs to no project, so no agent can answer: make one with `project`";
    Refusal::invalid(message)
}
