//! A call on a person's machine and back: a file is read by a real node. Beside what it cannot do without: two requests over
//! HTTP, and what the server and the node have to have on disk.

use super::ROUNDS;
use super::baselines::sync_p50_ms;
use super::http::Request;
use super::load::{Lane, Until};
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit};
use super::scene::{Product, Scene, read_request, write_request};
use crate::{processes, workspace};
use anyhow::{Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WARM_UP: Until = Until::Elapsed(Duration::from_secs(1));
const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const PROJECT: &str = "alpha";
const READ: &str = r#"{"agent":"agent_coder","tool":"tool_read_file","params":{"path":"notes.md"},"wait_s":20}"#;

/// `longhouse connect`, ended with this.
pub(crate) struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let product = scene.product()?;
    let target = &product.target;
    scene.ask(target, &Request::post(target, "/my/projects", &format!(r#"{{"name":"{PROJECT}"}}"#), 201))?;
    scene.create_sessions(target, 0, 1)?;
    scene.ask(target, &write_request(target, 0, 0))?;
    let folder = scene.folder()?;
    let node = connect(scene, &product, folder.path())?;
    let mut calls = vec![Lane::new(vec![read(&product)])];
    let mut requests = vec![Lane::new(vec![read_request(target, 0, 0)])];
    wait_for(scene, &product)?;
    scene.drive(target, &mut calls, WARM_UP)?;
    let (mut p50_ms, mut p99_ms, mut least_ms) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let outcome = scene.drive(target, &mut calls, Until::Elapsed(scene.round))?;
        p50_ms.push(outcome.percentile_ms(0.5));
        p99_ms.push(outcome.percentile_ms(0.99));
        let request_ms = scene.drive(target, &mut requests, Until::Elapsed(scene.round))?.percentile_ms(0.5);
        least_ms.push(2.0 * request_ms + 2.0 * sync_p50_ms(folder.path(), scene.round)?);
    }
    drop(node);
    product.server.stop()?;
    let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
    let mut rows = vec![
        Row::new("tool round trip, LOW risk (a file read on a node), p50", milliseconds(p50_ms), Bar::AtMostOver(3.0))?
            .beside("two requests and two syncs, p50", milliseconds(least_ms)),
        Row::new("– p99", milliseconds(p99_ms), Bar::None)?,
    ];
    rows.push(safe_open()?);
    Ok(rows)
}

/// What it costs to resolve a path below a handle, measured by a program of the `node` crate.
fn safe_open() -> Result<Row> {
    let program = workspace::build_example("longhouse-node", "safe_open")?;
    let measured: Value = serde_json::from_str(&processes::output_of(&mut Command::new(program))?)?;
    let sample = |field: &str| {
        let rounds = measured[field].as_array().into_iter().flatten().filter_map(Value::as_f64);
        Sample::of(rounds.collect(), Unit::Nanoseconds)
    };
    let figure = "a small file four folders deep, found below the root by the kernel and read, no link can lead out";
    let row = Row::new(figure, sample("safe_ns"), Bar::None)?;
    Ok(row.beside("the same by its path, following any link", sample("plain_ns")))
}

fn read(product: &Product) -> Request {
    Request::post(&product.target, &format!("/my/projects/{PROJECT}/tools/execute"), READ, 200)
}

pub(crate) fn connect(scene: &Scene, product: &Product, folder: &Path) -> Result<Node> {
    let (root, token) = (folder.join("root"), folder.join("token"));
    std::fs::create_dir(&root)?;
    std::fs::write(root.join("notes.md"), "hello\n".repeat(40))?;
    std::fs::write(&token, &product.target.token)?;
    let mut command = Command::new(&scene.binary);
    command.args(["connect", "--project", PROJECT, "--server", &format!("http://{}", product.target.address)]);
    command.arg("--root").arg(root).arg("--state-dir").arg(folder.join("state")).arg("--token-file").arg(token);
    let log = std::fs::File::create(folder.join("node.log"))?;
    Ok(Node(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?))
}

/// Until the node has made a call.
pub(crate) fn wait_for(scene: &Scene, product: &Product) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while scene.ask(&product.target, &read(product)).is_err() {
        if Instant::now() > deadline {
            bail!("the node does not come");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
