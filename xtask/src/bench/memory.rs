//! Resident memory of the product: at rest after its start, and after a hundred sessions have been written to.

use super::ROUNDS;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit, grouped};
use super::scene::{KEYS, Scene, write_request};
use anyhow::Result;
use std::time::Duration;

const SESSIONS: usize = 100;
/// Long enough for what a start or a burst leaves behind to settle.
const SETTLE: Duration = Duration::from_secs(1);

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let (mut at_rest, mut after_sessions) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let product = scene.product()?;
        let target = &product.target;
        std::thread::sleep(SETTLE);
        at_rest.push(product.server.resident_bytes()? as f64 / 1e6);
        scene.create_sessions(target, 0, SESSIONS)?;
        let writes = (0..SESSIONS * KEYS).map(|number| write_request(target, number % SESSIONS, number / SESSIONS));
        scene.each_once(target, writes)?;
        std::thread::sleep(SETTLE);
        after_sessions.push(product.server.resident_bytes()? as f64 / 1e6);
        product.server.stop()?;
    }
    let megabytes = |rounds| Sample::of(rounds, Unit::Megabytes);
    let writes = grouped((SESSIONS * KEYS) as u64);
    Ok(vec![
        Row::new("resident memory, at rest", megabytes(at_rest), Bar::AtMost(40.0))?,
        Row::new(
            format!("resident memory after {SESSIONS} sessions and {writes} writes"),
            megabytes(after_sessions),
            Bar::AtMost(80.0),
        )?,
    ])
}
