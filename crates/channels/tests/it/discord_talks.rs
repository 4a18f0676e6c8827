//! Conversations at Discord.

use crate::scenes::{Inbox, discord, discord_options, guild_channel, until, until_connected};
use domain::channels::{Button, ChatType, InboundKind, OutboundMessage};
use longhouse_channels::{Discord, DiscordOptions, Error, State};
use serde_json::{Value, json};
use testkit::ImitatedDiscord;

const GUILD: &str = "987654";
const CHANNEL: &str = "111222";

#[tokio::test]
async fn a_message_arrives_and_its_answer_goes_back() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    imitation.say("222", Some(GUILD), CHANNEL, "<@42> how are the pods?");
    let message = inbox.until(1).await.remove(0);
    assert_eq!((message.text.as_str(), message.sender_id.as_deref()), ("how are the pods?", Some("222")));
    assert_eq!((message.chat, &message.place), (ChatType::Group, &guild_channel(GUILD, CHANNEL)));
    assert!(message.marks.is_addressed && message.account == "42");
    let outlet = discord.outlet();
    outlet.typing(&message.place, None).await.unwrap();
    let sent = outlet.send(&OutboundMessage::answering(&message, "**Fine** @everyone <@222>")).await.unwrap();
    let seen = imitation.messages().remove(0);
    assert_eq!((&seen["content"], &seen["channel_id"]), (&json!("**Fine** @everyone <@222>"), &json!(CHANNEL)));
    assert_eq!(seen["id"], sent.message_ids[0].as_str());
    assert_eq!(seen["allowed_mentions"], json!({ "parse": [] }), "nobody is called by what a model writes");
    assert_eq!(seen["flags"], 4, "links are not looked up");
    assert_eq!(seen["message_reference"]["message_id"], message.message_id.as_str());
    assert_eq!(imitation.calls("/typing")[0].path, format!("/api/v10/channels/{CHANNEL}/typing"));
    assert_eq!(discord.state(), State::Connected);
}

#[tokio::test]
async fn it_asks_for_what_it_needs_and_no_more() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    until_connected(discord.states()).await;
    let introduction = imitation.frames().into_iter().find(|frame| frame["op"] == 2).unwrap();
    // Messages in guilds and direct ones, and what they say.
    assert_eq!(introduction["d"]["intents"], (1 << 9) | (1 << 12) | (1 << 15));
    let states = discord.states();
    discord.stop().await;
    until(states, |state| *state == State::Stopped).await;
}

#[tokio::test]
async fn a_configured_gateway_is_used_without_asking_for_another() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let options = DiscordOptions { gateway_url: Some(imitation.gateway_url()), ..discord_options(&imitation) };
    let discord = Discord::start(options, inbox.clone()).unwrap();
    until_connected(discord.states()).await;
    assert!(imitation.calls("/gateway/bot").is_empty());
}

#[tokio::test]
async fn direct_words_have_a_place_of_their_own() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    imitation.say("222", None, "555", "hello");
    let message = inbox.until(1).await.remove(0);
    assert_eq!((message.chat, message.place.as_key().as_str()), (ChatType::Direct, "discord::555"));
    let outlet = discord.outlet();
    outlet.send(&OutboundMessage::answering(&message, "hello")).await.unwrap();
    assert_eq!(imitation.until_sent(1).await[0]["channel_id"], "555");
    let place = outlet.direct("333").await.unwrap();
    assert_eq!(outlet.direct("333").await.unwrap(), place);
    outlet.send(&OutboundMessage::to(place.clone(), "a code for you")).await.unwrap();
    assert_eq!(imitation.messages()[1]["channel_id"].as_str(), place.channel_id.as_deref());
    for odd in ["sean", "", "../../users/@me", "1/2"] {
        assert!(matches!(outlet.direct(odd).await, Err(Error::Unsendable(_))), "{odd}");
    }
}

