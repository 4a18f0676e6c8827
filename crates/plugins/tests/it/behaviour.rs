//! What plugins offer, and what becomes of calls.

use crate::scenes::{Scene, odd, why_away};
use domain::Code;
use domain::plugins::{PluginDeclaration, Timeouts};
use longhouse_plugins::{Call, Error, Listing, State};
use serde_json::{Map, json};
use std::time::Duration;

fn names(scene: &Scene, plugin: &str) -> Vec<String> {
    scene.plugins.listing().plugins[plugin].offers.tools.keys().cloned().collect()
}

#[tokio::test]
async fn a_plugin_is_started_its_tools_are_listed_and_called() {
    let scene = Scene::odd("plain").await;
    let listing = scene.plugins.listing();
    let (plugin, tool) = listing.find("odd.echo").unwrap();
    assert_eq!((plugin, tool.own_name.as_str()), ("odd", "echo"));
    assert_eq!(tool.description, "Does echo, version 0.⟨U+200B⟩", "what is hidden is written out");
    assert_eq!(listing.plugins["odd"].server.as_deref(), Some("odd 1"));
    let outcome = scene.call("echo", json!({"a": [1, "zwei"]})).await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.is_error, outcome.is_cut), (r#"{"a":[1,"zwei"]}"#, false, false));
    scene.plugins.stop().await;
    assert_eq!(scene.state("odd"), State::Stopped);
    let stopped = scene.call("echo", json!({})).await.unwrap_err();
    assert_eq!((stopped.code(), stopped.may_have_run()), (Code::PluginUnavailable, false));
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_told_of() {
    let scene = Scene::odd("names").await;
    assert_eq!(names(&scene, "odd"), ["odd.fine", "odd.k8s.get"]);
    let mut left_out: Vec<String> =
        scene.plugins.listing().plugins["odd"].offers.left_out.iter().map(|left| left.own_name.clone()).collect();
    left_out.sort();
    assert_eq!(left_out, ["", "Same-Name", "größe", "same_name", "twice", "twice", "with space"]);
}

#[tokio::test]
async fn a_tool_outside_the_grants_is_never_called() {
    let scene = Scene::odd("plain").await;
    let fingerprint = scene.fingerprint("odd", "odd.echo");
    let mut narrow = odd("plain");
    narrow.rules.caps = domain::capabilities::ToolSet::of(&["odd.fail"]);
    let process = scene.about().await["process"].clone();
    scene.apply(&[("odd", narrow)]).await;
    assert_eq!(names(&scene, "odd"), ["odd.fail"], "grants count at once");
    for tool in ["odd.echo", "echo", "odd.", "odd.fail.x"] {
        let call = Call { plugin: "odd", tool, fingerprint: &fingerprint, arguments: Map::new() };
        assert_eq!(scene.plugins.call(call, std::future::pending()).await, Err(Error::NoSuchTool), "{tool}");
    }
    scene.apply(&[("odd", odd("plain"))]).await;
    assert_eq!(scene.about().await["process"], process, "and it was not restarted for it");
}

#[tokio::test]
async fn a_tool_that_changed_is_not_the_tool_that_was_accepted() {
    for habit in ["plain", "modern"] {
        let scene = Scene::odd(habit).await;
        let accepted = scene.fingerprint("odd", "odd.echo");
        assert_eq!(scene.call("change", json!({})).await.unwrap().text, "changed");
        let changed = |listing: &Listing| listing.tool("odd", "odd.echo").unwrap().fingerprint != accepted;
        scene.until("a changed description", changed).await;
        let call = Call { plugin: "odd", tool: "odd.echo", fingerprint: &accepted, arguments: Map::new() };
        let refused = scene.plugins.call(call, std::future::pending()).await.unwrap_err();
        assert_eq!((refused.code(), refused.may_have_run()), (Code::DigestMismatch, false));
        assert!(scene.call("echo", json!({})).await.is_ok(), "{habit}: what is there now can be called");
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_ends_it_and_nobody_claims_to_know_whether_it_ran() {
    for tool in ["crash", "crash_in_the_middle"] {
        let scene = Scene::odd("plain").await;
        let error = scene.call(tool, json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.may_have_run()), (Code::PluginUnavailable, true));
        assert!(error.to_string().contains("not known whether it ran"), "{error}");
        scene.answers_again().await;
        let listed = scene.plugins.listing().plugins["odd"].clone();
        assert_eq!((listed.state, listed.times_away), (State::Ready, 1), "it is well, and what was is still seen");
        assert!(listed.last_trouble.is_some_and(|why| why.contains("exit status: 7")));
    }
}

#[tokio::test]
async fn a_crash_ends_the_other_calls_as_well() {
    let scene = Scene::odd("plain").await;
    let hanging = async { tokio::join!(scene.call("hang", json!({})), scene.call("hang", json!({}))) };
    let ((one, two), crash) = tokio::join!(hanging, scene.call("crash", json!({})));
    for error in [one.unwrap_err(), two.unwrap_err(), crash.unwrap_err()] {
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    }
}

#[tokio::test]
async fn while_a_plugin_is_away_its_calls_fail_at_once_and_nothing_was_run() {
    let scene = Scene::with(&[("odd", odd("plain"))], |options| {
        options.rhythm.first_delay = Duration::from_secs(3600);
        options.rhythm.longest_delay = Duration::from_secs(3600);
    })
    .await;
    scene.ready("odd").await;
    scene.call("crash", json!({})).await.unwrap_err();
    let ended = |listing: &Listing| why_away(listing, "odd").as_deref() == Some("it ended: exit status: 7");
    let listing = scene.until("its end", ended).await;
    assert!(matches!(listing.plugins["odd"].state, State::Restarting { attempt: 1, .. }));
    let error = scene.call("echo", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (Code::PluginUnavailable, false));
    assert!(error.to_string().contains("exit status: 7"), "{error}");
    scene.plugins.stop().await;
    assert_eq!(scene.state("odd"), State::Stopped, "also while it waits for its next try");
}

#[tokio::test]
async fn a_call_that_is_not_answered_ends_with_its_time_and_the_plugin_is_told() {
    let timeouts = Timeouts { start_s: 30, call_s: 1 };
    let scene = Scene::new(&[("odd", PluginDeclaration { timeouts, ..odd("plain") })]).await;
    scene.ready("odd").await;
    let error = scene.call("hang", json!({})).await.unwrap_err();
    assert_eq!(error, Error::Overdue { plugin: "odd".to_owned(), within: Duration::from_secs(1) });
    assert_eq!((error.code(), error.may_have_run()), (Code::PluginUnavailable, true));
    assert_eq!(scene.call("cancelled", json!({})).await.unwrap().text, "1");
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_is_cancelled_at_the_plugin() {
    let scene = Scene::odd("plain").await;
    let (cancel, cancelled) = tokio::sync::oneshot::channel::<()>();
    let hang = scene.call_of("odd", "odd.hang", json!({}), async { drop(cancelled.await) });
    let (ended, ()) = tokio::join!(hang, async {
        // By then it has the other call: it takes them in their order.
        scene.call("echo", json!({})).await.unwrap();
        cancel.send(()).unwrap();
    });
    assert_eq!(ended, Err(Error::Cancelled { was_sent: true }));
    assert_eq!(scene.call("cancelled", json!({})).await.unwrap().text, "1");
    tokio::select! {
        _ = scene.call("hang", json!({})) => panic!("it never answers"),
        _ = scene.call("echo", json!({})) => {}
    }
    assert_eq!(scene.call("cancelled", json!({})).await.unwrap().text, "2");
}

#[tokio::test]
async fn what_a_tool_answers_is_text_whatever_it_sends() {
    let scene = Scene::odd("plain").await;
    let cases = [
        ("fail", "it failed", true),
        ("refuse", "the plugin refused the call (code -32602): no such argument", true),
        ("image", "[an image, image/png, 4 bytes as text; it is not passed on]", false),
    ];
    for (tool, text, is_error) in cases {
        let outcome = scene.call(tool, json!({})).await.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.is_error), (text, is_error), "{tool}");
    }
    assert!(scene.call("garbled", json!({})).await.unwrap().is_error, "an answer in no known form");
}

#[tokio::test]
async fn what_a_plugin_asks_of_the_house_is_refused() {
    let scene = Scene::odd("plain").await;
    let told = scene.call("ask", json!({})).await.unwrap().text;
    assert_eq!(told.matches("-32601").count(), 3, "sampling, elicitation and roots: {told}");
}

#[tokio::test]
async fn only_so_many_calls_run_at_once_and_only_so_many_wait() {
    let scene = Scene::with(&[("odd", odd("plain"))], |options| {
        (options.limits.calls_at_once, options.limits.calls_waiting) = (1, 1);
    })
    .await;
    scene.ready("odd").await;
    let (cancel, cancelled) = tokio::sync::oneshot::channel::<()>();
    let first = scene.call_of("odd", "odd.hang", json!({}), async { drop(cancelled.await) });
    let rest = async {
        let (second, third) = tokio::join!(biased; scene.call("echo", json!({})), async {
            let third = scene.call("echo", json!({})).await;
            cancel.send(()).unwrap();
            third
        });
        (second.map(|outcome| outcome.text), third)
    };
    let (first, (second, third)) = tokio::join!(biased; first, rest);
    assert_eq!(
        (first, second.as_deref()),
        (Err(Error::Cancelled { was_sent: true }), Ok("{}")),
        "the second had its turn after the first"
    );
    assert_eq!(third, Err(Error::Busy { plugin: "odd".to_owned() }));
}

#[tokio::test]
async fn arguments_that_are_too_large_are_not_sent() {
    let scene = Scene::odd("plain").await;
    let error = scene.call("echo", json!({"a": "x".repeat(1024 * 1024)})).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (Code::PayloadTooLarge, false));
}

#[tokio::test]
async fn plugins_come_and_go_with_the_file() {
    let scene = Scene::new(&[("odd", odd("plain")), ("two", odd("names"))]).await;
    scene.ready("odd").await;
    let process = scene.about().await["process"].clone();
    scene.apply(&[("odd", odd("plain")), ("three", odd("names"))]).await;
    let listing = scene.ready("three").await;
    assert_eq!(listing.plugins.keys().collect::<Vec<_>>(), ["odd", "three"]);
    assert_eq!(scene.about().await["process"], process, "what did not change was left alone");
    scene.apply(&[("odd", odd("modern"))]).await;
    scene.ready("odd").await;
    assert_ne!(scene.about().await["process"], process, "another command is another program");
    scene.apply(&[]).await;
    assert!(scene.plugins.listing().plugins.is_empty());
}
