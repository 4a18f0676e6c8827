//! What a model call costs. A model without a known price has none: it is never free by omission.
//!
//! The bundled table has public list prices of ordinary calls (no batch, cache or long-context rates) and matches a
//! model and its dated versions only: a relative that is not listed may cost anything. The file's table goes before it.

use crate::model_names;
use crate::money::Micros;
use crate::rules::{Models, Price};

/// The model that is built in and asks nobody.
pub const DEMO: &str = "demo";

/// How much of a model a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl Usage {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }
}

impl Price {
    pub const FREE: Self = Self { input_per_mtok: Micros(0), output_per_mtok: Micros(0) };

    pub fn is_free(self) -> bool {
        self == Self::FREE
    }
}

pub fn price_of(models: &Models, model: &str) -> Option<Price> {
    if model == DEMO {
        return Some(Price::FREE);
    }
    let written = models.prices.iter().map(|(pattern, price)| (pattern.as_str(), *price));
    model_names::best(written, model).or_else(|| bundled(model))
}

/// The sum of what went in and what came out, rounded up once.
pub fn cost(price: Price, usage: Usage) -> Micros {
    const PER_PRICE: u128 = 1_000_000;
    let part = |tokens: u64, per_mtok: Micros| u128::from(tokens) * u128::from(per_mtok.0);
    // A caller may ask for anything, and a provider report anything; sums of what is booked must stay numbers.
    let output = part(usage.output_tokens, price.output_per_mtok);
    let parts = part(usage.input_tokens, price.input_per_mtok).saturating_add(output);
    u64::try_from(parts.div_ceil(PER_PRICE)).map_or(Micros::MOST, |sum| Micros(sum).min(Micros::MOST))
}

/// The most that a call is expected to cost.
pub fn estimate(price: Price, prompt_tokens: u64, max_tokens: u64) -> Micros {
    cost(price, Usage { input_tokens: prompt_tokens, output_tokens: max_tokens })
}

