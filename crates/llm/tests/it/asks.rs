//! Short words for asking an imitated provider in both protocols.

use domain::rules::ProviderKind;
use longhouse_llm::{Message, ProviderOptions, Providers, Reply, Request, Result, Timeouts, Tool};
use serde_json::json;
use std::time::Duration;
use testkit::ImitatedProvider;

pub(crate) const KEY: &str = "sk-very-secret-key";
pub(crate) const BOTH: [&str; 2] = ["openai", "anthropic"];

/// Short where a test waits for them to pass, and far longer than anything else takes.
pub(crate) fn short_times() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_millis(300),
        idle: Duration::from_millis(300),
        total: Duration::from_secs(20),
    }
}

pub(crate) fn providers(provider: &ImitatedProvider, timeouts: Timeouts) -> Providers {
    at(&provider.openai_url(), &provider.anthropic_url(), timeouts)
}

pub(crate) fn at(openai_url: &str, anthropic_url: &str, timeouts: Timeouts) -> Providers {
    let options =
        |kind, base_url: &str| ProviderOptions { kind, base_url: base_url.to_owned(), api_key: Some(KEY.to_owned()) };
    let named = [
        ("openai".to_owned(), options(ProviderKind::Openai, openai_url)),
        ("anthropic".to_owned(), options(ProviderKind::Anthropic, anthropic_url)),
    ];
    Providers::new(named.into(), timeouts).unwrap()
}

pub(crate) fn question() -> Request {
    Request {
        model: "imitated-1".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![Message::User { text: "Which pods run?".to_owned() }],
        tools: vec![Tool {
            name: "k8s.get".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        max_tokens: 512,
        temperature: 0.5,
    }
}

/// Asks, and checks that what was heard is what was said.
pub(crate) async fn ask(providers: &Providers, name: &str, request: &Request) -> Result<Reply> {
    let mut heard = String::new();
    let reply = providers.get(name).unwrap().ask(request, &mut |piece| heard.push_str(piece)).await?;
    assert_eq!(heard, reply.text);
    Ok(reply)
}
