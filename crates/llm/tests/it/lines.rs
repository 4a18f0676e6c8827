//! Connections: kept, shared, and closed by whoever gives up.

use crate::asks::{BOTH, ask, providers, question};
use longhouse_llm::Timeouts;
use std::collections::BTreeSet;
use testkit::{Fault, ImitatedProvider, Turn};

#[tokio::test]
async fn a_connection_is_used_again_by_every_call() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    for _ in 0..5 {
        for name in BOTH {
            ask(&providers.clone(), name, &question()).await.unwrap();
        }
    }
    provider.script(vec![Turn::fault(Fault::Status(429, None)), Turn::say("At once.").with(Fault::AtOnce)]);
    assert!(ask(&providers, "openai", &question()).await.is_err());
    ask(&providers, "openai", &question()).await.unwrap();
    let connections: BTreeSet<_> = provider.requests().iter().map(|request| request.connection).collect();
    assert_eq!((provider.requests().len(), connections.len()), (12, 1));
}

#[tokio::test]
async fn giving_up_ends_the_call_at_the_provider() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    provider.block();
    for (count, name) in (1..).zip(BOTH) {
        let providers = providers.clone();
        let asking = tokio::spawn(async move { ask(&providers, name, &question()).await.map(|_| ()) });
        provider.until_in_flight(1).await;
        asking.abort();
        provider.until_hung_up(count).await;
        assert_eq!(provider.in_flight(), 0);
    }
    provider.release();
    for (count, name) in (3..).zip(BOTH) {
        provider.script(vec![Turn::say("I begin, and").with(Fault::HangAfter(560))]);
        let (began, mut beginning) = tokio::sync::mpsc::unbounded_channel();
        let model = providers.get(name).unwrap();
        let asking = tokio::spawn(async move {
            let mut heard = |piece: &str| began.send(piece.to_owned()).unwrap();
            model.ask(&question(), &mut heard).await.map(|_| ())
        });
        assert!(beginning.recv().await.is_some(), "in the middle of its answer");
        asking.abort();
        provider.until_hung_up(count).await;
    }
}

#[tokio::test]
async fn a_call_that_fails_is_not_made_again() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    for name in BOTH {
        ask(&providers, name, &question()).await.unwrap();
        for fault in [Fault::Close, Fault::CutAt(0), Fault::Status(503, Some("0".to_owned()))] {
            let asked = provider.requests().len();
            provider.script(vec![Turn::fault(fault)]);
            assert!(ask(&providers, name, &question()).await.is_err());
            assert_eq!(provider.requests().len(), asked + 1, "whoever asks decides on a second try");
        }
    }
}

#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    provider.block();
    let asking: Vec<_> = (0..8)
        .map(|number| {
            let providers = providers.clone();
            tokio::spawn(async move {
                let mut request = question();
                request.model = format!("model-{}", number % 2);
                ask(&providers, BOTH[number % 2], &request).await.map(|reply| reply.model)
            })
        })
        .collect();
    provider.until_in_flight(8).await;
    assert_eq!(provider.in_flight_of("model-0"), 4);
    provider.release();
    for (number, asking) in asking.into_iter().enumerate() {
        assert_eq!(asking.await.unwrap().unwrap(), format!("model-{}", number % 2));
    }
    assert_eq!((provider.in_flight(), provider.most_in_flight()), (0, 8));
    assert_eq!((provider.most_in_flight_of("model-1"), provider.most_in_flight_of("Be brief.")), (4, 8));
}

#[tokio::test]
async fn answers_follow_what_is_asked() {
    let provider = ImitatedProvider::start().await;
    let providers = providers(&provider, Timeouts::default());
    provider.matching(|request| request.last_user_text().contains("pods"), Turn::say("Two pods."));
    provider.say("Scripted.");
    let mut other = question();
    other.messages = vec![longhouse_llm::Message::User { text: "Anything else?".to_owned() }];
    for name in BOTH {
        assert_eq!(ask(&providers, name, &question()).await.unwrap().text, "Two pods.");
    }
    assert_eq!(ask(&providers, "openai", &other).await.unwrap().text, "Scripted.");
    assert_eq!(ask(&providers, "openai", &other).await.unwrap().text, "You said: Anything else?");
}
