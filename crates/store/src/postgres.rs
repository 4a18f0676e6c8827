//! PostgreSQL: a database elsewhere, with transactions that stand as if they had run one after another.
//!
//! Every transaction that writes is SERIALIZABLE and is run again when others got in between, so an operation may be
//! written as if it were alone. This house holds a lock on the database for as long as it is open; a second one that
//! comes is refused.

mod batches;
mod connections;
pub(crate) mod copies;
mod lines;
mod migrations;
pub(crate) mod statements;

use crate::connection::{Connection, PgSession};
use crate::jobs::Job;
use crate::queue::Refused;
use crate::shared::{Condition, Shared};
use crate::{Error, Operation, Result, Tx};
use connections::{Connections, connect};
use domain::ids::WorkspaceId;
use lines::Lines;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Row};
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Mutex;

/// Held from the moment an event gets its number until its transaction has committed.
pub(crate) const LOCK_EVENT_NUMBERS: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('longhouse events in ' || current_schema(), 0))";
/// A session of ours that went silent may live on at the server, with the lock that it holds.
const END_SILENT_SESSION: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = $1";
const LOCK_HOUSE: &str = "SELECT pg_try_advisory_lock(hashtextextended('longhouse house in ' || current_schema(), 0))";

const WRITERS: usize = 8;
const READERS: usize = 8;
/// Statements that are kept prepared on each connection: more than we have.
const STATEMENTS_CACHED: usize = 256;
/// How long the lock of a house that has just died may take to end.
const LOCK_WITHIN: Duration = Duration::from_secs(3);
const LOCK_LOOKED_AT_EVERY: Duration = Duration::from_secs(5);
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
const HANGS_AFTER: Duration = Duration::from_secs(30);
const RECONNECT_FIRST: Duration = Duration::from_millis(200);
const RECONNECT_SLOWEST: Duration = Duration::from_secs(5);

pub(crate) struct Postgres {
    shared: Arc<Shared>,
    options: PgConnectOptions,
    writers: Connections,
    readers: Connections,
    lines: Lines<Box<dyn Job>>,
    /// Holds the lock on the database.
    guard: Mutex<Option<PgConnection>>,
    /// The server's number for the session that held the lock last.
    guard_session: AtomicI32,
    recovering: AtomicBool,
}

/// The library would pass over a parameter it does not know, and write it into the log with its value.
fn check_parameters(url: &str) -> Result<()> {
    const KNOWN: [&str; 17] = [
        "sslmode",
        "ssl-mode",
        "sslrootcert",
        "ssl-root-cert",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
        "statement-cache-capacity",
        "host",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ];
    let query = url.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or(""));
    let names = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or(pair));
    let unknown =
        |name: &&str| !KNOWN.contains(name) && !name.starts_with("options[") && !name.starts_with("options%5");
    match names.into_iter().find(unknown) {
        Some(name) => Err(Error::UnknownParameter(name.to_owned())),
        None => Ok(()),
    }
}

/// What every connection is told when it begins.
fn options(url: &str) -> Result<PgConnectOptions> {
    check_parameters(url)?;
    // The address may hold a password: nothing of it goes into the error.
    let options = PgConnectOptions::from_str(url).map_err(|_| Error::BadStorageUrl("LONGHOUSE_STORAGE_URL"))?;
    Ok(options
        .application_name("longhouse")
        .statement_cache_capacity(STATEMENTS_CACHED)
        .disable_statement_logging()
        .options([
            // Acknowledged means on disk, whatever the server's own default is.
            ("synchronous_commit", "on"),
            // A scan of a whole table would conflict with every write to it.
            ("enable_seqscan", "off"),
            ("idle_in_transaction_session_timeout", "60000"),
            // A house that lost its power must not hold its lock for hours.
            ("tcp_keepalives_idle", "30"),
            ("tcp_keepalives_interval", "10"),
            ("tcp_keepalives_count", "3"),
        ]))
}

