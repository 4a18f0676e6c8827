//! The smallest operations that show what a store does: one row, a gate, and everything that can go wrong.

use domain::audit::AuditRecord;
use domain::ids::{UserId, WorkspaceId};
use domain::participants::Participant;
use domain::times::Timestamp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use store::{Claim, Error, Operation, Options, Result, Storage, Store, Tx};
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub(super) struct House {
    pub(super) folder: TempDir,
    pub(super) store: Store,
    storage: Storage,
}

/// A house on SQLite, whose writer and file the test looks at.
pub(super) async fn open() -> House {
    open_with(10_000).await
}

pub(super) async fn open_with(queue_capacity: usize) -> House {
    let folder = tempfile::tempdir().expect("a folder");
    let storage = Storage::Sqlite(folder.path().join("rows.db"));
    let store = Store::open(Options { queue_capacity, ..Options::new(storage.clone()) }).await.expect("a store");
    House { folder, store, storage }
}

/// A house on the engine of this run.
pub(super) async fn open_any() -> House {
    let Some(url) = testkit::new_storage().await else { return open().await };
    let folder = tempfile::tempdir().expect("a folder");
    let storage = Storage::Postgres { url, copies: folder.path().to_owned() };
    let store = Store::open(Options::new(storage.clone())).await.expect("a store");
    House { folder, store, storage }
}

impl House {
    /// A house of files that were put into a folder.
    pub(super) async fn of_files(folder: TempDir) -> Self {
        let storage = Storage::Sqlite(folder.path().join("rows.db"));
        let store = Store::open(Options::new(storage.clone())).await.expect("a store");
        Self { folder, store, storage }
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("rows.db")
    }

    /// Opens the same file again, after whatever was done with the store before.
    pub(super) async fn again(self) -> Self {
        let Self { folder, store, storage } = self;
        drop(store);
        let store = Store::open(Options::new(storage.clone())).await.expect("it opens again");
        Self { folder, store, storage }
    }

    pub(super) async fn put(&self, name: &str) -> Result<()> {
        self.store.write(&workspace("any"), Put::new(name)).await
    }

    pub(super) async fn has(&self, name: &str) -> bool {
        self.store.read(Has(name.to_owned())).await.expect("a read")
    }

    /// Starts a write and comes back when it waits in the queue behind `before` others.
    pub(super) async fn queued<O: Operation>(
        &self,
        turn: &str,
        operation: O,
    ) -> JoinHandle<Result<O::Output, O::Error>> {
        let (store, turn, before) = (self.store.clone(), workspace(turn), self.store.waiting_writes());
        let handle = tokio::spawn(async move { store.write(&turn, operation).await });
        while self.store.waiting_writes() == before {
            tokio::task::yield_now().await;
        }
        handle
    }

    /// Holds the writer in the middle of an operation until the answer is used.
    pub(super) async fn held(&self) -> Held {
        let (reached, at_gate) = channel();
        let (open, opened) = channel();
        let gate = Gate { reached: Mutex::new(reached), opened: Mutex::new(opened), passed: AtomicBool::new(false) };
        let store = self.store.clone();
        let done = tokio::spawn(async move { store.write(&workspace("gate"), gate).await });
        tokio::task::yield_now().await;
        tokio::task::spawn_blocking(move || at_gate.recv()).await.expect("a thread").expect("the gate is reached");
        Held { open, done }
    }
}

pub(super) struct Held {
    open: Sender<()>,
    done: JoinHandle<Result<()>>,
}

impl Held {
    pub(super) async fn release(self) {
        self.open.send(()).expect("the gate waits");
        self.done.await.expect("a task").expect("the gate itself is no error");
    }
}

struct Gate {
    reached: Mutex<Sender<()>>,
    opened: Mutex<Receiver<()>>,
    passed: AtomicBool,
}

impl Operation for Gate {
    type Output = ();
    type Error = Error;

    async fn run(&self, _: &mut Tx) -> Result<()> {
        // Run again because of another in its batch, it does not wait again.
        if self.passed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.reached.lock().expect("a lock").send(()).expect("the test listens");
        self.opened.lock().expect("a lock").recv().expect("the test opens");
        Ok(())
    }
}

pub(super) fn workspace(name: &str) -> WorkspaceId {
    WorkspaceId::parse(name).expect("a name")
}

pub(super) fn record(action: &'static str) -> AuditRecord {
    AuditRecord {
        at: Timestamp::from_ms(1_000),
        user: UserId::parse("sean").expect("a user"),
        participant: Participant::orchestrator(),
        action,
        session: None,
        detail: serde_json::Map::new(),
    }
}

fn claim(name: &str) -> Claim {
    Claim { caller: "c".into(), route: "r".into(), key: name.to_owned(), body_hash: String::new() }
}

/// How an operation ends after it has written its row.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    Well,
    Error,
    Panic,
    Waiting,
}

/// Writes one row and one audit row, and notes the order in which it ran.
pub(super) struct Put {
    name: String,
    ending: Ending,
    order: Option<Arc<Mutex<Vec<String>>>>,
}

impl Put {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ending: Ending::Well, order: None }
    }

    pub(super) fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    pub(super) fn noting(self, order: &Arc<Mutex<Vec<String>>>) -> Self {
        Self { order: Some(order.clone()), ..self }
    }
}

impl Operation for Put {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        tx.keep_outcome(&claim(&self.name), "{}", false, Timestamp::from_ms(1)).await?;
        tx.scope(&workspace("chain")).audit().append(record("test.put"));
        if let Some(order) = &self.order {
            order.lock().expect("a lock").push(self.name.clone());
        }
        match self.ending {
            Ending::Well => Ok(()),
            Ending::Error => Err(Error::BadRow("as the test wants it".into())),
            Ending::Panic => panic!("as the test wants it"),
            Ending::Waiting => {
                tokio::task::yield_now().await;
                Ok(())
            }
        }
    }
}

struct Has(String);

impl Operation for Has {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        Ok(tx.outcome(&claim(&self.0), Timestamp::from_ms(0)).await?.is_some())
    }
}

pub(super) struct AuditRows;

impl Operation for AuditRows {
    type Output = usize;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<usize> {
        Ok(tx.audit_page(None, ("", 0), 100_000).await?.len())
    }
}
