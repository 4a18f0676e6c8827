//! The loop of a node: look at what there is, do it, tell how it ended. What the house says in between is a hint; what counts is
//! what it answers when it is asked.

use crate::Fault;
use crate::hands::{Hands, Outcome, Question};
use crate::houses::{House, HouseError};
use crate::journal::{Call, Step};
use domain::times::Timestamp;
use protocol::tool_calls::{AcceptCall, CallResult, ToolCall};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Whatever the stream says, the house is asked this often.
const LOOK_EVERY: Duration = Duration::from_secs(60);
const AFTER_FAILURE_FIRST: Duration = Duration::from_secs(1);
const AFTER_FAILURE_LAST: Duration = Duration::from_secs(30);
/// A yes is to begin now.
const YES_HOLDS_S: u64 = 30;
/// They said no, or nothing while there was time, or could not be shown all of it.
const NOBODY_SAID_YES: &str = "nobody at this machine said yes";
/// What the house takes at most, and a little less.
const RESULT_LARGEST_BYTES: usize = 14 * 1024 * 1024;
/// How it ended is known to nobody else: it is told again before the next look.
const TOLD_AGAIN_AFTER: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(8)];

/// What happens, for whoever watches the terminal.
#[derive(Debug, Clone)]
pub enum News {
    Began(ToolCall),
    Ended {
        call: ToolCall,
        outcome: Outcome,
    },
    Trouble(String),
    /// The house is done with a call that is in hand here.
    MovedOn(String),
    /// Nothing is done here, and why; or it is again.
    Stopped(Option<String>),
}

/// Somebody at the machine says whether a call may be made.
type Ask = Box<dyn Fn(&Question) -> bool + Send + Sync>;

pub struct Daemon<H> {
    house: H,
    hands: Hands,
    /// Calls that somebody in this process is at, each with its project.
    in_hand: Mutex<HashMap<String, String>>,
    rung: Notify,
    /// Whether it was told that nothing is done here.
    told_of_stop: AtomicBool,
    clock: fn() -> Timestamp,
    tell: Box<dyn Fn(News) + Send + Sync>,
    /// Asked before everything that is more than a look.
    ask: Option<Ask>,
}

impl<H: House> Daemon<H> {
    pub fn new(house: H, hands: Hands, clock: fn() -> Timestamp, tell: impl Fn(News) + Send + Sync + 'static) -> Self {
        let (in_hand, rung, told_of_stop) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        Self { house, hands, in_hand, rung, told_of_stop, clock, tell: Box::new(tell), ask: None }
    }

    /// The same, and its person is asked here, too.
    #[must_use]
    pub fn asking(self, ask: impl Fn(&Question) -> bool + Send + Sync + 'static) -> Self {
        Self { ask: Some(Box::new(ask)), ..self }
    }

    /// There may be something to do.
    pub fn ring(&self) {
        self.rung.notify_one();
    }

    /// Puts back what a call replaced, if nobody has changed the file since.
    pub async fn undo(self: &Arc<Self>, call: &str) -> crate::Result<crate::Undone> {
        let (daemon, call) = (self.clone(), call.to_owned());
        let undone = tokio::task::spawn_blocking(move || daemon.hands.undo(&call, (daemon.clock)())).await;
        undone.unwrap_or(Err(crate::Error::NothingKept))
    }

