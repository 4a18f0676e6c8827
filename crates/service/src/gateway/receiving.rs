//! Taking a message of a channel: one transaction, and the agent hears of it once that has committed.

use super::looking::{Asked, Look, Looked, look};
use super::pairing::Codes;
use super::turns::{Routed, Turn};
use super::{Door, Received, Taken, caller, commands};
use crate::audit::by_house;
use crate::messages::{self, Sent};
use crate::users::house_chain;
use crate::{Error, House, Result, worker_spaces};
use data_encoding::HEXLOWER;
use domain::audit::AuditRecord;
use domain::channels::{ChatType, InboundKind, InboundMessage, is_for_us};
use domain::deliveries::{Delivery, DeliveryTarget};
use domain::ids::{SessionId, WorkspaceId};
use domain::routing::{ReasonCode, Route, Routing};
use domain::tasks::Task;
use domain::times::Timestamp;
use domain::{Code, Refusal};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use store::{HeardMessage, Operation, QueuedFor, Tx};

/// How often a message is looked at anew because rights moved in between.
const LOOKS_MOST: usize = 5;
const ONLY_TEXT: &str = "I can only read text so far. Please write what you would like to know.";

/// Takes a message: routed, refused, or passed over. When this returns, what came of it is on disk, and the same message
/// again comes to nothing. An error of the store means that it was not taken: it should be offered again.
pub async fn receive(house: &House, message: InboundMessage, door: Door) -> Result<Received> {
    let received = take_in(house, message, door).await;
    house.heard().count(&received);
    received
}

async fn take_in(house: &House, message: InboundMessage, door: Door) -> Result<Received> {
    let is_new = matches!(message.kind, InboundKind::Message(_));
    let asked = Asked::of(&message);
    for _ in 0..LOOKS_MOST {
        let looked = house.store().read(Look { asked: asked.clone() }).await?;
        // An edit is never the start of a turn; a pressed button is `press`'s.
        if !is_new || !is_for_us(&message, looked.reply) {
            return Ok(Received::default());
        }
        let turn = looked.routing.decision.as_ref().map_or_else(|_| house_chain(), |route| route.workspace.clone());
        let operation = Receive::prepare(house, &message, looked, door).await?;
        // On its own feet: once the task is on disk its agent must hear of it, whether or not anybody still waits.
        let done = tokio::spawn(commit(house.clone(), turn, operation));
        let done = done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a receipt panicked").into()));
        if let Some(received) = done? {
            return Ok(received);
        }
    }
    Err(Refusal::new(Code::Unavailable, "the rules of the house keep changing: try again in a moment").into())
}

/// Whether a message that was not taken should be offered again: the house could not do it now. Anything else is an
/// answer, to be told to whoever wrote.
pub fn is_for_later(error: &Error) -> bool {
    matches!(error, Error::Store(_)) || error.code() == Code::Unavailable
}

async fn commit(house: House, turn: WorkspaceId, operation: Receive) -> Result<Option<Received>> {
    let Some(done) = house.store().write(&turn, operation).await? else { return Ok(None) };
    if let Some(sent) = done.sent {
        messages::announce(&house, sent).await;
    }
    for task in &done.stopped {
        house.bus().stop(&task.id);
        // Its place is free, and nobody may be there to notice.
        worker_spaces::wake_surely(&house, QueuedFor::of(&turn, task)).await;
    }
    Ok(Some(done.received))
}