/// A model, and what a million tokens of input and of output cost in cents.
type Listed = (&'static str, u64, u64);

#[rustfmt::skip]
const BUNDLED: &[Listed] = &[
    // OpenAI
    ("gpt-3.5-turbo", 50, 150), ("gpt-3.5-turbo-1106", 100, 200), ("gpt-3.5-turbo-0613", 150, 200),
    ("gpt-3.5-turbo-0301", 150, 200), ("gpt-3.5-turbo-instruct", 150, 200), ("gpt-3.5-turbo-16k", 300, 400),
    ("gpt-4", 3_000, 6_000), ("gpt-4-32k", 6_000, 12_000),
    ("gpt-4-turbo", 1_000, 3_000), ("gpt-4-turbo-preview", 1_000, 3_000),
    ("gpt-4-0125-preview", 1_000, 3_000), ("gpt-4-1106-preview", 1_000, 3_000),
    ("gpt-4o", 250, 1_000), ("gpt-4o-2024-05-13", 500, 1_500), ("chatgpt-4o-latest", 500, 1_500),
    ("gpt-4o-mini", 15, 60),
    ("gpt-4.1", 200, 800), ("gpt-4.1-mini", 40, 160), ("gpt-4.1-nano", 10, 40), ("gpt-4.5-preview", 7_500, 15_000),
    ("gpt-5", 125, 1_000), ("gpt-5-chat-latest", 125, 1_000), ("gpt-5-codex", 125, 1_000),
    ("gpt-5-mini", 25, 200), ("gpt-5-nano", 5, 40), ("gpt-5-pro", 1_500, 12_000),
    ("gpt-5.1", 125, 1_000), ("gpt-5.1-chat-latest", 125, 1_000), ("gpt-5.1-codex", 125, 1_000),
    ("gpt-5.2", 175, 1_400), ("gpt-5.2-chat-latest", 175, 1_400), ("gpt-5.2-pro", 2_100, 16_800),
    ("o1", 1_500, 6_000), ("o1-preview", 1_500, 6_000), ("o1-mini", 110, 440), ("o1-pro", 15_000, 60_000),
    ("o3", 200, 800), ("o3-mini", 110, 440), ("o3-pro", 2_000, 8_000), ("o4-mini", 110, 440),
    // Anthropic
    ("claude-3-haiku", 25, 125), ("claude-3-sonnet", 300, 1_500), ("claude-3-opus", 1_500, 7_500),
    ("claude-3-5-haiku", 80, 400), ("claude-3-5-sonnet", 300, 1_500), ("claude-3-7-sonnet", 300, 1_500),
    ("claude-sonnet-4", 300, 1_500), ("claude-sonnet-4-0", 300, 1_500), ("claude-sonnet-4-5", 300, 1_500),
    ("claude-sonnet-4-6", 300, 1_500),
    ("claude-opus-4", 1_500, 7_500), ("claude-opus-4-0", 1_500, 7_500), ("claude-opus-4-1", 1_500, 7_500),
    ("claude-opus-4-5", 500, 2_500), ("claude-opus-4-6", 500, 2_500),
    ("claude-haiku-4-5", 100, 500),
    // Google
    ("gemini-2.0-flash", 10, 40), ("gemini-2.5-pro", 125, 1_000), ("gemini-2.5-flash", 30, 250),
    ("gemini-2.5-flash-lite", 10, 40),
    // Mistral
    ("mistral-large", 200, 600), ("mistral-large-2512", 50, 150), ("mistral-medium", 40, 200),
    ("mistral-small", 10, 30), ("codestral", 30, 90), ("ministral-8b", 10, 10), ("ministral-3b", 4, 4),
    ("open-mistral-nemo", 15, 15),
    // DeepSeek
    ("deepseek-chat", 28, 42), ("deepseek-reasoner", 28, 42),
];

fn bundled(model: &str) -> Option<Price> {
    let exact = BUNDLED.iter().find(|(name, ..)| *name == model);
    let version = || BUNDLED.iter().find(|(name, ..)| model.strip_prefix(name).is_some_and(is_version));
    let (_, input, output) = exact.or_else(version)?;
    let cents = |cents: u64| Micros(cents * 10_000);
    Some(Price { input_per_mtok: cents(*input), output_per_mtok: cents(*output) })
}

/// Whether this is what follows a model's name in the names of its versions: a date, a number like `-001`, `-latest`.
fn is_version(rest: &str) -> bool {
    let Some(word) = rest.strip_prefix('-') else { return false };
    let shape: String = word.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    let is_number = shape == "000" && word.starts_with("00");
    is_number || matches!(shape.as_str(), "0000" | "00000000" | "0000-00-00" | "latest")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(model: &str) -> Option<(f64, f64)> {
        let price = price_of(&Models::default(), model)?;
        Some((price.input_per_mtok.as_usd(), price.output_per_mtok.as_usd()))
    }

    #[test]
    fn common_models_and_their_dated_versions_have_a_price() {
        let cases = [
            ("gpt-4", (30.0, 60.0)),
            ("gpt-4-0613", (30.0, 60.0)),
            ("gpt-4-turbo-2024-04-09", (10.0, 30.0)),
            ("gpt-4o", (2.5, 10.0)),
            ("gpt-4o-2024-11-20", (2.5, 10.0)),
            ("gpt-4o-2024-05-13", (5.0, 15.0)),
            ("gpt-4o-mini-2024-07-18", (0.15, 0.6)),
            ("gpt-4.1-nano-2025-04-14", (0.1, 0.4)),
            ("o3", (2.0, 8.0)),
            ("o3-mini", (1.1, 4.4)),
            ("gpt-5-2025-08-07", (1.25, 10.0)),
            ("gpt-3.5-turbo-0125", (0.5, 1.5)),
            ("gpt-3.5-turbo-1106", (1.0, 2.0)),
            ("claude-3-5-sonnet-latest", (3.0, 15.0)),
            ("claude-opus-4-20250514", (15.0, 75.0)),
            ("claude-opus-4-1-20250805", (15.0, 75.0)),
            ("claude-opus-4-5-20251101", (5.0, 25.0)),
            ("claude-opus-4-6", (5.0, 25.0)),
            ("claude-haiku-4-5", (1.0, 5.0)),
            ("gemini-2.0-flash-001", (0.1, 0.4)),
            ("gemini-2.5-pro", (1.25, 10.0)),
            ("mistral-large-2411", (2.0, 6.0)),
            ("deepseek-chat", (0.28, 0.42)),
            ("demo", (0.0, 0.0)),
        ];
        for (model, expected) in cases {
            assert_eq!(dollars(model), Some(expected), "{model}");
        }
    }

    #[test]
    fn an_unknown_relative_inherits_no_price() {
        let unknown = [
            "gpt-4o-audio-x",
            "gpt-4o-realtime-preview-2024-12-17",
            "gpt-4-9",
            "gpt-4x",
            "gpt-4-",
            "gpt",
            "claude-opus-4-9",
            "claude-opus-4-6-fast",
            "claude-3",
            "o3-deep-research",
            "gpt-5.9",
            "gemini-2.5-pro-tts",
            "llama3",
            "demo-2",
            "Demo",
            "GPT-4",
            "",
            "*",
        ];
        for model in unknown {
            assert_eq!(dollars(model), None, "{model:?}");
        }
    }

    #[test]
    fn no_model_is_listed_twice() {
        let names: std::collections::BTreeSet<_> = BUNDLED.iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), BUNDLED.len());
    }

    #[test]
    fn the_file_goes_before_the_bundled_table_and_its_longest_match_wins() {
        let price = |micros| Price { input_per_mtok: Micros(micros), output_per_mtok: Micros(micros) };
        let prices = [("gpt-4*", 2), ("gpt-4o*", 3), ("gpt-4", 4), ("local-*", 0)];
        let prices = prices.into_iter().map(|(pattern, micros)| (pattern.to_owned(), price(micros))).collect();
        let models = Models { prices, ..Models::default() };
        let cases = [("gpt-4", Some(4)), ("gpt-4o-audio-x", Some(3)), ("gpt-4.1", Some(2)), ("local-llama", Some(0))];
        for (model, expected) in cases {
            assert_eq!(price_of(&models, model), expected.map(price), "{model}");
        }
        assert_eq!(price_of(&models, "unheard-of"), None, "a missing price is never free");
        assert!(price_of(&models, "o3").is_some_and(|price| price.output_per_mtok == Micros(8_000_000)));
        let all = Models { prices: [("*".to_owned(), price(9))].into(), ..Models::default() };
        assert_eq!(price_of(&all, "demo"), Some(Price::FREE), "the demo asks nobody");
        assert_eq!(price_of(&all, "o3"), Some(price(9)), "whoever writes `*` means all");
    }

    #[test]
    fn a_call_is_rounded_up_once_and_nothing_overflows() {
        let price = |input, output| Price { input_per_mtok: Micros(input), output_per_mtok: Micros(output) };
        let cases = [
            (price(30_000_000, 60_000_000), (1_000, 500), 60_000),
            (price(1, 1), (0, 0), 0),
            (price(1, 1), (1, 0), 1),
            // Two halves make one, not two.
            (price(500_000, 500_000), (1, 1), 1),
            (price(500_000, 500_000), (1, 2), 2),
            (price(0, 0), (u64::MAX, u64::MAX), 0),
            (price(1, 0), (u64::MAX, u64::MAX), u64::MAX / 1_000_000 + 1),
            (price(Micros::MOST.0, Micros::MOST.0), (u64::MAX, u64::MAX), Micros::MOST.0),
            (price(u64::MAX, u64::MAX), (u64::MAX, u64::MAX), Micros::MOST.0),
        ];
        for (price, (input_tokens, output_tokens), expected) in cases {
            assert_eq!(cost(price, Usage { input_tokens, output_tokens }), Micros(expected));
            assert_eq!(estimate(price, input_tokens, output_tokens), Micros(expected));
        }
    }
}
