//! Resident memory of the product: at rest after its start, after a hundred sessions have been written to, and with a
//! hundred projects.

use super::ROUNDS;
use super::http::{Request, Target};
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit, grouped};
use super::scene::{KEYS, Scene, write_request};
use anyhow::Result;
use std::time::Duration;

const SESSIONS: usize = 100;
/// Each with its four starter agents.
const PROJECTS: usize = 100;
/// Long enough for what a start or a burst leaves behind to settle.
const SETTLE: Duration = Duration::from_secs(1);

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let (mut at_rest, mut after_sessions, mut with_projects) = (Vec::new(), Vec::new(), Vec::new());
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
        scene.each_once(target, (0..PROJECTS).map(|number| project_request(target, number)))?;
        scene.each_once(target, (0..PROJECTS).flat_map(|number| item_requests(target, number)))?;
        std::thread::sleep(SETTLE);
        with_projects.push(product.server.resident_bytes()? as f64 / 1e6);
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
        Row::new(
            format!("resident memory with {PROJECTS} projects ({} agents, each with an item) besides", PROJECTS * 4),
            megabytes(with_projects),
            Bar::AtMost(120.0),
        )?,
    ])
}

fn project_request(target: &Target, number: usize) -> Request {
    Request::post(target, "/my/projects", &format!("{{\"name\":\"project-{number}\"}}"), 201)
}

/// Lets each agent of a project keep something.
fn item_requests(target: &Target, number: usize) -> [Request; 4] {
    ["agent_coder", "agent_analyzer", "agent_writer", "agent_researcher"].map(|agent| {
        let path = format!("/my/projects/project-{number}/agents/{agent}/tools/workspace_write");
        let body = format!("{{\"key\":\"{agent} {number}\",\"value\":\"{}\"}}", "x".repeat(400));
        Request::post(target, &path, &body, 200)
    })
}
