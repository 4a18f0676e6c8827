//! Connections to the imitation: each is answered until either side closes it.
//!
//! A client that goes away in the middle is noticed, counted, and harms nobody else.

use super::turns::{Fault, Turn};
use super::{House, ModelRequest, anthropic, openai};
use crate::wire_http as http;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Whether the connection can be used for another request.
#[derive(PartialEq)]
enum After {
    Open,
    Closed,
}

pub(crate) async fn listen(listener: TcpListener, house: Arc<House>) {
    // They end with the listener.
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok((stream, _)) = listener.accept().await else { return };
        connections.spawn(serve(stream, number, house.clone()));
    }
}

async fn serve(stream: TcpStream, number: usize, house: Arc<House>) {
    stream.set_nodelay(true).ok();
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = http::read_request(&mut reader).await {
        let request = ModelRequest::new(request, number);
        let turn = house.turn(&request);
        let taken = Taken::new(&house, &request);
        let after = tokio::select! {
            after = answer(&mut writer, &request, &turn, &taken) => Some(after),
            () = gone(&mut reader) => None,
        };
        taken.end(after.is_some());
        if after != Some(After::Open) {
            return;
        }
    }
}

/// A request that is in flight until its end is noted, once.
struct Taken<'a> {
    house: &'a House,
    number: usize,
    has_ended: AtomicBool,
}

impl<'a> Taken<'a> {
    fn new(house: &'a House, request: &ModelRequest) -> Self {
        let mut number = 0;
        house.records.send_modify(|records| number = records.begin(request.clone()));
        Self { house, number, has_ended: AtomicBool::new(false) }
    }

    /// Must be noted before the last bytes go out: whoever asked may ask again as soon as they arrive.
    fn end(&self, is_answered: bool) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            self.house.records.send_modify(|records| records.end(self.number, is_answered));
        }
    }
}

/// Ends when the client closes the connection. Clients send no second request before the first is answered.
async fn gone(reader: &mut BufReader<OwnedReadHalf>) {
    while reader.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
        std::future::pending::<()>().await;
    }
}

async fn answer(writer: &mut OwnedWriteHalf, request: &ModelRequest, turn: &Turn, taken: &Taken<'_>) -> After {
    if taken.house.is_blocked.subscribe().wait_for(|is_blocked| !is_blocked).await.is_err() {
        return After::Closed;
    }
    if !turn.delay.is_zero() {
        tokio::time::sleep(turn.delay).await;
    }
    let bytes = match &turn.fault {
        Some(Fault::Hang) => return std::future::pending().await,
        Some(Fault::Close) => return After::Closed,
        Some(Fault::Huge) => return endless(writer, request).await,
        Some(Fault::Status(status, retry_after)) => refusal(request, *status, retry_after.as_deref()),
        Some(Fault::Redirect(status, to)) => http::whole(*status, &[("location", to)], b""),
        Some(Fault::WebPage) => http::whole(200, &[("content-type", "text/html; charset=utf-8")], b"<html></html>"),
        Some(Fault::AtOnce) => at_once(request, turn),
        _ => return stream(writer, request, turn, taken).await,
    };
    taken.end(true);
    write(writer, &bytes).await
}

async fn write(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> After {
    if writer.write_all(bytes).await.is_ok() { After::Open } else { After::Closed }
}

fn refusal(request: &ModelRequest, status: u16, retry_after: Option<&str>) -> Vec<u8> {
    let header = |name| request.headers.get(name).map_or("", String::as_str);
    let message = format!("This is refused. Your key is {}{}", header("authorization"), header("x-api-key"));
    let body = serde_json::json!({ "error": { "type": "imitated_error", "message": message } }).to_string();
    let retry_after = retry_after.map(|value| ("retry-after", value));
    let headers: Vec<_> = [("content-type", "application/json")].into_iter().chain(retry_after).collect();
    http::whole(status, &headers, body.as_bytes())
}

fn events(request: &ModelRequest, turn: &Turn) -> Vec<String> {
    if request.is_anthropic() {
        anthropic::events(turn, request.model())
    } else {
        openai::events(turn, request.model())
    }
}

fn at_once(request: &ModelRequest, turn: &Turn) -> Vec<u8> {
    let model = request.model();
    let body = if request.is_anthropic() { anthropic::at_once(turn, model) } else { openai::at_once(turn, model) };
    http::whole(200, &[("content-type", "application/json")], body.to_string().as_bytes())
}

async fn stream(writer: &mut OwnedWriteHalf, request: &ModelRequest, turn: &Turn, taken: &Taken<'_>) -> After {
    let mut pieces: Vec<Vec<u8>> = events(request, turn).into_iter().map(String::into_bytes).collect();
    match turn.fault {
        Some(Fault::Garbage) => pieces = vec![b"data: <html>What?</html>\n\n\0\0\x01".to_vec()],
        Some(Fault::BadUtf8) => pieces = vec![pieces.swap_remove(0), b"data: {\"text\": \"\xff\xfe\"}\n\n".to_vec()],
        Some(Fault::CutAt(bytes) | Fault::HangAfter(bytes)) => pieces = vec![first(&pieces.concat(), bytes)],
        _ => {}
    }
    let last = pieces.pop().unwrap_or_default();
    let mut after = write(writer, http::STREAM_HEAD).await;
    for piece in pieces {
        after = write(writer, &http::chunk(&piece)).await;
    }
    match turn.fault {
        Some(Fault::HangAfter(_)) => {
            write(writer, &http::chunk(&last)).await;
            return std::future::pending().await;
        }
        Some(Fault::CutAt(_)) => {
            taken.end(true);
            write(writer, &http::chunk(&last)).await;
            return After::Closed;
        }
        _ => taken.end(true),
    }
    let ending = [http::chunk(&last), http::STREAM_END.to_vec()].concat();
    if after == After::Open { write(writer, &ending).await } else { After::Closed }
}

fn first(bytes: &[u8], count: usize) -> Vec<u8> {
    bytes[..count.min(bytes.len())].to_vec()
}

/// The same words again and again, until the client has had enough.
async fn endless(writer: &mut OwnedWriteHalf, request: &ModelRequest) -> After {
    let words = events(request, &Turn::say(&"more ".repeat(2_000)));
    // Both protocols close with three events.
    let beginning = words[..words.len() - 3].concat();
    let mut after = write(writer, http::STREAM_HEAD).await;
    while after == After::Open {
        after = write(writer, &http::chunk(beginning.as_bytes())).await;
    }
    after
}