/// What names a message with its provider, and its update where there is one.
fn keys(message: &InboundMessage) -> Vec<String> {
    let hash = |kind: &str, parts: &[&str]| {
        let mut hasher = Sha256::new();
        for part in [kind, &message.place.channel, &message.account].iter().chain(parts) {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        HEXLOWER.encode(&hasher.finalize())
    };
    let of_message = hash("message", &[&message.place.as_key(), &message.message_id]);
    let of_update = message.update_id.as_ref().map(|id| hash("update", &[id]));
    std::iter::once(of_message).chain(of_update).collect()
}

/// Everything that is needed at hand before the transaction.
struct Receive {
    message: InboundMessage,
    asked: Asked,
    keys: Vec<String>,
    /// What the look before it said.
    looked: Looked,
    routed: Option<Arc<Routed>>,
    codes: Codes,
    /// Whether a stranger's refusal is put on record, and how many were not.
    recorded: Option<u64>,
    /// The id of the answer that is owed, where one is.
    owed: Option<String>,
    now: Timestamp,
}

/// What others are told once it has committed.
struct Done {
    received: Received,
    sent: Option<Sent>,
    stopped: Vec<Task>,
}

impl Done {
    fn only(received: Received) -> Self {
        Self { received, sent: None, stopped: Vec::new() }
    }
}

impl Receive {
    async fn prepare(house: &House, message: &InboundMessage, looked: Looked, door: Door) -> Result<Self> {
        let now = house.now();
        let routed = match (&looked.routing.decision, &looked.user) {
            (Ok(route), Some(user)) => {
                Some(Arc::new(Routed::prepare(house, message, route, caller(user.clone())).await?))
            }
            _ => None,
        };
        let recorded = if routed.is_some() { Some(0) } else { house.strangers().record(now) };
        let owed = (door == Door::Outlet).then(|| format!("dlv_{}", house.unique().simple()));
        let (asked, codes) = (Asked::of(message), Codes::of(house));
        Ok(Self { asked, keys: keys(message), message: message.clone(), looked, routed, codes, recorded, owed, now })
    }

    /// What was taken before, if this very message was.
    async fn heard(&self, tx: &mut Tx) -> Result<Option<Taken>> {
        for key in &self.keys {
            if let Some(heard) = tx.heard_message(key).await? {
                let taken = serde_json::from_str(&heard.outcome);
                return Ok(Some(taken.map_err(|error| store::Error::BadRow(error.to_string()))?));
            }
        }
        Ok(None)
    }

    async fn note(&self, tx: &mut Tx, taken: &Taken) -> Result<()> {
        let outcome = serde_json::to_string(taken).map_err(|error| store::Error::BadRow(error.to_string()))?;
        let heard = HeardMessage { workspace: taken.workspace.clone(), user: taken.user.clone(), outcome };
        for key in &self.keys {
            tx.note_heard(key, &heard, self.now).await?;
        }
        Ok(())
    }

    fn duplicate(&self, taken: Taken) -> Received {
        // Whoever says that somebody else's message is theirs learns nothing of it.
        let is_theirs = self.message.sender_id.as_deref() == Some(taken.sender.as_str());
        let taken = is_theirs.then_some(taken);
        Received { routing: Some(Routing::duplicate()), taken, ..Received::default() }
    }

    fn detail(&self, record: AuditRecord, routing: &Routing) -> AuditRecord {
        let step = |step: &domain::routing::Step| json!({"step": step.step.as_str(), "outcome": step.outcome()});
        let steps: Vec<Value> = routing.steps.iter().map(step).collect();
        let record = record.with("place", self.message.place.as_key()).with("steps", steps);
        let record = record.with("sender", self.message.sender_id.as_deref());
        match routing.decision {
            Ok(_) => record,
            Err(reason) => record.with("reason_code", reason.as_str()),
        }
    }

    async fn refuse(&self, tx: &mut Tx, reason: ReasonCode) -> Result<Received> {
        let routing = self.looked.routing.clone();
        if let Some(passed_over) = self.recorded {
            let mut record = self.detail(by_house("gateway.refuse", self.now), &routing);
            if passed_over > 0 {
                record = record.with("passed_over", passed_over);
            }
            tx.scope(&house_chain()).audit().append(record);
        }
        let mut received = Received { routing: Some(routing), ..Received::default() };
        // In a group nothing is said to strangers, not even that there is somebody.
        if self.message.chat == ChatType::Group {
            return Ok(received);
        }
        match (reason, self.asked.identity()) {
            (ReasonCode::UnknownSender, Some(identity)) => {
                received.pairing_code = self.codes.give(tx, &identity, &self.message.display_name, self.now).await?;
                received.say = received.pairing_code.as_ref().map(|code| {
                    format!(
                        "I do not know you yet. Tell whoever runs this house your code {code}, and they can let you in."
                    )
                });
            }
            (ReasonCode::NotAMember, _) => {
                received.say = Some("You are no member of the workspace that this chat belongs to.".to_owned());
            }
            _ => {}
        }
        Ok(received)
    }

    async fn take(&self, tx: &mut Tx, routed: &Arc<Routed>, route: &Route) -> Result<Done> {
        if let InboundKind::Message(Some(command)) = self.message.kind {
            return self.command(tx, routed, route, command).await;
        }
        if routed.send.is_none() {
            let taken = self.taken(route, route.session.clone());
            return self.done(tx, routed, taken, Some(ONLY_TEXT.to_owned())).await;
        }
        let place = self.message.place.as_key();
        let turn = Turn { routed: routed.clone(), route: route.clone(), place, now: self.now };
        match tx.attempt(&turn).await {
            Ok(sent) => {
                let accepted = sent.accepted.clone();
                let taken = Taken { turn: Some(accepted.clone()), ..self.taken(route, Some(accepted.session)) };
                self.owe(tx, &taken).await?;
                let agent = sent.agent.name.clone();
                let done = self.done(tx, routed, taken, None).await?;
                let routing = done.received.routing.map(|routing| routing.answered_by(&agent));
                Ok(Done { received: Received { routing, ..done.received }, sent: Some(sent), ..done })
            }
            // Nothing of the turn stays, not even a session; the next message is looked at anew.
            Err(Error::Refused(refusal)) if refusal.code == Code::BudgetExceeded => {
                let routing = self.looked.routing.clone().unpaid(&refusal.message);
                let record = AuditRecord::new(&routed.caller, "gateway.refuse", self.now);
                tx.scope(&route.workspace).audit().append(self.detail(record, &routing));
                let (routing, say) = (Some(routing), Some(refusal.message));
                Ok(Done::only(Received { routing, say, ..Received::default() }))
            }
            Err(error) => Err(error),
        }
    }

    async fn command(
        &self,
        tx: &mut Tx,
        routed: &Routed,
        route: &Route,
        command: domain::channels::ChatCommand,
    ) -> Result<Done> {
        let place = self.message.place.as_key();
        let outcome = commands::run(tx, &routed.caller, &routed.create, (route, &place), command, self.now).await?;
        let taken = self.taken(route, outcome.session);
        let done = self.done(tx, routed, taken, Some(outcome.say)).await?;
        Ok(Done { stopped: outcome.stopped, ..done })
    }

    fn taken(&self, route: &Route, session: Option<SessionId>) -> Taken {
        let sender = self.message.sender_id.clone().unwrap_or_default();
        Taken { user: route.user.clone(), workspace: route.workspace.clone(), session, turn: None, sender }
    }

    /// Puts on record that the message was taken.
    async fn done(&self, tx: &mut Tx, routed: &Routed, taken: Taken, say: Option<String>) -> Result<Done> {
        self.note(tx, &taken).await?;
        let routing = self.looked.routing.clone();
        let mut record = self.detail(AuditRecord::new(&routed.caller, "gateway.route", self.now), &routing);
        if let Some(session) = &taken.session {
            record = record.in_session(session);
        }
        tx.scope(&taken.workspace).audit().append(record);
        Ok(Done::only(Received { routing: Some(routing), taken: Some(taken), say, pairing_code: None }))
    }

    async fn owe(&self, tx: &mut Tx, taken: &Taken) -> Result<()> {
        let (Some(id), Some(turn)) = (&self.owed, &taken.turn) else { return Ok(()) };
        let target = DeliveryTarget {
            place: self.message.place.clone(),
            is_direct: self.message.chat == ChatType::Direct,
            thread_id: self.message.thread_id.clone(),
            reply_to: Some(self.message.message_id.clone()),
            sender_id: taken.sender.clone(),
            parts_sent: 0,
        };
        let whose = (turn.workspace.clone(), turn.project.clone(), turn.task.clone());
        let delivery = Delivery::owed(whose, id.clone(), taken.user.clone(), target, self.now);
        Ok(tx.scope(&turn.workspace).deliveries().create(&delivery).await?)
    }
}

impl Operation for Receive {
    /// None: something moved since the look, and everything has to be looked at again.
    type Output = Option<Done>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Done>> {
        if let Some(taken) = self.heard(tx).await? {
            return Ok(Some(Done::only(self.duplicate(taken))));
        }
        let looked = look(tx, &self.asked).await?;
        if looked.routing != self.looked.routing || looked.user != self.looked.user {
            return Ok(None);
        }
        match (&looked.routing.decision, &self.routed) {
            (Ok(route), Some(routed)) => self.take(tx, routed, route).await.map(Some),
            (Err(reason), _) => Ok(Some(Done::only(self.refuse(tx, *reason).await?))),
            (Ok(_), None) => Ok(None),
        }
    }
}