impl Postgres {
    /// Connects, takes the lock on the database and brings its schema up to date.
    pub(crate) async fn open(
        url: &str,
        copies: &Path,
        queue_capacity: usize,
        shared: Arc<Shared>,
    ) -> Result<Arc<Self>> {
        let options = options(url)?;
        let mut guard = wait_for_lock(&options).await?;
        migrations::migrate(&mut guard, copies, crate::migrations::MIGRATIONS).await?;
        let guard_session = AtomicI32::new(session_of(&mut guard).await?);
        let this = Arc::new(Self {
            shared,
            writers: Connections::new(options.clone(), WRITERS),
            readers: Connections::new(options.clone(), READERS),
            options,
            lines: Lines::new(queue_capacity),
            guard: Mutex::new(Some(guard)),
            guard_session,
            recovering: AtomicBool::new(false),
        });
        tokio::spawn(watch_lock(Arc::downgrade(&this)));
        Ok(this)
    }

    pub(crate) fn push(self: &Arc<Self>, turn: &WorkspaceId, job: Box<dyn Job>) -> Result<(), Refused<Box<dyn Job>>> {
        if self.lines.push(turn, job)? {
            tokio::spawn(self.clone().serve(turn.clone()));
        }
        Ok(())
    }

    pub(crate) fn waiting(&self) -> usize {
        self.lines.len()
    }

    /// Runs a read on one consistent state. It changes nothing, so it is simply run again if the connection broke.
    pub(crate) async fn read<O: Operation>(self: &Arc<Self>, operation: &O) -> Result<O::Output, O::Error> {
        let turn = self.readers.turn().await?;
        for again in [true, false] {
            let connection = match self.readers.take(&turn).await {
                Ok(connection) => connection,
                Err(error) => return Err(self.lost(&error).into()),
            };
            let mut tx = Tx::on(Connection::postgres(connection));
            match in_time(self.read_once(operation, &mut tx)).await {
                Ok(outcome) => {
                    self.finish_read(tx).await;
                    return outcome;
                }
                Err(error) if error.is_lost() && again => self.readers.clear(),
                Err(error) => return Err(self.lost(&error).into()),
            }
        }
        Err(Error::Unavailable("the database cannot be reached".into()).into())
    }

    /// The outer error is the connection's, the inner one the operation's own.
    async fn read_once<O: Operation>(&self, operation: &O, tx: &mut Tx) -> Result<Result<O::Output, O::Error>> {
        tx.control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let outcome = operation.run(tx).await;
        match tx.check_faults() {
            Err(fault) if fault.is_lost() => Err(fault),
            _ => Ok(outcome),
        }
    }

    async fn finish_read(&self, mut tx: Tx) {
        if in_time(tx.control("ROLLBACK")).await.is_ok()
            && let Connection::Postgres(PgSession { connection, .. }) = tx.connection
        {
            self.readers.give_back(connection);
        }
    }

    /// What a caller is told whose connection failed. From now on the house is unwell until the database answers.
    fn lost(self: &Arc<Self>, error: &Error) -> Error {
        if error.is_lost() {
            self.start_recovery(error);
        }
        match error.shared() {
            Error::Lost(reason) => Error::Unavailable(reason),
            Error::Conflict => Error::Unavailable("others kept writing the same rows".into()),
            other => other,
        }
    }

