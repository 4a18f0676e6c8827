//! Worker spaces: the states of a project's live side, its health, and what is worth an alert.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpaceStatus {
    Initializing,
    Ready,
    Degraded,
    Cleaning,
    Stopped,
}

impl SpaceStatus {
    pub const ALL: [Self; 5] = [Self::Initializing, Self::Ready, Self::Degraded, Self::Cleaning, Self::Stopped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Cleaning => "cleaning",
            Self::Stopped => "stopped",
        }
    }

    /// Whether a space in this state may go on to that one. One that fails to begin, or is reset, is cleaned up.
    pub fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Initializing, Self::Ready | Self::Cleaning)
                | (Self::Ready, Self::Degraded | Self::Cleaning)
                | (Self::Degraded, Self::Ready | Self::Cleaning)
                | (Self::Cleaning, Self::Stopped)
                | (Self::Stopped, Self::Initializing)
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Healthy,
    Degraded,
    Unhealthy,
}

impl Health {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// What somebody should look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alert {
    /// Four fifths of an agent's queue are taken.
    QueueNearlyFull,
    TaskOverdue,
    CacheFull,
    BudgetWarning,
    BudgetReached,
    ProviderFailing,
    WorkerCrashed,
    /// A machine has not been heard of for a while.
    NodeLost,
    /// A plugin lists tools that nobody accepted, or others than were.
    PluginChanged,
    /// A plugin was tried in vain so often that somebody should look.
    PluginFailing,
    /// An answer does not reach the channel that it is for.
    DeliveryFailing,
}

impl Alert {
    pub const ALL: [Self; 11] = [
        Self::QueueNearlyFull,
        Self::TaskOverdue,
        Self::CacheFull,
        Self::BudgetWarning,
        Self::BudgetReached,
        Self::ProviderFailing,
        Self::WorkerCrashed,
        Self::NodeLost,
        Self::PluginChanged,
        Self::PluginFailing,
        Self::DeliveryFailing,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::QueueNearlyFull => "queue_nearly_full",
            Self::TaskOverdue => "task_overdue",
            Self::CacheFull => "cache_full",
            Self::BudgetWarning => "budget_warning",
            Self::BudgetReached => "budget_reached",
            Self::ProviderFailing => "provider_failing",
            Self::WorkerCrashed => "worker_crashed",
            Self::NodeLost => "node_lost",
            Self::PluginChanged => "plugin_changed",
            Self::PluginFailing => "plugin_failing",
            Self::DeliveryFailing => "delivery_failing",
        }
    }
}

/// Whether a queue of that length is worth an alert: from four fifths on.
pub fn is_nearly_full(queued: u64, most: u64) -> bool {
    queued * 5 >= most * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_is_cleaned_before_it_stops_and_begins_before_it_is_ready() {
        use SpaceStatus::{Cleaning, Degraded, Initializing, Ready, Stopped};
        let allowed = [
            (Initializing, Ready),
            (Initializing, Cleaning),
            (Ready, Degraded),
            (Ready, Cleaning),
            (Degraded, Ready),
            (Degraded, Cleaning),
            (Cleaning, Stopped),
            (Stopped, Initializing),
        ];
        for from in SpaceStatus::ALL {
            for to in SpaceStatus::ALL {
                assert_eq!(from.may_become(to), allowed.contains(&(from, to)), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn four_fifths_of_a_queue_are_nearly_all() {
        for (queued, most, expected) in
            [(79, 100, false), (80, 100, true), (100, 100, true), (1, 1, true), (0, 1, false)]
        {
            assert_eq!(is_nearly_full(queued, most), expected, "{queued} of {most}");
        }
    }
}
