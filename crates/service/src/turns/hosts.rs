//! The house as a turn sees it. Every tool, every sum of money and every kept word of a turn passes here, with the rights
//! that the agent and its person have at that moment.

mod node_calls;
mod rights;
mod tools;

pub(super) use rights::require_running;

use super::ends::{self, Settlement};
use super::figures::Figures;
use super::keeping::{KeepMessage, KeepResults, KeepSummary};
use super::scenes::{self, Scene};
use super::spans;
use super::watched::Watched;
use crate::budgets::{self, Reservation, Reserve, ReserveCall};
use crate::bus::{Picked, Start};
use crate::messages::kept;
use crate::sessions::SessionRef;
use crate::worker_spaces::{Space, alerts};
use crate::{Error, House, Result, models, prompts, rules};
use agent::{Called, KeptCall, Outcome, ProposedCall, Step, Stopped, Ticket, ToolHost};
use domain::agents::{Agent, Visibility};
use domain::events::{Earshot, Whisper};
use domain::ids::{MessageId, WorkspaceId};
use domain::ledger::CallEnd;
use domain::messages::{MadeBy, Message, Role, ToolResult, ToolUse};
use domain::money::Micros;
use domain::prices::Usage;
use domain::roles::Role as UserRole;
use domain::tasks::{Task, TaskStatus, has_ended, queue_full};
use domain::tool_calls::is_put_on_record;
use domain::worker_spaces::Alert;
use llm::{ChatModel, Choice, Tool};
use rights::SetAside;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::Instrument;

/// What is shown of an answer is remembered up to here, for the history of a turn that is cut off.
const SHOWN_MOST: usize = 256 * 1024;
/// Messages that are read while somebody may wait to write.
const SHORT_HISTORY: u64 = 64;
/// Bytes of history worth reading for each token of the model's window.
const BYTES_PER_TOKEN: u64 = 6;

pub(super) struct Host {
    house: House,
    space: Arc<Space>,
    task: Task,
    agent: Arc<Agent>,
    workspace: WorkspaceId,
    earshot: Earshot,
    role: UserRole,
    choice: Choice,
    model: Arc<dyn ChatModel>,
    progress: Mutex<Progress>,
}

/// What has happened since the last step was kept.
#[derive(Default)]
struct Progress {
    /// What was shown of an answer that is not kept yet.
    shown: String,
    /// Money that is set aside for a call that has not ended.
    open: Option<Reservation>,
    /// Calls of the step under way that were made.
    made: Vec<ToolUse>,
    stage: Stage,
}

/// How far the task has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Stage {
    /// It is queued as far as anybody knows.
    #[default]
    Picked,
    /// Its row says that it runs.
    Started,
    /// The agent's limit had no room for it.
    Deferred,
}

impl Host {
    pub(super) async fn new(house: &House, space: &Arc<Space>, picked: &Picked) -> Result<Self> {
        let rules = rules::in_force(house).await?;
        let table = models::table(house, &rules)?;
        let choice = table.choose(&picked.agent.settings.model)?;
        Ok(Self {
            house: house.clone(),
            space: space.clone(),
            task: picked.task.clone(),
            agent: picked.agent.clone(),
            workspace: picked.session.workspace.clone(),
            earshot: Earshot::of(&picked.session),
            role: picked.role.clone(),
            model: Arc::new(Watched::new(house, table.model(&choice), table.kind(&choice))),
            choice,
            progress: Mutex::default(),
        })
    }

    pub(super) fn house(&self) -> &House {
        &self.house
    }

    pub(super) fn task(&self) -> &Task {
        &self.task
    }

    pub(super) fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    pub(super) fn choice(&self) -> &Choice {
        &self.choice
    }

    pub(super) fn model(&self) -> &dyn ChatModel {
        self.model.as_ref()
    }

