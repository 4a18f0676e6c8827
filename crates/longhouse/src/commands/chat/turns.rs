//! One message and its answer, from the sending to the end of its task.

use super::input::{Input, Wish};
use super::listening::{Listening, Lost};
use super::rooms::{Accepted, Room};
use super::screens::Screen;
use crate::client::Refused;
use crate::output::{cell, chain};
use anyhow::Result;
use serde_json::{Value, json};

pub(super) struct Turn<'t, 'c> {
    room: &'t mut Room<'c>,
    screen: &'t mut Screen,
    accepted: Accepted,
    /// What the agent said, step by step, as far as it was shown.
    steps: Vec<Value>,
    /// What was shown of a step that has not ended.
    shown: String,
    /// The stream was cut in the middle of a step: what comes of it now is shown when it is whole.
    has_gap: bool,
    is_stopping: bool,
    leaves: bool,
}

/// What became of a message.
#[derive(Default)]
pub(super) struct Outcome {
    /// As a task's; `failed` if it did not come so far.
    status: String,
    /// Code and message.
    error: Option<(String, String)>,
    ids: Option<(String, String)>,
    steps: Vec<Value>,
    /// Whoever talks asked for its end.
    was_stopped: bool,
    /// And for the end of the chat.
    pub(super) leaves: bool,
    pub(super) is_lost: bool,
}

impl<'t, 'c> Turn<'t, 'c> {
    pub(super) async fn run(room: &'t mut Room<'c>, screen: &'t mut Screen, input: &mut Input, text: &str) -> Outcome {
        // The stream first, so that nothing of the answer is missed.
        let begun = async {
            let listening = Listening::begin(room).await?;
            anyhow::Ok((listening, room.send(text).await?))
        };
        let (mut listening, accepted) = match begun.await {
            Ok(begun) => begun,
            Err(error) => return Outcome::default().failed(&error),
        };
        let mut turn = Turn {
            room,
            screen,
            accepted,
            steps: Vec::new(),
            shown: String::new(),
            has_gap: false,
            is_stopping: false,
            leaves: false,
        };
        let followed = turn.follow(&mut listening, input).await;
        let outcome = Outcome {
            ids: Some((turn.accepted.message, turn.accepted.task)),
            steps: turn.steps,
            was_stopped: turn.is_stopping,
            leaves: turn.leaves,
            ..Outcome::default()
        };
        match followed {
            Ok(task) => outcome.ended(&task),
            Err(error) => outcome.failed(&error),
        }
    }

    /// Shows the answer as it comes, until the task has ended. Answers its status and error.
    async fn follow(&mut self, listening: &mut Listening, input: &mut Input) -> Result<Value> {
        loop {
            let event = tokio::select! {
                event = listening.next() => event,
                wish = input.wish() => {
                    if self.leaves {
                        // Asked for the second time: the end is not waited for.
                        return Ok(json!({"status": "cancelled"}));
                    }
                    self.stop(&wish).await?;
                    continue;
                }
            };
            let ended = match event {
                Some(event) => self.hear(&event).await?,
                None => {
                    self.has_gap = true;
                    listening.resume(self.room).await?;
                    self.look().await?
                }
            };
            if let Some(task) = ended {
                self.catch_up(u64::MAX).await?;
                return Ok(task);
            }
        }
    }

    async fn stop(&mut self, wish: &Wish) -> Result<()> {
        self.leaves = matches!(wish, Wish::Leave) || self.is_stopping;
        if self.is_stopping {
            return Ok(());
        }
        self.is_stopping = true;
        match self.room.cancel(&self.accepted.task).await {
            Err(error) if error.downcast_ref::<Refused>().is_some_and(|refused| refused.code == "TASK_ENDED") => Ok(()),
            other => other.map(drop),
        }
    }

    /// The task's status and error, if this is its end.
    async fn hear(&mut self, event: &Value) -> Result<Option<Value>> {
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "RESET" {
            self.has_gap = true;
            return self.look().await;
        }
        if event["task"] != self.accepted.task.as_str() {
            return Ok(None);
        }
        match kind {
            "MESSAGE_DELTA" if !self.has_gap => {
                let delta = event["delta"].as_str().unwrap_or_default();
                self.shown.push_str(delta);
                self.screen.answer(delta);
            }
            "MESSAGE_COMPLETED" => self.catch_up(event["number"].as_u64().unwrap_or(u64::MAX)).await?,
            "TASK_WAITING" => {
                let waits_for = self.waits_for().await;
                self.screen.note(&waits_for);
            }
            "TASK_COMPLETED" | "TASK_FAILED" | "TASK_CANCELLED" => return Ok(Some(event.clone())),
            _ => {}
        }
        Ok(None)
    }

    /// What is to be decided, and how, if whoever talks is asked; somebody else may be.
    async fn waits_for(&self) -> String {
        let asked = self.room.waiting_approvals().await.unwrap_or_default();
        if asked.is_empty() {
            return "it waits for somebody's decision (`longhouse approvals list` has yours); /stop ends it".to_owned();
        }
        let commands: Vec<String> = asked.iter().map(|id| format!("`longhouse approvals approve {id}`")).collect();
        format!("it waits for your decision: {} (or `reject`) in another terminal; /stop ends it", commands.join(", "))
    }

