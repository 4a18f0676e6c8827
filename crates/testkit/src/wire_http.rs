//! As much of HTTP/1.1 as clients of the imitations need, by hand, so that answers can be broken at any byte.

use serde_json::Value;
use std::collections::BTreeMap;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// A request as it came over the wire.
pub(crate) struct WireRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// Null if it is no JSON.
    pub(crate) body: Value,
}

/// The next request of a connection; `None` when it was closed, or nobody could make sense of it.
pub(crate) async fn read_request<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> Option<WireRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let (method, rest) = line.split_once(' ')?;
    let (method, path) = (method.to_owned(), rest.split(' ').next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(WireRequest { method, path, headers, body })
}

/// A response with a known length.
pub(crate) fn whole(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Imitated\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

pub(crate) const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub(crate) const STREAM_END: &[u8] = b"0\r\n\r\n";

pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    // An empty chunk would end the stream.
    if bytes.is_empty() {
        return Vec::new();
    }
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}
