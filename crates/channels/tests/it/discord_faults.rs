//! What is done when Discord, or what stands between, does not do its part.

use crate::scenes::{Inbox, discord, discord_options, guild_channel, until_connected, until_failing};
use domain::channels::OutboundMessage;
use longhouse_channels::{Discord, DiscordOptions, Error, Secret};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{ApiFault, ImitatedDiscord};

const GUILD: &str = "987654";
const CHANNEL: &str = "111222";

fn words() -> OutboundMessage {
    OutboundMessage::to(guild_channel(GUILD, CHANNEL), "hello")
}

#[tokio::test]
async fn a_connection_that_ends_is_resumed_and_nothing_is_missed() {
    let ends: [fn(&ImitatedDiscord); 5] = [
        ImitatedDiscord::cut,
        ImitatedDiscord::ask_to_reconnect,
        |imitation| imitation.invalidate_session(true),
        |imitation| imitation.close(4000),
        |imitation| imitation.close(1012),
    ];
    for (index, end) in ends.iter().enumerate() {
        let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
        let discord = discord(&imitation, &inbox);
        imitation.say("222", None, "555", "before");
        inbox.until(1).await;
        end(&imitation);
        imitation.say("222", None, "555", "meanwhile");
        imitation.until_frames(6, 1).await;
        imitation.say("222", None, "555", "after");
        inbox.until(3).await;
        assert_eq!(inbox.texts(), ["before", "meanwhile", "after"], "{index}");
        until_connected(discord.states()).await;
        assert_eq!(imitation.frames().iter().filter(|frame| frame["op"] == 2).count(), 1, "one introduction");
    }
}

#[tokio::test]
async fn a_session_that_is_over_begins_anew() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    until_connected(discord.states()).await;
    imitation.invalidate_session(false);
    // Discord lets a bot introduce itself every five seconds.
    imitation.until_frames(2, 2).await;
    imitation.say("222", None, "555", "after");
    inbox.until(1).await;
    until_connected(discord.states()).await;
}

#[tokio::test]
async fn heartbeats_are_sent_and_silence_is_a_dead_connection() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    imitation.heartbeats(400, true);
    let _discord = discord(&imitation, &inbox);
    imitation.until_frames(1, 3).await;
    assert_eq!(imitation.connections(), 1);
    imitation.heartbeats(400, false);
    imitation.until_frames(6, 1).await;
    imitation.heartbeats(400, true);
    imitation.say("222", None, "555", "hello");
    inbox.until(1).await;
}

#[tokio::test]
async fn a_bot_that_discord_sends_away_says_why_and_comes_back() {
    for (code, why) in [(4004, "token"), (4014, "message content"), (4013, "message content")] {
        let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
        imitation.refuse_with(Some(code));
        let discord = discord(&imitation, &inbox);
        until_failing(discord.states(), why).await;
        imitation.refuse_with(None);
        until_connected(discord.states()).await;
    }
}

#[tokio::test]
async fn whoever_hangs_up_at_once_is_not_asked_without_a_pause() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    imitation.hang_up_at_once(true);
    let discord = discord(&imitation, &inbox);
    until_failing(discord.states(), "hangs up").await;
    let (before, begun) = (imitation.connections(), Instant::now());
    assert!(before < 60, "{before} connections before anybody noticed");
    imitation.until_connections(before + 3).await;
    // The first pauses are 10, 20 and 40 ms, and every connection has at least one.
    assert!(begun.elapsed() >= Duration::from_millis(70), "{:?}", begun.elapsed());
    imitation.hang_up_at_once(false);
    until_connected(discord.states()).await;
}

#[tokio::test]
async fn frames_that_make_no_sense_do_no_harm() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    until_connected(discord.states()).await;
    for frame in ["", "{", "[]", "{\"op\":99}", "{\"op\":0}", "{\"op\":0,\"t\":\"READY\",\"s\":9,\"d\":5}", "\u{0}"] {
        imitation.send_frame(frame);
    }
    imitation.say("222", None, "555", "hello");
    inbox.until(1).await;
}

#[tokio::test]
async fn it_connects_whatever_goes_wrong_at_first() {
    let faults = [
        ApiFault::Status(502, json!("<html>")),
        ApiFault::Close,
        ApiFault::Garbage,
        ApiFault::Huge,
        ApiFault::CutAt(100),
        ImitatedDiscord::slow_down(0.01),
        ApiFault::Status(200, json!({ "id": "sean" })),
        ApiFault::Status(200, json!({ "url": "https://not.a.gateway" })),
    ];
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    for fault in faults {
        imitation.fault("/users/@me", fault.clone());
        imitation.fault("/gateway/bot", fault);
    }
    let discord = discord(&imitation, &inbox);
    until_connected(discord.states()).await;
}

