//! A scene of a test: a few plugins and a patient look at what becomes of them.

use domain::capabilities::ToolSet;
use domain::plugins::{Fingerprint, PluginDeclaration, Reach, Timeouts};
use domain::rules::Plugin;
use longhouse_plugins::{Call, Error, Limits, Listing, Options, Outcome, Plugins, Rhythm, State};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Far more than anything here takes: only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_longhouse-odd-plugin");

pub(crate) struct Scene {
    pub(crate) plugins: Plugins,
    pub(crate) directory: tempfile::TempDir,
}

/// Quick enough for a test.
pub(crate) fn options(directory: &tempfile::TempDir) -> Options {
    let rhythm = Rhythm {
        first_delay: Duration::from_millis(20),
        longest_delay: Duration::from_millis(100),
        failed_after: 4,
        grace: Duration::from_millis(200),
        listing_rest: Duration::from_millis(10),
        look_again: Duration::from_millis(50),
        write_within: Duration::from_millis(500),
        ..Rhythm::default()
    };
    Options {
        rhythm,
        limits: Limits { result_bytes: 64 * 1024, ..Limits::default() },
        ..Options::new(directory.path())
    }
}

pub(crate) fn declared(reach: Reach, caps: &[&str]) -> PluginDeclaration {
    let rules = Plugin { caps: ToolSet::of(caps), approval: ToolSet::default() };
    PluginDeclaration { reach, rules, environment: Vec::new(), timeouts: Timeouts::default() }
}

/// The odd plugin with a habit, called `odd`, granted `odd.*`.
pub(crate) fn odd(habit: &str) -> PluginDeclaration {
    declared(Reach::Command(vec![PROGRAM.to_owned(), habit.to_owned()]), &["odd.*"])
}

impl Scene {
    pub(crate) async fn new(declarations: &[(&str, PluginDeclaration)]) -> Self {
        Self::with(declarations, |_| {}).await
    }

    pub(crate) async fn with(declarations: &[(&str, PluginDeclaration)], adjust: impl FnOnce(&mut Options)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(&directory);
        adjust(&mut options);
        Self { plugins: Plugins::start(options, map(declarations)).await, directory }
    }

    /// With the odd plugin ready.
    pub(crate) async fn odd(habit: &str) -> Self {
        let scene = Self::new(&[("odd", odd(habit))]).await;
        scene.ready("odd").await;
        scene
    }

    pub(crate) async fn apply(&self, declarations: &[(&str, PluginDeclaration)]) {
        self.plugins.apply(map(declarations)).await;
    }

    /// Waits until the listing is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Listing) -> bool) -> Arc<Listing> {
        let mut changes = self.plugins.changes();
        let wait = async {
            loop {
                let listing = self.plugins.listing();
                if is_so(&listing) {
                    return listing;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(listing) => listing,
            Err(_) => panic!("never came: {what}: {:#?}", self.plugins.listing()),
        }
    }

    pub(crate) async fn ready(&self, plugin: &str) -> Arc<Listing> {
        self.until("ready", |listing| is_in(listing, plugin, &State::Ready)).await
    }

    pub(crate) fn state(&self, plugin: &str) -> State {
        self.plugins.listing().plugins[plugin].state.clone()
    }

    pub(crate) fn fingerprint(&self, plugin: &str, tool: &str) -> Fingerprint {
        self.plugins.listing().tool(plugin, tool).unwrap_or_else(|| panic!("no `{tool}`")).fingerprint.clone()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Outcome, Error> {
        self.call_of("odd", &format!("odd.{tool}"), arguments, std::future::pending()).await
    }

    pub(crate) async fn call_of(
        &self,
        plugin: &str,
        tool: &str,
        arguments: Value,
        cancel: impl Future<Output = ()>,
    ) -> Result<Outcome, Error> {
        let fingerprint = self.fingerprint(plugin, tool);
        let call = Call { plugin, tool, fingerprint: &fingerprint, arguments: object(arguments) };
        tokio::time::timeout(PATIENCE, self.plugins.call(call, cancel)).await.expect("a call never hangs")
    }

    /// After it went away: it is started again, and answers.
    pub(crate) async fn answers_again(&self) {
        let mut changes = self.plugins.changes();
        let wait = async {
            while let Err(error) = self.call("echo", json!({})).await {
                assert!(matches!(error, Error::Unavailable { .. }), "{error}");
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it is started again");
    }

    /// What the odd plugin says of itself.
    pub(crate) async fn about(&self) -> Value {
        serde_json::from_str(&self.call("about", json!({})).await.unwrap().text).unwrap()
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn map(declarations: &[(&str, PluginDeclaration)]) -> BTreeMap<String, PluginDeclaration> {
    declarations.iter().map(|(name, declaration)| ((*name).to_owned(), declaration.clone())).collect()
}

pub(crate) fn is_in(listing: &Listing, plugin: &str, state: &State) -> bool {
    listing.plugins.get(plugin).is_some_and(|listed| listed.state == *state)
}

/// Whether it was away at least so often, and why.
pub(crate) fn why_away(listing: &Listing, plugin: &str) -> Option<String> {
    match &listing.plugins.get(plugin)?.state {
        State::Restarting { why, .. } | State::Failed { why, .. } => Some(why.clone()),
        _ => None,
    }
}

/// Whether a process runs; one that has ended and that nobody has asked about does not.
pub(crate) fn is_alive(process: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// A signal arrives when the kernel gets to it.
pub(crate) async fn until_dead(process: u64) {
    let wait = async {
        while is_alive(process) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("process {process} lives on"));
}
