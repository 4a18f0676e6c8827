//! The house: the few handles that all operations share.

use crate::authority::Authority;
use crate::bus::Bus;
use crate::data_dir::{self, DataDir};
use crate::gateway::{self, Channels, Strangers};
use crate::models::{self, Environment};
use crate::signing::Signer;
use crate::surroundings::Surroundings;
use crate::token_counts::TokenCounts;
use crate::tool_calls::Alarm;
use crate::worker_spaces::Spaces;
use crate::{Result, backups, budgets, plugins, rules, tasks, tool_calls, turns, users};
use domain::times::Timestamp;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;

/// A cheap handle; every clone is the same house.
#[derive(Clone)]
pub struct House(Arc<Rooms>);

struct Rooms {
    store: Store,
    surroundings: Arc<dyn Surroundings>,
    latest_id: Mutex<uuid::Uuid>,
    signer: Signer,
    authority: Authority,
    token_counts: TokenCounts,
    rules: rules::Holding,
    budgets: budgets::Figures,
    models: models::Holding,
    bus: Bus,
    spaces: Spaces,
    turns: turns::Figures,
    tool_calls: Alarm,
    plugins: plugins::Holding,
    strangers: Strangers,
    channels: Channels,
    heard: gateway::Figures,
    /// See `DataDir::holder`.
    holder: String,
    data_dir: DataDir,
}

/// What a house needs to know to open.
pub struct Options {
    pub data_dir: std::path::PathBuf,
    /// `LONGHOUSE_SECRET`, if it is set.
    pub secret: Option<String>,
    /// `LONGHOUSE_STORAGE_URL`, if it is set; else the rows are in the data directory.
    pub storage_url: Option<String>,
    /// Where the keys of model providers are.
    pub environment: Environment,
    /// How long a provider may take.
    pub timeouts: llm::Timeouts,
}

impl Options {
    /// A house all of which is in its data directory.
    pub fn in_folder(data_dir: impl Into<std::path::PathBuf>) -> Self {
        let (environment, timeouts) = (Arc::new(|_: &str| None), llm::Timeouts::default());
        Self { data_dir: data_dir.into(), secret: None, storage_url: None, environment, timeouts }
    }
}

impl House {
    /// Opens the house, building it on the first start. Answers whether this was the first.
    pub async fn open(options: Options, surroundings: Arc<dyn Surroundings>) -> Result<(Self, bool)> {
        // Before anything is made.
        data_dir::storage(&options.data_dir, options.storage_url.as_deref())?;
        let data_dir = DataDir::enter(&options.data_dir)?;
        backups::clear_leftovers(data_dir.path());
        let secret = data_dir.secret(options.secret.as_deref(), surroundings.as_ref())?;
        let holder = data_dir.holder(surroundings.as_ref())?;
        let storage = data_dir.storage(options.storage_url.as_deref())?;
        let store = Store::open(store::Options::new(storage.clone())).await?;
        let moved_in = data_dir.has_rows_elsewhere();
        let rooms = Rooms {
            authority: Authority::new(&store),
            store,
            surroundings,
            latest_id: Mutex::default(),
            signer: Signer::new(&secret),
            token_counts: TokenCounts::default(),
            rules: rules::Holding::default(),
            budgets: budgets::Figures::default(),
            models: models::Holding::new(options.environment, options.timeouts),
            bus: Bus::default(),
            spaces: Spaces::default(),
            turns: turns::Figures::default(),
            tool_calls: Alarm::default(),
            plugins: plugins::Holding::default(),
            strangers: Strangers::default(),
            channels: Channels::default(),
            heard: gateway::Figures::default(),
            holder,
            data_dir,
        };
        let house = Self(Arc::new(rooms));
        if moved_in {
            users::require_owner(&house).await?;
        }
        let first = users::ensure_owner(&house).await?;
        house.data_dir().note_storage(&storage)?;
        budgets::recover(&house).await;
        // Before the tasks: what waits for such a call finds out what became of it.
        tool_calls::recover_plugin_calls(&house).await?;
        tasks::recovery::recover(&house).await?;
        Ok((house, first))
    }

