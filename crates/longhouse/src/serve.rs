//! `longhouse serve`: opens the house, opens its doors, and closes both in order.

use crate::cli::{Place, Serve};
use crate::{output, settings};
use anyhow::{Context, Result};
use api::{App, Options, Tls};
use service::data_dir::SocketPath;
use service::surroundings::Machine;
use service::{Ctx, House, authority, housekeeping, sign_in};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) async fn run(place: &Place, options: &Serve) -> Result<ExitCode> {
    let wanted = settings::listen_address(&options.listen)?;
    settings::check_exposure(options, wanted)?;
    let rate_limit = settings::rate_limit(&options.rate_limit)?;
    let mut stop = Stop::listen()?;
    raise_file_limit();
    let house = open(place).await?;
    let socket = SocketPath::of(&place.data_dir)?;
    let tls = options.tls_cert.clone().zip(options.tls_key.clone()).map(|(certificate, key)| Tls { certificate, key });
    let bound = api::bind(wanted, socket.as_path(), tls.as_ref()).await;
    let bound = bound.with_context(|| format!("cannot listen on {wanted}"))?;
    let address = bound.address()?;
    let public_url = settings::public_url(options, address);
    let app = App::new(
        house.clone(),
        Options {
            hosts: settings::hosts(options, address),
            rate_limit,
            metrics_open: options.metrics_open,
            public_url: public_url.clone(),
            plain_beyond_loopback: !address.ip().is_loopback() && tls.is_none(),
            temporary: false,
        },
    );
    greet(&house, place, &public_url).await?;
    let keeping = tokio::spawn(housekeeping::run(house.clone()));
    api::serve(api::entrance(app), bound, stop.wait(), || {
        tracing::info!("stopping: open requests may finish");
        house.end_streams();
    })
    .await;
    keeping.abort();
    // The next start would remove it; a client would meanwhile knock in vain. Before the house is closed, because then
    // the next may have made its own already.
    let _ = std::fs::remove_file(socket.as_path());
    house.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Opens the house in the data directory, building it if need be.
pub(crate) async fn open(place: &Place) -> Result<House> {
    settings::check_engines()?;
    let options = service::house::Options {
        data_dir: place.data_dir.clone(),
        secret: std::env::var("LONGHOUSE_SECRET").ok(),
        storage_url: settings::storage_url(),
    };
    let (house, built) = House::open(options, Arc::new(Machine::default())).await?;
    if built {
        output::say(&format!("made a new house in {}, its owner is usr_owner", place.data_dir.display()));
    }
    Ok(house)
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
    // A reader that has gone away must not stop the server.
    let _ = write!(
        std::io::stdout(),
        "Longhouse {} is at {public_url}\n  data     {}\n  API      {public_url}/docs\n  sign in  {sign_in}\n",
        env!("CARGO_PKG_VERSION"),
        place.data_dir.display(),
    );
    Ok(())
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
