//! Durable writes over HTTP: many clients beside SQLite and Redis, one client beside one sync.

use super::ROUNDS;
use super::baselines;
use super::load::Until;
use super::redis::Redis;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit};
use super::scene::{CLIENTS, Scene, lanes_of, write_request};
use anyhow::Result;
use std::time::Duration;

const WARM_UP: Until = Until::Elapsed(Duration::from_secs(1));

/// What the rounds with many clients gave.
#[derive(Default)]
struct Rounds {
    per_second: Vec<f64>,
    p50_ms: Vec<f64>,
    p99_ms: Vec<f64>,
    one_per_commit: Vec<f64>,
    many_per_commit: Vec<f64>,
    redis: Vec<f64>,
}

/// Product and peers take turns within each round, so that a slow minute of the machine hits all of them.
pub(crate) fn by_64_clients(scene: &Scene) -> Result<Vec<Row>> {
    let product = scene.product()?;
    scene.create_sessions(&product.target, 0, CLIENTS)?;
    let mut lanes = lanes_of(CLIENTS, |session, key| write_request(&product.target, session, key));
    scene.drive(&product.target, &mut lanes, WARM_UP)?;
    let redis = Redis::start(scene);
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let outcome = scene.drive(&product.target, &mut lanes, Until::Elapsed(scene.round))?;
        rounds.per_second.push(outcome.per_second());
        rounds.p50_ms.push(outcome.percentile_ms(0.5));
        rounds.p99_ms.push(outcome.percentile_ms(0.99));
        let raw = |writes_per_commit| {
            baselines::sqlite_writes_per_second(scene.folder()?.path(), writes_per_commit, scene.round)
        };
        rounds.one_per_commit.push(raw(1)?);
        rounds.many_per_commit.push(raw(CLIENTS)?);
        if let Ok(redis) = &redis {
            rounds.redis.push(redis.sets_per_second(scene.round)?);
        }
    }
    product.server.stop()?;
    rounds.into_rows(redis.err())
}

impl Rounds {
    fn into_rows(self, redis_missing: Option<anyhow::Error>) -> Result<Vec<Row>> {
        let measured = Sample::of(self.per_second, Unit::PerSecond);
        let row = |bar| Row::new(format!("durable writes, {CLIENTS} clients"), measured, bar);
        let redis = "Redis, `appendfsync always`, its own C client";
        let beside_redis = row(Bar::AtLeastTimes(0.25))?;
        let one = Sample::of(self.one_per_commit, Unit::PerSecond);
        let many = Sample::of(self.many_per_commit, Unit::PerSecond);
        let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
        Ok(vec![
            match redis_missing {
                None => beside_redis.beside(redis, Sample::of(self.redis, Unit::PerSecond)),
                Some(reason) => beside_redis.without(redis, format!("{reason:#}")),
            },
            row(Bar::AtLeastTimes(2.0))?.beside("raw SQLite in process, one write per commit", one),
            row(Bar::None)?.beside("raw SQLite in process, 64 writes per commit", many),
            Row::new("– their latency, p50", milliseconds(self.p50_ms), Bar::None)?,
            Row::new("– their latency, p99", milliseconds(self.p99_ms), Bar::AtMost(20.0))?,
        ])
    }
}

pub(crate) fn by_1_client(scene: &Scene) -> Result<Vec<Row>> {
    let product = scene.product()?;
    scene.create_sessions(&product.target, 0, 1)?;
    let mut lanes = lanes_of(1, |session, key| write_request(&product.target, session, key));
    scene.drive(&product.target, &mut lanes, WARM_UP)?;
    let (mut per_second, mut p50_ms, mut p99_ms, mut sync_ms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let outcome = scene.drive(&product.target, &mut lanes, Until::Elapsed(scene.round))?;
        per_second.push(outcome.per_second());
        p50_ms.push(outcome.percentile_ms(0.5));
        p99_ms.push(outcome.percentile_ms(0.99));
        sync_ms.push(baselines::sync_p50_ms(scene.folder()?.path(), scene.round)?);
    }
    product.server.stop()?;
    let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
    Ok(vec![
        Row::new("durable write, 1 client, p50", milliseconds(p50_ms), Bar::AtMostOver(0.3))?
            .beside("append 4 KiB and sync, p50", milliseconds(sync_ms)),
        Row::new("– p99", milliseconds(p99_ms), Bar::None)?,
        Row::new("– per second", Sample::of(per_second, Unit::PerSecond), Bar::None)?,
    ])
}
