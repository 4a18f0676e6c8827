//! Lines out, on a thread of their own, because a terminal or a pipe cannot be waited for otherwise.

use std::io::Write;
use tokio::sync::{mpsc, oneshot};

const WAITING_MOST: usize = 64;

/// Standard output, for many who write.
pub(super) struct Output(mpsc::Sender<Piece>);

enum Piece {
    Line(String),
    /// Told when everything before it is written.
    Mark(oneshot::Sender<()>),
}

impl Output {
    pub(super) fn to_stdout() -> Self {
        let (sender, mut receiver) = mpsc::channel(WAITING_MOST);
        std::thread::spawn(move || {
            while let Some(piece) = receiver.blocking_recv() {
                match piece {
                    Piece::Line(line) => {
                        let mut out = std::io::stdout().lock();
                        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                            return;
                        }
                    }
                    Piece::Mark(reached) => drop(reached.send(())),
                }
            }
        });
        Self(sender)
    }

    pub(super) async fn line(&self, text: String) {
        // Who has stopped reading needs no answer.
        let _ = self.0.send(Piece::Line(text)).await;
    }

    /// Comes back when everything is written.
    pub(super) async fn flush(&self) {
        let (mark, reached) = oneshot::channel();
        if self.0.send(Piece::Mark(mark)).await.is_ok() {
            let _ = reached.await;
        }
    }

    /// Comes back when nobody reads any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}
