//! Plugins that are reached over HTTP.

use crate::scenes::{Scene, declared, why_away};
use crate::servers::{Answer, Behaved, Odd, OnCall, Server, behaved, json_answer, status};
use axum::body::{Body, Bytes};
use axum::http::Response;
use domain::Code;
use domain::plugins::Reach;
use futures_util::stream::{StreamExt, iter, once, pending, repeat};
use longhouse_plugins::{Error, Listing, Options};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;

#[tokio::test]
async fn a_server_is_reached_its_tools_are_listed_and_called() {
    let server = Server::start(behaved(&Behaved::default()), None).await;
    let scene = Scene::new(&[("odd", server.declared())]).await;
    scene.ready("odd").await;
    assert_eq!(scene.call("echo", json!({"a": "größe"})).await.unwrap().text, r#"{"a":"größe"}"#);
    scene.plugins.stop().await;
}

#[tokio::test]
async fn a_server_that_goes_away_is_noticed_and_found_again() {
    let kept = Behaved::default();
    let server = Server::start(behaved(&kept), None).await;
    let (address, declaration) = (server.address, server.declared());
    let scene = Scene::new(&[("odd", declaration)]).await;
    scene.ready("odd").await;
    drop(server);
    // Nobody calls it: it is noticed all the same.
    scene.until("away", |listing| why_away(listing, "odd").as_deref() == Some("it cannot be reached")).await;
    let error = scene.call("echo", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (Code::PluginUnavailable, false));
    let _server = Server::start(behaved(&kept), Some(address)).await;
    scene.ready("odd").await;
    scene.answers_again().await;
}

#[tokio::test]
async fn tools_that_changed_are_seen_when_the_server_says_so() {
    let server = Server::start(behaved(&Behaved::default()), None).await;
    let never = |options: &mut Options| options.rhythm.look_again = Duration::from_secs(3600);
    let scene = Scene::with(&[("odd", server.declared())], never).await;
    scene.ready("odd").await;
    scene.call("change", json!({})).await.unwrap();
    let is_new =
        |listing: &Listing| listing.tool("odd", "odd.echo").is_some_and(|tool| tool.description == "Version 1.");
    scene.until("the new description", is_new).await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_cancelled_at_the_server() {
    let kept = Behaved::default();
    let server = Server::start(behaved(&kept), None).await;
    let scene = Scene::new(&[("odd", server.declared())]).await;
    scene.ready("odd").await;
    tokio::select! {
        _ = scene.call("hang", json!({})) => panic!("it never answers"),
        () = kept.hanging.notified() => {}
    }
    kept.cancelled.notified().await;
}

#[tokio::test]
async fn a_server_that_misbehaves_ends_its_call_and_nothing_else() {
    fn endless_event(_: &Value) -> Answer {
        let endless = repeat(Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 65_536])));
        let stream = once(async { Ok(Bytes::from_static(b"data: ")) }).chain(endless);
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
    }
    fn endless_events(_: &Value) -> Answer {
        let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n";
        let stream = repeat(Ok::<_, Infallible>(Bytes::from_static(event.as_bytes())));
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
    }
    fn endless_body(_: &Value) -> Answer {
        let stream = repeat(Ok::<_, Infallible>(Bytes::from_static(&[b' '; 65_536])));
        Response::builder().header("content-type", "application/json").body(Body::from_stream(stream)).unwrap()
    }
    fn cut_off(_: &Value) -> Answer {
        let stream = iter([Ok(Bytes::from_static(b"{\"jsonrpc\"")), Err(std::io::Error::other("gone"))]);
        Response::builder().header("content-type", "application/json").body(Body::from_stream(stream)).unwrap()
    }
    let cases: [(OnCall, &str); 8] = [
        (endless_event, ""),
        (endless_events, "more messages than anybody asked for"),
        (endless_body, "a message that is too large"),
        (cut_off, "its connection broke"),
        (|_| status(500), "status 500"),
        (|_| status(404), "status 404"),
        (|_| json_answer(&json!("no message")), "in no known form"),
        (|_| Response::new(Body::from("hello")), "in no known form"),
    ];
    for (number, (on_call, why)) in cases.into_iter().enumerate() {
        let odd = Odd::new(on_call);
        let server = Server::start(odd.router(), None).await;
        let scene = Scene::new(&[("odd", server.declared())]).await;
        scene.ready("odd").await;
        let error = scene.call("echo", json!({})).await.unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }) && error.to_string().contains(why), "{number}: {error}");
        let calls = odd.requests.lock().unwrap().iter().filter(|(_, body)| body["method"] == "tools/call").count();
        assert_eq!(calls, 1, "{number}: a call is sent once");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for() {
    fn silent(_: &Value) -> Answer {
        let stream = pending::<Result<Bytes, Infallible>>();
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
    }
    let server = Server::start(Odd::new(silent).router(), None).await;
    let mut declaration = server.declared();
    declaration.timeouts.call_s = 1;
    let scene = Scene::new(&[("odd", declaration)]).await;
    scene.ready("odd").await;
    assert!(matches!(scene.call("echo", json!({})).await.unwrap_err(), Error::Overdue { .. }));
}

#[tokio::test]
async fn a_redirect_is_followed_nowhere() {
    let target = Odd::new(|_| status(202));
    let target_server = Server::start(target.router(), None).await;
    for redirect in [301_u16, 302, 307, 308] {
        let location = format!("http://{}/mcp", target_server.address);
        let redirecting = axum::Router::new().fallback(move || {
            let response = Response::builder().status(redirect).header("location", location.clone());
            std::future::ready(response.body(Body::empty()).unwrap())
        });
        let server = Server::start(redirecting, None).await;
        let scene = Scene::new(&[("odd", server.declared())]).await;
        let why = format!("it answered with status {redirect}");
        scene.until("refused", |listing| why_away(listing, "odd").is_some_and(|told| told == why)).await;
    }
    assert!(target.requests.lock().unwrap().is_empty(), "nobody came");
}

#[tokio::test]
async fn an_address_that_may_not_be_used_is_not_used() {
    let url = "http://169.254.169.254/latest/meta-data".to_owned();
    let scene = Scene::new(&[("odd", declared(Reach::Url(url), &["odd.*"]))]).await;
    let listing = scene.until("refused", |listing| why_away(listing, "odd").is_some()).await;
    let why = why_away(&listing, "odd").unwrap();
    assert!(why.contains("a cloud's metadata service") && !why.contains("169.254"), "{why}");
}
