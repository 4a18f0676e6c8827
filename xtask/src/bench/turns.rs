//! Turns: a message in, the model asked, the answer on disk. Beside the same provider asked directly, whose answer is
//! fixed and costs it next to nothing: what is left is the product's own.

use super::ROUNDS;
use super::http::{Request, STAMP, Target};
use super::load::{Lane, Outcome, Until, drive};
use super::providers;
use super::rows::{Bar, Row};
use super::samples::{Sample, Unit, grouped};
use super::scene::{CLIENTS, Product, Scene, dealt};
use crate::processes::Server;
use crate::stories;
use anyhow::Result;
use std::time::Duration;
use tempfile::TempDir;

const WARM_UP: Until = Until::Elapsed(Duration::from_secs(1));
const AGENTS: [&str; 4] = ["agent_coder", "agent_analyzer", "agent_writer", "agent_researcher"];
/// Four agents each: as many agents as there are clients, so that none waits for a place.
const PROJECTS: usize = CLIENTS / AGENTS.len();
/// Sessions that each of many clients goes round, and a client that is alone and so the quicker: histories stay as short as
/// those of people.
const SESSIONS_EACH: usize = 40;
const SESSIONS_ALONE: usize = 400;
const SIZES: [usize; 3] = [64, 640, 6_400];
const SHARE_KEPT: f64 = 0.8;
/// Money enough, and a model whose window holds these histories: a summary now and then would be a second call of the model.
const SETTINGS: &str = r#"{"budget":{"daily_usd":1000000},"model":"gpt-4o"}"#;
/// How much more another tenant asks for.
const LOUDER: usize = 20;
const PROVIDER_TAKES: Duration = Duration::from_millis(20);

/// The product with projects, and the provider that serves its models.
struct Talk {
    product: Product,
    provider: Server,
    _folder: TempDir,
}

impl Talk {
    fn begin(scene: &Scene) -> Result<Self> {
        Self::with_provider(scene, Duration::ZERO)
    }

