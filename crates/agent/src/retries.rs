//! One call of a model, asked again while that is safe: the fault may pass, and nobody has seen a word of the answer.

use crate::host::{Outcome, Stopped, Ticket, ToolHost};
use domain::Refusal;
use domain::prices::Usage;
use llm::tokens;
use llm::{ChatModel, Error, Reply, Request, Stop};
use std::time::Duration;

const RETRIES_MOST: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_LONGEST: Duration = Duration::from_secs(30);

/// What is counted may differ from our estimate, but not by more than this.
const PROPORTION: u64 = 4;
/// Tokens that a provider may count and we do not see, such as a prompt of its own.
const UNSEEN_TOKENS: u64 = 16_384;

/// A reply, and the money that is still set aside for it.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) reply: Reply,
    pub(crate) ticket: Ticket,
    /// None if nobody can say what it took.
    pub(crate) usage: Option<Usage>,
}

impl Heard {
    pub(crate) fn new(request: &Request, reply: Reply, ticket: Ticket) -> Self {
        let usage = reply.usage.filter(|usage| is_plausible(request, *usage)).or_else(|| count(request, &reply));
        Self { reply, ticket, usage }
    }

    /// How the call ended if nothing of it is kept.
    pub(crate) fn outcome(&self) -> Outcome {
        self.usage.map_or(Outcome::Unknown, Outcome::Used)
    }
}

/// Whether a provider can have meant that. More than was set aside is booked as it is reported; a figure out of all
/// proportion is a fault, and must not shut a workspace for the day.
fn is_plausible(request: &Request, usage: Usage) -> bool {
    let most_input = tokens::of_request(request).saturating_mul(PROPORTION).saturating_add(UNSEEN_TOKENS);
    let most_output = request.max_tokens.saturating_mul(PROPORTION).saturating_add(UNSEEN_TOKENS);
    usage.input_tokens <= most_input && usage.output_tokens <= most_output
}

/// Our own count, where the provider gave none that can be meant. What a provider held back cannot be counted.
fn count(request: &Request, reply: &Reply) -> Option<Usage> {
    let output_tokens = match reply.stop {
        Stop::Done => {
            let arguments = reply.calls.iter().map(|call| tokens::of_text(&call.arguments));
            tokens::of_text(&reply.text) + arguments.sum::<u64>()
        }
        Stop::Length => request.max_tokens,
        Stop::Other(_) => return None,
    };
    Some(Usage { input_tokens: tokens::of_request(request), output_tokens })
}

/// Asks until there is a reply, or until asking again is of no use. Every failed try is settled here.
pub(crate) async fn ask<H: ToolHost>(
    model: &dyn ChatModel,
    request: &Request,
    host: &H,
    seed: u64,
) -> Result<Heard, Stopped> {
    let prompt_tokens = tokens::of_request(request);
    let mut retries = 0;
    loop {
        let ticket = host.set_aside(prompt_tokens, request.max_tokens).await?;
        let mut shown = false;
        let mut heard = |delta: &str| {
            if !delta.is_empty() {
                shown = true;
                host.show(delta);
            }
        };
        let error = match model.ask(request, &mut heard).await {
            Ok(reply) => return Ok(Heard::new(request, reply, ticket)),
            Err(error) => error,
        };
        // Who said something has worked, whatever the error says.
        let outcome = if error.cost_nothing() && !shown { Outcome::NotAsked } else { Outcome::Unknown };
        host.settle(ticket, outcome).await?;
        if shown || !error.is_transient() || retries == RETRIES_MOST {
            return Err(Refusal::new(error.code(), error.to_string()));
        }
        let pause = pause(retries, &error, seed);
        tracing::debug!(%error, pause_ms = pause.as_millis(), "asking the model again");
        tokio::time::sleep(pause).await;
        retries += 1;
    }
}

/// Doubles with each retry, with up to a half more so that turns which failed together do not come back together; or as
/// long as the provider wishes, if that is longer.
fn pause(retries: u32, error: &Error, seed: u64) -> Duration {
    let base = FIRST_PAUSE * 2_u32.pow(retries);
    let jitter = mix(seed.wrapping_add(u64::from(retries))) % (base.as_millis() as u64 / 2 + 1);
    let own = base + Duration::from_millis(jitter);
    own.max(error.retry_after().unwrap_or_default()).min(PAUSE_LONGEST)
}

/// Spreads seeds that lie close together (the finishing step of SplitMix64).
fn mix(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_differ_a_little_and_end_at_half_a_minute() {
        let limited = |seconds: Option<u64>| Error::RateLimited { retry_after: seconds.map(Duration::from_secs) };
        for (retries, least_ms, most_ms) in [(0, 500, 750), (1, 1000, 1500), (2, 2000, 3000)] {
            let pauses: Vec<_> = (0..100).map(|seed| pause(retries, &limited(None), seed).as_millis()).collect();
            assert!(pauses.iter().all(|ms| (least_ms..=most_ms).contains(ms)), "{pauses:?}");
            let different: std::collections::HashSet<_> = pauses.iter().collect();
            assert!(different.len() > 50, "{pauses:?}");
        }
        assert_eq!(pause(0, &limited(Some(7)), 1), Duration::from_secs(7));
        assert!(pause(2, &limited(Some(1)), 1) >= Duration::from_secs(2), "our own pause is longer");
        assert_eq!(pause(0, &limited(Some(3600)), 1), Duration::from_secs(30));
    }
}