    pub fn now(&self) -> Timestamp {
        self.0.surroundings.now()
    }

    /// A fresh UUIDv7, greater than all that were given before it: in order of their ids, things are in the order of
    /// their making, also those of one millisecond.
    pub fn unique(&self) -> uuid::Uuid {
        let mut latest = self.0.latest_id.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = greater(*latest, self.0.surroundings.unique());
        *latest
    }

    pub(crate) fn random(&self) -> [u8; 32] {
        self.0.surroundings.random()
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn signer(&self) -> &Signer {
        &self.0.signer
    }

    pub fn authority(&self) -> &Authority {
        &self.0.authority
    }

    pub(crate) fn token_counts(&self) -> &TokenCounts {
        &self.0.token_counts
    }

    pub(crate) fn rules(&self) -> &rules::Holding {
        &self.0.rules
    }

    pub fn budgets(&self) -> &budgets::Figures {
        &self.0.budgets
    }

    pub(crate) fn models(&self) -> &models::Holding {
        &self.0.models
    }

    pub fn bus(&self) -> &Bus {
        &self.0.bus
    }

    pub fn spaces(&self) -> &Spaces {
        &self.0.spaces
    }

    pub fn turns(&self) -> &turns::Figures {
        &self.0.turns
    }

    pub(crate) fn tool_calls(&self) -> &Alarm {
        &self.0.tool_calls
    }

    pub(crate) fn plugins(&self) -> &plugins::Holding {
        &self.0.plugins
    }

    pub(crate) fn strangers(&self) -> &Strangers {
        &self.0.strangers
    }

    /// What was heard in channels.
    pub fn heard(&self) -> &gateway::Figures {
        &self.0.heard
    }

    pub(crate) fn channels(&self) -> &Channels {
        &self.0.channels
    }

    pub(crate) fn holder(&self) -> &str {
        &self.0.holder
    }

    pub fn data_dir(&self) -> &DataDir {
        &self.0.data_dir
    }

    pub fn data_path(&self) -> &Path {
        self.0.data_dir.path()
    }

    /// Ends open streams, so that their connections can close.
    pub fn end_streams(&self) {
        self.0.authority.close();
    }

    /// Finishes what was begun and closes the database.
    pub async fn close(&self) {
        self.0.authority.close();
        self.0.store.close().await;
        self.0.data_dir.leave();
    }
}

/// `fresh`, or if that is not greater than `latest`, one a little greater than that.
fn greater(latest: uuid::Uuid, fresh: uuid::Uuid) -> uuid::Uuid {
    const RANDOM: u128 = (1 << 62) - 1;
    const MILLISECOND: u128 = 1 << 80;
    if fresh > latest {
        return fresh;
    }
    let (latest, step) = (latest.as_u128(), 1 + (fresh.as_u128() & 0xffff_ffff));
    let fits = (latest & RANDOM) + step <= RANDOM;
    uuid::Uuid::from_u128(if fits { latest + step } else { (latest & !RANDOM) + MILLISECOND })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_greater_than_those_before_it_whatever_the_clock_and_chance_say() {
        let id = |ms: u64, bytes: [u8; 10]| uuid::Builder::from_unix_timestamp_millis(ms, &bytes).into_uuid();
        let cases = [
            (id(7, [9; 10]), id(7, [1; 10])),
            (id(7, [9; 10]), id(7, [9; 10])),
            (id(7, [255; 10]), id(7, [0; 10])),
            (id(7, [255; 10]), id(3, [255; 10])),
            (id(7, [1; 10]), id(8, [0; 10])),
        ];
        for (latest, fresh) in cases {
            let next = greater(latest, fresh);
            assert!(next > latest, "{latest} {next}");
            assert_eq!((next.get_version_num(), next.get_variant()), (7, uuid::Variant::RFC4122));
        }
        assert_eq!(greater(id(7, [1; 10]), id(8, [0; 10])), id(8, [0; 10]), "and else just what it was");
    }
}
