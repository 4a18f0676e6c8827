//! From the start of the process to the first healthy answer: a new directory, a used one, a full one.

use super::http::Target;
use super::load::Until;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit, grouped};
use super::scene::{CLIENTS, KEYS, Scene, dealt, write_request};
use crate::processes;
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const STARTS: usize = 7;
const SESSIONS: usize = 1_000;
const WRITES: usize = 100_000;
/// Filling ends here even if it is not done; the row then says how far it came.
const FILL_WITHIN: Duration = Duration::from_secs(300);

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let folder = scene.folder()?;
    let mut bare = Vec::new();
    let mut first = Vec::new();
    for number in 0..STARTS {
        let started = Instant::now();
        processes::output_of(Command::new(&scene.binary).arg("--version"))?;
        bare.push(milliseconds(started.elapsed()));
        first.push(start_and_stop(scene, &folder.path().join(format!("new-{number}")))?);
    }
    let empty = starts(scene, &folder.path().join("new-0"))?;

    let product = scene.product()?;
    let written = fill(scene, &product.target)?;
    product.server.stop()?;
    let full = starts(scene, &product.data_dir)?;

    let filled =
        format!("cold start after {} writes to {} sessions", grouped(written as u64), grouped(SESSIONS as u64));
    let bare = Sample::of(bare, Unit::Milliseconds);
    let row = |name: String, rounds, bar| {
        Ok::<_, anyhow::Error>(
            Row::new(name, Sample::of(rounds, Unit::Milliseconds), bar)?.beside("`longhouse --version`", bare),
        )
    };
    Ok(vec![
        row("cold start, the very first (makes the data directory)".to_owned(), first, Bar::None)?,
        row("cold start, empty".to_owned(), empty, Bar::AtMost(100.0))?,
        row(filled, full, Bar::AtMost(500.0))?,
    ])
}

fn starts(scene: &Scene, data_dir: &Path) -> Result<Vec<f64>> {
    (0..STARTS).map(|_| start_and_stop(scene, data_dir)).collect()
}

fn start_and_stop(scene: &Scene, data_dir: &Path) -> Result<f64> {
    let server = scene.serve(data_dir)?;
    let ready_after = server.ready_after;
    server.stop()?;
    Ok(milliseconds(ready_after))
}

/// Writes through the product's own door, key by key and version by version; says how many were acknowledged.
fn fill(scene: &Scene, target: &Target) -> Result<usize> {
    scene.create_sessions(target, 0, SESSIONS)?;
    let writes = (0..SESSIONS * KEYS).map(|number| write_request(target, number % SESSIONS, number / SESSIONS));
    let mut lanes = dealt(writes, CLIENTS);
    let started = Instant::now();
    let mut written = 0;
    while written < WRITES && started.elapsed() < FILL_WITHIN {
        scene.drive(target, &mut lanes, Until::EachOnce)?;
        written += SESSIONS * KEYS;
    }
    Ok(written)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
