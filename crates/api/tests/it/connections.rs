//! Real connections: slow, broken and malicious ones, and how they all end when the house stops.

use api::{App, Options, RateLimit, bind, entrance, serve};
use serde_json::json;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(super) struct Served {
    pub(super) world: Arc<World>,
    pub(super) address: SocketAddr,
    socket: PathBuf,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

pub(super) async fn served() -> Served {
    let world = Arc::new(World::new().await);
    let socket = world.folder().join("control.sock");
    let bound = bind("127.0.0.1:0".parse().expect("an address"), &socket, None).await.expect("bound");
    let address = bound.address().expect("an address");
    let app = App::new(world.house.clone(), Options { rate_limit: RateLimit::Off, ..Options::default() });
    let (stop, stopped) = oneshot::channel::<()>();
    let house = world.house.clone();
    let server = tokio::spawn(async move {
        let until = async {
            let _ = stopped.await;
        };
        serve(entrance(app), bound, until, || house.end_streams()).await;
    });
    Served { world, address, socket, stop, server }
}

/// Sends bytes and reads until the other side closes or says nothing more for a while.
async fn send(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut text = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut text)).await.expect("closed");
    String::from_utf8_lossy(&text).into_owned()
}

async fn is_well(address: SocketAddr) -> bool {
    let answer = send(address, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    answer.starts_with("HTTP/1.1 200") && answer.contains("healthy")
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_headers_is_closed_after_ten_seconds() {
    let served = served().await;
    let beginnings: [&[u8]; 3] = [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "];
    let started = Instant::now();
    let waiting = beginnings.map(|bytes| tokio::spawn(send(served.address, bytes)));
    assert!(is_well(served.address).await, "others do not wait");
    assert!(started.elapsed() < Duration::from_secs(5));
    for client in waiting {
        let answer = client.await.expect("a client");
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(started.elapsed() < Duration::from_secs(14), "{:?}", started.elapsed());
    }
    assert!(started.elapsed() > Duration::from_secs(8), "and not before: {:?}", started.elapsed());
}

#[tokio::test]
async fn garbage_is_answered_with_400_or_silence_and_hurts_nobody() {
    let served = served().await;
    let owner = served.world.owner().await;
    let get = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n").into_bytes();
    let garbage = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"\x00\x00\x00\x00\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET /health HTTP/9.9\r\n\r\n".to_vec(),
        b"GET /health\r\n\r\n".to_vec(),
        vec![0xff; 4096],
        get("/health", "Bad Header\r\n"),
        get("/health", "Content-Length: 1\r\nContent-Length: 2\r\n"),
        get("/health", "Content-Length: -1\r\n"),
        get("/health", "Transfer-Encoding: chunked, identity\r\n"),
        get("/he\x00alth", ""),
        get("/health", "X: a\x00b\r\n"),
    ];
    for bytes in garbage {
        let answer = send(served.address, &bytes).await;
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{shown:?}: {answer}");
    }
    let body = b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let smuggled = [
        &body[..],
        format!("Authorization: Bearer {owner}\r\nContent-Type: application/json\r\n").as_bytes(),
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /me HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    .concat();
    let answer = send(served.address, &smuggled).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "one request, one answer: {answer}");
    assert!(is_well(served.address).await);
}

#[tokio::test]
async fn headers_of_a_quarter_of_a_mebibyte_are_refused_and_those_of_40_kib_are_not() {
    let served = served().await;
    let with = |size: usize| {
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Large: {}\r\n\r\n", "x".repeat(size))
    };
    assert!(send(served.address, with(40 * 1024).as_bytes()).await.starts_with("HTTP/1.1 200"));
    let answer = send(served.address, with(256 * 1024).as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let many: String = (0..500).map(|number| format!("X-{number}: x\r\n")).collect();
    let many = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    let answer = send(served.address, many.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert!(is_well(served.address).await);
}

#[tokio::test]
async fn a_body_larger_than_announced_or_than_allowed_is_not_swallowed() {
    let served = served().await;
    let owner = served.world.owner().await;
    let head = format!(
        "POST /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {owner}\r\n\
         Content-Type: application/json\r\nConnection: close\r\n"
    );
    let answer = send(served.address, format!("{head}Content-Length: 99999999999\r\n\r\n{{").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("PAYLOAD_TOO_LARGE"), "{answer}");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000)).repeat(20);
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n");
    let answer = send(served.address, chunked.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(is_well(served.address).await);
}

#[tokio::test]
async fn the_control_socket_is_the_owners_alone_and_opens_the_local_door() {
    let served = served().await;
    let mode = std::fs::metadata(&served.socket).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&served.socket).await.expect("a connection");
    stream.write_all(b"GET /me HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n").await.expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("an answer");
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("usr_owner"), "{text}");
    // The same words on the network are a stranger's.
    let answer = send(served.address, b"GET /me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test]
async fn a_socket_left_behind_is_replaced_and_an_address_in_use_is_an_error() {
    let served = served().await;
    let elsewhere = served.world.folder().join("left.sock");
    std::fs::write(&elsewhere, "").expect("left behind");
    assert!(bind("127.0.0.1:0".parse().expect("an address"), &elsewhere, None).await.is_ok());
    assert!(bind(served.address, &served.world.folder().join("third.sock"), None).await.is_err());
    assert!(is_well(served.address).await);
}

#[tokio::test]
async fn when_told_to_stop_the_house_ends_streams_finishes_requests_and_returns() {
    let served = served().await;
    let owner = served.world.owner().await;
    served.world.session(&owner, "plans", json!({})).await;
    let mut stream = TcpStream::connect(served.address).await.expect("a connection");
    let head = format!("GET /my/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {owner}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut text = vec![0; 4096];
    let mut seen = String::new();
    while !seen.contains("retry: 1000") {
        let count = stream.read(&mut text).await.expect("the stream has begun");
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&text[..count]));
    }
    // One that is connected and says nothing must not hold the house up either.
    let _idle = TcpStream::connect(served.address).await.expect("a connection");
    assert!(is_well(served.address).await);
    served.stop.send(()).expect("told");
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
    ended.expect("the stream ends").expect("whole");
    assert!(String::from_utf8_lossy(&rest).ends_with("0\r\n\r\n"), "properly ended");
    tokio::time::timeout(Duration::from_secs(9), served.server).await.expect("the server returns").expect("well");
    assert!(TcpStream::connect(served.address).await.is_err(), "nobody is there any more");
}
