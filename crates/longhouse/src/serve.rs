//! `longhouse serve`: opens the house, puts the configuration in force, opens its doors, and closes all in order.

mod channels;
mod plugins;
mod reloads;
mod watching;
mod webhooks;

use self::channels::RunningChannels;
use self::plugins::RunningPlugins;
use crate::cli::{Place, Serve};
use crate::settings::Process;
use crate::{config, output, settings};
use anyhow::{Context, Result};
use api::{App, Options, Tls};
use domain::money::Micros;
use reloads::{ConfigFile, Started};
use serde_json::{Value, json};
use service::data_dir::SocketPath;
use service::surroundings::Machine;
use service::{Ctx, House, authority, bus, gateway, housekeeping, models, rules, sign_in, tool_calls, worker_spaces};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// For what runs when the server is told to stop; the rest of ten seconds is for closing.
const TO_FINISH: Duration = Duration::from_secs(4);
/// For words that are on their way to a channel.
const TO_SAY: Duration = Duration::from_secs(2);
/// For the ends of calls that were cut off with their plugins.
const TO_PUT_DOWN: Duration = Duration::from_secs(1);

const NO_PROVIDER: &str = "demo (set OPENAI_API_KEY, ANTHROPIC_API_KEY or LONGHOUSE_OPENAI_BASE_URL to use a real one)";

