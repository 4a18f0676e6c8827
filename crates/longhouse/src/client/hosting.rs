//! A command that lasts while no server runs: it has the house open, so it lets other commands on this machine in, and
//! keeps house.

use super::Client;
use crate::cli::Place;
use anyhow::{Context, Result};
use service::data_dir::SocketPath;
use service::{House, bus, housekeeping};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// For what still runs when the command ends.
const TO_FINISH: Duration = Duration::from_secs(1);

pub(crate) struct Hosting {
    house: House,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    keeping: JoinHandle<()>,
}

impl Hosting {
    /// None where there is a server.
    pub(crate) fn of(client: &Client, place: &Place) -> Result<Option<Self>> {
        let Client::Here(house, entrance) = client else { return Ok(None) };
        let socket = SocketPath::of(&place.data_dir)?;
        let bound = api::bind_socket(socket.as_path()).context("cannot open the socket in the data directory")?;
        let (stop, stopped) = oneshot::channel();
        let (house, entrance) = (house.clone(), (**entrance).clone());
        let keeping = tokio::spawn(housekeeping::run(house.clone()));
        let ending = house.clone();
        let serving = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            api::serve(entrance, bound, stopped, || ending.end_streams()).await;
            let _ = std::fs::remove_file(socket.as_path());
        });
        Ok(Some(Self { house, stop, serving, keeping }))
    }

    /// Puts everything on disk.
    pub(crate) async fn end(self) {
        let _ = self.stop.send(());
        let _ = self.serving.await;
        bus::drain(&self.house, TO_FINISH).await;
        self.keeping.abort();
        self.house.close().await;
    }
}
