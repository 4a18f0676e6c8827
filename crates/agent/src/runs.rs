//! The loop: ask, make what calls were asked for, keep the step, ask again, until there is an answer.
//!
//! Whatever way a turn ends, each ticket is settled once: with the step it belongs to, with the answer that is handed
//! back, or by itself.

use crate::calls::{self, AtWork, Made};
use crate::host::{KeptCall, Step, Stopped, ToolHost};
use crate::proposals::{self, Wish};
use crate::retries::{self, Heard};
use crate::turns::{Answer, End, PastStep, Turn};
use crate::windows::{self, Window};
use crate::{prompts, summaries};
use domain::{Code, Refusal};
use llm::{Request, Tool};

/// Runs a turn to its end, or to where it has to wait for somebody.
pub async fn run<H: ToolHost>(turn: Turn<'_>, host: &H) -> End {
    let system = prompts::system(&turn);
    let mut run = Run { turn, host, system };
    run.go_on().await.unwrap_or_else(End::Failed)
}

struct Run<'a, H> {
    turn: Turn<'a>,
    host: &'a H,
    system: String,
}

impl<H: ToolHost> Run<'_, H> {
    async fn go_on(&mut self) -> Result<End, Stopped> {
        if let Some(end) = self.finish_kept_step().await? {
            return Ok(end);
        }
        let mut compacted = false;
        while self.turn.steps.len() < self.turn.steps_most as usize {
            let request = self.request(&mut compacted).await?;
            let seed = self.turn.seed.wrapping_add(self.turn.steps.len() as u64 * 4);
            let heard = retries::ask(self.turn.model, &request, self.host, seed).await?;
            if let Some(end) = self.act_on(heard, &request.tools).await? {
                return Ok(end);
            }
        }
        let text = format!("the agent took {} steps without coming to an answer", self.turn.steps_most);
        Err(Refusal::new(Code::StepLimit, text).with("steps_most", self.turn.steps_most))
    }

    /// A turn that begins again goes on with the calls that waited, and with no other.
    async fn finish_kept_step(&mut self) -> Result<Option<End>, Stopped> {
        match self.turn.steps.last().filter(|step| step.calls.iter().any(calls::is_open)) {
            Some(step) => {
                let left = AtWork::left(step.calls.clone());
                self.work_off(left).await
            }
            None => Ok(None),
        }
    }

    /// Makes the calls of a step, in order, so that a later one may rely on what an earlier one did, and keeps what came of
    /// them.
    async fn work_off(&mut self, mut step: AtWork) -> Result<Option<End>, Stopped> {
        let (mut made, mut from) = (Made::All, 0);
        while let Some(index) = step.next_open(from) {
            if step.has_to_be_kept_before(index, self.host) {
                self.keep(&mut step).await?;
            }
            if let Some(last) = step.make(index, self.host).await {
                made = last;
                break;
            }
            from = index + 1;
        }
        let kept = if step.is_kept() { Ok(()) } else { self.keep(&mut step).await };
        match made {
            Made::Stopped(stopped) => Err(stopped),
            Made::Waits => kept.map(|()| Some(End::Parked)),
            Made::All => kept.map(|()| None),
        }
    }

    /// Asks anew what tools there are: what the agent may do can change during a turn.
    async fn request(&mut self, compacted: &mut bool) -> Result<Request, Stopped> {
        let profile = &self.turn.profile;
        let mut request = Request {
            model: profile.model.clone(),
            system: self.system.clone(),
            messages: Vec::new(),
            tools: self.host.tools().await?,
            max_tokens: 0,
            temperature: profile.temperature,
        };
        let window = Window::divide(self.turn.window_tokens, profile.max_tokens, llm::tokens::of_request(&request));
        let own = windows::own(&self.turn.message, &self.turn.steps, window.room)?;
        if !std::mem::replace(compacted, true) {
            let own_tokens = own.iter().map(|told| told.tokens).sum();
            summaries::compact(&mut self.turn, self.host, window.room, own_tokens).await?;
        }
        request.messages = windows::conversation(&self.turn.history, own, window.room);
        request.max_tokens = window.answer_tokens;
        Ok(request)
    }

    async fn act_on(&mut self, heard: Heard, tools: &[Tool]) -> Result<Option<End>, Stopped> {
        let wish = match proposals::wish(&heard.reply) {
            Ok(wish) => wish,
            Err(refusal) => {
                let outcome = heard.outcome();
                self.host.settle(heard.ticket, outcome).await?;
                return Err(refusal);
            }
        };
        match wish {
            Wish::Answer { truncated } => Ok(Some(End::Replied(self.answer(heard, truncated)))),
            Wish::Calls => {
                let calls = proposals::propose(&heard.reply.calls, tools, &self.turn.steps);
                self.work_off(AtWork::new(heard, calls)).await
            }
        }
    }

    fn answer(&self, heard: Heard, truncated: bool) -> Answer {
        let usage = heard.usage.unwrap_or_default();
        let model = self.name_of(heard.reply.model);
        Answer { text: heard.reply.text, model, ticket: heard.ticket, usage, truncated }
    }

    /// Keeps a step as it is now: whole if it is new, else what has come of its calls.
    async fn keep(&mut self, step: &mut AtWork) -> Result<(), Stopped> {
        match step.heard.take() {
            Some(heard) => self.keep_new(heard, step.calls.clone()).await?,
            None => self.host.keep_results(&step.calls).await?,
        }
        if let Some(own) = self.turn.steps.last_mut() {
            own.calls.clone_from(&step.calls);
        }
        step.note_kept();
        Ok(())
    }

    /// A host that refuses to keep a step has not settled its call either.
    async fn keep_new(&mut self, heard: Heard, calls: Vec<KeptCall>) -> Result<(), Stopped> {
        let outcome = heard.outcome();
        let usage = heard.usage.unwrap_or_default();
        let (text, ticket) = (heard.reply.text, heard.ticket);
        self.turn.steps.push(PastStep { text: text.clone(), calls: calls.clone() });
        let model = self.name_of(heard.reply.model);
        let step = Step { text, calls, model, ticket: ticket.clone(), usage };
        if let Err(stopped) = self.host.keep(step).await {
            // The turn ends for the first reason, whatever comes of this.
            self.host.settle(ticket, outcome).await.ok();
            return Err(stopped);
        }
        Ok(())
    }

    fn name_of(&self, model: String) -> String {
        if model.is_empty() { self.turn.profile.model.clone() } else { model }
    }
}
