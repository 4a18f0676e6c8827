//! A turn of an agent, as the house sees it: what it is given, what it may do, how its end is kept. The loop itself is in
//! `agent` and reaches the house only through `hosts`.

mod ends;
mod figures;
mod hosts;
mod keeping;
mod scenes;
mod spans;
mod watched;

pub use figures::{Asked, Figures, Took};
pub use spans::TARGET as SPANS;

use crate::bus::Picked;
use crate::worker_spaces::Space;
use crate::{House, Result, rules};
use agent::{End, Profile, Turn};
use domain::skills::prompt_section;
use domain::tasks::STEPS_MOST;
use hosts::Host;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tracing::Instrument;

/// How a turn left its task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    /// Whether that is on record.
    pub(crate) is_kept: bool,
    /// Whether the task is over; else it is queued again, or waits.
    pub(crate) has_ended: bool,
}

/// Runs the turn of a task, and keeps its end. Told to stop, it stops where it is: the row has moved.
pub(crate) async fn take(house: &House, space: &Arc<Space>, picked: Picked, stop: &Notify) -> Left {
    let begun = Instant::now();
    let span = spans::turn(&picked);
    let left = carry_out(house, space, picked, stop).instrument(span).await;
    house.turns().turns.took(begun.elapsed());
    left
}

async fn carry_out(house: &House, space: &Arc<Space>, picked: Picked, stop: &Notify) -> Left {
    let task = picked.task.clone();
    let host = match Host::new(house, space, &picked).await {
        Ok(host) => host,
        Err(error) => {
            let refusal = error.into_refusal();
            spans::failed(refusal.code);
            let is_kept = ends::failed(house, &picked.session.workspace, &task, refusal.into()).await;
            return Left { is_kept, has_ended: true };
        }
    };
    let end = tokio::select! {
        biased;
        () = stop.notified() => None,
        end = run(&host, picked) => Some(end),
    };
    spans::ended(end.as_ref());
    if host.has_to_wait() {
        // It is in its queue as before; whoever of its agent ends next looks for it.
        return Left { is_kept: true, has_ended: false };
    }
    let has_ended = !matches!(end, Some(Ok(End::Parked)));
    let kept = match end {
        Some(Ok(End::Replied(answer))) => ends::replied(&host, answer).await,
        Some(Ok(End::Parked)) => ends::parked(&host).await,
        Some(Ok(End::Failed(refusal))) => ends::without_answer(&host, refusal.into()).await,
        Some(Err(error)) => ends::without_answer(&host, error.into_refusal().into()).await,
        None => ends::stopped(&host).await,
    };
    if let Err(error) = &kept {
        // If the row says `running`, what comes next is the deadline, or the next start of the house.
        tracing::error!(task = %task.id, %error, "the end of a turn could not be kept");
    }
    Left { is_kept: kept.is_ok(), has_ended }
}

async fn run(host: &Host, picked: Picked) -> Result<End> {
    let scene = host.scene().await?;
    if !scene.steps.is_empty() {
        // It goes on with calls that were waited for, before any model is asked.
        host.start(None).await?;
    }
    let rules = rules::in_force(host.house()).await?;
    let Picked { agent, .. } = picked;
    let settings = &agent.settings;
    let turn = Turn {
        profile: Profile {
            name: agent.name.clone(),
            role: settings.role.clone(),
            system_prompt: settings.system_prompt.clone(),
            model: host.choice().model.clone(),
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
        },
        model: host.model(),
        window_tokens: llm::windows::window_of(&host.choice().model),
        skills: prompt_section(&rules.skills_of(&agent.workspace)),
        guide: host.guide().await?,
        history: scene.history,
        message: scene.message,
        steps: scene.steps,
        steps_most: STEPS_MOST,
        seed: u64::from_le_bytes(host.house().unique().as_bytes()[8..].try_into().unwrap_or_default()),
    };
    Ok(agent::run(turn, host).await)
}
