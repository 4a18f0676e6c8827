//! The product on PostgreSQL beside PostgreSQL alone, measured with its own C client: the same number of clients, one
//! upsert of the same size per transaction.

use super::ROUNDS;
use super::load::Until;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit};
use super::scene::{CLIENTS, Scene, lanes_of, read_request, write_request};
use crate::postgres::Postgres;
use crate::processes;
use anyhow::{Context, Result};
use std::process::Command;
use std::time::Duration;

const WARM_UP: Until = Until::Elapsed(Duration::from_secs(1));

const TABLE: &str =
    "CREATE TABLE raw_entries (session BIGINT, key BIGINT, value TEXT NOT NULL, version BIGINT NOT NULL,
    PRIMARY KEY (session, key)) WITH (fillfactor = 70)";
const UPSERT: &str = "\\set session random(0, 63)\n\\set key random(0, 9)\n\
    INSERT INTO raw_entries VALUES (:session, :key, repeat('x', 200), 1)
    ON CONFLICT (session, key) DO UPDATE SET value = excluded.value, version = raw_entries.version + 1;\n";

/// What PostgreSQL alone does.
pub(crate) struct Alone<'p> {
    postgres: &'p Postgres,
    script: std::path::PathBuf,
}

impl<'p> Alone<'p> {
    pub(crate) fn new(postgres: &'p Postgres, scene: &Scene) -> Result<Self> {
        postgres.execute("CREATE DATABASE raw")?;
        let script = scene.scratch().join("upsert.sql");
        std::fs::write(&script, UPSERT)?;
        let alone = Self { postgres, script };
        let mut psql = Command::new(postgres.programs().join("psql"));
        processes::output_of(psql.args(["-q", "-d", &alone.url()?, "-c", TABLE]))?;
        Ok(alone)
    }

    fn url(&self) -> Result<String> {
        self.postgres.database("raw")
    }

    pub(crate) fn upserts_per_second(&self, round: Duration) -> Result<f64> {
        let mut pgbench = Command::new(self.postgres.programs().join("pgbench"));
        pgbench.args(["-n", "-M", "prepared", "-j", "2", "-c", &CLIENTS.to_string()]);
        pgbench.args(["-T", &round.as_secs().max(1).to_string(), "-f"]).arg(&self.script).arg(self.url()?);
        per_second(&processes::output_of(&mut pgbench)?)
    }
}

/// `tps = 12345.678901 (without initial connection time)`
fn per_second(output: &str) -> Result<f64> {
    let line = output.lines().find_map(|line| line.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split(' ').next());
    Ok(number.with_context(|| format!("pgbench said: {output}"))?.parse()?)
}

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let postgres = Postgres::start(scene.scratch())?;
    let alone = Alone::new(&postgres, scene)?;
    postgres.execute("CREATE DATABASE house")?;
    let product = scene.product_on(Some(&postgres.database("house")?))?;
    scene.create_sessions(&product.target, 0, CLIENTS)?;
    let mut writing = lanes_of(CLIENTS, |session, key| write_request(&product.target, session, key));
    let mut reading = lanes_of(CLIENTS, |session, key| read_request(&product.target, session, key));
    scene.drive(&product.target, &mut writing, WARM_UP)?;
    let (mut writes, mut p99_ms, mut reads, mut raw) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let outcome = scene.drive(&product.target, &mut writing, Until::Elapsed(scene.round))?;
        writes.push(outcome.per_second());
        p99_ms.push(outcome.percentile_ms(0.99));
        let outcome = scene.drive(&product.target, &mut reading, Until::Elapsed(scene.round))?;
        reads.push(outcome.per_second());
        raw.push(alone.upserts_per_second(scene.round)?);
    }
    product.server.stop()?;
    let raw = Sample::of(raw, Unit::PerSecond);
    let peer = "PostgreSQL alone, one upsert per transaction, pgbench";
    Ok(vec![
        Row::new(
            format!("on PostgreSQL: durable writes, {CLIENTS} clients"),
            Sample::of(writes, Unit::PerSecond),
            Bar::None,
        )?
        .beside(peer, raw),
        Row::new("– their latency, p99", Sample::of(p99_ms, Unit::Milliseconds), Bar::None)?,
        Row::new(format!("on PostgreSQL: reads, {CLIENTS} clients"), Sample::of(reads, Unit::PerSecond), Bar::None)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::per_second;

    #[test]
    fn the_rate_is_read_from_what_pgbench_says() {
        let output = "number of clients: 64\ntps = 12345.500000 (without initial connection time)\n";
        assert!((per_second(output).unwrap() - 12_345.5).abs() < 0.01);
        assert!(per_second("pgbench: error: connection failed").is_err());
    }
}
