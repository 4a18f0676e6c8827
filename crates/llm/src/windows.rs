//! How much a model can read at once, in tokens. What is not listed has a small window: asking with less is safe.

/// Beginnings of names; the first that fits counts, so that relatives stand before what they are named after.
#[rustfmt::skip]
const WINDOWS: &[(&str, u64)] = &[
    ("demo", 32_768),
    ("gpt-4-32k", 32_768),
    ("gpt-4-turbo", 128_000), ("gpt-4-1106", 128_000), ("gpt-4-0125", 128_000), ("gpt-4-vision", 128_000),
    ("gpt-4o", 128_000), ("chatgpt-4o", 128_000), ("gpt-4.5", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo-instruct", 4_096), ("gpt-3.5-turbo-0613", 4_096), ("gpt-3.5-turbo-0301", 4_096),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-5-chat", 128_000), ("gpt-5", 400_000),
    ("o1-mini", 128_000), ("o1-preview", 128_000),
    ("o1", 200_000), ("o3", 200_000), ("o4", 200_000),
    ("claude", 200_000),
    ("gemini", 1_000_000),
    ("mistral", 128_000), ("codestral", 128_000), ("ministral", 128_000), ("open-mistral", 128_000),
    ("deepseek", 128_000),
];

const UNKNOWN: u64 = 8_192;

pub fn window_of(model: &str) -> u64 {
    // Some providers write the maker before the name.
    let name = model.rsplit('/').next().unwrap_or(model);
    WINDOWS.iter().find(|(beginning, _)| name.starts_with(beginning)).map_or(UNKNOWN, |(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_their_dated_versions_have_a_window() {
        let cases = [
            ("gpt-4", 8_192),
            ("gpt-4-0613", 8_192),
            ("gpt-4-32k-0613", 32_768),
            ("gpt-4-turbo-2024-04-09", 128_000),
            ("gpt-4-1106-preview", 128_000),
            ("gpt-4o", 128_000),
            ("gpt-4o-mini-2024-07-18", 128_000),
            ("gpt-4.1-nano", 1_047_576),
            ("gpt-3.5-turbo", 16_385),
            ("gpt-3.5-turbo-0613", 4_096),
            ("gpt-5-mini", 400_000),
            ("gpt-5.1", 400_000),
            ("o1", 200_000),
            ("o3-mini", 200_000),
            ("o4-mini-2025-04-16", 200_000),
            ("claude-opus-4-6", 200_000),
            ("anthropic/claude-sonnet-4-5", 200_000),
            ("gemini-2.5-pro", 1_000_000),
            ("mistral-large-2411", 128_000),
            ("codestral-latest", 128_000),
            ("deepseek-chat", 128_000),
            ("demo", 32_768),
            ("llama3", 8_192),
            ("", 8_192),
        ];
        for (model, expected) in cases {
            assert_eq!(window_of(model), expected, "{model}");
        }
    }

    #[test]
    fn no_entry_is_hidden_by_an_earlier_one() {
        for (place, (name, _)) in WINDOWS.iter().enumerate() {
            assert!(WINDOWS[..place].iter().all(|(earlier, _)| !name.starts_with(earlier)), "{name}");
        }
    }
}
