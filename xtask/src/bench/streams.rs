//! Thousands of idle event streams: what each costs the server, and how long one event takes to reach them all.

use super::ROUNDS;
use super::http::{Connection, Head, Request, Target};
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit, grouped};
use super::scene::{Scene, session};
use crate::processes::{self, Server};
use anyhow::{Context, Result, bail};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const WANTED: usize = 10_000;
/// Files that a process needs beside its streams.
const RESERVE: usize = 500;
const OPENING_AT_ONCE: usize = 100;
const ARRIVED_WITHIN: Duration = Duration::from_secs(30);
const SETTLE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Costs {
    kibibytes_each: Vec<f64>,
    from_answer_ms: Vec<f64>,
    from_request_ms: Vec<f64>,
}

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let count = WANTED.min(open_files_allowed()?.saturating_sub(RESERVE));
    let (mut own, mut naive) = (Costs::default(), Costs::default());
    for round in 0..ROUNDS {
        let product = scene.product()?;
        scene.create_sessions(&product.target, 0, 1)?;
        own.add(scene, &product.server, &product.target, count, round)?;
        drop(product);
        let folder = scene.folder()?;
        let address = processes::free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["naive-streams", "--listen", &address.to_string()]);
        // The peer at its best: huge pages behind the allocator make small idle buffers weigh more.
        command.env("MIMALLOC_ALLOW_THP", "0");
        let peer = Server::start(&mut command, address, &folder.path().join("naive-streams.log"))?;
        naive.add(scene, &peer, &Target { address, token: "none".to_owned() }, count, round)?;
    }
    let fewer =
        if count < WANTED { format!(" (this machine's open file limit forbids {WANTED})") } else { String::new() };
    let count = grouped(count as u64);
    let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
    let kibibytes = |rounds| Sample::of(rounds, Unit::KibibytesEach);
    let peer = "naive axum streams";
    Ok(vec![
        Row::new(format!("memory of {count} idle streams{fewer}"), kibibytes(own.kibibytes_each), Bar::AtMost(24.0))?
            .beside(peer, kibibytes(naive.kibibytes_each)),
        Row::new(
            format!("one event to {count} streams, from the write's answer"),
            milliseconds(own.from_answer_ms),
            Bar::AtMost(300.0),
        )?
        .beside(peer, milliseconds(naive.from_answer_ms)),
        Row::new("– from the write's request", milliseconds(own.from_request_ms), Bar::None)?
            .beside(peer, milliseconds(naive.from_request_ms)),
    ])
}

impl Costs {
    /// One round: opens the streams, weighs them, and sends one event down all of them.
    fn add(&mut self, scene: &Scene, server: &Server, target: &Target, count: usize, round: usize) -> Result<()> {
        let before = server.resident_bytes()?;
        let streams = scene.block_on(open(target, count))?;
        std::thread::sleep(SETTLE);
        let grown = server.resident_bytes()?.saturating_sub(before);
        self.kibibytes_each.push(grown as f64 / 1024.0 / count as f64);
        let spread = scene.block_on(spread(target, streams, &format!("fan_out_{round}")))?;
        self.from_answer_ms.push(spread.arrived.saturating_duration_since(spread.answered).as_secs_f64() * 1000.0);
        self.from_request_ms.push(spread.arrived.duration_since(spread.asked).as_secs_f64() * 1000.0);
        Ok(())
    }
}

fn open_files_allowed() -> Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()).context("no open file limit in /proc")?;
    Ok(soft.parse().unwrap_or(usize::MAX))
}

async fn open(target: &Target, count: usize) -> Result<Vec<TcpStream>> {
    let path = format!("/sessions/{}/events", session(0));
    let request: Arc<[u8]> = Request::stream(target, &path).into();
    let mut streams = Vec::with_capacity(count);
    let mut opening = JoinSet::new();
    for number in 0..count {
        opening.spawn(open_one(target.address, Arc::clone(&request)));
        if opening.len() >= OPENING_AT_ONCE || number + 1 == count {
            while let Some(stream) = opening.join_next().await {
                let opened = streams.len();
                streams.push(stream?.with_context(|| format!("after {opened} open streams"))?);
            }
        }
    }
    Ok(streams)
}

async fn open_one(address: std::net::SocketAddr, request: Arc<[u8]>) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&request).await?;
    let mut heard = Vec::new();
    loop {
        read_more(&stream, &mut heard).await?;
        match Head::parse(&heard)? {
            Some(head) if head.status == 200 => return Ok(stream),
            Some(head) => bail!("status {} instead of a stream", head.status),
            None => {}
        }
    }
}

/// When the write was sent, when it was answered, and when the last stream had its event.
struct Spread {
    asked: Instant,
    answered: Instant,
    arrived: Instant,
}

async fn spread(target: &Target, streams: Vec<TcpStream>, key: &str) -> Result<Spread> {
    let needle: Arc<[u8]> = format!("\"{key}\"").into_bytes().into();
    let count = streams.len();
    let listening = Arc::new(AtomicUsize::new(0));
    let mut waiting = JoinSet::new();
    for stream in streams {
        waiting.spawn(wait_for(stream, Arc::clone(&needle), Arc::clone(&listening)));
    }
    while listening.load(Ordering::Relaxed) < count {
        tokio::task::yield_now().await;
    }
    let body = format!("{{\"action\":\"write\",\"key\":\"{key}\",\"value\":\"x\"}}");
    let request = Request::post(target, &format!("/sessions/{}/shared_context", session(0)), &body, 200);
    let address = target.address;
    // On its own thread: on ours the answer would be noticed only after the events that came with it.
    let writer = std::thread::spawn(move || write(address, &request));
    let arrived = tokio::time::timeout(ARRIVED_WITHIN, last_of(waiting)).await;
    let (asked, answered) = writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    let arrived = arrived.with_context(|| format!("the event was not everywhere after {ARRIVED_WITHIN:?}"))??;
    Ok(Spread { asked, answered, arrived })
}

fn write(address: std::net::SocketAddr, request: &Request) -> Result<(Instant, Instant)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        let asked = Instant::now();
        connection.exchange(request).await?;
        Ok((asked, Instant::now()))
    })
}

/// Keeps every stream open until the last has its event: closing them is not what is being timed.
async fn last_of(mut waiting: JoinSet<Result<(TcpStream, Instant)>>) -> Result<Instant> {
    let mut last = None;
    let mut open = Vec::with_capacity(waiting.len());
    while let Some(heard) = waiting.join_next().await {
        let (stream, arrived) = heard??;
        open.push(stream);
        last = last.max(Some(arrived));
    }
    last.context("there was no stream")
}

async fn wait_for(stream: TcpStream, needle: Arc<[u8]>, listening: Arc<AtomicUsize>) -> Result<(TcpStream, Instant)> {
    let mut heard = Vec::new();
    listening.fetch_add(1, Ordering::Relaxed);
    loop {
        read_more(&stream, &mut heard).await?;
        if heard.windows(needle.len()).any(|window| window == &*needle) {
            return Ok((stream, Instant::now()));
        }
    }
}

/// Reads what is there. The buffer lives only between two waits, so that waiting streams weigh little on our side too.
async fn read_more(stream: &TcpStream, heard: &mut Vec<u8>) -> Result<()> {
    loop {
        stream.readable().await?;
        let mut buffer = [0; 2048];
        match stream.try_read(&mut buffer) {
            Ok(0) => bail!("the server closed a stream"),
            Ok(length) => {
                heard.extend_from_slice(&buffer[..length]);
                return Ok(());
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
}
