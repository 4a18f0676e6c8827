//! A reader of an event stream over a real connection that is cut at any byte, and what it has seen all the same.

use crate::random::Random;
use crate::streams::{StreamEvent, parse};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// One connection to a stream. Only what arrived whole counts, as for any client of server-sent events.
pub struct Line {
    stream: TcpStream,
    /// Bytes of the answer that are not yet taken apart, and whether its head is behind us.
    raw: Vec<u8>,
    begun: bool,
    text: String,
}

impl Line {
    pub fn open(address: SocketAddr, token: &str, path: &str, after: u64) -> io::Result<Self> {
        Self::ask(TcpStream::connect(address)?, token, path, after)
    }

    /// Asks for a stream over a connection that the test has made.
    pub fn ask(mut stream: TcpStream, token: &str, path: &str, after: u64) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nLast-Event-ID: {after}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        Ok(Self { stream, raw: Vec::new(), begun: false, text: String::new() })
    }

    /// Waits for at most `most` bytes; gives how many came and the events that are whole now. An error is the end.
    pub fn read(&mut self, most: usize) -> io::Result<(usize, Vec<StreamEvent>)> {
        let mut bytes = vec![0; most.min(64 * 1024)];
        let count = self.stream.read(&mut bytes)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.raw.extend_from_slice(&bytes[..count]);
        self.take_apart()?;
        let mut events = Vec::new();
        while let Some(end) = self.text.find("\n\n") {
            let block: String = self.text.drain(..end + 2).collect();
            events.extend(parse(&block));
        }
        Ok((count, events))
    }

    fn take_apart(&mut self) -> io::Result<()> {
        if !self.begun {
            let Some(end) = find(&self.raw, b"\r\n\r\n") else { return Ok(()) };
            if !self.raw.starts_with(b"HTTP/1.1 200") {
                return Err(io::Error::other(String::from_utf8_lossy(&self.raw)));
            }
            self.raw.drain(..end + 4);
            self.begun = true;
        }
        // Chunks: the length in hexadecimal, a line's end, that many bytes, a line's end.
        while let Some(end) = find(&self.raw, b"\r\n") {
            let length = std::str::from_utf8(&self.raw[..end]).expect("text");
            let length = usize::from_str_radix(length, 16).expect("a length");
            if self.raw.len() < end + 2 + length + 2 {
                return Ok(());
            }
            let chunk: Vec<u8> = self.raw.drain(..end + 2 + length + 2).collect();
            self.text.push_str(std::str::from_utf8(&chunk[end + 2..end + 2 + length]).expect("text"));
        }
        Ok(())
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A reader that is cut off again and again and resumes after the last event that it got whole.
pub struct CutReader {
    token: String,
    path: String,
    random: Random,
    pub seen: Vec<StreamEvent>,
    pub visits: usize,
    /// How many visits ended in the middle of an event's bytes.
    pub torn: usize,
}

impl CutReader {
    pub fn new(token: &str, path: &str, seed: u64) -> Self {
        let (token, path) = (token.to_owned(), path.to_owned());
        Self { token, path, random: Random::new(seed), seen: Vec::new(), visits: 0, torn: 0 }
    }

    /// Connects, reads a random number of bytes or until nothing more can come, and hangs up. An error: the other side
    /// did, or is not there.
    pub fn visit(&mut self, address: SocketAddr, is_all: impl Fn(&[StreamEvent]) -> bool) -> io::Result<()> {
        let last = self.seen.iter().rev().find(|event| event.is_numbered).map_or(0, |event| event.id);
        let mut line = Line::open(address, &self.token, &self.path, last)?;
        self.visits += 1;
        // About the length of the head and of a few events: most cuts fall inside of one of them.
        let mut left = usize::try_from(1 + self.random.below(1600)).expect("small");
        while left > 0 && !is_all(&self.seen) {
            let (count, events) = line.read(left)?;
            left -= count;
            self.seen.extend(events);
        }
        self.torn += usize::from(line.begun && !(line.raw.is_empty() && line.text.is_empty()));
        Ok(())
    }
}
