//! An imitation of a provider's API over real connections, in this process: answers, records, and faults on request.
//! What is answered, the imitations of the providers know.

use crate::wire_http::{self as http, WireRequest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

/// What goes wrong with one call.
#[derive(Debug, Clone, PartialEq)]
pub enum ApiFault {
    /// A status with this body.
    Status(u16, Value),
    /// With this status, to there.
    Redirect(u16, String),
    /// Takes the request and never answers.
    Hang,
    /// Closes without a word.
    Close,
    /// Does what was asked, and closes after so many bytes of the answer.
    CutAt(usize),
    /// Success, and a body that is no JSON.
    Garbage,
    /// A body without an end.
    Huge,
}

/// An answer: status, headers and body, as text because not all JSON that travels fits into a value.
pub(crate) type Reply = (u16, Vec<(&'static str, String)>, String);

pub(crate) trait Answering: Send + Sync + 'static {
    fn answer(&self, request: &ApiRequest) -> impl Future<Output = Reply> + Send;
}

/// Ends with the value.
pub(crate) struct ImitatedApi {
    pub(crate) address: SocketAddr,
    records: Arc<Records>,
    listening: JoinHandle<()>,
}

struct Records {
    requests: watch::Sender<Vec<ApiRequest>>,
    /// Each for the next call whose path has these words, or for all of them.
    faults: Mutex<Vec<Planned>>,
}

struct Planned {
    words: String,
    fault: ApiFault,
    lasts: bool,
}

impl ImitatedApi {
    pub(crate) async fn start<A: Answering>(answering: Arc<A>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let records = Arc::new(Records { requests: watch::Sender::new(Vec::new()), faults: Mutex::default() });
        let listening = tokio::spawn(listen(listener, records.clone(), answering));
        Self { address, records, listening }
    }

    pub(crate) fn fault(&self, words: &str, fault: ApiFault, lasts: bool) {
        self.records.faults.lock().expect("the faults").push(Planned { words: words.to_owned(), fault, lasts });
    }

    /// From now on nothing goes wrong any more.
    pub(crate) fn heal(&self) {
        self.records.faults.lock().expect("the faults").clear();
    }

    pub(crate) fn requests(&self) -> Vec<ApiRequest> {
        self.records.requests.borrow().clone()
    }

    /// Waits for this many requests whose path has these words.
    pub(crate) async fn until(&self, words: &str, count: usize) {
        let mut seen = self.records.requests.subscribe();
        let is_so = |all: &Vec<ApiRequest>| all.iter().filter(|request| request.path.contains(words)).count() >= count;
        let waiting = tokio::time::timeout(PATIENCE, seen.wait_for(is_so)).await;
        assert!(waiting.is_ok_and(|found| found.is_ok()), "{words} was not called {count} times in good time");
    }
}

impl Drop for ImitatedApi {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen<A: Answering>(listener: TcpListener, records: Arc<Records>, answering: Arc<A>) {
    // They end with the listener.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, records.clone(), answering.clone()));
    }
}

async fn serve<A: Answering>(stream: TcpStream, records: Arc<Records>, answering: Arc<A>) {
    stream.set_nodelay(true).ok();
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(WireRequest { method, path, headers, body }) = http::read_request(&mut reader).await {
        let request = ApiRequest { method, path, headers, body };
        records.requests.send_modify(|requests| requests.push(request.clone()));
        let fault = records.take_fault(&request);
        let is_open = tokio::select! {
            is_open = reply(&mut writer, &request, fault, &*answering) => is_open,
            () = gone(&mut reader) => false,
        };
        if !is_open {
            return;
        }
    }
}

impl Records {
    fn take_fault(&self, request: &ApiRequest) -> Option<ApiFault> {
        let mut faults = self.faults.lock().expect("the faults");
        let index = faults.iter().position(|planned| request.path.contains(&planned.words))?;
        if faults[index].lasts { Some(faults[index].fault.clone()) } else { Some(faults.remove(index).fault) }
    }
}

/// Ends when the client closes the connection. Clients send no second request before the first is answered.
async fn gone(reader: &mut BufReader<OwnedReadHalf>) {
    while reader.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
        std::future::pending::<()>().await;
    }
}

/// Whether the connection can be used again.
async fn reply<A: Answering>(
    writer: &mut OwnedWriteHalf,
    request: &ApiRequest,
    fault: Option<ApiFault>,
    answering: &A,
) -> bool {
    let (bytes, is_open) = match fault {
        None => (written(answering.answer(request).await), true),
        Some(ApiFault::Status(status, body)) => (written((status, Vec::new(), body.to_string())), true),
        Some(ApiFault::Redirect(status, to)) => (http::whole(status, &[("location", &to)], b""), true),
        Some(ApiFault::Garbage) => (http::whole(200, &[], b"<html>What?</html>\0"), true),
        Some(ApiFault::Hang) => return std::future::pending().await,
        Some(ApiFault::Close) => return false,
        Some(ApiFault::CutAt(most)) => {
            let mut bytes = written(answering.answer(request).await);
            bytes.truncate(most);
            (bytes, false)
        }
        Some(ApiFault::Huge) => return endless(writer).await,
    };
    writer.write_all(&bytes).await.is_ok() && is_open
}

fn written((status, headers, body): Reply) -> Vec<u8> {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
    http::whole(status, &all, body.as_bytes())
}

async fn endless(writer: &mut OwnedWriteHalf) -> bool {
    let mut is_read = writer.write_all(http::STREAM_HEAD).await.is_ok();
    while is_read {
        is_read = writer.write_all(&http::chunk(&[b' '; 64 * 1024])).await.is_ok();
    }
    false
}
