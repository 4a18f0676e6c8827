//! The ledger: one row for each model call, from the money set aside for it to what it cost. Rows stay when what they
//! are about has gone.

use crate::budgets::{Day, Tally, Told};
use crate::ids::{AgentId, ModelCallId, ProjectId, SessionId, UserId};
use crate::money::Micros;
use crate::prices::{Usage, cost};
use crate::rules::Price;
use crate::times::Timestamp;

/// Who asked which model, for what.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOrigin {
    pub user: UserId,
    pub project: Option<ProjectId>,
    pub agent: Option<AgentId>,
    pub session: Option<SessionId>,
    pub model: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// Money is set aside.
    Open,
    /// Nobody said what became of it: what was set aside counts as spent until somebody does.
    Assumed,
    /// It costs what the provider reported.
    Settled,
    /// The provider was not asked.
    Released,
}

impl CallState {
    pub const ALL: [Self; 4] = [Self::Open, Self::Assumed, Self::Settled, Self::Released];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Assumed => "assumed",
            Self::Settled => "settled",
            Self::Released => "released",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    pub id: ModelCallId,
    pub origin: CallOrigin,
    /// The day it counts against: the one it was made on.
    pub day: Day,
    pub state: CallState,
    /// None if the model has no known price.
    pub reserved: Option<Micros>,
    pub spent: Option<Micros>,
    pub usage: Option<Usage>,
    /// The server that asks the provider.
    pub holder: String,
    pub opened_at: Timestamp,
    pub expires_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallEnd {
    Used { usage: Usage, price: Option<Price> },
    NotAsked,
    Unknown,
}

/// The sums of a day, of a workspace or of one member in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayCounters {
    pub tally: Tally,
    /// Calls that were made, those of unknown cost among them.
    pub calls: u64,
    pub unpriced_calls: u64,
    /// Of a workspace.
    pub told: Told,
}

impl ModelCall {
    /// The call as it stands after that end; none if it has ended already.
    #[must_use]
    pub fn ended(&self, end: CallEnd, at: Timestamp) -> Option<Self> {
        let is_awaited = match self.state {
            CallState::Open => true,
            CallState::Assumed => end != CallEnd::Unknown,
            CallState::Settled | CallState::Released => false,
        };
        let (state, spent, usage) = match end {
            CallEnd::Used { usage, price } => (CallState::Settled, price.map(|price| cost(price, usage)), Some(usage)),
            CallEnd::NotAsked => (CallState::Released, None, None),
            CallEnd::Unknown => (CallState::Assumed, self.reserved, None),
        };
        is_awaited.then(|| Self { state, spent, usage, closed_at: Some(at), ..self.clone() })
    }

    fn set_aside(&self) -> Micros {
        if self.state == CallState::Open { self.reserved.unwrap_or_default() } else { Micros(0) }
    }

    fn was_made(&self) -> bool {
        matches!(self.state, CallState::Assumed | CallState::Settled)
    }

    /// Whether it was made and nobody knows what it cost.
    fn is_unpriced(&self) -> bool {
        self.was_made() && self.spent.is_none()
    }
}

impl DayCounters {
    /// Counts a call as `after`, and no longer as `before`.
    pub fn count(&mut self, before: Option<&ModelCall>, after: &ModelCall) {
        if let Some(before) = before {
            self.tally.reserved = self.tally.reserved.less(before.set_aside());
            self.tally.spent = self.tally.spent.less(before.spent.unwrap_or_default());
            self.calls -= u64::from(before.was_made()).min(self.calls);
            self.unpriced_calls -= u64::from(before.is_unpriced()).min(self.unpriced_calls);
        }
        self.tally.reserved = self.tally.reserved.plus(after.set_aside());
        self.tally.spent = self.tally.spent.plus(after.spent.unwrap_or_default());
        self.calls += u64::from(after.was_made());
        self.unpriced_calls += u64::from(after.is_unpriced());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(state: CallState) -> ModelCall {
        let user = UserId::parse("ann").unwrap();
        ModelCall {
            id: ModelCallId::generated(uuid::Uuid::nil()),
            origin: CallOrigin { user, project: None, agent: None, session: None, model: "gpt-4".into() },
            day: Day::parse("2026-02-20").unwrap(),
            state,
            reserved: Some(Micros(10)),
            spent: (state == CallState::Assumed).then_some(Micros(10)),
            usage: None,
            holder: "here".into(),
            opened_at: Timestamp::from_ms(1),
            expires_at: Timestamp::from_ms(2),
            closed_at: None,
        }
    }

    #[test]
    fn a_call_ends_once_and_what_was_only_assumed_is_corrected() {
        use CallState::{Assumed, Open, Released, Settled};
        let price = Some(Price { input_per_mtok: Micros(1_000_000), output_per_mtok: Micros(0) });
        let used = CallEnd::Used { usage: Usage { input_tokens: 12, output_tokens: 9 }, price };
        let cases = [
            (Open, used, Some((Settled, Some(12)))),
            (Open, CallEnd::NotAsked, Some((Released, None))),
            (Open, CallEnd::Unknown, Some((Assumed, Some(10)))),
            (Assumed, used, Some((Settled, Some(12)))),
            (Assumed, CallEnd::NotAsked, Some((Released, None))),
            (Assumed, CallEnd::Unknown, None),
            (Settled, used, None),
            (Settled, CallEnd::NotAsked, None),
            (Settled, CallEnd::Unknown, None),
            (Released, used, None),
            (Released, CallEnd::NotAsked, None),
            (Released, CallEnd::Unknown, None),
        ];
        for (state, end, expected) in cases {
            let ended = call(state).ended(end, Timestamp::from_ms(3));
            let found = ended.map(|call| (call.state, call.spent.map(|spent| spent.0)));
            assert_eq!(found, expected, "{state:?} {end:?}");
        }
    }

    #[test]
    fn the_sums_of_a_day_follow_a_call_through_its_states() {
        let mut counters = DayCounters::default();
        let open = call(CallState::Open);
        counters.count(None, &open);
        assert_eq!((counters.tally.reserved, counters.tally.spent, counters.calls), (Micros(10), Micros(0), 0));
        let assumed = open.ended(CallEnd::Unknown, Timestamp::from_ms(3)).unwrap();
        counters.count(Some(&open), &assumed);
        assert_eq!((counters.tally.reserved, counters.tally.spent, counters.calls), (Micros(0), Micros(10), 1));
        let usage = Usage { input_tokens: 12, output_tokens: 0 };
        let settled = assumed.ended(CallEnd::Used { usage, price: None }, Timestamp::from_ms(4)).unwrap();
        counters.count(Some(&assumed), &settled);
        let found = (counters.tally, counters.calls, counters.unpriced_calls);
        assert_eq!(found, (Tally::default(), 1, 1), "of unknown cost");
        let released = open.ended(CallEnd::NotAsked, Timestamp::from_ms(3)).unwrap();
        let mut other = DayCounters::default();
        other.count(None, &open);
        other.count(Some(&open), &released);
        assert_eq!(other, DayCounters::default());
    }
}
