//! What all connections to the imitated gateway share: the session with its events, and what the test wants.

use serde_json::Value;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::{mpsc, watch};

/// What a connection is to do now.
#[derive(Debug, Clone)]
pub(super) enum Order {
    Reconnect,
    Invalidate(bool),
    Cut,
    Close(u16),
    Frame(String),
}

pub(super) struct Gateway {
    pub(super) url: String,
    settings: Mutex<Settings>,
    session: watch::Sender<Session>,
    /// To the connection that came last.
    live: Mutex<Option<mpsc::UnboundedSender<Order>>>,
    pub(super) frames: watch::Sender<Vec<Value>>,
    pub(super) connections: watch::Sender<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) interval_ms: u64,
    pub(super) is_mute: bool,
    pub(super) refusal: Option<u16>,
    pub(super) hangs_up: bool,
}

/// One at a time: a bot of this size has one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    /// Goes up with every session; 0 before the first.
    pub(super) number: u64,
    pub(super) is_resumable: bool,
    /// Name and text; the sequence number of the first is 2, after READY.
    pub(super) events: Vec<(String, String)>,
}

impl Gateway {
    pub(super) fn new(url: String) -> Self {
        let settings = Settings { interval_ms: 41_250, is_mute: false, refusal: None, hangs_up: false };
        Self {
            url,
            settings: Mutex::new(settings),
            session: watch::Sender::new(Session::default()),
            live: Mutex::default(),
            frames: watch::Sender::new(Vec::new()),
            connections: watch::Sender::new(0),
        }
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().expect("the settings")
    }

    pub(super) fn dispatch(&self, name: &str, event: String) {
        self.session.send_modify(|session| session.events.push((name.to_owned(), event)));
    }

    pub(super) fn order(&self, order: Order) {
        if let Order::Invalidate(is_resumable) = order {
            self.session.send_modify(|session| session.is_resumable = is_resumable);
        }
        // A connection that is gone has nothing to do any more.
        let _ = self.live.lock().expect("the connection").as_ref().map(|live| live.send(order));
    }

    /// The orders for a connection that begins now.
    pub(super) fn connect(&self) -> mpsc::UnboundedReceiver<Order> {
        let (orders, received) = mpsc::unbounded_channel();
        *self.live.lock().expect("the connection") = Some(orders);
        self.connections.send_modify(|count| *count += 1);
        received
    }

    pub(super) fn watch(&self) -> watch::Receiver<Session> {
        self.session.subscribe()
    }

    /// A fresh session. Events that nobody was told yet are for it.
    pub(super) fn begin_session(&self, told: usize) -> u64 {
        let mut number = 0;
        self.session.send_modify(|session| {
            session.number += 1;
            session.is_resumable = true;
            session.events.drain(..told.min(session.events.len()));
            number = session.number;
        });
        number
    }

    pub(super) fn is_resumable(&self, id: &str) -> bool {
        let session = self.session.borrow();
        session.is_resumable && id == session_id(session.number)
    }
}

pub(super) fn session_id(number: u64) -> String {
    format!("session-{number}")
}