    fn with_provider(scene: &Scene, delay: Duration) -> Result<Self> {
        let folder = scene.folder()?;
        let provider = providers::start(folder.path(), delay, &providers::words(), None)?;
        let url = format!("http://{}/v1", provider.address);
        let environment = [("OPENAI_API_KEY", "sk-bench"), ("LONGHOUSE_OPENAI_BASE_URL", url.as_str())];
        let product = scene.product_in(None, &environment)?;
        let target = &product.target;
        scene.ask(target, &Request::patch(target, "/admin/workspaces/personal-usr_owner", SETTINGS))?;
        let project = |number| Request::post(target, "/my/projects", &format!(r#"{{"name":"project-{number}"}}"#), 201);
        scene.each_once(target, (0..PROJECTS).map(project))?;
        Ok(Self { product, provider, _folder: folder })
    }

    fn target(&self) -> &Target {
        &self.product.target
    }

    /// Makes the sessions from one number up to another, spread over the projects.
    fn sessions(&self, scene: &Scene, from: usize, to: usize) -> Result<()> {
        scene.each_once(self.target(), (from..to).map(|number| self.session(number)))
    }

    fn session(&self, number: usize) -> Request {
        let project = project_of(number);
        let body = format!(r#"{{"id":"talk-{number}","project":"project-{project}"}}"#);
        Request::post(self.target(), "/sessions", &body, 201)
    }

    fn message(&self, session: usize) -> Request {
        let agent = AGENTS[(session / PROJECTS) % AGENTS.len()];
        let body = format!(r#"{{"content":"How are things today? {STAMP}","target_agent":"{agent}","wait_s":60}}"#);
        Request::post(self.target(), &format!("/sessions/talk-{session}/messages"), &body, 200)
    }

    fn end(self) -> Result<()> {
        self.product.server.stop()?;
        self.provider.stop()
    }
}

/// Sessions of one client share an agent and no other client has it: client `n` has the sessions `n`, `n + 64`, …
fn project_of(session: usize) -> usize {
    session % PROJECTS
}

pub(crate) fn measure(scene: &Scene) -> Result<Vec<Row>> {
    let talk = Talk::begin(scene)?;
    talk.sessions(scene, 0, CLIENTS * SESSIONS_EACH)?;
    scene.each_once(talk.target(), (SESSIONS_EACH..SESSIONS_ALONE).map(|round| talk.session(round * CLIENTS)))?;
    let lane = |client: usize, sessions: usize| {
        Lane::new((0..sessions).map(|round| talk.message(client + round * CLIENTS)).collect())
    };
    let direct = Target { address: talk.provider.address, token: "sk-bench".to_owned() };
    let mut one = vec![lane(0, SESSIONS_ALONE)];
    let mut many: Vec<Lane> = (0..CLIENTS).map(|client| lane(client, SESSIONS_EACH)).collect();
    let mut bare = vec![Lane::new(vec![bare_request(&direct)])];
    scene.drive(talk.target(), &mut one, WARM_UP)?;
    scene.drive(&direct, &mut bare, WARM_UP)?;
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let before = talk.product.server.processor_time()?;
        let outcome = scene.drive(talk.target(), &mut one, Until::Elapsed(scene.round))?;
        let spent = talk.product.server.processor_time()? - before;
        rounds.one_p50_ms.push(outcome.percentile_ms(0.5));
        rounds.one_p99_ms.push(outcome.percentile_ms(0.99));
        rounds.processor_ms.push(per_turn(spent, &outcome));
        rounds.bare_p50_ms.push(scene.drive(&direct, &mut bare, Until::Elapsed(scene.round))?.percentile_ms(0.5));
        let before = talk.product.server.processor_time()?;
        let outcome = scene.drive(talk.target(), &mut many, Until::Elapsed(scene.round))?;
        rounds.many_processor_ms.push(per_turn(talk.product.server.processor_time()? - before, &outcome));
        rounds.per_second.push(outcome.per_second());
        rounds.many_p99_ms.push(outcome.percentile_ms(0.99));
    }
    talk.end()?;
    rounds.into_rows()
}

fn per_turn(spent: Duration, outcome: &Outcome) -> f64 {
    spent.as_secs_f64() * 1000.0 / outcome.count() as f64
}

#[derive(Default)]
struct Rounds {
    one_p50_ms: Vec<f64>,
    one_p99_ms: Vec<f64>,
    processor_ms: Vec<f64>,
    bare_p50_ms: Vec<f64>,
    per_second: Vec<f64>,
    many_p99_ms: Vec<f64>,
    many_processor_ms: Vec<f64>,
}

impl Rounds {
    fn into_rows(self) -> Result<Vec<Row>> {
        let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
        Ok(vec![
            Row::new(
                "turn (message in, model asked, reply on disk), one after another, p50",
                milliseconds(self.one_p50_ms),
                Bar::AtMostOver(2.0),
            )?
            .beside("the imitated provider asked directly, p50", milliseconds(self.bare_p50_ms)),
            Row::new("– p99", milliseconds(self.one_p99_ms), Bar::None)?,
            Row::new("– the server's processor time for each", milliseconds(self.processor_ms), Bar::AtMost(1.0))?,
            Row::new(
                format!("stored turns, {CLIENTS} sessions at once"),
                Sample::of(self.per_second, Unit::PerSecond),
                Bar::AtLeast(1500.0),
            )?,
            Row::new("– their latency, p99", milliseconds(self.many_p99_ms), Bar::None)?,
            Row::new("– the server's processor time for each", milliseconds(self.many_processor_ms), Bar::None)?,
        ])
    }
}

/// Turns per second with ever more sessions, all of them being talked in.
pub(crate) fn growth(scene: &Scene) -> Result<Vec<Row>> {
    let talk = Talk::begin(scene)?;
    let (mut rows, mut existing, mut smallest) = (Vec::new(), 0, None);
    for size in SIZES {
        talk.sessions(scene, existing, size)?;
        existing = size;
        // Each client keeps to the sessions of its own agent.
        let mut lanes = dealt((0..size).map(|session| talk.message(session)), CLIENTS);
        scene.drive(talk.target(), &mut lanes, Until::Elapsed(Duration::from_millis(500)))?;
        let mut per_second = Vec::new();
        for _ in 0..ROUNDS {
            let round = scene.round.min(Duration::from_secs(2));
            per_second.push(scene.drive(talk.target(), &mut lanes, Until::Elapsed(round))?.per_second());
        }
        let sample = Sample::of(per_second, Unit::PerSecond);
        let name = format!("turns over {} sessions, {CLIENTS} clients", grouped(size as u64));
        rows.push(match smallest {
            None => Row::new(name, sample, Bar::None)?,
            Some(_) => Row::new(name, sample, Bar::AtLeastTimes(SHARE_KEPT))?.beside("the same over 64", smallest),
        });
        smallest = smallest.or(sample);
    }
    talk.end()?;
    Ok(rows)
}

/// How long a turn of one tenant takes while another asks twenty times as much, with a provider that takes its time.
pub(crate) fn fairness(scene: &Scene) -> Result<Vec<Row>> {
    let talk = Talk::with_provider(scene, PROVIDER_TAKES)?;
    talk.sessions(scene, 0, SESSIONS_EACH * PROJECTS)?;
    let loud = loud_neighbour(scene, &talk)?;
    let mut quiet = vec![Lane::new((0..SESSIONS_EACH).map(|round| talk.message(round * PROJECTS)).collect())];
    let address = talk.target().address;
    let until = Until::Elapsed(scene.round * 2);
    scene.drive(talk.target(), &mut quiet, WARM_UP)?;
    let (mut alone_ms, mut beside_ms) = (Vec::new(), Vec::new());
    let mut loud_lanes = dealt(loud.into_iter(), LOUDER);
    for _ in 0..ROUNDS {
        alone_ms.push(scene.drive(talk.target(), &mut quiet, until)?.percentile_ms(0.99));
        let both = async { tokio::join!(drive(address, &mut quiet, until), drive(address, &mut loud_lanes, until)) };
        let (quiet_outcome, loud_outcome) = scene.block_on(both);
        loud_outcome?;
        beside_ms.push(quiet_outcome?.percentile_ms(0.99));
    }
    talk.end()?;
    let milliseconds = |rounds| Sample::of(rounds, Unit::Milliseconds);
    let name = format!("turn of one tenant while another has {LOUDER} × as many under way, p99");
    Ok(vec![
        Row::new(name, milliseconds(beside_ms), Bar::AtMostTimes(1.5))?
            .beside("the same alone", milliseconds(alone_ms)),
    ])
}

/// Requests of another person with a project of their own.
fn loud_neighbour(scene: &Scene, talk: &Talk) -> Result<Vec<Request>> {
    let owner = talk.target();
    scene.ask(owner, &Request::post(owner, "/admin/users", r#"{"name":"loud"}"#, 201))?;
    let token = stories::token_of(&scene.binary, &talk.product.data_dir, "loud")?;
    let loud = Target { address: owner.address, token };
    scene.ask(owner, &Request::patch(owner, "/admin/workspaces/personal-usr_loud", SETTINGS))?;
    scene.ask(&loud, &Request::post(&loud, "/my/projects", r#"{"name":"loud"}"#, 201))?;
    let sessions = 0..LOUDER * SESSIONS_EACH;
    let create = |number: usize| {
        Request::post(&loud, "/sessions", &format!(r#"{{"id":"loud-{number}","project":"loud"}}"#), 201)
    };
    scene.each_once(&loud, sessions.clone().map(create))?;
    let message = |number: usize| {
        let agent = AGENTS[number % AGENTS.len()];
        let body = format!(r#"{{"content":"More! {STAMP}","target_agent":"{agent}","wait_s":60}}"#);
        Request::post(&loud, &format!("/sessions/loud-{number}/messages"), &body, 200)
    };
    Ok(sessions.map(message).collect())
}

/// As large as what the product asks with, so that both cost the provider the same.
fn bare_request(direct: &Target) -> Request {
    let message = serde_json::json!({"role": "user", "content": "x".repeat(8 * 1024)});
    let body = serde_json::json!({"model": "gpt-4o", "stream": true, "messages": [message]});
    Request::post(direct, "/v1/chat/completions", &body.to_string(), 200)
}
