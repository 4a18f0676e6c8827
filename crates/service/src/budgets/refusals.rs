//! Why no money is set aside, in words that help.

use domain::budgets::{Exceeded, Whose};
use domain::money::Micros;
use domain::times::Timestamp;
use domain::{Code, Refusal};

pub(super) fn exceeded(exceeded: Exceeded, estimate: Micros, resets_at: Timestamp) -> Refusal {
    let Exceeded { whose, limit, tally } = exceeded;
    let left = tally.left(limit);
    let whose_limit = match whose {
        Whose::Workspace => "the workspace's budget for today",
        Whose::Member => "your own share of the workspace's budget for today",
    };
    let held = if tally.reserved > Micros(0) {
        format!(" ({} USD of it is set aside for calls under way)", tally.reserved)
    } else {
        String::new()
    };
    let message = format!(
        "{whose_limit} has {left} of {limit} USD left{held}, and this call may cost up to {estimate} USD; \
         it starts anew at {resets_at}"
    );
    Refusal::new(Code::BudgetExceeded, message)
        .with("whose", whose.as_str())
        .with("limit_usd", limit.as_usd())
        .with("spent_usd", tally.spent.as_usd())
        .with("reserved_usd", tally.reserved.as_usd())
        .with("remaining_usd", left.as_usd())
        .with("estimate_usd", estimate.as_usd())
        .with("resets_at", resets_at.to_string())
}

pub(crate) fn price_unknown() -> Refusal {
    let message = "this workspace has a budget and the price of the model is not known: write one under `models.prices` \
                   in the configuration file (0 is allowed)";
    Refusal::new(Code::PriceUnknown, message).with("setting", "models.prices")
}
