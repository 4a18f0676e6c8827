//! One task for each plugin: starts it, knows its tools, notices when it goes away, and tries again.

use crate::backoff;
use crate::boards::Board;
use crate::connections::{Connection, Way, open};
use crate::listings::{Tools, tools};
use crate::options::Options;
use crate::slots::{Known, Slot};
use crate::states::State;
use domain::plugins::Reach;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) struct Supervisor {
    slot: Arc<Slot>,
    board: Arc<Board>,
    options: Arc<Options>,
    stop: watch::Receiver<bool>,
    /// In a row.
    failures: u32,
    away_since: Instant,
}

/// How a life of a plugin ended.
enum Ended {
    Stopped,
    Gone(String),
}

impl Supervisor {
    pub(crate) fn new(slot: Arc<Slot>, board: Arc<Board>, options: Arc<Options>, stop: watch::Receiver<bool>) -> Self {
        Self { slot, board, options, stop, failures: 0, away_since: Instant::now() }
    }

    pub(crate) async fn run(mut self) {
        while let Ended::Gone(why) = self.live().await {
            tracing::warn!(plugin = self.slot.name, self.failures, why, "a plugin is away and will be tried again");
            {
                let mut known = self.slot.known();
                (known.times_away, known.last_trouble) = (known.times_away + 1, Some(why.clone()));
            }
            self.show_away(why);
            let delay = backoff::delay(&self.options.rhythm, self.failures, backoff::chance());
            tokio::select! {
                biased;
                () = asked_to_stop(&mut self.stop) => break,
                () = tokio::time::sleep(delay) => {}
            }
        }
        self.note(|known| (known.state, known.link) = (State::Stopped, None));
    }

    fn note(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.slot.known());
        self.board.refresh();
    }

    fn show_away(&self, why: String) {
        let (count, since) = (self.failures, self.away_since);
        let state = if count >= self.options.rhythm.failed_after {
            State::Failed { attempts: count, since, why }
        } else {
            State::Restarting { attempt: count, since, why }
        };
        self.note(|known| (known.state, known.link) = (state, None));
    }

    /// From its start to its end.
    async fn live(&mut self) -> Ended {
        let mut stop = self.stop.clone();
        let started = tokio::select! {
            biased;
            () = asked_to_stop(&mut stop) => return Ended::Stopped,
            started = self.start() => started,
        };
        let (connection, found) = match started {
            Ok(started) => started,
            Err(why) => {
                self.failures = self.failures.saturating_add(1);
                return Ended::Gone(why);
            }
        };
        let ready_at = Instant::now();
        tracing::info!(plugin = self.slot.name, tools = found.listed.len(), "a plugin is ready");
        self.note(|known| {
            (known.state, known.tools) = (State::Ready, found);
            (known.link, known.server) = (Some(connection.link()), connection.server());
        });
        let end = tokio::select! {
            biased;
            () = asked_to_stop(&mut stop) => None,
            why = connection.closed() => Some(why),
            why = self.follow(&connection) => Some(why),
        };
        let Some(why) = end else {
            self.note(|known| (known.state, known.link) = (State::Stopped, None));
            connection.close("it is stopped", self.options.rhythm.grace).await;
            return Ended::Stopped;
        };
        let was_steady = ready_at.elapsed() >= self.options.rhythm.steady_after;
        self.failures = if was_steady { 1 } else { self.failures.saturating_add(1) };
        self.away_since = Instant::now();
        // Before its end is waited for: a call that comes now is told at once.
        self.show_away(why.clone());
        Ended::Gone(connection.close(&why, self.options.rhythm.grace).await)
    }

    async fn start(&self) -> Result<(Connection, Tools), String> {
        let declaration = self.slot.declaration();
        let way = Way {
            name: &self.slot.name,
            declaration: &declaration,
            options: &self.options,
            last_words: &self.slot.last_words,
        };
        let start = async {
            let connection = open(&way).await?;
            let found = tokio::select! {
                biased;
                found = tools(connection.peer(), &self.options.limits) => found,
                why = connection.closed() => Err(why),
            };
            match found {
                Ok(found) => Ok((connection, found)),
                Err(why) => Err(connection.close(&why, self.options.rhythm.grace).await),
            }
        };
        let within_s = declaration.timeouts.start_s;
        // Dropped at the end of its time, all of it ends, its program as well.
        let overdue = |_| Err(format!("it was not ready within {within_s} s"));
        tokio::time::timeout(Duration::from_secs(within_s), start).await.unwrap_or_else(overdue)
    }

    /// Keeps up with what it offers, until that fails.
    async fn follow(&self, connection: &Connection) -> String {
        let rhythm = &self.options.rhythm;
        // A program that is gone is noticed; an address is not, unless somebody asks.
        let look_again = matches!(self.slot.declaration().reach, Reach::Url(_)).then_some(rhythm.look_again);
        loop {
            let looked_at = Instant::now();
            tokio::select! {
                () = connection.tools_changed.notified() => {}
                () = tokio::time::sleep(look_again.unwrap_or_default()), if look_again.is_some() => {}
            }
            tokio::time::sleep_until(looked_at + rhythm.listing_rest).await;
            // The file may have another word for it by now.
            let within = Duration::from_secs(self.slot.declaration().timeouts.start_s);
            let found = tokio::time::timeout(within, tools(connection.peer(), &self.options.limits)).await;
            match found {
                Ok(Ok(found)) => self.renew(found),
                Ok(Err(why)) => return why,
                Err(_) => return format!("it did not list its tools within {} s", within.as_secs()),
            }
        }
    }

    fn renew(&self, found: Tools) {
        if self.slot.known().tools != found {
            tracing::info!(plugin = self.slot.name, tools = found.listed.len(), "a plugin's tools changed");
            self.note(|known| known.tools = found);
        }
    }
}

async fn asked_to_stop(stop: &mut watch::Receiver<bool>) {
    // Whoever could ask being gone is as good as being asked.
    stop.wait_for(|asked| *asked).await.ok();
}
