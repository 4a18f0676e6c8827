//! Who can be asked, by name. Keys come in here and go out only to the address that they were given with.

use crate::anthropic::{self, Anthropic};
use crate::calls::Endpoint;
use crate::openai::OpenAi;
use crate::{ChatModel, connections};
use domain::addresses::check_written;
use domain::rules::ProviderKind;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Url};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const OPENAI_URL: &str = "https://api.openai.com/v1";
const ANTHROPIC_URL: &str = "https://api.anthropic.com";

#[derive(Clone, PartialEq, Eq)]
pub struct ProviderOptions {
    pub kind: ProviderKind,
    /// With `/v1` for the kind `openai`, without for `anthropic`.
    pub base_url: String,
    pub api_key: Option<String>,
}

impl fmt::Debug for ProviderOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.api_key.as_ref().map(|_| "hidden");
        let mut shown = formatter.debug_struct("ProviderOptions");
        shown.field("kind", &self.kind).field("base_url", &self.base_url).field("api_key", &key).finish()
    }
}

/// How long a provider may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// Until the answer begins, the connection included.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(10 * 60),
        }
    }
}

/// A provider that cannot be used as it was declared. Says neither address nor key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model provider {provider} cannot be used: {reason}")]
pub struct InvalidProvider {
    pub provider: String,
    pub reason: String,
}

#[derive(Clone, Default)]
pub struct Providers {
    named: Arc<BTreeMap<String, Named>>,
}

struct Named {
    kind: ProviderKind,
    model: Arc<dyn ChatModel>,
}

impl Providers {
    pub fn new(options: BTreeMap<String, ProviderOptions>, timeouts: Timeouts) -> Result<Self, InvalidProvider> {
        let needs_tls = options.values().any(|options| options.base_url.starts_with("https:"));
        let client = connections::client(&timeouts, needs_tls)
            .map_err(|reason| InvalidProvider { provider: "client".to_owned(), reason })?;
        let mut named = BTreeMap::new();
        for (provider, options) in options {
            let kind = options.kind;
            match model(options, client.clone(), timeouts) {
                Ok(model) => named.insert(provider, Named { kind, model }),
                Err(reason) => return Err(InvalidProvider { provider, reason: reason.to_owned() }),
            };
        }
        Ok(Self { named: Arc::new(named) })
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn ChatModel>> {
        self.named.get(name).map(|named| named.model.clone())
    }

    pub fn kind(&self, name: &str) -> Option<ProviderKind> {
        self.named.get(name).map(|named| named.kind)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.named.iter().map(|(name, named)| (name, named.kind))).finish()
    }
}

fn model(options: ProviderOptions, client: Client, timeouts: Timeouts) -> Result<Arc<dyn ChatModel>, &'static str> {
    let key = options.api_key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let path = match options.kind {
        ProviderKind::Openai => "chat/completions",
        ProviderKind::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
            "v1/messages"
        }
    };
    match (&key, options.kind) {
        (Some(key), ProviderKind::Openai) => headers.insert(AUTHORIZATION, secret(&format!("Bearer {key}"))?),
        (Some(key), ProviderKind::Anthropic) => headers.insert("x-api-key", secret(key)?),
        (None, _) => None,
    };
    let endpoint = Endpoint { client, url: address(&options.base_url, path)?, headers, key, timeouts };
    Ok(match options.kind {
        ProviderKind::Openai => Arc::new(OpenAi { endpoint }),
        ProviderKind::Anthropic => Arc::new(Anthropic { endpoint }),
    })
}

fn secret(text: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::from_str(text).map_err(|_| "its key has characters that no header can carry")?;
    value.set_sensitive(true);
    Ok(value)
}

fn address(base_url: &str, path: &str) -> Result<Url, &'static str> {
    let base = base_url.trim().trim_end_matches('/');
    let url = Url::parse(&format!("{base}/{path}")).map_err(|_| "its base URL is no URL")?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("its base URL must begin with http:// or https:// and name a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its base URL must not hold a password; keys are given by the environment");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("its base URL must end with its path");
    }
    if check_written(url.host_str().unwrap_or_default()).is_err() {
        return Err("its base URL is an address that nobody's models are at");
    }
    Ok(url)
}

/// The providers that the environment makes where the file names none of that name.
pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> BTreeMap<String, ProviderOptions> {
    let given = |name: &str| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let provider = |kind, key: &str, address: &str, usual: &str| {
        let (api_key, base_url) = (given(key), given(address));
        let is_there = api_key.is_some() || base_url.is_some();
        is_there.then(|| ProviderOptions { kind, base_url: base_url.unwrap_or_else(|| usual.to_owned()), api_key })
    };
    let openai = provider(ProviderKind::Openai, "OPENAI_API_KEY", "LONGHOUSE_OPENAI_BASE_URL", OPENAI_URL);
    let anthropic =
        provider(ProviderKind::Anthropic, "ANTHROPIC_API_KEY", "LONGHOUSE_ANTHROPIC_BASE_URL", ANTHROPIC_URL);
    let named = [("openai", openai), ("anthropic", anthropic)];
    named.into_iter().filter_map(|(name, options)| Some((name.to_owned(), options?))).collect()
}

#[cfg(test)]
mod tests;