    pub(super) fn figures(&self) -> &Figures {
        self.house.turns()
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> SessionRef {
        SessionRef { id: self.task.session.clone(), workspace: Some(self.workspace.as_str().to_owned()) }
    }

    /// The session's history, as it is now.
    pub(super) async fn scene(&self) -> Result<Scene> {
        let bytes_most = llm::windows::window_of(&self.choice.model).saturating_mul(BYTES_PER_TOKEN);
        let read = scenes::Read {
            workspace: self.workspace.clone(),
            session: self.task.session.clone(),
            task: self.task.clone(),
            is_shared: self.agent.visibility == Visibility::Shared,
            bytes_most: usize::try_from(bytes_most).unwrap_or(usize::MAX),
        };
        // A long history is much to read.
        let is_short = self.task.talk.message_number <= SHORT_HISTORY;
        let store = self.house.store();
        if is_short { store.read(read).await } else { store.read_beside(read).await }
    }

    /// What the agent is told of the shared context, if it may use it.
    pub(super) async fn guide(&self) -> Result<String> {
        if !self.may_use_shared_context() {
            return Ok(String::new());
        }
        prompts::shared_context_guide(&self.acting(self.role.clone()), self.session()).await
    }

    /// What was shown and not kept, and money that is still set aside.
    pub(super) fn left_over(&self) -> (String, Option<Reservation>) {
        let mut progress = self.lock();
        (std::mem::take(&mut progress.shown), progress.open.take())
    }

    /// Calls that were made and whose results are not kept yet.
    pub(super) fn made(&self) -> Vec<ToolUse> {
        std::mem::take(&mut self.lock().made)
    }

    /// The reservation behind a ticket. It stays open until its end is on record: a turn may be stopped before that, and
    /// then whoever stops it settles.
    pub(super) fn redeem(&self, ticket: &Ticket) -> Option<Reservation> {
        self.lock().open.clone().filter(|open| open.id == ticket.0)
    }

    /// The end of a call is on record.
    fn settled(&self, ticket: &Ticket) {
        self.lock().open.take_if(|open| open.id == ticket.0);
    }

    /// A message of this turn, made with that much of the model.
    pub(super) fn message(&self, text: String, model: String, usage: Usage, cost: Option<Micros>) -> Message {
        let id = MessageId::generated(self.house.unique());
        let made_by = Some(MadeBy { model, usage, cost, truncated: false });
        Message { made_by, ..kept::by_agent(&self.task, id, text, self.house.now()) }
    }

    /// Notes how the provider did, and says so if it has begun to fail.
    async fn provider_answered(&self, well: bool) {
        if !self.space.provider_answered(&self.house, well) {
            return;
        }
        let text = format!("the provider `{}` has failed several times in a row", self.choice.provider);
        let (workspace, project) = (&self.workspace, &self.task.project);
        alerts::raise(&self.house, workspace, project, Alert::ProviderFailing, &self.choice.provider, &text).await;
    }

    pub(super) async fn settlement(
        &self,
        reservation: Option<Reservation>,
        end: CallEnd,
    ) -> Result<Option<Settlement>> {
        let Some(reservation) = reservation else { return Ok(None) };
        let budget = budgets::budget_of(&self.house, &self.workspace).await?;
        Ok(Some(Settlement { reservation, end, budget }))
    }
}

impl Host {
    pub(super) async fn used(&self, reservation: Option<Reservation>, usage: Usage) -> Result<Option<Settlement>> {
        let end = reservation.as_ref().map_or(CallEnd::Unknown, |reservation| reservation.used(usage));
        self.settlement(reservation, end).await
    }
}

fn stopped(error: crate::Error) -> Stopped {
    error.into_refusal()
}

fn uses(calls: &[KeptCall]) -> Vec<ToolUse> {
    let kept = |call: &KeptCall| ToolUse {
        id: call.id.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        result: call.result.clone().map(|(content, is_error)| ToolResult { content, is_error }),
    };
    calls.iter().map(kept).collect()
}

impl ToolHost for Host {
    async fn tools(&self) -> Result<Vec<Tool>, Stopped> {
        self.offered().await.map_err(stopped)
    }

    async fn call(&self, call: &ProposedCall) -> Result<Called, Stopped> {
        self.figures().tool_called();
        let called = self.make(call).instrument(spans::tool(call)).await.map_err(stopped)?;
        if let Called::Answered { content, is_error } = &called {
            let result = Some(ToolResult { content: content.clone(), is_error: *is_error });
            let arguments = Value::Object(call.arguments.clone()).to_string();
            self.lock().made.push(ToolUse { id: call.id.clone(), tool: call.tool.clone(), arguments, result });
        }
        Ok(called)
    }

    fn outlives_turn(&self, tool: &str) -> bool {
        is_put_on_record(tool)
    }

    async fn set_aside(&self, prompt_tokens: u64, max_tokens: u64) -> Result<Ticket, Stopped> {
        let call = ReserveCall {
            workspace: self.workspace.clone(),
            project: Some(self.task.project.clone()),
            agent: Some(self.agent.id.clone()),
            session: Some(self.task.session.clone()),
            model: self.choice.model.clone(),
            prompt_tokens,
            max_tokens,
        };
        let ctx = self.acting(self.role.clone());
        let (reservation, reserve) = budgets::prepare(&ctx, call).await.map_err(stopped)?;
        let ticket = Ticket(reservation.id.clone());
        {
            // Before it is written: a turn that is stopped meanwhile has to settle what may have been set aside.
            let mut progress = self.lock();
            progress.open = Some(reservation);
            progress.shown.clear();
        }
        let outcome = self.pay(reserve).await;
        self.house.budgets().count(&outcome);
        if let Err(Error::Refused(_)) = &outcome {
            self.settled(&ticket);
        }
        outcome.map_err(stopped)?;
        Ok(ticket)
    }

