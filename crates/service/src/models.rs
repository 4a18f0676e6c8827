//! Who serves a model: the providers of the file and of the environment, made into clients once and again when the file
//! changes.

use crate::{House, Result};
use domain::rules::{Provider, ProviderKind, Rules};
use domain::{Code, Refusal};
use llm::{ChatModel, Choice, Demo, ProviderOptions, Providers, Timeouts, from_environment, routing};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Variables of the server's environment, where keys are.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the house has of models.
pub(crate) struct Holding {
    environment: Environment,
    timeouts: Timeouts,
    built: Mutex<Option<(BTreeMap<String, Provider>, Providers)>>,
}

impl Holding {
    pub(crate) fn new(environment: Environment, timeouts: Timeouts) -> Self {
        Self { environment, timeouts, built: Mutex::default() }
    }

    fn providers(&self, declared: &BTreeMap<String, Provider>) -> Result<Providers> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, providers)) = built.as_ref()
            && of == declared
        {
            return Ok(providers.clone());
        }
        let mut options = from_environment(|name| (self.environment)(name));
        for (name, Provider { kind, base_url, api_key_env }) in declared {
            let api_key = api_key_env.as_deref().and_then(|variable| (self.environment)(variable));
            options.insert(name.clone(), ProviderOptions { kind: *kind, base_url: base_url.clone(), api_key });
        }
        let providers = Providers::new(options, self.timeouts).map_err(|error| {
            tracing::error!(%error, "the clients of model providers cannot be made");
            Refusal::new(Code::ModelUnavailable, "no model provider can be used; the log says why")
        })?;
        *built = Some((declared.clone(), providers.clone()));
        Ok(providers)
    }
}

/// Providers and routes as they are in force.
#[derive(Clone)]
pub(crate) struct Table {
    providers: Providers,
    rules: Arc<Rules>,
}

pub(crate) fn table(house: &House, rules: &Arc<Rules>) -> Result<Table> {
    let providers = house.models().providers(&rules.house.models.providers)?;
    Ok(Table { providers, rules: rules.clone() })
}

impl Table {
    /// The provider of a model, and the name by which that knows it.
    pub(crate) fn choose(&self, model: &str) -> Result<Choice> {
        let chosen = routing::choose(&self.providers, &self.rules.house.models.routes, model);
        Ok(chosen.map_err(|nobody| Refusal::new(Code::ModelUnavailable, nobody.to_string()))?)
    }

    /// What kind of provider that is; none is the demo.
    pub(crate) fn kind(&self, choice: &Choice) -> Option<ProviderKind> {
        self.providers.kind(&choice.provider)
    }

    pub(crate) fn model(&self, choice: &Choice) -> Arc<dyn ChatModel> {
        // Whoever was chosen is there; the demo always is.
        self.providers.get(&choice.provider).unwrap_or_else(|| Arc::new(Demo))
    }
}

/// Who answers, by name; nobody is named where only the demo does.
pub fn provider_names(house: &House, rules: &Rules) -> Vec<String> {
    let providers = house.models().providers(&rules.house.models.providers);
    providers.map(|providers| providers.names().map(str::to_owned).collect()).unwrap_or_default()
}
