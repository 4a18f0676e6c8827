//! The load generator: a closed loop on every connection, all on one thread, with the latency of every answer.
//! Connections are open before the clock starts; an unexpected answer ends the measurement instead of counting.

use super::http::{Connection, Request};
use super::samples::percentile;
use anyhow::Result;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// What one connection sends, in turn.
pub(crate) struct Lane {
    requests: Vec<Request>,
    sent: u64,
}

impl Lane {
    pub(crate) fn new(requests: Vec<Request>) -> Self {
        Self { requests, sent: 0 }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// Again and again until the time is over.
    Elapsed(Duration),
    /// Every request once.
    EachOnce,
}

pub(crate) struct Outcome {
    elapsed: Duration,
    sorted_us: Vec<u32>,
}

impl Outcome {
    pub(crate) fn per_second(&self) -> f64 {
        self.sorted_us.len() as f64 / self.elapsed.as_secs_f64()
    }

    pub(crate) fn count(&self) -> usize {
        self.sorted_us.len()
    }

    pub(crate) fn percentile_ms(&self, share: f64) -> f64 {
        f64::from(percentile(&self.sorted_us, share)) / 1000.0
    }
}

pub(crate) async fn drive(address: SocketAddr, lanes: &mut Vec<Lane>, until: Until) -> Result<Outcome> {
    let mut open = Vec::with_capacity(lanes.len());
    for lane in std::mem::take(lanes) {
        open.push((Connection::open(address).await?, lane));
    }
    let started = Instant::now();
    let mut running = JoinSet::new();
    for (connection, lane) in open {
        running.spawn(run_lane(connection, lane, started, until));
    }
    let mut sorted_us = Vec::new();
    while let Some(ended) = running.join_next().await {
        let (lane, latencies_us) = ended??;
        lanes.push(lane);
        sorted_us.extend(latencies_us);
    }
    let elapsed = started.elapsed();
    sorted_us.sort_unstable();
    Ok(Outcome { elapsed, sorted_us })
}

async fn run_lane(
    mut connection: Connection,
    mut lane: Lane,
    started: Instant,
    until: Until,
) -> Result<(Lane, Vec<u32>)> {
    let mut latencies_us = Vec::new();
    let mut index = 0;
    while is_due(index, lane.requests.len(), started, until) {
        let turn = index % lane.requests.len();
        lane.sent += 1;
        lane.requests[turn].stamp(lane.sent);
        let asked = Instant::now();
        connection.exchange(&lane.requests[turn]).await?;
        latencies_us.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
        index += 1;
    }
    Ok((lane, latencies_us))
}

fn is_due(index: usize, requests: usize, started: Instant, until: Until) -> bool {
    match until {
        Until::Elapsed(duration) => requests > 0 && started.elapsed() < duration,
        Until::EachOnce => index < requests,
    }
}
