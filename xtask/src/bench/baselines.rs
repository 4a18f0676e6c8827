//! The raw limits of this machine: SQLite in this process, and one sync of one file. No HTTP, no rules, nobody waiting.

use super::samples::percentile;
use anyhow::Result;
use rusqlite::{Connection, params};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const SESSIONS: usize = 64;
const KEYS: usize = 10;
const BLOCK: [u8; 4096] = [7; 4096];

const UPSERT: &str = "INSERT INTO context_entries (workspace, session, key, value, written_by, version)
    VALUES ('bench', ?1, ?2, ?3, 'user:usr_owner', 1)
    ON CONFLICT (workspace, session, key)
    DO UPDATE SET value = excluded.value, written_by = excluded.written_by, version = version + 1";

/// Upserts per second with WAL and `synchronous=FULL`, so many of them in one transaction.
pub(crate) fn sqlite_writes_per_second(folder: &Path, writes_per_commit: usize, round: Duration) -> Result<f64> {
    let mut connection = open(&folder.join("raw.db"))?;
    let filling = "x".repeat(188);
    let started = Instant::now();
    let mut writes = 0;
    while started.elapsed() < round {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut upsert = transaction.prepare_cached(UPSERT)?;
        for _ in 0..writes_per_commit {
            let session = format!("bench-{}", writes % SESSIONS);
            let key = format!("k{}", writes / SESSIONS % KEYS);
            upsert.execute(params![session, key, format!("{writes:012}{filling}")])?;
            writes += 1;
        }
        drop(upsert);
        transaction.commit()?;
    }
    Ok(writes as f64 / started.elapsed().as_secs_f64())
}

#[allow(clippy::disallowed_methods, reason = "the raw baseline opens its own database; the rule is for the product")]
fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE context_entries (
            workspace TEXT NOT NULL, session TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            written_by TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (workspace, session, key)
        ) STRICT, WITHOUT ROWID",
    )?;
    Ok(connection)
}

/// The median time in milliseconds to append 4 KiB to a file and have them on disk.
pub(crate) fn sync_p50_ms(folder: &Path, round: Duration) -> Result<f64> {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("appended"))?;
    let mut latencies_us = Vec::new();
    let started = Instant::now();
    while started.elapsed() < round {
        let asked = Instant::now();
        file.write_all(&BLOCK)?;
        file.sync_data()?;
        latencies_us.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    latencies_us.sort_unstable();
    Ok(f64::from(percentile(&latencies_us, 0.5)) / 1000.0)
}
