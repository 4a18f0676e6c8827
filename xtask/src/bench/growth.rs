//! Writes per second with ever more sessions, all of them being written to.
//! If the cost of one write to every session is linear in their number, the rate stays where it was.

use super::ROUNDS;
use super::load::Until;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit, grouped};
use super::scene::{CLIENTS, Scene, dealt, write_request};
use anyhow::Result;

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Linear, less what larger tables cost in cache misses and noise.
const SHARE_KEPT: f64 = 0.8;

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let product = scene.product()?;
    let target = &product.target;
    let mut rows = Vec::new();
    let mut existing = 0;
    let mut smallest = None;
    for size in SIZES {
        scene.create_sessions(target, existing, size)?;
        existing = size;
        let all = || (0..size).map(|session| write_request(target, session, 0));
        scene.each_once(target, all())?;
        let mut lanes = dealt(all(), CLIENTS);
        let mut per_second = Vec::new();
        for _ in 0..ROUNDS {
            per_second.push(scene.drive(target, &mut lanes, Until::Elapsed(scene.round))?.per_second());
        }
        let sample = Sample::of(per_second, Unit::PerSecond);
        let name = format!("writes over {} sessions, {CLIENTS} clients", grouped(size as u64));
        rows.push(match smallest {
            None => Row::new(name, sample, Bar::None)?,
            Some(_) => Row::new(name, sample, Bar::AtLeastTimes(SHARE_KEPT))?.beside("the same over 100", smallest),
        });
        smallest = smallest.or(sample);
    }
    product.server.stop()?;
    Ok(rows)
}
