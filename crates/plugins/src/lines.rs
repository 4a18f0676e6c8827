//! A program's standard input and output as a connection: one message on a line.
//!
//! A line is bounded before it is parsed, and nothing that is no message gets further. Many programs print something for
//! people on their output by mistake: such lines are passed over, and counted.

use crate::closings::Closing;
use crate::watched::{TOO_LARGE, UNREAD, Unasked};
use crate::weights::Weight;
use rmcp::RoleClient;
use rmcp::model::{ErrorData, NumberOrString, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

const READ_AT_ONCE: usize = 64 * 1024;

pub(crate) struct Lines<R, W> {
    reader: BufReader<R>,
    /// Of a line that has not ended; survives a `receive` that was dropped.
    line: Vec<u8>,
    weight: Weight,
    /// None once it was closed.
    writer: Arc<Mutex<Option<W>>>,
    write_within: Duration,
    unasked: Unasked,
    closing: Closing,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(crate) fn new(
        (reader, writer): (R, W),
        (most, write_within): (usize, Duration),
        unasked: Unasked,
        closing: Closing,
    ) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_AT_ONCE, reader),
            line: Vec::new(),
            weight: Weight::new(most),
            writer: Arc::new(Mutex::new(Some(writer))),
            write_within,
            unasked,
            closing,
        }
    }

    /// Whether a whole line is in `self.line`; `false` at the end.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(bytes) = self.reader.fill_buf().await else { return false };
            if bytes.is_empty() {
                return false;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if !self.weight.bears(part) {
                self.closing.close(TOO_LARGE);
                return false;
            }
            // Between taking and consuming nothing waits, so a dropped `receive` loses nothing.
            self.line.extend_from_slice(part);
            let taken = part.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            if end.is_some() {
                return true;
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (writer, closing, within) = (Arc::clone(&self.writer), self.closing.clone(), self.write_within);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = async {
                let mut writer = writer.lock().await;
                let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
                writer.write_all(&line).await?;
                writer.flush().await
            };
            let written = tokio::time::timeout(within, write).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()));
            // Half a line would garble the next one: there is no going on after this.
            written.inspect_err(|_| closing.close(UNREAD))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if !self.read_line().await {
                return None;
            }
            let message = parse(&self.line);
            self.line.clear();
            self.weight.reset();
            // A line may have been large once; its room is not kept for ever.
            self.line.shrink_to(READ_AT_ONCE);
            if message.is_some() {
                return message;
            }
            if !self.unasked.bears_one_more() {
                self.closing.close("it prints other things than messages");
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.take();
        Ok(())
    }
}

/// The message of a line. An answer in a form that nobody knows is still an answer: whoever waits for it is told.
pub(crate) fn parse(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let line = line.trim_ascii();
    if let Ok(message) = serde_json::from_slice(line) {
        return Some(message);
    }
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    let id = value.get("id").filter(|_| value.get("method").is_none())?;
    let id: NumberOrString = serde_json::from_value(id.clone()).ok()?;
    Some(ServerJsonRpcMessage::error(
        ErrorData::internal_error("the plugin's answer is in no known form", None),
        Some(id),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pipe = tokio::io::DuplexStream;

    fn lines(most: usize) -> (Lines<Pipe, Pipe>, Pipe, Pipe, Closing) {
        let ((input, theirs), (ours, output)) = (tokio::io::duplex(64), tokio::io::duplex(64));
        let closing = Closing::new();
        let lines = Lines::new((input, ours), (most, Duration::from_secs(10)), Unasked::new(3), closing.clone());
        (lines, theirs, output, closing)
    }

    fn ping(id: i64) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
    }

    #[tokio::test]
    async fn messages_are_read_wherever_they_are_cut_and_a_dropped_wait_loses_nothing() {
        let (mut lines, mut theirs, _output, _) = lines(1024);
        let text = format!("{}\r\n\n{}", ping(1).trim_end(), ping(2));
        let (first, second) = text.split_at(20);
        theirs.write_all(first.as_bytes()).await.unwrap();
        tokio::select! {
            biased;
            _ = lines.receive() => panic!("there is only half a message"),
            () = std::future::ready(()) => {}
        }
        let second = second.to_owned();
        let writing = tokio::spawn(async move { theirs.write_all(second.as_bytes()).await.map(|()| theirs) });
        for _ in 0..2 {
            assert!(matches!(lines.receive().await, Some(ServerJsonRpcMessage::Request(_))));
        }
        drop(writing.await.unwrap());
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_cut_off_before_it_fills_the_memory() {
        let (mut lines, mut theirs, _output, closing) = lines(1000);
        let flood = tokio::spawn(async move { while theirs.write_all(&[b'x'; 64]).await.is_ok() {} });
        assert!(lines.receive().await.is_none());
        assert!(lines.line.capacity() < 4096, "{}", lines.line.capacity());
        assert_eq!(closing.closed().await, TOO_LARGE);
        drop(lines);
        flood.await.unwrap();
    }

    #[tokio::test]
    async fn what_is_printed_for_people_is_passed_over_but_not_without_end() {
        let (mut lines, mut theirs, _output, closing) = lines(1000);
        let text = format!("Listening…\n{{}}\n{}", ping(1));
        theirs.write_all(text.as_bytes()).await.unwrap();
        assert!(lines.receive().await.is_some());
        theirs.write_all(b"a\nb\nc\nd\n").await.unwrap();
        assert!(lines.receive().await.is_none());
        assert_eq!(closing.closed().await, "it prints other things than messages");
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_read_holds_nobody_up() {
        let (mut lines, _theirs, _output, closing) = lines(1000);
        let long = ErrorData::internal_error("x".repeat(1000), None);
        let sent = lines.send(TxJsonRpcMessage::<RoleClient>::error(long, None)).await;
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(closing.closed().await, UNREAD);
    }

    #[test]
    fn an_answer_in_no_known_form_is_an_answer() {
        for (line, is_error) in [
            (r#"{"id": 3, "result": {}}"#, true),
            (r#"{"jsonrpc": "1.0", "id": 3, "result": {}}"#, true),
            (r#"{"jsonrpc": "2.0", "id": 3, "error": "no"}"#, true),
            (r#"{"jsonrpc": "2.0", "id": 3, "result": {"content": 7}}"#, false),
        ] {
            match parse(line.as_bytes()) {
                Some(ServerJsonRpcMessage::Error(error)) => assert!(is_error && error.id.is_some(), "{line}"),
                Some(ServerJsonRpcMessage::Response(_)) => assert!(!is_error, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        for line in ["", "{", "[]", "null", "{\"id\": 3, \"method\": 4}", "{\"id\": {}}", "\u{0}"] {
            assert!(parse(line.as_bytes()).is_none(), "{line}");
        }
    }
}
