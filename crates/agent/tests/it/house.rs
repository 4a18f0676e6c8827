//! A house and a model that play what they were told to, write down all that happens, and insist on what must always hold:
//! money before every question, every ticket settled once, no call but a whole one that was on offer.

use super::scenes::{Scene, tool};
use agent::{Called, End, KeptCall, Outcome, ProposedCall, Step, Stopped, Ticket, ToolHost, Turn};
use domain::ids::ModelCallId;
use domain::prices::Usage;
use domain::{Code, Refusal};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use llm::{ChatModel, Message, Reply, Request, Stop, Tool};
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// What happened, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    SetAside { prompt_tokens: u64, max_tokens: u64 },
    Asked(Request),
    Settled(Outcome),
    Called(ProposedCall),
    Kept(Step),
    KeptResults(Vec<KeptCall>),
    KeptSummary { text: String, up_to: u64, usage: Usage },
    Shown(String),
}

/// A method of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Tools,
    Call,
    SetAside,
    Settle,
    Keep,
    KeepResults,
    KeepSummary,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) scenes: VecDeque<Scene>,
    pub(crate) results: VecDeque<Called>,
    /// What is on offer at each step; the last stays.
    pub(crate) offers: VecDeque<Vec<Tool>>,
    /// Methods that refuse, and at which time they are asked.
    pub(crate) refusing: Vec<(Method, usize)>,
    /// Tools whose calls go on when the turn is cut off.
    pub(crate) lasting: Vec<&'static str>,
    pub(crate) events: Vec<Event>,
    asked_methods: Vec<Method>,
    offered: Vec<Tool>,
    open: Vec<Ticket>,
    tickets: u128,
    /// Whether money was set aside since the model was last asked.
    paid: bool,
    last_reply: Option<Reply>,
}

#[derive(Default)]
pub(crate) struct House(Mutex<State>);

pub(crate) fn refusal() -> Refusal {
    Refusal::new(Code::TaskEnded, "somebody cancelled it")
}

impl House {
    pub(crate) fn new(scenes: impl IntoIterator<Item = Scene>) -> Self {
        let house = Self::default();
        house.state().scenes = scenes.into_iter().collect();
        house.state().offers = [vec![tool("note.write"), tool("note_read")]].into();
        house
    }

    pub(crate) fn with_results(self, results: impl IntoIterator<Item = Called>) -> Self {
        self.state().results = results.into_iter().collect();
        self
    }

    pub(crate) fn refusing(self, method: Method, time: usize) -> Self {
        self.state().refusing.push((method, time));
        self
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Runs the turn, and looks at what must hold at the end of any.
    pub(crate) async fn run(&self, turn: Turn<'_>) -> End {
        let end = tokio::time::timeout(Duration::from_secs(86_400), agent::run(turn, self)).await;
        let end = end.expect("a turn comes to an end");
        let open = std::mem::take(&mut self.state().open);
        match &end {
            End::Replied(answer) => assert_eq!(open, std::slice::from_ref(&answer.ticket)),
            End::Parked | End::Failed(_) => assert_eq!(open, []),
        }
        let steps = self.steps_at_the_end();
        let lost_results = self.state().refusing.iter().any(|(method, _)| *method == Method::KeepResults);
        for (index, step) in steps.iter().enumerate() {
            let may_wait = (end == End::Parked || lost_results) && index + 1 == steps.len();
            assert!(may_wait || step.calls.iter().all(|call| call.result.is_some()), "{step:?}");
        }
        end
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.found(|event| if let Event::Asked(request) = event { Some(request.clone()) } else { None })
    }

    pub(crate) fn calls(&self) -> Vec<ProposedCall> {
        self.found(|event| if let Event::Called(call) = event { Some(call.clone()) } else { None })
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        self.found(|event| if let Event::Kept(step) = event { Some(step.clone()) } else { None })
    }

    /// The steps with what was kept of their calls later.
    fn steps_at_the_end(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for event in &self.state().events {
            match event {
                Event::Kept(step) => steps.push(step.clone()),
                Event::KeptResults(calls) => {
                    if let Some(step) = steps.last_mut() {
                        step.calls.clone_from(calls);
                    }
                }
                _ => {}
            }
        }
        steps
    }

    /// What a house that was cut off at any moment would find: if the first open call of the newest kept step is one that
    /// lasts, no other was made since whose result is lost.
    fn assert_may_begin_again_after(&self, call: &ProposedCall) {
        let state = self.state();
        let is_lasting = |tool: &str| state.lasting.contains(&tool);
        let place = state.events.iter().rposition(|event| matches!(event, Event::Kept(_) | Event::KeptResults(_)));
        let kept = place.map(|place| match &state.events[place] {
            Event::Kept(step) => step.calls.clone(),
            Event::KeptResults(calls) => calls.clone(),
            _ => unreachable!("looked for above"),
        });
        let own = kept.filter(|calls| calls.iter().any(|kept| kept.id == call.id));
        if is_lasting(&call.tool) && state.last_reply.is_some() {
            assert!(own.is_some(), "{call:?} is made of a step that nobody kept");
        }
        let Some(first) = own.and_then(|calls| calls.into_iter().find(|call| call.result.is_none())) else { return };
        let since = state.events[place.unwrap_or(0)..].iter();
        let lost = since.filter(|event| matches!(event, Event::Called(made) if !is_lasting(&made.tool))).count();
        assert!(!is_lasting(&first.tool) || lost == 0, "begun again, {call:?} would be made twice");
    }

    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.found(|event| if let Event::Settled(outcome) = event { Some(*outcome) } else { None })
    }

