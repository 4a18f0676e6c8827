//! Whether the house is well.

use crate::{House, gateway, plugins, rules};
use store::Condition;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Healthy,
    Degraded,
    Unhealthy,
}

pub struct Check {
    pub name: &'static str,
    pub status: Status,
    pub detail: String,
}

pub struct Health {
    pub checks: Vec<Check>,
}

/// Writes waiting beyond this many are a sign that the disk does not keep up.
const QUEUE_WORRYING: usize = 5_000;

/// Whether the file as it is now is the one in force. What is wrong with it is for those who run the house.
fn configuration(house: &House) -> Check {
    let report = rules::report(house);
    let (status, detail) = match (report.problems.len(), report.origin) {
        (0, None) => (Status::Healthy, "no configuration file".to_owned()),
        (0, Some(_)) => (Status::Healthy, "the configuration file is in force".to_owned()),
        _ => {
            let detail = "the configuration file is refused as it is now: what was accepted before stays in force";
            (Status::Degraded, detail.to_owned())
        }
    };
    Check { name: "config", status, detail }
}

pub fn check(house: &House) -> Health {
    let store = house.store();
    let (status, detail) = match store.condition() {
        Condition::Healthy => (Status::Healthy, "writes reach the disk".to_owned()),
        Condition::Full => (Status::Degraded, "the disk is full: reads are served, writes are refused".to_owned()),
        Condition::Failed(_) => {
            (Status::Unhealthy, "the last write failed: the database is being opened and checked again".to_owned())
        }
    };
    let database = Check { name: "database", status, detail };
    let waiting = store.waiting_writes();
    let status = if waiting > QUEUE_WORRYING { Status::Degraded } else { Status::Healthy };
    let queue = Check { name: "write_queue", status, detail: format!("{waiting} writes waiting") };
    let mut checks = vec![database, queue, configuration(house)];
    checks.extend(plugins::check(house));
    checks.extend(gateway::check(house));
    Health { checks }
}
