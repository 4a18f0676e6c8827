//! Who serves a model. Pure: what is there and what the file says, in; a provider and the name it knows the model by, out.
//!
//! Nothing is guessed: a model that nobody serves is refused with what to do about it.

use crate::Providers;
use domain::model_names;
use domain::prices::DEMO;
use domain::rules::ProviderKind;
use std::collections::BTreeMap;

/// The starter agents' model, which nobody chose, and who stands in for it where only Anthropic is there.
const STARTER_MODEL: &str = "gpt-4";
const STARTER_CLAUDE: &str = "claude-sonnet-4-5";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// `demo` is the demo model.
    pub provider: String,
    pub model: String,
}

impl Choice {
    fn demo() -> Self {
        Self { provider: DEMO.to_owned(), model: DEMO.to_owned() }
    }

    pub fn is_demo(&self) -> bool {
        self.provider == DEMO
    }
}

/// Nobody serves the model; the sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoProvider(pub String);

pub fn choose(providers: &Providers, routes: &BTreeMap<String, String>, model: &str) -> Result<Choice, NoProvider> {
    let kinds = providers.names().filter_map(|name| Some((name, providers.kind(name)?))).collect();
    choose_among(&kinds, routes, model)
}

/// The same decision over names and kinds alone, for whoever has no clients.
pub fn choose_among(
    kinds: &BTreeMap<&str, ProviderKind>,
    routes: &BTreeMap<String, String>,
    model: &str,
) -> Result<Choice, NoProvider> {
    let chosen = |provider: &str, model: &str| Choice { provider: provider.to_owned(), model: model.to_owned() };
    if model == DEMO {
        return Ok(Choice::demo());
    }
    let routes = routes.iter().map(|(pattern, provider)| (pattern.as_str(), provider.as_str()));
    if let Some(provider) = model_names::best(routes, model) {
        return match provider {
            DEMO => Ok(Choice::demo()),
            _ if kinds.contains_key(provider) => Ok(chosen(provider, model)),
            _ => Err(NoProvider(format!(
                "models.routes sends {model} to the provider {provider}, which is not there. Add it to models.providers, \
                 or set the key that it needs."
            ))),
        };
    }
    if kinds.is_empty() {
        return Ok(Choice::demo());
    }
    let kind = if model.starts_with("claude") { ProviderKind::Anthropic } else { ProviderKind::Openai };
    match (of_kind(kinds, kind), of_kind(kinds, ProviderKind::Anthropic)) {
        (Some(provider), _) => Ok(chosen(provider, model)),
        (None, Some(anthropic)) if model == STARTER_MODEL => Ok(chosen(anthropic, STARTER_CLAUDE)),
        _ => Err(NoProvider(what_to_do(kind, model))),
    }
}

/// The provider that is named like its kind, else the first of the kind.
fn of_kind<'a>(kinds: &BTreeMap<&'a str, ProviderKind>, kind: ProviderKind) -> Option<&'a str> {
    let usual = match kind {
        ProviderKind::Openai => "openai",
        ProviderKind::Anthropic => "anthropic",
    };
    let mut names = kinds.iter().filter(|(_, other)| **other == kind).map(|(name, _)| *name);
    let first = names.clone().next();
    names.find(|name| *name == usual).or(first)
}

fn what_to_do(kind: ProviderKind, model: &str) -> String {
    let key = match kind {
        ProviderKind::Openai => "OPENAI_API_KEY or LONGHOUSE_OPENAI_BASE_URL",
        ProviderKind::Anthropic => "ANTHROPIC_API_KEY",
    };
    format!("No provider serves the model {model}. Set {key}, or send it to a provider with models.routes.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProviderKind::{Anthropic, Openai};

    type Case<'a> = (&'a [(&'a str, ProviderKind)], &'a [(&'a str, &'a str)], &'a str, Option<(&'a str, &'a str)>);

    #[test]
    fn who_serves_a_model_follows_from_routes_then_kinds() {
        let both: &[_] = &[("openai", Openai), ("anthropic", Anthropic)];
        let only_anthropic: &[_] = &[("anthropic", Anthropic)];
        let local: &[_] = &[("ollama", Openai)];
        let several: &[_] = &[("aaa", Openai), ("bbb", Anthropic), ("openai", Openai), ("zzz", Anthropic)];
        let routes: &[_] = &[("gpt-*", "openai"), ("gpt-4o*", "ollama"), ("claude-*", "gone"), ("free-*", "demo")];
        let cases: &[Case<'_>] = &[
            (&[], &[], "gpt-4", Some(("demo", "demo"))),
            (&[], &[], "anything", Some(("demo", "demo"))),
            (&[], routes, "gpt-4", None),
            (both, &[], "demo", Some(("demo", "demo"))),
            (both, &[("*", "openai")], "demo", Some(("demo", "demo"))),
            (both, &[], "gpt-4", Some(("openai", "gpt-4"))),
            (both, &[], "llama3", Some(("openai", "llama3"))),
            (both, &[], "claude-opus-4-6", Some(("anthropic", "claude-opus-4-6"))),
            (only_anthropic, &[], "gpt-4", Some(("anthropic", "claude-sonnet-4-5"))),
            (only_anthropic, &[], "gpt-4o", None),
            (only_anthropic, &[("gpt-4", "anthropic")], "gpt-4", Some(("anthropic", "gpt-4"))),
            (local, &[], "gpt-4", Some(("ollama", "gpt-4"))),
            (local, &[], "claude-opus-4-6", None),
            (local, routes, "gpt-4o-mini", Some(("ollama", "gpt-4o-mini"))),
            (local, routes, "gpt-4", None),
            (local, routes, "claude-opus-4-6", None),
            (local, routes, "free-lunch", Some(("demo", "demo"))),
            (several, &[], "gpt-4", Some(("openai", "gpt-4"))),
            (several, &[], "claude-x", Some(("bbb", "claude-x"))),
        ];
        for (kinds, routes, model, expected) in cases {
            let kinds = kinds.iter().copied().collect();
            let routes = routes.iter().map(|(pattern, name)| ((*pattern).to_owned(), (*name).to_owned())).collect();
            let chosen = choose_among(&kinds, &routes, model);
            let found = chosen.as_ref().ok().map(|choice| (choice.provider.as_str(), choice.model.as_str()));
            assert_eq!(found, *expected, "{model} of {kinds:?} by {routes:?}");
            assert_eq!(chosen.is_ok_and(|choice| choice.is_demo()), expected.is_some_and(|(name, _)| name == "demo"));
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let kinds = [("anthropic", Anthropic)].into();
        let said = choose_among(&kinds, &BTreeMap::new(), "gpt-4o").unwrap_err().to_string();
        assert!(said.contains("gpt-4o") && said.contains("OPENAI_API_KEY"), "{said}");
        let routes = [("*".to_owned(), "gone".to_owned())].into();
        let said = choose_among(&kinds, &routes, "gpt-4o").unwrap_err().to_string();
        assert!(said.contains("gone") && said.contains("models.providers"), "{said}");
    }
}
