//! Servers that are killed and providers that fail: a message is one turn, and its answer arrives.

use super::{CHANNEL, GUILD, HOMELAB, SEAN, SEAN_THERE, Scene, until};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ApiFault, ImitatedDiscord, ImitatedTelegram, Random};

#[test]
fn a_message_is_one_turn_and_is_answered_whenever_the_server_is_killed() {
    const ROUNDS: usize = 8;
    let mut scene = Scene::new();
    let mut random = Random::new(48);
    for round in 0..ROUNDS {
        scene.ask(SEAN, HOMELAB, &format!("round-{round}-here"));
        std::thread::sleep(Duration::from_millis(random.below(250)));
        scene.kill();
        scene.start();
        let mark = format!("round-{round}-here");
        let is_told = || scene.said_in(HOMELAB).iter().any(|text| text.contains(&mark) || text.contains("interrupted"));
        until("an answer, or that there is none", is_told);
        scene.runtime.block_on(scene.telegram.until_confirmed());
    }
    until("everything is said", || scene.said_in(HOMELAB).len() >= ROUNDS);
    let rows = scene.audit("homelab");
    let count = |action: &str| rows.iter().filter(|row| row["action"] == action).count();
    assert_eq!((count("message.send"), count("gateway.route"), count("session.create")), (ROUNDS, ROUNDS, 1));
    for round in 0..ROUNDS {
        let mark = format!("round-{round}-here");
        let asked = scene.provider.requests().iter().filter(|request| request.last_user_text().contains(&mark)).count();
        assert!(asked <= 1, "{mark} was asked {asked} times");
    }
}

#[test]
fn a_provider_that_asks_to_wait_is_waited_for_and_one_that_fails_is_tried_again() {
    let scene = Scene::new();
    scene.telegram.fault("sendMessage", ImitatedTelegram::slow_down(1));
    scene.ask(SEAN, HOMELAB, "slowly please");
    let said = scene.sent(1);
    assert!(said[0].text.contains("slowly please"));
    assert!(scene.telegram.calls("sendMessage").len() >= 2);
    // Longer than a sender has patience: the row is what it is kept by, and it is seen.
    scene.telegram.break_down("sendMessage", ApiFault::Status(500, json!({})));
    scene.ask(SEAN, HOMELAB, "while it is broken");
    let admin = scene.server().token();
    until("it is shown", || !scene.get(&admin, "/admin/deliveries")["items"].as_array().unwrap().is_empty());
    let shown = scene.get(&admin, "/admin/deliveries")["items"][0].clone();
    assert!(shown["last_error"].as_str().unwrap().contains("500"), "{shown}");
    scene.telegram.heal();
    let said = scene.sent(2);
    assert!(said[1].text.contains("while it is broken"), "{said:?}");
    until("nothing is owed any more", || {
        scene.get(&admin, "/admin/deliveries")["items"].as_array().unwrap().is_empty()
    });
}

#[test]
fn somebody_who_waits_sees_that_it_is_written_and_stop_stops_it() {
    let scene = Scene::new();
    scene.provider.block();
    scene.ask(SEAN, HOMELAB, "take your time");
    scene.discord.say(SEAN_THERE, Some(GUILD), CHANNEL, &format!("<@{}> you too", ImitatedDiscord::BOT));
    scene.runtime.block_on(scene.telegram.until_called("sendChatAction", 2));
    scene.runtime.block_on(scene.discord.until_called("/typing", 1));
    scene.telegram.say(SEAN, HOMELAB, "/stop");
    let said = scene.sent(1);
    assert_eq!(said[0].text, "Stopped.");
    scene.runtime.block_on(scene.provider.until_hung_up(1));
    scene.provider.release();
    let there = scene.runtime.block_on(scene.discord.until_sent(1));
    assert!(there[0]["content"].as_str().unwrap().contains("you too"));
}

#[test]
fn a_bot_comes_and_goes_with_the_file_and_a_wrong_token_is_told() {
    let scene = Scene::new();
    let admin = scene.server().token();
    let state = |name: &str| {
        let listed = scene.get(&admin, "/admin/channels");
        listed["items"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned()
    };
    let is = |name: &'static str, wanted: &'static str| {
        until(wanted, || state(name).is_some_and(|one| one["state"] == wanted));
    };
    is("telegram", "connected");
    is("discord", "connected");
    scene.change_config("token_env: TELEGRAM_BOT_TOKEN", "token_env: NO_SUCH_VARIABLE");
    is("telegram", "failing");
    assert!(state("telegram").unwrap()["why"].as_str().unwrap().contains("NO_SUCH_VARIABLE is not set"));
    let health: Value = scene.get(&admin, "/health");
    assert_eq!(health["status"], "degraded", "{health}");
    scene.ask(SEAN, HOMELAB, "nobody is there");
    scene.change_config("token_env: NO_SUCH_VARIABLE", "token_env: TELEGRAM_BOT_TOKEN");
    let said = scene.sent(1);
    assert!(said[0].text.contains("nobody is there"), "what was told meanwhile was kept by the provider");
    // Another one with the same token.
    scene.telegram.break_down("getUpdates", ApiFault::Status(401, json!({"ok": false, "error_code": 401})));
    // What it waits for comes, and then it asks again.
    scene.ask(SEAN, HOMELAB, "the last that it hears");
    is("telegram", "failing");
    scene.telegram.heal();
    is("telegram", "connected");
    for secret in [ImitatedTelegram::TOKEN, ImitatedDiscord::TOKEN] {
        assert!(!scene.log().contains(secret), "a token is in the log");
        assert!(!scene.get(&admin, "/admin/channels").to_string().contains(secret));
    }
}

#[test]
fn an_answer_that_was_ready_leaves_after_the_server_was_killed() {
    let mut scene = Scene::new();
    scene.telegram.break_down("sendMessage", ApiFault::Status(500, json!({})));
    scene.ask(SEAN, HOMELAB, "keep it");
    scene.runtime.block_on(scene.telegram.until_called("sendMessage", 1));
    scene.kill();
    scene.telegram.heal();
    scene.start();
    until("it is said", || scene.said_in(HOMELAB).iter().any(|text| text.contains("keep it")));
    assert_eq!(scene.provider.requests().len(), 1, "and nothing was asked again");
}
