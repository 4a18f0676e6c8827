//! The scene of a test, one line per fact.

use crate::asks::Ask;
use crate::clock::TurnedClock;
use crate::engines::new_storage;
use crate::imitated_provider::ImitatedProvider;
use api::{App, Entrance, Options, RateLimit, entrance};
use axum::http::Method;
use serde_json::{Value, json};
use service::House;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub struct World {
    pub house: House,
    pub clock: Arc<TurnedClock>,
    entrance: Entrance,
    folder: TempDir,
    storage_url: Option<String>,
    environment: HashMap<String, String>,
    timeouts: llm::Timeouts,
}

impl World {
    /// A new house with its owner, and no limit on how often one may ask.
    pub async fn new() -> Self {
        Self::with(Options { rate_limit: RateLimit::Off, ..Options::default() }).await
    }

    pub async fn with(options: Options) -> Self {
        Self::with_environment(options, HashMap::new()).await
    }

    /// A new house whose models are served by an imitation, under the names and prices of the real ones.
    pub async fn served_by(provider: &ImitatedProvider) -> Self {
        let options = Options { rate_limit: RateLimit::Off, ..Options::default() };
        Self::with_environment(options, provided_by(provider)).await
    }

    /// The same for stories in which the imitation is blocked: a model is waited for as long as a server would.
    pub async fn patiently_served_by(provider: &ImitatedProvider) -> Self {
        let options = Options { rate_limit: RateLimit::Off, ..Options::default() };
        Self::made(options, provided_by(provider), llm::Timeouts::default()).await
    }

    /// A new house that finds these variables in its environment.
    pub async fn with_environment(options: Options, environment: HashMap<String, String>) -> Self {
        let (first_byte, idle) = (Duration::from_secs(2), Duration::from_secs(2));
        Self::made(options, environment, llm::Timeouts { first_byte, idle, ..llm::Timeouts::default() }).await
    }

    async fn made(options: Options, environment: HashMap<String, String>, timeouts: llm::Timeouts) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock = Arc::new(TurnedClock::default());
        let storage_url = new_storage().await;
        let surroundings = (&environment, timeouts);
        let (house, entrance) = open(&folder, storage_url.as_deref(), &clock, options, surroundings).await;
        Self { house, clock, entrance, folder, storage_url, environment, timeouts }
    }

    /// Closes the house and opens it again on the same folder.
    pub async fn reopened(self) -> Self {
        let Self { house, clock, entrance, folder, storage_url, environment, timeouts } = self;
        // As `serve` does: nobody works on, and what ran is interrupted.
        house.end_streams();
        service::bus::drain(&house, Duration::ZERO).await;
        house.close().await;
        drop((house, entrance));
        let options = Options { rate_limit: RateLimit::Off, ..Options::default() };
        let surroundings = (&environment, timeouts);
        let (house, entrance) = open(&folder, storage_url.as_deref(), &clock, options, surroundings).await;
        Self { house, clock, entrance, folder, storage_url, environment, timeouts }
    }

    /// A house of its own from a backup, on the same engine as this one.
    pub async fn restored(&self, backup: &Path, data_dir: &Path) -> House {
        let storage_url = new_storage().await;
        service::backups::restore(backup, data_dir, storage_url.as_deref()).await.expect("restored");
        let options = service::house::Options { storage_url, ..service::house::Options::in_folder(data_dir) };
        let (house, first) = House::open(options, self.clock.clone()).await.expect("opened");
        assert!(!first, "it has its people");
        house
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn ask(&self, method: Method, path: &str) -> Ask {
        Ask::new(self.entrance.clone(), method, path)
    }

    pub fn get(&self, path: &str) -> Ask {
        self.ask(Method::GET, path)
    }

    pub fn post(&self, path: &str, body: &Value) -> Ask {
        self.ask(Method::POST, path).json(body)
    }

    pub fn delete(&self, path: &str) -> Ask {
        self.ask(Method::DELETE, path)
    }

    async fn token(&self, body: Value) -> String {
        let issued = self.post("/my/tokens", &body).locally().send().await.ok();
        issued["token"].as_str().expect("a token").to_owned()
    }

    /// The owner's token.
    pub async fn owner(&self) -> String {
        self.token(json!({})).await
    }

    /// A new member and their token.
    pub async fn member(&self, name: &str) -> String {
        self.post("/admin/users", &json!({"name": name})).locally().send().await.ok();
        self.token(json!({"user": name})).await
    }

    /// A session of the owner of `token`.
    pub async fn session(&self, token: &str, id: &str, config: Value) -> Value {
        self.post("/sessions", &json!({"id": id, "config": config})).by(token).send().await.ok()
    }

    /// A token for a participant of a session, made by whoever owns `token`.
    pub async fn participant(&self, token: &str, session: &str, participant: &str) -> String {
        let body = json!({"session": session, "participant": participant});
        let issued = self.post("/my/tokens", &body).by(token).send().await.ok();
        issued["token"].as_str().expect("a token").to_owned()
    }

    /// Uses the `shared_context` tool.
    pub fn context(&self, token: &str, session: &str, request: &Value) -> Ask {
        self.post(&format!("/sessions/{session}/shared_context"), request).by(token)
    }

    /// Writes a key that must be accepted.
    pub async fn write(&self, token: &str, session: &str, key: &str, value: &str) -> Value {
        let request = json!({"action": "write", "key": key, "value": value});
        self.context(token, session, &request).send().await.ok()
    }
}

/// What a server's environment holds when both kinds of provider are this one.
pub fn provided_by(provider: &ImitatedProvider) -> HashMap<String, String> {
    let variables = [
        ("OPENAI_API_KEY", "sk-imitated".to_owned()),
        ("LONGHOUSE_OPENAI_BASE_URL", provider.openai_url()),
        ("ANTHROPIC_API_KEY", "sk-ant-imitated".to_owned()),
        ("LONGHOUSE_ANTHROPIC_BASE_URL", provider.anthropic_url()),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

async fn open(
    folder: &TempDir,
    storage_url: Option<&str>,
    clock: &Arc<TurnedClock>,
    options: Options,
    (environment, timeouts): (&HashMap<String, String>, llm::Timeouts),
) -> (House, Entrance) {
    let storage_url = storage_url.map(str::to_owned);
    let environment = environment.clone();
    let environment: service::models::Environment = Arc::new(move |name| environment.get(name).cloned());
    let house_options = || service::house::Options {
        storage_url: storage_url.clone(),
        environment: environment.clone(),
        timeouts,
        ..service::house::Options::in_folder(folder.path().join("data"))
    };
    // Workers of a house that was closed let go of it one after another.
    let deadline = Instant::now() + Duration::from_secs(10);
    let house = loop {
        match House::open(house_options(), clock.clone()).await {
            Ok((house, _)) => break house,
            Err(error) if error.is_in_use() && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("the house does not open: {error}"),
        }
    };
    let entrance = entrance(App::new(house.clone(), options));
    (house, entrance)
}