    pub(crate) fn found<T>(&self, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.state().events.iter().filter_map(pick).collect()
    }

    fn refused(&self, method: Method) -> Result<(), Stopped> {
        let mut state = self.state();
        state.asked_methods.push(method);
        let time = state.asked_methods.iter().filter(|asked| **asked == method).count();
        if state.refusing.contains(&(method, time)) { Err(refusal()) } else { Ok(()) }
    }
}

/// What providers insist on: the model is spoken to first, no id comes twice, results follow their calls.
fn assert_well_formed(request: &Request) {
    assert!(matches!(request.messages.first(), Some(Message::User { .. })), "{request:?}");
    let mut seen = HashSet::new();
    let mut open = VecDeque::new();
    for message in &request.messages {
        match message {
            Message::ToolResult { call_id, .. } => assert_eq!(open.pop_front(), Some(call_id), "{request:?}"),
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty() && calls.iter().all(|call| seen.insert(&call.id)), "{request:?}");
                open.extend(calls.iter().map(|call| &call.id));
            }
            Message::User { .. } => assert!(open.is_empty(), "{request:?}"),
        }
    }
    assert!(open.is_empty(), "{request:?}");
}

impl State {
    fn close(&mut self, ticket: &Ticket) {
        let place = self.open.iter().position(|open| open == ticket);
        self.open.remove(place.expect("a ticket is settled once"));
    }
}

impl ChatModel for House {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, llm::Result<Reply>> {
        let scene = {
            let mut state = self.state();
            assert!(std::mem::take(&mut state.paid), "money is set aside before every question");
            assert_eq!(state.open.len(), 1);
            assert_well_formed(request);
            state.events.push(Event::Asked(request.clone()));
            state.scenes.pop_front().expect("the model is asked no more often than the story says")
        };
        async move {
            tokio::task::yield_now().await;
            scene.deltas.iter().for_each(|delta| heard(delta));
            self.state().last_reply = scene.end.clone().ok();
            scene.end
        }
        .boxed()
    }
}

impl ToolHost for House {
    async fn tools(&self) -> Result<Vec<Tool>, Stopped> {
        self.refused(Method::Tools)?;
        let mut state = self.state();
        state.offered = if state.offers.len() > 1 { state.offers.pop_front() } else { state.offers.front().cloned() }
            .unwrap_or_default();
        Ok(state.offered.clone())
    }

    async fn call(&self, call: &ProposedCall) -> Result<Called, Stopped> {
        self.state().events.push(Event::Called(call.clone()));
        // A turn that begins again has not heard a reply yet: its calls come from what was kept.
        if let Some(reply) = &self.state().last_reply {
            assert_eq!(reply.stop, Stop::Done);
            let written = serde_json::to_value(&call.arguments).unwrap();
            let same = |asked: &&llm::ToolCall| {
                asked.name == call.tool
                    && serde_json::from_str(&asked.arguments).is_ok_and(|v: serde_json::Value| v == written)
            };
            assert!(reply.calls.iter().any(|asked| same(&asked)), "{call:?} was not asked for");
        }
        if self.state().last_reply.is_some() {
            assert!(self.state().offered.iter().any(|tool| tool.name == call.tool), "{call:?} was not on offer");
        }
        self.assert_may_begin_again_after(call);
        self.refused(Method::Call)?;
        Ok(self.state().results.pop_front().unwrap_or_else(|| super::scenes::answered("ok")))
    }

    fn outlives_turn(&self, tool: &str) -> bool {
        self.state().lasting.contains(&tool)
    }

    async fn set_aside(&self, prompt_tokens: u64, max_tokens: u64) -> Result<Ticket, Stopped> {
        assert_eq!(self.state().open, [], "nothing is left open before the next question");
        self.refused(Method::SetAside)?;
        let mut state = self.state();
        state.tickets += 1;
        let ticket = Ticket(ModelCallId::generated(uuid::Uuid::from_u128(state.tickets)));
        state.open.push(ticket.clone());
        state.paid = true;
        state.events.push(Event::SetAside { prompt_tokens, max_tokens });
        Ok(ticket)
    }

    async fn settle(&self, ticket: Ticket, outcome: Outcome) -> Result<(), Stopped> {
        self.state().close(&ticket);
        self.state().events.push(Event::Settled(outcome));
        self.refused(Method::Settle)
    }

    async fn keep(&self, step: Step) -> Result<(), Stopped> {
        self.refused(Method::Keep)?;
        let mut state = self.state();
        state.close(&step.ticket);
        state.events.push(Event::Kept(step));
        Ok(())
    }

    async fn keep_results(&self, calls: &[KeptCall]) -> Result<(), Stopped> {
        self.refused(Method::KeepResults)?;
        self.state().events.push(Event::KeptResults(calls.to_vec()));
        Ok(())
    }

    async fn keep_summary(&self, text: String, up_to: u64, ticket: Ticket, usage: Usage) -> Result<(), Stopped> {
        self.refused(Method::KeepSummary)?;
        let mut state = self.state();
        state.close(&ticket);
        state.events.push(Event::KeptSummary { text, up_to, usage });
        Ok(())
    }

    fn show(&self, delta: &str) {
        self.state().events.push(Event::Shown(delta.to_owned()));
    }
}