#[tokio::test]
async fn an_approval_is_asked_pressed_answered_and_marked() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    let outlet = discord.outlet();
    let button = |label: &str, data: &str| Button { label: label.to_owned(), data: data.to_owned() };
    let buttons = vec![button("Approve", "yes:1"), button("Deny", "no:1")];
    let question = OutboundMessage::to(guild_channel(GUILD, CHANNEL), "Run `rm -r build`?");
    let sent = outlet.send(&OutboundMessage { buttons, ..question }).await.unwrap();
    let seen = imitation.messages().remove(0);
    assert_eq!(seen["components"][0]["components"][1]["custom_id"], "no:1");
    let (place, id) = ((Some(GUILD), CHANNEL), sent.message_ids[0].as_str());
    imitation.press("222", place, id, "yes:1", "token-one");
    imitation.press("222", place, id, "yes:1", "token-two");
    let presses = inbox.until(2).await;
    for (pressed, text) in presses.iter().zip(["Approved", ""]) {
        let InboundKind::Press { callback, data } = &pressed.kind else { panic!("{pressed:?}") };
        assert_eq!((data.as_str(), pressed.message_id.as_str()), ("yes:1", id));
        assert!(!format!("{pressed:?}").contains("token-"), "{pressed:?}");
        outlet.answer_press(callback, text).await.unwrap();
        assert!(outlet.answer_press(callback, text).await.is_err(), "once");
    }
    let answers: Vec<Value> = imitation.calls("/callback").into_iter().map(|call| call.body).collect();
    assert_eq!((&answers[0]["data"]["content"], &answers[0]["data"]["flags"]), (&json!("Approved"), &json!(68)));
    assert_eq!(answers[2], json!({ "type": 6 }));
    outlet.conclude(&presses[0].place, id, "Approved by Somebody").await.unwrap();
    let seen = imitation.messages().remove(0);
    assert_eq!((&seen["content"], &seen["components"]), (&json!("Approved by Somebody"), &json!([])));
}

#[tokio::test]
async fn long_answers_come_in_parts_in_order_with_buttons_under_the_last() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    let text = format!("Here:\n```rust\n{}```\nDone.", "let x = 1; // 😀\n".repeat(6_000));
    let buttons = vec![Button { label: "More".to_owned(), data: "more".to_owned() }];
    let message = OutboundMessage::to(guild_channel(GUILD, CHANNEL), text);
    discord.outlet().send(&OutboundMessage { buttons, ..message }).await.unwrap();
    let parts = imitation.messages();
    assert!(parts.len() > 50);
    for (index, part) in parts.iter().enumerate() {
        let content = part["content"].as_str().unwrap();
        assert!(content.chars().count() <= 2000 && content.matches("```").count() == 2, "{content}");
        assert_eq!(part["components"].is_array(), index + 1 == parts.len());
    }
}

#[tokio::test]
async fn what_was_not_taken_is_offered_again_and_nothing_overtakes_it() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    inbox.close(true);
    let discord = discord(&imitation, &inbox);
    imitation.say("222", None, "555", "first");
    imitation.say("222", None, "555", "second");
    let offered = inbox.until(3).await;
    assert!(offered.iter().all(|message| message.text == "first"));
    crate::scenes::until_failing(discord.states(), "does not take").await;
    inbox.close(false);
    let offered = inbox.until(offered.len() + 1).await.len();
    while inbox.texts().last().unwrap() != "second" {
        inbox.until(offered + 1).await;
    }
    let mut texts = inbox.texts();
    texts.dedup();
    assert_eq!(texts, ["first", "second"]);
}

#[tokio::test]
async fn what_was_read_is_handed_over_before_it_stops() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let discord = discord(&imitation, &inbox);
    until_connected(discord.states()).await;
    let hold = inbox.hold().await;
    for number in 0..20 {
        imitation.say("222", None, "555", &number.to_string());
    }
    imitation.heartbeat_now();
    imitation.until_frames(1, 1).await;
    let (stopping, ()) = tokio::join!(tokio::spawn(async move { discord.stop().await }), async { drop(hold) });
    stopping.unwrap();
    let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(inbox.texts(), expected);
}

#[tokio::test]
async fn events_that_nobody_understands_do_not_stand_in_the_way() {
    let (imitation, inbox) = (ImitatedDiscord::start().await, Inbox::new());
    let _discord = discord(&imitation, &inbox);
    imitation.dispatch("GUILD_CREATE", &json!({ "id": "1", "channels": [] }));
    imitation.dispatch("EVENT_OF_THE_FUTURE", &json!([1, 2, 3]));
    imitation.dispatch("MESSAGE_CREATE", &json!({ "id": 5 }));
    imitation.dispatch("MESSAGE_CREATE", &json!(null));
    let mut of_a_bot = ImitatedDiscord::message("6", "77", Some(GUILD), CHANNEL, "<@42> I am a bot");
    of_a_bot["author"]["bot"] = true.into();
    imitation.dispatch("MESSAGE_CREATE", &of_a_bot);
    let broken = ImitatedDiscord::message("7", "222", None, "555", "a BROKEN").to_string();
    imitation.dispatch_text("MESSAGE_CREATE", &broken.replace("BROKEN", "\\ud800"));
    let mut edited = ImitatedDiscord::message("7", "222", None, "555", "changed");
    edited["edited_timestamp"] = "2026-01-01T00:00:01+00:00".into();
    imitation.dispatch("MESSAGE_UPDATE", &edited);
    let messages = inbox.until(2).await;
    assert!(messages[0].text.starts_with("a \u{fffd}"));
    assert_eq!((messages[1].text.as_str(), &messages[1].kind), ("changed", &InboundKind::Edit));
}
