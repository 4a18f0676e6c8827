//! What is told when something goes wrong.

use crate::asks::{BOTH, KEY, ask, at, providers, question, short_times};
use domain::Code;
use longhouse_llm::{Error, Timeouts};
use std::time::Duration;
use testkit::{Fault, ImitatedProvider, Turn};
use tokio::net::TcpListener;

/// What a fault is told as in both protocols.
async fn told(fault: &Fault) -> [Error; 2] {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, short_times());
    let mut errors = Vec::new();
    for name in BOTH {
        provider.script(vec![Turn::fault(fault.clone())]);
        let error = ask(&providers, name, &question()).await.unwrap_err();
        for shown in [format!("{error}"), format!("{error:?}")] {
            assert!(!shown.contains(KEY) && !shown.contains("127.0.0.1"), "{fault:?}: {shown}");
        }
        errors.push(error);
        assert!(ask(&providers, name, &question()).await.is_ok(), "the next call is not harmed by {fault:?}");
    }
    errors.try_into().unwrap()
}

#[tokio::test]
async fn statuses_are_told_with_the_patience_they_ask_for() {
    let wait = |seconds| Some(Duration::from_secs(seconds));
    let cases = [
        (429, Some("7"), Error::RateLimited { retry_after: wait(7) }),
        (429, Some("999999"), Error::RateLimited { retry_after: wait(3600) }),
        (429, None, Error::RateLimited { retry_after: None }),
        (500, None, Error::Failing { status: 500, retry_after: None }),
        (503, Some("1"), Error::Failing { status: 503, retry_after: wait(1) }),
        (529, None, Error::Failing { status: 529, retry_after: None }),
    ];
    for (status, retry_after, expected) in cases {
        for error in told(&Fault::Status(status, retry_after.map(str::to_owned))).await {
            assert_eq!(error, expected);
            assert_eq!((error.code(), error.is_transient()), (Code::ProviderFailed, true));
        }
    }
}

#[tokio::test]
async fn a_refusal_says_why_and_never_the_key() {
    for status in [400, 401, 404] {
        for error in told(&Fault::Status(status, None)).await {
            assert_eq!((error.code(), error.is_transient()), (Code::ProviderRefused, false));
            let Error::Refused { status: found, excerpt } = error else { panic!("{error:?}") };
            assert_eq!(found, status);
            assert!(excerpt.starts_with("This is refused. Your key is") && excerpt.ends_with("[key]"), "{excerpt}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = ImitatedProvider::start().await;
    for redirect in [301, 302, 307, 308] {
        for error in told(&Fault::Redirect(redirect, elsewhere.openai_url())).await {
            assert!(matches!(error, Error::Refused { status, .. } if status == redirect), "{error:?}");
        }
    }
    assert!(elsewhere.requests().is_empty(), "the key would have gone there");
}

#[tokio::test]
async fn silence_is_a_timeout_that_says_where() {
    let limit = short_times().idle;
    for error in told(&Fault::Hang).await {
        assert_eq!(error, Error::Timeout { stage: "first byte", limit });
        assert_eq!((error.code(), error.is_transient()), (Code::ProviderTimeout, true));
    }
    for bytes in [0, 1, 100] {
        for error in told(&Fault::HangAfter(bytes)).await {
            assert_eq!(error, Error::Timeout { stage: "idle", limit });
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_never_made_is_a_timeout_of_its_own() {
    // Takes connections, and never says a word of TLS.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}", silent.local_addr().unwrap());
    let connect = Duration::from_millis(200);
    let providers = at(&base_url, &base_url, Timeouts { connect, ..Timeouts::default() });
    for name in BOTH {
        let error = ask(&providers, name, &question()).await.unwrap_err();
        assert_eq!(error, Error::Timeout { stage: "connect", limit: connect });
    }
}

#[tokio::test]
async fn an_answer_that_never_ends_is_ended_by_the_total_time() {
    let provider = ImitatedProvider::start().await;
    let total = Duration::from_millis(300);
    let providers = providers(&provider, Timeouts { total, ..Timeouts::default() });
    for name in BOTH {
        provider.script(vec![Turn::fault(Fault::HangAfter(80))]);
        let error = ask(&providers, name, &question()).await.unwrap_err();
        assert_eq!(error, Error::Timeout { stage: "total", limit: total });
    }
}

#[tokio::test]
async fn an_answer_that_is_not_whole_is_cut_wherever_it_ends() {
    let faults = [0, 1, 50, 150, 400].map(Fault::CutAt);
    for fault in faults.iter().chain([&Fault::NoFinish, &Fault::ErrorAfterText]) {
        for error in told(fault).await {
            assert_eq!(error, Error::Cut, "{fault:?}");
            assert_eq!(
                (error.code(), error.is_transient(), error.cost_nothing()),
                (Code::ProviderFailed, false, false)
            );
        }
    }
}

#[tokio::test]
async fn an_error_where_the_answer_should_begin_may_be_tried_again() {
    let [openai, anthropic] = told(&Fault::ErrorInStream).await;
    assert_eq!(openai, Error::Failing { status: 503, retry_after: None });
    assert_eq!(anthropic, Error::Failing { status: 529, retry_after: None });
}

#[tokio::test]
async fn nonsense_is_garbled() {
    for fault in [Fault::Garbage, Fault::BadUtf8, Fault::WebPage] {
        for error in told(&fault).await {
            assert!(matches!(error, Error::Garbled(_)), "{fault:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn text_without_an_end_is_too_large() {
    for error in told(&Fault::Huge).await {
        assert_eq!(error, Error::TooLarge);
    }
}

#[tokio::test]
async fn whoever_is_not_there_cannot_be_reached() {
    for error in told(&Fault::Close).await {
        assert_eq!(error, Error::Unanswered);
        assert!(error.is_transient() && !error.cost_nothing(), "it may have worked before it hung up");
    }
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = format!("http://{free}");
    let unknown = "http://no-such-host.invalid";
    for (base_url, expected) in [(nobody.as_str(), "connection refused"), (unknown, "its name is not known")] {
        let providers = at(base_url, base_url, Timeouts::default());
        for name in BOTH {
            let error = ask(&providers, name, &question()).await.unwrap_err();
            assert_eq!(error, Error::Unreachable(expected.to_owned()));
            assert!(error.is_transient() && error.cost_nothing());
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_no_secure_provider() {
    let provider = ImitatedProvider::start().await;
    let secure = provider.anthropic_url().replace("http:", "https:");
    let providers = at(&secure, &secure, short_times());
    for name in BOTH {
        let error = ask(&providers, name, &question()).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable(_) | Error::Timeout { .. }), "{error:?}");
        assert!(!format!("{error:?}").contains("127.0.0.1"), "{error:?}");
    }
    assert!(provider.requests().is_empty(), "nothing was said in the clear");
}
