//! Reads over HTTP, beside an axum route that answers the same bytes without doing anything.

use super::ROUNDS;
use super::http::Target;
use super::load::Until;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit};
use super::scene::{CLIENTS, KEYS, Scene, lanes_of, read_request, write_request};
use crate::processes::{self, Server};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const WARM_UP: Until = Until::Elapsed(Duration::from_secs(1));

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let product = scene.product()?;
    let own = &product.target;
    scene.create_sessions(own, 0, CLIENTS)?;
    let keys = (0..CLIENTS * KEYS).map(|number| write_request(own, number % CLIENTS, number / CLIENTS));
    scene.each_once(own, keys)?;
    let answer = scene.ask(own, &read_request(own, 0, 0))?;
    let folder = scene.folder()?;
    let peer = static_route(folder.path(), &answer)?;
    let fixed = Target { address: peer.address, token: own.token.clone() };

    let mut reads = lanes_of(CLIENTS, |session, key| read_request(own, session, key));
    let mut same = lanes_of(CLIENTS, |session, key| read_request(&fixed, session, key));
    scene.drive(own, &mut reads, WARM_UP)?;
    scene.drive(&fixed, &mut same, WARM_UP)?;
    let (mut per_second, mut p99_ms, mut fixed_per_second) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let outcome = scene.drive(own, &mut reads, Until::Elapsed(scene.round))?;
        per_second.push(outcome.per_second());
        p99_ms.push(outcome.percentile_ms(0.99));
        fixed_per_second.push(scene.drive(&fixed, &mut same, Until::Elapsed(scene.round))?.per_second());
    }
    peer.stop()?;
    product.server.stop()?;
    let per_second = Sample::of(per_second, Unit::PerSecond);
    Ok(vec![
        Row::new(format!("reads, {CLIENTS} clients"), per_second, Bar::AtLeastTimes(0.6))?
            .beside("a static axum route, same generator and sizes", Sample::of(fixed_per_second, Unit::PerSecond)),
        Row::new("– their latency, p99", Sample::of(p99_ms, Unit::Milliseconds), Bar::None)?,
    ])
}

fn static_route(folder: &Path, answer: &[u8]) -> Result<Server> {
    let answer_file = folder.join("answer.json");
    std::fs::write(&answer_file, answer)?;
    let address = processes::free_address()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["static-route", "--listen", &address.to_string(), "--answer"]).arg(answer_file);
    Server::start(&mut command, address, &folder.join("static-route.log"))
}