    fn start_recovery(self: &Arc<Self>, error: &Error) {
        self.shared.failed(error);
        if self.recovering.swap(true, Ordering::AcqRel) {
            return;
        }
        tracing::error!(%error, "the database cannot be reached; nothing is acknowledged until it answers again");
        let this = self.clone();
        tokio::spawn(async move {
            let mut pause = RECONNECT_FIRST;
            while let Err(error) = this.reconnect().await {
                if this.lines.is_closed() {
                    return;
                }
                tracing::debug!(%error, "the database does not answer yet");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RECONNECT_SLOWEST);
            }
            tracing::info!("the database answers again");
            this.recovering.store(false, Ordering::Release);
            this.shared.well();
        });
    }

    /// Sees to it that the database answers and that the lock on it is ours.
    async fn reconnect(&self) -> Result<()> {
        self.writers.clear();
        self.readers.clear();
        let mut guard = self.guard.lock().await;
        if let Some(connection) = guard.as_mut()
            && answers(connection).await
        {
            return Ok(());
        }
        *guard = None;
        let mut connection = connect(&self.options).await?;
        let silent = self.guard_session.load(Ordering::Relaxed);
        let end = sqlx::query(END_SILENT_SESSION).bind(silent).execute(&mut connection);
        in_time(async { Ok(end.await?) }).await?;
        let mut locked = lock(connection).await?;
        self.guard_session.store(session_of(&mut locked).await?, Ordering::Relaxed);
        *guard = Some(locked);
        Ok(())
    }

    /// Whether the server keeps what it was told to keep.
    pub(crate) async fn check(&self) -> Result<String> {
        let mut connection = connect(&self.options).await?;
        let mut bad = Vec::new();
        for setting in ["fsync", "full_page_writes"] {
            let row = sqlx::query("SELECT current_setting($1)").bind(setting).fetch_one(&mut connection).await?;
            let value: String = row.try_get(0)?;
            if value == "off" {
                bad.push(format!("{setting} is {value}"));
            }
        }
        if bad.is_empty() {
            return Ok("PostgreSQL puts every commit on disk before it answers".into());
        }
        Err(Error::Unavailable(format!("PostgreSQL may lose what it acknowledged: {}", bad.join(", "))))
    }

    pub(crate) fn stop_taking(&self) {
        self.lines.close();
    }

    pub(crate) async fn close(&self) {
        self.stop_taking();
        self.lines.served().await;
        self.writers.clear();
        self.readers.clear();
        if let Some(guard) = self.guard.lock().await.take() {
            // The server notices either way, and may have gone silent.
            let _ = tokio::time::timeout(ANSWERS_WITHIN, sqlx::Connection::close(guard)).await;
        }
    }

    fn is_failed(&self) -> bool {
        matches!(self.shared.condition(), Condition::Failed(_))
    }
}

/// What takes longer than any transaction does means that the server, or the way to it, hangs.
async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let done = tokio::time::timeout(HANGS_AFTER, work).await;
    done.unwrap_or_else(|_| Err(Error::Lost("it does not answer".into())))
}

async fn answers(connection: &mut PgConnection) -> bool {
    matches!(tokio::time::timeout(ANSWERS_WITHIN, sqlx::Connection::ping(connection)).await, Ok(Ok(())))
}

/// Looks now and then whether the lock on the database is still ours: the connection that holds it does nothing else,
/// and may be the only one that broke.
async fn watch_lock(house: Weak<Postgres>) {
    loop {
        tokio::time::sleep(LOCK_LOOKED_AT_EVERY).await;
        let Some(house) = house.upgrade().filter(|house| !house.lines.is_closed()) else { return };
        let mut guard = house.guard.lock().await;
        let Some(connection) = guard.as_mut() else { continue };
        if !answers(connection).await {
            *guard = None;
            drop(guard);
            house.start_recovery(&Error::Lost("the lock on the database was lost".into()));
        }
    }
}

/// A connection that holds the lock on the database.
async fn wait_for_lock(options: &PgConnectOptions) -> Result<PgConnection> {
    lock(connect(options).await?).await
}

async fn session_of(connection: &mut PgConnection) -> Result<i32> {
    let row = sqlx::query("SELECT pg_backend_pid()").fetch_one(connection);
    in_time(async { Ok(row.await?.try_get(0)?) }).await
}

async fn lock(mut connection: PgConnection) -> Result<PgConnection> {
    let deadline = tokio::time::Instant::now() + LOCK_WITHIN;
    loop {
        let row = in_time(async { Ok(sqlx::query(LOCK_HOUSE).fetch_one(&mut connection).await?) }).await?;
        if row.try_get::<bool, _>(0)? {
            return Ok(connection);
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(Error::DatabaseInUse);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
