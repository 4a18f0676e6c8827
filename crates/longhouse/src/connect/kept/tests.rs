//! Kept connections against a small server that counts them.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// Answers every request with the number of its connection.
pub(in crate::connect) struct Counting {
    pub(in crate::connect) address: Address,
    connections: Arc<AtomicUsize>,
    serving: tokio::task::JoinHandle<()>,
}

/// How a connection goes on after an answer.
#[derive(Clone)]
pub(in crate::connect) enum Manner {
    Keeps,
    /// Without a word, as a house that is stopped does.
    ClosesAfterOne,
    /// Takes all that is said after that, and is silent, as one behind a network that is gone.
    SilentAfterOne,
    /// Answers only when so many have asked.
    WaitsFor(Arc<Barrier>),
}

impl Counting {
    pub(in crate::connect) async fn start(port: u16, manner: Manner) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let serving = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
                open.spawn(serve(stream, number, manner.clone()));
            }
        });
        Self { address: Address::new(&url, "the test", None).unwrap(), connections, serving }
    }

    fn kept(&self) -> Kept {
        Kept::new(self.address.clone(), || Timestamp::from_ms(0))
    }

    pub(in crate::connect) fn count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn port(&self) -> u16 {
        self.address.port()
    }
}

async fn serve(mut stream: TcpStream, number: usize, manner: Manner) {
    let mut pending = Vec::new();
    loop {
        let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") else {
            if matches!(stream.read_buf(&mut pending).await, Ok(0) | Err(_)) {
                return;
            }
            continue;
        };
        pending.drain(..end + 4);
        if let Manner::WaitsFor(all) = &manner {
            all.wait().await;
        }
        let body = number.to_string();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).await.is_err() || matches!(manner, Manner::ClosesAfterOne) {
            return;
        }
        if matches!(manner, Manner::SilentAfterOne) {
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            return;
        }
    }
}

async fn ask(kept: &Kept) -> Result<usize> {
    let response = kept.exchange(Request::get("/").body(Bytes::new())?).await?;
    Ok(std::str::from_utf8(response.body())?.parse()?)
}

#[tokio::test]
async fn requests_in_a_row_use_one_connection() {
    let server = Counting::start(0, Manner::Keeps).await;
    let kept = server.kept();
    for _ in 0..20 {
        assert_eq!(ask(&kept).await.unwrap(), 1);
    }
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_connection_that_the_house_closed_is_replaced_in_silence() {
    let server = Counting::start(0, Manner::ClosesAfterOne).await;
    let kept = server.kept();
    for number in 1..=20 {
        assert_eq!(ask(&kept).await.unwrap(), number);
    }
}

#[tokio::test]
async fn a_house_that_was_restarted_is_asked_anew() {
    let first = Counting::start(0, Manner::Keeps).await;
    let kept = first.kept();
    assert_eq!(ask(&kept).await.unwrap(), 1);
    let port = first.port();
    first.serving.abort();
    let _ = first.serving.await;
    assert!(ask(&kept).await.is_err(), "nobody is there, and that is told");
    let second = Counting::start(port, Manner::Keeps).await;
    assert_eq!((ask(&kept).await.unwrap(), ask(&kept).await.unwrap()), (1, 1));
    assert_eq!(second.count(), 1);
}

#[tokio::test]
async fn ten_at_once_have_ten_connections_and_the_next_open_none() {
    let server = Counting::start(0, Manner::WaitsFor(Arc::new(Barrier::new(10)))).await;
    let kept = server.kept();
    let asked = futures_util::future::join_all((0..10).map(|_| ask(&kept))).await;
    let mut numbers: Vec<usize> = asked.into_iter().map(Result::unwrap).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    assert_eq!(kept.idle.lock().unwrap().len(), KEPT_MOST);
    let again = futures_util::future::join_all((0..10).map(|_| ask(&kept))).await;
    assert!(again.iter().all(Result::is_ok));
    assert_eq!(server.count(), 10 + (10 - KEPT_MOST));
}

#[tokio::test]
async fn one_that_was_silent_for_long_is_not_trusted() {
    static NOW_MS: AtomicI64 = AtomicI64::new(0);
    let server = Counting::start(0, Manner::Keeps).await;
    let kept = Kept::new(server.address.clone(), || Timestamp::from_ms(NOW_MS.load(Ordering::SeqCst)));
    for (now_ms, expected) in [(0, 1), (19_999, 1), (39_999, 2), (39_998, 3)] {
        NOW_MS.store(now_ms, Ordering::SeqCst);
        assert_eq!(ask(&kept).await.unwrap(), expected, "at {now_ms}");
    }
}

/// Long enough for an answer on this machine, and too short to be waited for by hand.
const SOON: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(20);

async fn ask_patiently(kept: &Kept) -> usize {
    tokio::time::timeout(PATIENCE, ask(kept)).await.expect("it hangs").unwrap()
}

#[tokio::test]
async fn one_that_leads_nowhere_is_given_up_soon_and_so_are_its_like() {
    let server = Counting::start(0, Manner::SilentAfterOne).await;
    let kept = Kept { head_within: SOON, ..server.kept() };
    let both = futures_util::future::join(ask(&kept), ask(&kept)).await;
    assert_eq!((both.0.unwrap() + both.1.unwrap(), kept.idle().len()), (3, 2), "two are kept");
    assert_eq!(ask_patiently(&kept).await, 3);
    assert_eq!(kept.idle().len(), 1, "only the new one is trusted");
    assert_eq!(server.kept().head_within, Duration::from_secs(5));
}

#[tokio::test]
async fn what_is_large_goes_over_a_new_connection() {
    let server = Counting::start(0, Manner::SilentAfterOne).await;
    // If it tried the kept one it would hang.
    let kept = Kept { head_within: PATIENCE * 2, ..server.kept() };
    assert_eq!(ask_patiently(&kept).await, 1);
    let large = Request::post("/").body(Bytes::from(vec![b' '; SMALL_BYTES + 1])).unwrap();
    let response = tokio::time::timeout(PATIENCE, kept.exchange(large)).await.expect("it hangs").unwrap();
    assert_eq!(response.body(), "2");
}

#[tokio::test]
async fn when_the_stream_was_cut_none_is_trusted() {
    let server = Counting::start(0, Manner::SilentAfterOne).await;
    let kept = Kept { head_within: PATIENCE * 2, ..server.kept() };
    assert_eq!(ask_patiently(&kept).await, 1);
    kept.drop_idle();
    assert_eq!(ask_patiently(&kept).await, 2);
}