pub(crate) async fn run(place: &Place, options: &Serve) -> Result<ExitCode> {
    let wanted = settings::listen_address(&options.listen)?;
    let Ok(file) = ConfigFile::find(place, options.without_config) else { return Ok(ExitCode::FAILURE) };
    let process = Process::new(options, &file.process())?;
    process.check_exposure(options, wanted)?;
    settings::check_engines()?;
    if options.print_config {
        return print_config(place, &file, &process, wanted);
    }
    let mut stop = Stop::listen()?;
    // Without somebody who listens it would end the process.
    let hangup = signal(SignalKind::hangup())?;
    raise_file_limit();
    let house = open_at(place, process.storage_url.clone()).await?;
    let plugins = RunningPlugins::none_yet().await;
    house.use_plugins(Arc::new(plugins.clone()));
    let channels = RunningChannels::default();
    house.use_channels(Arc::new(channels.clone()));
    let file = file.with(Started { plugins: plugins.clone(), channels: channels.clone() });
    let opened = open_doors(place, options, &process, wanted, &house, file).await;
    let (bound, app, file) = match opened {
        Ok(Some(opened)) => opened,
        not_opened => {
            channels.stop().await;
            plugins.stop().await;
            house.close().await;
            return not_opened.map(|_| ExitCode::FAILURE);
        }
    };
    let socket = SocketPath::of(&place.data_dir)?;
    greet(&house, place, &process.public_url(bound.address()?)).await?;
    let keeping = tokio::spawn(housekeeping::run(house.clone()));
    let posting = tokio::spawn(webhooks::post_alerts(house.clone()));
    let following = tokio::spawn(file.follow(house.clone(), hangup));
    let mut speaking = tokio::spawn(speak(house.clone(), channels.clone()));
    worker_spaces::resume(&house).await?;
    api::serve(api::entrance(app), bound, stop.wait(), || {
        tracing::info!("stopping: open requests may finish");
        house.end_streams();
    })
    .await;
    // What was heard is on disk; what it comes to is said by whoever runs next.
    channels.stop().await;
    bus::drain(&house, TO_FINISH).await;
    // What a provider is just being told would else be told again.
    let _ = tokio::time::timeout(TO_SAY, &mut speaking).await;
    // What plugins still do is cut off, and put on record as such while that can be written.
    plugins.stop().await;
    tool_calls::finish_plugin_calls(&house, TO_PUT_DOWN).await;
    keeping.abort();
    posting.abort();
    following.abort();
    speaking.abort();
    // The next start would remove it; a client would meanwhile knock in vain. Before the house is closed, because then
    // the next may have made its own already.
    let _ = std::fs::remove_file(socket.as_path());
    house.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// What is owed to places and people, until the house closes and what is being said is said.
async fn speak(house: House, channels: RunningChannels) {
    let outlet: Arc<dyn gateway::Outlet> = Arc::new(channels);
    tokio::join!(gateway::deliver(house.clone(), outlet.clone()), gateway::ask_people(house, outlet));
}

/// Takes the addresses and puts the configuration in force. None if that was refused, which was said then.
async fn open_doors(
    place: &Place,
    options: &Serve,
    process: &Process,
    wanted: SocketAddr,
    house: &House,
    mut file: ConfigFile,
) -> Result<Option<(api::Bound, App, ConfigFile)>> {
    let socket = SocketPath::of(&place.data_dir)?;
    let tls = options.tls_cert.clone().zip(options.tls_key.clone()).map(|(certificate, key)| Tls { certificate, key });
    let bound = api::bind(wanted, socket.as_path(), tls.as_ref()).await;
    let bound = bound.with_context(|| format!("cannot listen on {wanted}"))?;
    let in_force = file.put_in_force(house).await;
    if !matches!(in_force, Ok(true)) {
        let _ = std::fs::remove_file(socket.as_path());
        return in_force.map(|_| None);
    }
    let address = bound.address()?;
    let app = App::new(
        house.clone(),
        Options {
            hosts: process.hosts(address),
            rate_limit: process.rate_limit,
            metrics_open: process.metrics_open,
            public_url: process.public_url(address),
            plain_beyond_loopback: !address.ip().is_loopback() && tls.is_none(),
            temporary: false,
        },
    );
    Ok(Some((bound, app, file)))
}

/// What would be in force; of skills only their names, because their texts are long.
fn print_config(place: &Place, file: &ConfigFile, process: &Process, wanted: SocketAddr) -> Result<ExitCode> {
    let mut shown = process.as_json(wanted);
    shown["config"] = json!(settings::config_file(place));
    shown["data_dir"] = json!(place.data_dir);
    if let Some(loaded) = file.loaded() {
        shown["skills_dir"] = json!(loaded.skills_dir);
        let mut declaration = serde_json::to_value(&loaded.declaration)?;
        declaration["house"]["skills"] = json!(loaded.declaration.house.skills.keys().collect::<Vec<_>>());
        in_dollars(&mut declaration);
        shown["declaration"] = declaration;
    }
    output::print(true, &shown, |_| String::new())?;
    Ok(ExitCode::SUCCESS)
}

/// Shows sums as the file has them, not as they are kept.
fn in_dollars(value: &mut Value) {
    let dollars = |sum: &Value| sum.as_u64().map(|micros| json!(Micros(micros).as_usd()));
    match value {
        Value::Array(list) => list.iter_mut().for_each(in_dollars),
        Value::Object(fields) => {
            for (kept, shown) in [("daily", "daily_usd"), ("member_daily", "member_daily_usd")] {
                if let Some(sum) = fields.get(kept).and_then(dollars) {
                    fields.remove(kept);
                    fields.insert(shown.to_owned(), sum);
                }
            }
            for (name, value) in fields.iter_mut() {
                match dollars(value) {
                    Some(sum) if name.ends_with("_per_mtok") || name.starts_with("usr_") => *value = sum,
                    _ => in_dollars(value),
                }
            }
        }
        _ => {}
    }
}

/// Opens the house in the data directory, building it if need be.
pub(crate) async fn open(place: &Place) -> Result<House> {
    settings::check_engines()?;
    open_at(place, settings::storage_url(place)?).await
}

async fn open_at(place: &Place, storage_url: Option<String>) -> Result<House> {
    let secret = std::env::var("LONGHOUSE_SECRET").ok();
    let options = service::house::Options {
        secret,
        storage_url,
        environment: Arc::new(|name| std::env::var(name).ok()),
        ..service::house::Options::in_folder(place.data_dir.clone())
    };
    let (house, built) = House::open(options, Arc::new(Machine::default())).await?;
    if built {
        output::say(&format!("made a new house in {}, its owner is usr_owner", place.data_dir.display()));
    }
    Ok(house)
}

/// Says everything that is wrong with a file, for somebody who waits for a start.
fn say_refused(problems: &[config::Problem]) {
    for line in config::lines(problems) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    output::say(&format!("not started: {} in the configuration", config::counted(problems.len(), "problem")));
}

async fn greet(house: &House, place: &Place, public_url: &str) -> Result<()> {
    let sign_in = if sign_in::was_never_offered(house).await? {
        let operator = authority::operator(house, authority::LocalActor::default()).await?;
        let ctx = Ctx::new(house.clone(), &operator);
        let code = sign_in::create_code(&ctx, operator.caller.user.clone()).await?;
        format!("{public_url}/#/sign-in/{code}   (once, within a day)")
    } else {
        "longhouse user link owner".to_owned()
    };
    let rules = rules::in_force(house).await?;
    let model = match models::provider_names(house, &rules).join(", ") {
        nobody if nobody.is_empty() => NO_PROVIDER.to_owned(),
        names => names,
    };
    // A reader that has gone away must not stop the server.
    let _ = write!(
        std::io::stdout(),
        "Longhouse {} is at {public_url}\n  data     {}\n  API      {public_url}/docs\n  model    {model}\n  talk     {}\n  \
         sign in  {sign_in}\n",
        env!("CARGO_PKG_VERSION"),
        place.data_dir.display(),
        talk(place),
    );
    Ok(())
}

/// The command that talks to this server from the same folder.
fn talk(place: &Place) -> String {
    if place.data_dir == Path::new("./longhouse-data") {
        return "longhouse chat".to_owned();
    }
    format!("longhouse chat --data-dir {}", place.data_dir.display())
}

/// Many idle streams need many file handles; the usual soft limit is small.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// Held so that a file size limit gives an error instead of ending the process. (SIGPIPE is ignored by Rust.)
    _file_size: tokio::signal::unix::Signal,
}

const SIGXFSZ: i32 = 25;

impl Stop {
    fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_size: signal(SignalKind::from_raw(SIGXFSZ))?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