#[tokio::test]
async fn an_address_that_the_library_cannot_bear_is_no_end() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let limit = json!({ "total": 1, "remaining": 5, "reset_after": 0, "max_concurrency": 0 });
    let odd = json!({ "url": "ws://127.0.0.1:1", "session_start_limit": limit });
    imitation.fault("/gateway/bot", ApiFault::Status(200, odd));
    let discord = discord(&imitation, &inbox);
    until_failing(discord.states(), "cannot be reached").await;
    let odd = DiscordOptions { gateway_url: Some("ws://[::1]:1".to_owned()), ..discord_options(&imitation) };
    until_failing(Discord::start(odd, inbox).unwrap().states(), "cannot be reached").await;
}

#[tokio::test]
async fn nobody_is_led_to_an_address_inside_with_the_token() {
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let here = format!("ws://{}", listener.local_addr().unwrap());
    for url in [here.as_str(), "ws://169.254.169.254", "ws://10.0.0.1", "ws://localhost:9"] {
        let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
        let limit = json!({ "total": 1, "remaining": 1, "reset_after": 0, "max_concurrency": 1 });
        let named = json!({ "url": url, "session_start_limit": limit });
        for _ in 0..20 {
            imitation.fault("/gateway/bot", ApiFault::Status(200, named.clone()));
        }
        let discord = discord(&imitation, &inbox);
        until_failing(discord.states(), "cannot be understood: it names").await;
    }
    assert!(tokio::time::timeout(Duration::ZERO, listener.accept()).await.is_err(), "somebody knocked");
}

#[tokio::test]
async fn words_are_said_once_whatever_goes_wrong_on_the_way() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    let faults = [
        ApiFault::Status(500, json!({})),
        ApiFault::Close,
        ApiFault::Garbage,
        ApiFault::CutAt(30),
        ApiFault::CutAt(120),
        ImitatedDiscord::slow_down(0.05),
    ];
    for fault in faults {
        let before = imitation.messages().len();
        imitation.fault("/messages", fault.clone());
        discord.outlet().send(&words()).await.unwrap();
        assert_eq!(imitation.messages().len() - before, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn limits_are_kept_before_they_are_run_into() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    imitation.limit_messages(2, 0.3);
    for _ in 0..5 {
        discord.outlet().send(&words()).await.unwrap();
    }
    assert_eq!(imitation.calls("/messages").len(), 5, "nothing was said that was refused");
}

#[tokio::test]
async fn what_is_refused_is_told_and_not_said_again() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    let missing = json!({ "message": "Missing Access", "code": 50001 });
    imitation.fault("/messages", ApiFault::Status(403, missing));
    let refused = discord.outlet().send(&words()).await;
    assert_eq!(refused, Err(Error::Refused { status: 403, excerpt: "Missing Access".to_owned() }));
    imitation.fault("/messages", ImitatedDiscord::slow_down(1e300));
    let refused = discord.outlet().send(&words()).await;
    assert!(refused.is_ok(), "a time that is none is not waited for: {refused:?}");
    imitation.fault("/messages", ImitatedDiscord::slow_down(100_000.0));
    let refused = discord.outlet().send(&words()).await;
    assert_eq!(refused, Err(Error::RateLimited { retry_after: Duration::from_secs(3600) }));
    let elsewhere = ImitatedDiscord::start().await;
    for redirect in [301, 302, 307, 308] {
        imitation.fault("/messages", ApiFault::Redirect(redirect, elsewhere.api_base()));
        let refused = discord.outlet().send(&words()).await;
        assert!(matches!(refused, Err(Error::Refused { status, .. }) if status == redirect), "{refused:?}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_told_and_settings_are_checked() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let fine = discord_options(&imitation);
    let wrong = DiscordOptions { token: Secret::new("wrong"), ..fine.clone() };
    let discord = Discord::start(wrong, inbox.clone()).unwrap();
    until_failing(discord.states(), "token").await;
    let bad = [
        DiscordOptions { token: Secret::new(""), ..fine.clone() },
        DiscordOptions { token: Secret::new("a\r\nb"), ..fine.clone() },
        DiscordOptions { gateway_url: Some("http://a.example".to_owned()), ..fine.clone() },
        DiscordOptions { gateway_url: Some("ws://169.254.169.254".to_owned()), ..fine.clone() },
        DiscordOptions { api_base: Some("http://[fd00:ec2::254]".to_owned()), ..fine.clone() },
        DiscordOptions { api_base: Some("wss://a.example".to_owned()), ..fine },
    ];
    for options in bad {
        assert!(Discord::start(options, inbox.clone()).is_err());
    }
}

#[tokio::test]
async fn a_server_without_tls_is_no_secure_provider() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let fine = discord_options(&imitation);
    let gateway_url = Some(imitation.gateway_url().replace("ws:", "wss:"));
    let discord = Discord::start(DiscordOptions { gateway_url, ..fine.clone() }, inbox.clone()).unwrap();
    until_failing(discord.states(), "cannot be reached").await;
    assert!(imitation.frames().is_empty(), "nothing was said in the clear");
    discord.stop().await;
    let before = imitation.requests().len();
    let api_base = Some(imitation.api_base().replace("http:", "https:"));
    let discord = Discord::start(DiscordOptions { api_base, ..fine }, inbox.clone()).unwrap();
    until_failing(discord.states(), "").await;
    assert_eq!(imitation.requests().len(), before);
}