    /// Whether it has ended meanwhile.
    async fn look(&self) -> Result<Option<Value>> {
        let task = self.room.task(&self.accepted.task).await?;
        let has_ended = matches!(task["status"].as_str(), Some("completed" | "failed" | "cancelled"));
        Ok(has_ended.then_some(task))
    }

    /// Shows what is kept of the answer, up to that message, as far as it was not shown yet. What is kept is the truth:
    /// pieces on the way may be lost.
    async fn catch_up(&mut self, up_to: u64) -> Result<()> {
        let told = self.steps.last().and_then(|step| step["number"].as_u64()).unwrap_or(0);
        for step in self.room.steps(&self.accepted.task).await? {
            let number = step["number"].as_u64().unwrap_or(0);
            if number <= told || number > up_to {
                continue;
            }
            let content = step["content"].as_str().unwrap_or_default();
            match content.strip_prefix(self.shown.as_str()) {
                Some(rest) => self.screen.answer(rest),
                // What stands for an answer that was cut off may have less than was shown.
                None if !step["error"].is_null() => {}
                None => {
                    self.screen.note("parts were missed; the answer is");
                    self.screen.answer(content);
                }
            }
            for call in step["tool_calls"].as_array().into_iter().flatten() {
                self.screen.tool(call);
            }
            self.screen.end_line();
            self.shown.clear();
            self.has_gap = false;
            self.steps.push(step);
        }
        Ok(())
    }
}

impl Outcome {
    fn ended(self, task: &Value) -> Self {
        let error = &task["error"];
        let error = error.is_object().then(|| (cell(&error["code"]), cell(&error["message"])));
        Self { status: cell(&task["status"]), error, ..self }
    }

    fn failed(self, error: &anyhow::Error) -> Self {
        let refused = error.downcast_ref::<Refused>();
        let told = match refused {
            Some(refused) => (refused.code.clone(), refused.message.clone()),
            None if error.is::<Lost>() => ("UNAVAILABLE".to_owned(), error.to_string()),
            None => ("UNAVAILABLE".to_owned(), chain(error)),
        };
        Self { status: "failed".to_owned(), error: Some(told), is_lost: refused.is_none(), ..self }
    }

    /// Nobody asked for its end, and there is no answer.
    pub(super) fn has_failed(&self) -> bool {
        self.status != "completed" && !(self.status == "cancelled" && self.was_stopped)
    }

    /// The last step, if it is an answer.
    fn reply(&self) -> Option<&Value> {
        self.steps.last().filter(|step| self.status == "completed" && step["error"].is_null())
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.steps.iter().rev().find_map(|step| step["model"].as_str())
    }

    /// What the steps used together, and what that cost if it is known.
    fn usage(&self) -> Option<(u64, u64, Option<f64>)> {
        let used = self.steps.iter().map(|step| &step["usage"]).filter(|usage| usage.is_object());
        used.map(|usage| {
            let tokens = |name: &str| usage[name].as_u64().unwrap_or(0);
            (tokens("input_tokens"), tokens("output_tokens"), usage["cost_usd"].as_f64())
        })
        .reduce(|sum, more| (sum.0 + more.0, sum.1 + more.1, sum.2.zip(more.2).map(|(sum, more)| sum + more)))
    }

    /// Model, tokens and cost.
    pub(super) fn figures(&self) -> Option<String> {
        let (input, output, cost) = self.usage()?;
        let cost = match cost {
            None => ", price unknown".to_owned(),
            Some(0.0) => String::new(),
            Some(cost) => format!(", ${cost:.4}"),
        };
        Some(format!("{}, {input} tokens in, {output} out{cost}", self.model().unwrap_or("a model")))
    }

    /// A sentence, if something is to be said about the end.
    pub(super) fn problem(&self) -> Option<String> {
        let is_cut = self.reply().is_some_and(|reply| reply["truncated"] == true);
        match (&self.error, self.status.as_str()) {
            _ if self.status == "cancelled" && self.was_stopped => Some("stopped".to_owned()),
            (Some((code, message)), _) => Some(format!("{message} ({code})")),
            (None, "completed") if is_cut => {
                Some("the answer ran into the agent's limit of tokens and ends in the middle".to_owned())
            }
            (None, "completed") => None,
            (None, status) => Some(format!("there is no answer: the task is {status}")),
        }
    }

    pub(super) fn as_json(&self, room: &Room<'_>) -> Value {
        let (message, task) = self.ids.clone().unzip();
        let reply = self.reply().map(|step| {
            let usage = self.usage().map(|(input, output, cost)| {
                let mut usage = json!({"input_tokens": input, "output_tokens": output});
                if let Some(cost) = cost {
                    usage["cost_usd"] = cost.into();
                }
                usage
            });
            json!({
                "message_id": step["id"],
                "content": step["content"],
                "agent": step["agent"],
                "model": step["model"],
                "usage": usage,
                "truncated": step["truncated"] == true,
            })
        });
        json!({
            "status": self.status,
            "session": room.session(),
            "message_id": message,
            "task_id": task,
            "reply": reply,
            "error": self.error.as_ref().map(|(code, message)| json!({"code": code, "message": message})),
        })
    }
}
