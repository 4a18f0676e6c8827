//! Lines in and lines out. Each has a thread of its own, because a terminal or a pipe cannot be waited for otherwise.

use std::io::{BufRead, BufReader, Read, Write};
use tokio::sync::{mpsc, oneshot};

/// What the door takes at most, and room to say so.
const LONGEST: u64 = 1024 * 1024 + 1024;
const WAITING_MOST: usize = 64;

/// One line of input.
pub(super) enum Line {
    Text(String),
    /// Longer than any message that would be taken, or not text.
    Unreadable,
}

/// The lines of standard input; the end of them is the end of the channel.
pub(super) fn from_stdin() -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(WAITING_MOST);
    std::thread::spawn(move || {
        let mut input = BufReader::new(std::io::stdin());
        while let Some(line) = next(&mut input) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The next line that is not empty.
fn next(input: &mut impl BufRead) -> Option<Line> {
    loop {
        let mut bytes = Vec::new();
        let count = input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).ok()?;
        if count == 0 {
            return None;
        }
        let whole = bytes.ends_with(b"\n") || (count as u64) < LONGEST;
        if !whole {
            skip_line(input)?;
            return Some(Line::Unreadable);
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => return Some(Line::Text(text)),
            Err(_) => return Some(Line::Unreadable),
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> Option<()> {
    loop {
        let waiting = input.fill_buf().ok()?;
        let end = waiting.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(waiting.len(), |end| end + 1);
        input.consume(count);
        if end.is_some() || count == 0 {
            return Some(());
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one_and_a_huge_one_does_not_spoil_the_next() {
        let mut bytes = b"{\"a\":1}\n\n  \n".to_vec();
        bytes.extend(vec![b'x'; 3 * 1024 * 1024]);
        bytes.extend(b"\n\xff\xfe\nlast");
        let mut input = BufReader::new(bytes.as_slice());
        assert!(matches!(next(&mut input), Some(Line::Text(text)) if text == "{\"a\":1}\n"));
        assert!(matches!(next(&mut input), Some(Line::Unreadable)));
        assert!(matches!(next(&mut input), Some(Line::Unreadable)));
        assert!(matches!(next(&mut input), Some(Line::Text(text)) if text == "last"));
        assert!(next(&mut input).is_none());
    }
}
