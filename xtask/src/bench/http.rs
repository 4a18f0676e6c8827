//! The generator's own HTTP/1.1: hand-built requests on kept connections, and just enough reading to know an answer.
//! Light on purpose: the generator shares the cores with what it measures. Answers must carry a Content-Length.

use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Stands in a body where a number goes, so that no two writes carry the same value and all have the same length.
pub(crate) const STAMP: &str = "@@@@@@@@@@@@";

/// Whom to ask, and as whom.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// The bytes of one request, built once and sent many times.
pub(crate) struct Request {
    bytes: Vec<u8>,
    stamp_at: Option<usize>,
    expected_status: u16,
}

impl Request {
    pub(crate) fn post(target: &Target, path: &str, body: &str, expected_status: u16) -> Self {
        Self::sending("POST", target, path, body, expected_status)
    }

    pub(crate) fn patch(target: &Target, path: &str, body: &str) -> Self {
        Self::sending("PATCH", target, path, body, 200)
    }

    fn sending(method: &str, target: &Target, path: &str, body: &str, expected_status: u16) -> Self {
        let Target { address, token } = target;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let stamp_at = text.find(STAMP);
        Self { bytes: text.into_bytes(), stamp_at, expected_status }
    }

    pub(crate) fn stream(target: &Target, path: &str) -> Vec<u8> {
        let Target { address, token } = target;
        format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Accept: text/event-stream\r\n\r\n"
        )
        .into_bytes()
    }

    pub(crate) fn stamp(&mut self, number: u64) {
        if let Some(start) = self.stamp_at {
            let text = format!("{number:0width$}", width = STAMP.len());
            self.bytes[start..start + STAMP.len()].copy_from_slice(text.as_bytes());
        }
    }
}

/// One kept connection, one request at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a request, insists on its status, and gives the answer's body.
    pub(crate) async fn exchange(&mut self, request: &Request) -> Result<&[u8]> {
        self.stream.write_all(&request.bytes).await?;
        self.buffer.clear();
        let head = self.read_head().await?;
        let whole = head.length + head.content_length;
        while self.buffer.len() < whole {
            self.read_more().await?;
        }
        let body = &self.buffer[head.length..whole];
        if head.status != request.expected_status {
            let expected = request.expected_status;
            bail!("status {} instead of {expected}: {}", head.status, String::from_utf8_lossy(body));
        }
        Ok(body)
    }

    async fn read_head(&mut self) -> Result<Head> {
        loop {
            self.read_more().await?;
            if let Some(head) = Head::parse(&self.buffer)? {
                return Ok(head);
            }
        }
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the server closed the connection");
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// With the empty line that ends it.
    pub(crate) length: usize,
    content_length: usize,
}

impl Head {
    /// `None` until the head is whole.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&bytes[..end])?;
        let status = text.get(9..12).context("not an HTTP answer")?.parse()?;
        let mut content_length = 0;
        for line in text.lines().skip(1) {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                content_length = value.trim().parse()?;
            }
        }
        Ok(Some(Self { status, length: end + 4, content_length }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Request, STAMP, Target};

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let bytes = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";
        assert_eq!(Head::parse(&bytes[..30]).unwrap(), None);
        assert_eq!(Head::parse(bytes).unwrap(), Some(Head { status: 201, length: 49, content_length: 5 }));
        assert!(Head::parse(b"nonsense\r\n\r\n").is_err());
    }

    #[test]
    fn stamps_change_the_value_and_never_the_length() {
        let target = Target { address: ([127, 0, 0, 1], 7700).into(), token: "t".to_owned() };
        let mut request = Request::post(&target, "/x", &format!("{{\"value\":\"{STAMP}\"}}"), 200);
        let length = request.bytes.len();
        request.stamp(42);
        assert!(request.bytes.ends_with(b"{\"value\":\"000000000042\"}"));
        request.stamp(43);
        assert!(request.bytes.ends_with(b"{\"value\":\"000000000043\"}"));
        assert_eq!(request.bytes.len(), length);
    }
}
