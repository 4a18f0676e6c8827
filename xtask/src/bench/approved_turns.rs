//! A whole turn with a person in the middle who answers at once: message, the model asks to write, the person is asked and agrees,
//! a real node writes, the model is told, its last words are on disk.

use super::ROUNDS;
use super::http::{Connection, Request, Target};
use super::load::{self, Lane, Until};
use super::providers;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit};
use super::scene::Scene;
use super::tools::{self, PROJECT};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const WARM_UP: Until = Until::Elapsed(Duration::from_secs(1));
const MOST_MS: f64 = 10.0;
/// Gone round, so that histories stay as short as those of people.
const SESSIONS: usize = 200;
const SETTINGS: &str = r#"{"budget":{"daily_usd":1000000},"model":"gpt-4o"}"#;

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let folder = scene.folder()?;
    let write = providers::call("tool_write_file", &json!({"path": "notes.md", "content": "hello\n"}));
    let provider = providers::start(folder.path(), Duration::ZERO, &write, Some(&providers::words()))?;
    let url = format!("http://{}/v1", provider.address);
    let environment = [("OPENAI_API_KEY", "sk-bench"), ("LONGHOUSE_OPENAI_BASE_URL", url.as_str())];
    let product = scene.product_in(None, &environment)?;
    let target = &product.target;
    scene.ask(target, &Request::patch(target, "/admin/workspaces/personal-usr_owner", SETTINGS))?;
    scene.ask(target, &Request::post(target, "/my/projects", &format!(r#"{{"name":"{PROJECT}"}}"#), 201))?;
    let create = |number: usize| {
        Request::post(target, "/sessions", &format!(r#"{{"id":"talk-{number}","project":"{PROJECT}"}}"#), 201)
    };
    scene.each_once(target, (0..SESSIONS).map(create))?;
    let node = tools::connect(scene, &product, folder.path())?;
    tools::wait_for(scene, &product)?;
    let message = |number: usize| {
        let body = r#"{"content":"Write it down.","target_agent":"agent_coder","wait_s":60}"#;
        Request::post(target, &format!("/sessions/talk-{number}/messages"), body, 200)
    };
    let mut turns = vec![Lane::new((0..SESSIONS).map(message).collect())];
    let (mut p50_ms, mut p99_ms) = (Vec::new(), Vec::new());
    scene.block_on(async {
        let person = tokio::spawn(agree(target.clone()));
        load::drive(target.address, &mut turns, WARM_UP).await?;
        for _ in 0..ROUNDS {
            let outcome = load::drive(target.address, &mut turns, Until::Elapsed(scene.round)).await?;
            p50_ms.push(outcome.percentile_ms(0.5));
            p99_ms.push(outcome.percentile_ms(0.99));
        }
        person.abort();
        anyhow::Ok(())
    })?;
    drop(node);
    product.server.stop()?;
    provider.stop()?;
    let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
    let figure = "turn with an approval answered at once (ask, agree, write on the node, last words), p50";
    Ok(vec![
        Row::new(figure, milliseconds(p50_ms), Bar::AtMost(MOST_MS))?,
        Row::new("– p99", milliseconds(p99_ms), Bar::None)?,
    ])
}

/// A person who hears of every question and says yes.
async fn agree(target: Target) -> Result<()> {
    let mut stream = TcpStream::connect(target.address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&Request::stream(&target, "/my/events")).await?;
    let mut heard = BufReader::new(stream).lines();
    let mut answers = Connection::open(target.address).await?;
    while let Some(line) = heard.next_line().await? {
        let Some(data) = line.strip_prefix("data:") else { continue };
        let event: Value = serde_json::from_str(data.trim()).context("an event that is no JSON")?;
        if event["type"] == "TOOL_APPROVAL_REQUEST" {
            let id = event["approval"].as_str().context("an approval without an id")?;
            let body = json!({"digest": event["digest"]}).to_string();
            let path = format!("/my/projects/{PROJECT}/approvals/{id}/approve");
            answers.exchange(&Request::post(&target, &path, &body, 200)).await?;
        }
    }
    Ok(())
}
