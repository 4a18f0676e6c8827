//! Where work for the writer is handed in.
//!
//! There is one writer, and whoever holds it writes. Mostly that is a thread of its own, which takes what waits together.
//! While nobody else writes, a small job is done by the thread that brings it: to wake another and be woken by it costs more
//! than the job itself.
//!
//! The writer also answers short reads while it has nothing to write: a commit leaves what it wrote in the writer's memory, and
//! throws away what the read-only connections remember.

use super::writer::{Rooms, Writer};
use crate::jobs::Job;
use crate::queue::Refused;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, Operation, Tx};
use domain::ids::WorkspaceId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::sync::{Arc, PoisonError, TryLockError};

pub(crate) struct Desk {
    writer: Mutex<Writer>,
    /// Whether the thread has a job in its hands and is about to write: it goes first.
    awaited: AtomicBool,
    rooms: Arc<Rooms>,
}

impl Desk {
    pub(crate) fn new(writer: Writer, rooms: Arc<Rooms>) -> Self {
        Self { writer: Mutex::new(writer), awaited: AtomicBool::new(false), rooms }
    }

    /// Takes a job: done already when this returns, or put into the queue.
    pub(crate) fn hand_in(&self, turn: &WorkspaceId, job: Box<dyn Job>) -> Result<(), Refused<Box<dyn Job>>> {
        let Some(mut writer) = self.writer_for(job.as_ref()) else { return self.rooms.queue.push(turn, job) };
        self.mended_after(&mut writer, |writer| writer.write_alone(job));
        Ok(())
    }

    /// To open the database again takes long: the thread does it. Also if this one does not come back from its work.
    fn mended_after<T>(&self, writer: &mut Writer, work: impl FnOnce(&mut Writer) -> T) -> T {
        let mut mending = Mending { rooms: &self.rooms, is_needed: true };
        let outcome = work(writer);
        mending.is_needed = writer.is_broken();
        outcome
    }

    /// The writer, if this job may be done here and nobody would wait behind it.
    fn writer_for(&self, job: &dyn Job) -> Option<MutexGuard<'_, Writer>> {
        if !job.is_small() {
            return None;
        }
        self.idle_writer().filter(|writer| writer.is_at_rest())
    }

    /// The writer, if nobody has it and nobody waits for it.
    fn idle_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        let writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (!self.awaited.load(Ordering::Acquire) && self.rooms.queue.is_open_and_empty()).then_some(writer)
    }

    /// Runs a short read on everything that is committed.
    pub(crate) fn read<O: Operation>(&self, operation: &O) -> Result<O::Output, O::Error> {
        if self.rooms.readers.is_up_to_date() {
            return self.rooms.readers.run(operation);
        }
        let idle = self.idle_writer().filter(|writer| !writer.is_broken());
        let answer = idle.and_then(|mut writer| self.mended_after(&mut writer, |writer| writer.read(operation)));
        answer.unwrap_or_else(|| self.rooms.readers.run(operation))
    }

    /// Works until the queue is closed and empty, then closes the database.
    pub(crate) fn run(&self) {
        while let Some(first) = self.rooms.queue.next() {
            self.awaited.store(true, Ordering::Release);
            let mut writer = self.lock();
            self.awaited.store(false, Ordering::Release);
            writer.write(first);
        }
        self.lock().close();
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the thread mend a writer, when this goes.
struct Mending<'d> {
    rooms: &'d Rooms,
    is_needed: bool,
}

impl Drop for Mending<'_> {
    fn drop(&mut self) {
        if self.is_needed {
            // A queue that is closed has it over with.
            let _ = self.rooms.queue.push(&WorkspaceId::from_trusted(String::new()), Box::new(Nothing));
        }
    }
}

/// Gives the thread a reason to look.
struct Nothing;

impl Job for Nothing {
    fn is_small(&self) -> bool {
        false
    }

    fn run<'a>(&'a mut self, _: &'a mut Tx) -> BoxFuture<'a, bool> {
        std::future::ready(false).boxed()
    }

    fn acknowledge(self: Box<Self>) {}

    fn fail(self: Box<Self>, _: Error) {}
}
