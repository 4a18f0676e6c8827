//! Plugins as a test writes them: what they list, what they answer, and what was asked of them.

use crate::world::World;
use domain::capabilities::ToolSet;
use domain::messages::Failure;
use domain::plugins::{Listed, offers};
use domain::rules::Plugin;
use domain::{Code, plugins};
use serde_json::{Map, Value};
use service::plugins::{Boxed, ListedPlugin, Listing, PluginAnswer, PluginCall, PluginFault, PluginHost};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// What becomes of the next call. Without one, it is answered with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum PluginTurn {
    Says(String),
    /// The tool says of itself that it failed.
    Fails(String),
    /// It was away before anything was sent.
    Away,
    /// It went away in the middle.
    Crashes,
    /// It never answers.
    Hangs,
}

#[derive(Default)]
struct Scene {
    plugins: BTreeMap<String, Scripted>,
    turns: VecDeque<PluginTurn>,
    called: Vec<(String, Value)>,
    cancelled: usize,
}

struct Scripted {
    rules: Plugin,
    tools: Vec<Listed>,
    state: &'static str,
    reach: String,
}

pub struct ScriptedPlugins {
    scene: Mutex<Scene>,
    number: watch::Sender<u64>,
}

impl ScriptedPlugins {
    fn lock(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().expect("a scene")
    }

    /// A plugin that is granted this and lists such tools, each with a description and a schema.
    pub fn lists(&self, plugin: &str, caps: &[&str], approval: &[&str], tools: &[(&str, &str, Value)]) {
        let tool = |(name, description, schema): &(&str, &str, Value)| Listed {
            name: (*name).to_owned(),
            description: Some((*description).to_owned()),
            schema: schema.as_object().cloned().unwrap_or_default(),
        };
        let rules = Plugin { caps: ToolSet::of(caps), approval: ToolSet::of(approval) };
        let reach = self.lock().plugins.get(plugin).map_or_else(|| "first".to_owned(), |known| known.reach.clone());
        let scripted = Scripted { rules, tools: tools.iter().map(tool).collect(), state: "ready", reach };
        self.lock().plugins.insert(plugin.to_owned(), scripted);
        self.changed();
    }

    /// The file names another program.
    pub fn moves(&self, plugin: &str, reach: &str) {
        self.lock().plugins.get_mut(plugin).expect("a plugin").reach = reach.to_owned();
        self.changed();
    }

    /// From now on it is in this state.
    pub fn stands(&self, plugin: &str, state: &'static str) {
        self.lock().plugins.get_mut(plugin).expect("a plugin").state = state;
        self.changed();
    }

    pub fn then(&self, turn: PluginTurn) {
        self.lock().turns.push_back(turn);
    }

    /// What was asked of plugins so far.
    pub fn called(&self) -> Vec<(String, Value)> {
        self.lock().called.clone()
    }

    pub fn cancelled(&self) -> usize {
        self.lock().cancelled
    }

    fn changed(&self) {
        self.number.send_modify(|number| *number += 1);
    }

    fn begin(&self, call: &PluginCall<'_>) -> PluginTurn {
        let mut scene = self.lock();
        scene.called.push((call.tool.to_owned(), Value::Object(call.arguments.clone())));
        let text = Value::Object(call.arguments.clone()).to_string();
        scene.turns.pop_front().unwrap_or(PluginTurn::Says(text))
    }
}

fn fault(code: Code, message: &str, may_have_run: bool) -> PluginFault {
    PluginFault { why: Failure { code, message: message.to_owned() }, may_have_run }
}

impl PluginHost for ScriptedPlugins {
    fn listing(&self) -> Arc<Listing> {
        let number = *self.number.borrow();
        let scene = self.lock();
        let said: Vec<_> =
            scene.plugins.iter().map(|(name, own)| (name.as_str(), &own.rules, own.tools.as_slice())).collect();
        let mut offered = offers(&said);
        let listed = scene.plugins.iter().map(|(name, own)| {
            let listed = ListedPlugin {
                state: own.state,
                is_ready: own.state == "ready",
                offers: offered.remove(name).unwrap_or_default(),
                reach: own.reach.clone(),
                call_s: plugins::Timeouts::default().call_s,
                ..ListedPlugin::default()
            };
            (name.clone(), listed)
        });
        Arc::new(Listing { number, plugins: listed.collect() })
    }

    fn changed(&self, seen: u64) -> Boxed<'_, ()> {
        let mut watch = self.number.subscribe();
        Box::pin(async move { drop(watch.wait_for(|number| *number != seen).await) })
    }

    fn last_words(&self, _: &str) -> Option<String> {
        None
    }

    fn call<'a>(&'a self, call: PluginCall<'a>, cancel: Boxed<'a, ()>) -> Boxed<'a, Result<PluginAnswer, PluginFault>> {
        Box::pin(async move {
            let answer = |text: String, is_error| Ok(PluginAnswer { text, is_error, is_cut: false });
            match self.begin(&call) {
                PluginTurn::Says(text) => answer(text, false),
                PluginTurn::Fails(text) => answer(text, true),
                PluginTurn::Away => Err(fault(Code::PluginUnavailable, "it is away; nothing was run", false)),
                PluginTurn::Crashes => Err(fault(Code::PluginUnavailable, "it went away during the call", true)),
                PluginTurn::Hangs => {
                    cancel.await;
                    self.lock().cancelled += 1;
                    Err(fault(Code::Cancelled, "the call was cancelled", true))
                }
            }
        })
    }
}

impl World {
    /// Gives the house plugins that the test writes, and somebody who calls them.
    pub fn scripted_plugins(&self) -> Arc<ScriptedPlugins> {
        let plugins = Arc::new(ScriptedPlugins { scene: Mutex::default(), number: watch::Sender::new(0) });
        self.use_plugins(&plugins);
        plugins
    }

    /// The same for a house that was opened again.
    pub fn use_plugins(&self, plugins: &Arc<ScriptedPlugins>) {
        self.house.use_plugins(plugins.clone());
        let house = self.house.clone();
        tokio::spawn(async move { service::tool_calls::call_plugins(&house).await });
    }

    /// What the file says of these plugins, as it would be declared.
    pub fn declared(plugins: &[(&str, &[&str], &[&str])]) -> BTreeMap<String, Plugin> {
        let rules = |(name, caps, approval): &(&str, &[&str], &[&str])| {
            ((*name).to_owned(), Plugin { caps: ToolSet::of(caps), approval: ToolSet::of(approval) })
        };
        plugins.iter().map(rules).collect()
    }
}

/// A schema of an object with these properties.
pub fn object_schema(properties: &Value) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.clone());
    Value::Object(schema)
}