    async fn settle(&self, ticket: Ticket, outcome: Outcome) -> Result<(), Stopped> {
        let well = matches!(outcome, Outcome::Used(_));
        self.provider_answered(well).await;
        let Some(reservation) = self.redeem(&ticket) else { return Ok(()) };
        let settled = match outcome {
            Outcome::Used(usage) => budgets::settle(&self.house, &reservation, usage).await.map(drop),
            Outcome::NotAsked => budgets::release(&self.house, &reservation).await,
            Outcome::Unknown => budgets::forfeit(&self.house, &reservation).await,
        };
        settled.map_err(stopped)?;
        self.settled(&ticket);
        Ok(())
    }

    async fn keep(&self, step: Step) -> Result<(), Stopped> {
        self.answered_well(step.usage).await;
        let reservation = self.redeem(&step.ticket);
        let cost = reservation.as_ref().and_then(|reservation| reservation.cost(step.usage));
        let settlement = self.used(reservation, step.usage).await.map_err(stopped)?;
        let calls = uses(&step.calls);
        let message = Message { calls, ..self.message(step.text, step.model, step.usage, cost) };
        let keep = KeepMessage { place: ends::place(self), message, settlement, now: self.house.now() };
        let still_runs = self.house.store().write(&self.workspace, keep).await.map_err(stopped)?;
        self.settled(&step.ticket);
        if !still_runs {
            return Err(has_ended(TaskStatus::Cancelled));
        }
        let mut progress = self.lock();
        progress.shown.clear();
        progress.made.clear();
        Ok(())
    }

    async fn keep_results(&self, calls: &[KeptCall]) -> Result<(), Stopped> {
        let keep = KeepResults { place: ends::place(self), calls: uses(calls), now: self.house.now() };
        self.house.store().write(&self.workspace, keep).await.map_err(stopped)?;
        self.lock().made.clear();
        Ok(())
    }

    async fn keep_summary(&self, text: String, up_to: u64, ticket: Ticket, usage: Usage) -> Result<(), Stopped> {
        self.answered_well(usage).await;
        let reservation = self.redeem(&ticket);
        let cost = reservation.as_ref().and_then(|reservation| reservation.cost(usage));
        let settlement = self.used(reservation, usage).await.map_err(stopped)?;
        let message = self.message(text, self.choice.model.clone(), usage, cost);
        // Answers that came after the question are in it; other questions that did are not, and no later turn may miss them.
        let covers = Some(up_to.min(self.task.talk.message_number - 1));
        let message = Message { role: Role::Summary, covers, in_reply_to: None, ..message };
        let keep = KeepSummary { place: ends::place(self), message, settlement, now: self.house.now() };
        self.house.store().write(&self.workspace, keep).await.map_err(stopped)?;
        self.settled(&ticket);
        Ok(())
    }

    fn show(&self, delta: &str) {
        {
            let mut progress = self.lock();
            if progress.shown.len() + delta.len() <= SHOWN_MOST {
                progress.shown.push_str(delta);
            }
        }
        self.whisper(delta);
    }
}

impl Host {
    /// Sets money aside; with the first of it the task starts.
    async fn pay(&self, reserve: Reserve) -> Result<()> {
        if self.stage() == Stage::Started {
            let (workspace, task) = (self.workspace.clone(), self.task.clone());
            return self.house.store().write(&self.workspace, SetAside { reserve, workspace, task }).await;
        }
        self.start(Some(reserve)).await
    }

    /// Says that the task runs, if its agent's limit has room.
    pub(super) async fn start(&self, reserve: Option<Reserve>) -> Result<()> {
        let (workspace, task) = (self.workspace.clone(), self.task.clone());
        let (holder, now) = (self.house.holder().to_owned(), self.house.now());
        let limit = self.agent.settings.concurrency_limit;
        let start = Start { workspace, task, limit, holder, reserve, now };
        let has_started = self.house.store().write(&self.workspace, start).await?;
        self.lock().stage = if has_started { Stage::Started } else { Stage::Deferred };
        if has_started { Ok(()) } else { Err(queue_full(limit).into()) }
    }

    fn stage(&self) -> Stage {
        self.lock().stage
    }

    /// Whether the task goes back to its queue, with nothing done.
    pub(super) fn has_to_wait(&self) -> bool {
        self.stage() == Stage::Deferred
    }

    /// The state that the task's row is in, unless somebody else has moved it.
    pub(super) fn expected(&self) -> TaskStatus {
        if self.stage() == Stage::Started { TaskStatus::Running } else { TaskStatus::Queued }
    }

    pub(super) async fn answered_well(&self, usage: Usage) {
        self.figures().used(usage);
        self.provider_answered(true).await;
    }

    /// Shows a piece of the answer to whoever watches the session now.
    fn whisper(&self, delta: &str) {
        self.house.store().whisper(&self.earshot, || {
            let task = &self.task;
            let fields = [
                ("task", json!(task.id)),
                ("agent", json!(task.agent.name)),
                ("in_reply_to", json!(task.talk.message)),
                ("delta", delta.into()),
            ];
            let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            Whisper::new(&self.earshot, Whisper::MESSAGE_DELTA, self.house.now(), fields)
        });
    }
}
