//! The lines of standard input. They have a thread of their own, because a terminal or a pipe cannot be waited for otherwise.

use std::io::{BufRead, BufReader, Read};
use tokio::sync::mpsc;

/// What a door takes at most, and room to say so.
const LONGEST: u64 = 1024 * 1024 + 1024;
const WAITING_MOST: usize = 64;

/// One line of input, with its end if it has one.
pub(crate) enum Line {
    Text(String),
    /// Longer than any message that would be taken, or not text.
    Unreadable,
}

/// The lines of standard input; the end of them is the end of the channel.
pub(crate) fn lines() -> mpsc::Receiver<Line> {
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

/// The next line; none at the end, and where nothing can be read.
pub(crate) fn next(input: &mut impl BufRead) -> Option<Line> {
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
    Some(String::from_utf8(bytes).map_or(Line::Unreadable, Line::Text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one_and_a_huge_one_does_not_spoil_the_next() {
        let mut bytes = b"{\"a\":1}\n\n".to_vec();
        bytes.extend(vec![b'x'; 3 * 1024 * 1024]);
        bytes.extend(b"\n\xff\xfe\nlast");
        let mut input = BufReader::new(bytes.as_slice());
        assert!(matches!(next(&mut input), Some(Line::Text(text)) if text == "{\"a\":1}\n"));
        assert!(matches!(next(&mut input), Some(Line::Text(text)) if text == "\n"));
        assert!(matches!(next(&mut input), Some(Line::Unreadable)));
        assert!(matches!(next(&mut input), Some(Line::Unreadable)));
        assert!(matches!(next(&mut input), Some(Line::Text(text)) if text == "last"));
        assert!(next(&mut input).is_none());
    }
}