    /// Runs until it is dropped.
    pub async fn run(self: Arc<Self>) {
        let mut after_failure = AFTER_FAILURE_FIRST;
        loop {
            let pause = match self.look().await {
                Ok(()) => {
                    after_failure = AFTER_FAILURE_FIRST;
                    LOOK_EVERY
                }
                Err(error) => {
                    (self.tell)(News::Trouble(error.to_string()));
                    let pause = after_failure;
                    after_failure = (after_failure * 2).min(AFTER_FAILURE_LAST);
                    pause
                }
            };
            tokio::select! {
                () = self.rung.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Asks what there is, and sets about all of it.
    pub async fn look(self: &Arc<Self>) -> Result<(), HouseError> {
        self.mend().await;
        let mut unlisted = self.in_hand();
        for call in self.house.open_calls().await? {
            unlisted.remove(&call.id);
            if self.take(&call) {
                let daemon = self.clone();
                tokio::spawn(async move {
                    let id = call.id.clone();
                    let outcome = daemon.attend(call).await;
                    daemon.let_go(&id);
                    daemon.mend().await;
                    if let Err(error) = outcome {
                        (daemon.tell)(News::Trouble(error.to_string()));
                    }
                });
            }
        }
        self.look_after(unlisted).await;
        Ok(())
    }

    /// Calls that were in hand before the house was asked, and that it did not list: it may be done with them, or its list was
    /// full.
    async fn look_after(&self, unlisted: HashMap<String, String>) {
        for (call, project) in unlisted {
            let is_over = match self.house.status_of(&project, &call).await {
                Ok(status) => !is_for_a_node(&status),
                Err(HouseError::Refused { code, .. }) => code == "TOOL_CALL_NOT_FOUND",
                // The next look asks again.
                Err(HouseError::Unreachable(_)) => return,
            };
            if is_over {
                (self.tell)(News::MovedOn(call));
            }
        }
    }

    /// A journal that could not be written is tried again, and whoever watches hears of both.
    async fn mend(self: &Arc<Self>) {
        if !self.hands.is_stopped() && !self.told_of_stop.load(Ordering::Relaxed) {
            return;
        }
        let daemon = self.clone();
        let Ok(mended) = blocking(move || daemon.hands.mend((daemon.clock)())).await else { return };
        let why = mended.err().map(|fault| fault.message);
        if self.told_of_stop.swap(why.is_some(), Ordering::Relaxed) != why.is_some() {
            (self.tell)(News::Stopped(why));
        }
    }

    fn in_hand(&self) -> HashMap<String, String> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether nobody was at it.
    fn take(&self, call: &ToolCall) -> bool {
        let mut in_hand = self.in_hand.lock().unwrap_or_else(PoisonError::into_inner);
        in_hand.insert(call.id.clone(), call.project.clone()).is_none()
    }

    fn let_go(&self, id: &str) {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    async fn attend(self: &Arc<Self>, call: ToolCall) -> Result<(), HouseError> {
        match call.status.as_str() {
            "proposed" => {
                let (daemon, asked) = (self.clone(), call.clone());
                let preview = blocking(move || daemon.hands.preview(&asked, (daemon.clock)())).await?;
                match self.house.preview(&call, &preview).await {
                    // It was judged without.
                    Err(error) if error.is_final() => Ok(()),
                    outcome => outcome,
                }
            }
            "dispatched" => self.begin(call).await,
            "accepted" | "running" => self.go_on(call).await,
            _ => Ok(()),
        }
    }

    /// A call that nobody has begun: made sure of, put down, asked for, done, told.
    async fn begin(self: &Arc<Self>, call: ToolCall) -> Result<(), HouseError> {
        if self.known(&call).await?.is_some_and(|known| known.has_begun()) {
            return self.own_up(call).await;
        }
        let (daemon, asked) = (self.clone(), call.clone());
        let is_ready = blocking(move || {
            daemon.may_be_done(&asked).map_err(Outcome::refused)?;
            // After the question: it may have been long.
            daemon.hands.intend(&asked, (daemon.clock)())
        });
        if let Err(outcome) = is_ready.await? {
            return self.report(&call, outcome).await;
        }
        // Not when it is heard: a machine may sleep with the answer on its way.
        let asked_at = (self.clock)();
        self.accepted(&call).await?;
        self.make(call, asked_at).await
    }

    /// A call that was begun here, of a house that does not know: it was put back from a copy, or its list is an old one. To
    /// refuse would say that nothing was done.
    async fn own_up(self: &Arc<Self>, call: ToolCall) -> Result<(), HouseError> {
        self.accepted(&call).await?;
        self.go_on(call).await
    }

    /// The house says yes.
    async fn accepted(self: &Arc<Self>, call: &ToolCall) -> Result<(), HouseError> {
        let digest = call.digest.clone().unwrap_or_default();
        let asked = AcceptCall { attempt: call.attempt, digest, started: false };
        let answer = self.house.accept(call, &asked).await;
        if answer.as_ref().is_err_and(HouseError::is_final) {
            self.put_down_as_told(call).await?;
        }
        answer
    }

    fn may_be_done(&self, call: &ToolCall) -> Result<(), Fault> {
        let Some(ask) = &self.ask else { return Ok(()) };
        // Nobody is asked about what is not done anyway, nor for longer than a decision holds.
        match self.hands.question(call, (self.clock)())? {
            Some(question) if !ask(&question) => Err(Fault { code: "FORBIDDEN", message: NOBODY_SAID_YES.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Does what the house said yes to, not before that time. A machine that slept since asks again.
    async fn make(self: &Arc<Self>, call: ToolCall, asked_at: Timestamp) -> Result<(), HouseError> {
        if (self.clock)() > asked_at.plus_seconds(YES_HOLDS_S) {
            self.ring();
            return Ok(());
        }
        (self.tell)(News::Began(call.clone()));
        let (daemon, made) = (self.clone(), call.clone());
        let outcome = blocking(move || daemon.hands.make(&made, (daemon.clock)())).await?;
        self.report(&call, outcome).await
    }

    /// A call that the house has said yes to, and whose end it does not know.
    async fn go_on(self: &Arc<Self>, call: ToolCall) -> Result<(), HouseError> {
        let listed_at = (self.clock)();
        let known = self.known(&call).await?.filter(|known| known.attempt == call.attempt);
        match known.map(|known| known.step) {
            Some(Step::Intended) => {
                let (daemon, asked) = (self.clone(), call.clone());
                let may_go_on = blocking(move || {
                    daemon.may_be_done(&asked).map_err(|fault| Outcome::broke_off(&fault.message))?;
                    // After the question, as before the first beginning.
                    daemon.hands.check_again(&asked, (daemon.clock)())
                });
                match may_go_on.await? {
                    Ok(()) => self.make(call, listed_at).await,
                    Err(outcome) => self.report(&call, outcome).await,
                }
            }
            Some(_) => {
                let (daemon, asked) = (self.clone(), call.clone());
                // What was begun is told as it was, whatever this node would do by now.
                let outcome = blocking(move || daemon.hands.after_crash(&asked, (daemon.clock)())).await?;
                self.report(&call, outcome.unwrap_or_else(Outcome::unknown)).await
            }
            // Not in this journal: whoever has said so, it was not this node as it is now.
            None => self.report(&call, Outcome::unknown()).await,
        }
    }

    async fn report(self: &Arc<Self>, call: &ToolCall, outcome: Outcome) -> Result<(), HouseError> {
        (self.tell)(News::Ended { call: call.clone(), outcome: outcome.clone() });
        let size = serde_json::to_vec(&outcome.result).map_or(usize::MAX, |text| text.len());
        let outcome = if size > RESULT_LARGEST_BYTES { Outcome::too_large() } else { outcome };
        let result = CallResult {
            attempt: call.attempt,
            result: outcome.result,
            status: Some(outcome.status.to_owned()),
            reason: outcome.reason,
        };
        let mut told = self.house.result(call, &result).await;
        for pause in TOLD_AGAIN_AFTER {
            if told.as_ref().map_or_else(HouseError::is_final, |()| true) {
                break;
            }
            tokio::time::sleep(pause).await;
            told = self.house.result(call, &result).await;
        }
        // What the house does not want any more need not be told again either.
        if told.as_ref().map_or_else(HouseError::is_final, |()| true) {
            self.put_down_as_told(call).await?;
        }
        told
    }

    async fn known(self: &Arc<Self>, call: &ToolCall) -> Result<Option<Call>, HouseError> {
        let (daemon, id) = (self.clone(), call.id.clone());
        blocking(move || daemon.hands.known(&id)).await
    }

    async fn put_down_as_told(self: &Arc<Self>, call: &ToolCall) -> Result<(), HouseError> {
        let (daemon, id, attempt) = (self.clone(), call.id.clone(), call.attempt);
        blocking(move || daemon.hands.told(&id, attempt, (daemon.clock)())).await
    }
}

/// Whether a node has something to do with a call that is so far.
fn is_for_a_node(status: &str) -> bool {
    matches!(status, "proposed" | "dispatched" | "accepted" | "running")
}

/// Files, programs and whatever the journal's lock is held for make a thread wait; that is not to be one that others need.
async fn blocking<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> Result<T, HouseError> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|_| HouseError::Unreachable("something went wrong inside this node; its log says what".to_owned()))
}

#[cfg(test)]
mod tests;
