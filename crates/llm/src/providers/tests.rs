//! Which providers there are, and that their keys stay hidden.

use super::*;

fn environment(values: &[(&str, &str)]) -> BTreeMap<String, ProviderOptions> {
    from_environment(|name| values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

fn options(kind: ProviderKind, base_url: &str, api_key: Option<&str>) -> ProviderOptions {
    ProviderOptions { kind, base_url: base_url.to_owned(), api_key: api_key.map(str::to_owned) }
}

#[test]
fn the_environment_makes_the_two_usual_providers() {
    use ProviderKind::{Anthropic, Openai};
    let local = "http://127.0.0.1:11434/v1";
    assert!(environment(&[]).is_empty());
    assert!(environment(&[("OPENAI_API_KEY", ""), ("ANTHROPIC_API_KEY", " \n")]).is_empty());
    let found = environment(&[("OPENAI_API_KEY", "sk-1\n"), ("ANTHROPIC_API_KEY", "sk-2")]);
    assert_eq!(found["openai"], options(Openai, OPENAI_URL, Some("sk-1")));
    assert_eq!(found["anthropic"], options(Anthropic, ANTHROPIC_URL, Some("sk-2")));
    let found = environment(&[("LONGHOUSE_OPENAI_BASE_URL", local)]);
    assert_eq!(found, [("openai".to_owned(), options(Openai, local, None))].into());
    let found = environment(&[("LONGHOUSE_ANTHROPIC_BASE_URL", local), ("ANTHROPIC_API_KEY", "sk-2")]);
    assert_eq!(found, [("anthropic".to_owned(), options(Anthropic, local, Some("sk-2")))].into());
}

#[test]
fn a_key_is_never_shown() {
    let shown = options(ProviderKind::Openai, "http://127.0.0.1/v1", Some("sk-secret"));
    assert!(!format!("{shown:?}").contains("sk-secret"));
    let named = [("local".to_owned(), shown)].into();
    let providers = Providers::new(named, Timeouts::default()).unwrap();
    assert_eq!(format!("{providers:?}"), r#"{"local": Openai}"#);
    assert_eq!(providers.names().collect::<Vec<_>>(), ["local"]);
    assert_eq!(providers.kind("local"), Some(ProviderKind::Openai));
    assert!(providers.get("local").is_some() && providers.get("other").is_none());
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_being_repeated() {
    let cases = [
        ("nonsense-secret", "is no URL"),
        ("ftp://secret/v1", "http://"),
        ("http://user:secret@host/v1", "password"),
        ("https://host/v1?key=secret", "its path"),
        ("https://host/v1#secret", "its path"),
        ("", "is no URL"),
        ("http://169.254.169.254/latest", "nobody's models"),
        ("http://0xa9fea9fe/v1", "nobody's models"),
        ("https://[fd00:ec2::254]/v1", "nobody's models"),
    ];
    for (base_url, expected) in cases {
        let named = [("mine".to_owned(), options(ProviderKind::Openai, base_url, None))].into();
        let error = Providers::new(named, Timeouts::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.provider == "mine" && !format!("{error:?}").contains("secret"), "{error:?}");
    }
    let named = [("mine".to_owned(), options(ProviderKind::Openai, "http://host/v1", Some("sk\nsecret")))].into();
    let error = Providers::new(named, Timeouts::default()).unwrap_err();
    assert!(error.reason.contains("its key") && !format!("{error:?}").contains("secret"));
}

#[test]
fn the_base_url_is_followed_by_the_protocols_path() {
    let cases = [
        ("https://api.openai.com/v1", "chat/completions", "https://api.openai.com/v1/chat/completions"),
        (" http://127.0.0.1:8080/v1/ ", "chat/completions", "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://api.anthropic.com", "v1/messages", "https://api.anthropic.com/v1/messages"),
    ];
    for (base_url, path, expected) in cases {
        assert_eq!(address(base_url, path).unwrap().as_str(), expected);
    }
}

#[test]
fn the_usual_times_are_those_that_were_promised() {
    let times = Timeouts::default();
    let seconds = [times.connect, times.first_byte, times.idle, times.total].map(|time| time.as_secs());
    assert_eq!(seconds, [10, 60, 60, 600]);
}

#[test]
fn a_secure_client_can_be_made_though_nobody_installed_a_tls_provider() {
    let named = [("openai".to_owned(), options(ProviderKind::Openai, OPENAI_URL, Some("sk-1")))].into();
    assert!(Providers::new(named, Timeouts::default()).is_ok());
}
