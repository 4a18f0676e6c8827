//! Conversations at Telegram, by long polling.

use crate::scenes::{Inbox, chat, telegram, until, until_connected};
use domain::channels::{Button, ChatType, InboundKind, OutboundMessage, utf16_length};
use longhouse_channels::{Error, State};
use serde_json::json;
use testkit::ImitatedTelegram;

const GROUP: i64 = -100_123;

#[tokio::test]
async fn a_message_arrives_and_its_answer_goes_back() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    imitation.say(1111, GROUP, "@long_bot how are the pods?");
    let message = inbox.until(1).await.remove(0);
    assert_eq!((message.text.as_str(), message.sender_id.as_deref()), ("how are the pods?", Some("1111")));
    assert_eq!((message.chat, &message.place, message.account.as_str()), (ChatType::Group, &chat(GROUP), "42"));
    let outlet = telegram.outlet();
    outlet.typing(&message.place, None).await.unwrap();
    let sent = outlet.send(&OutboundMessage::answering(&message, "**Fine**, `3/3`")).await.unwrap();
    let seen = imitation.messages().remove(0);
    assert_eq!((seen.chat_id, seen.text.as_str()), (GROUP, "Fine, 3/3"));
    assert_eq!(sent.message_ids, [seen.id.to_string()]);
    assert_eq!(seen.body["reply_parameters"]["message_id"].to_string(), message.message_id);
    assert_eq!(seen.body["link_preview_options"]["is_disabled"], true);
    assert_eq!(imitation.calls("sendChatAction")[0], json!({ "chat_id": GROUP, "action": "typing" }));
    imitation.until_confirmed().await;
    assert_eq!(telegram.state(), State::Connected);
}

#[tokio::test]
async fn an_answer_in_a_topic_stays_in_it() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    let mut message = imitation.message(1111, GROUP, "hello");
    message["message_thread_id"] = 7.into();
    message["is_topic_message"] = true.into();
    imitation.tell(json!({ "message": message }));
    let message = inbox.until(1).await.remove(0);
    telegram.outlet().send(&OutboundMessage::answering(&message, "here")).await.unwrap();
    assert_eq!(imitation.messages()[0].body["message_thread_id"], 7);
}

#[tokio::test]
async fn an_approval_is_asked_pressed_answered_and_marked() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    let outlet = telegram.outlet();
    let place = outlet.direct("1111").await.unwrap();
    assert_eq!(place, chat(1111));
    let button = |label: &str, data: &str| Button { label: label.to_owned(), data: data.to_owned() };
    let buttons = vec![button("Approve", "yes:1"), button("Deny", "no:1")];
    let question = OutboundMessage { buttons, ..OutboundMessage::to(place.clone(), "Run `rm -r build`?") };
    outlet.send(&question).await.unwrap();
    let seen = imitation.messages().remove(0);
    assert_eq!(seen.body["reply_markup"]["inline_keyboard"][0][1]["callback_data"], "no:1");
    imitation.press(1111, &seen, "yes:1", "press-1");
    let pressed = inbox.until(1).await.remove(0);
    let InboundKind::Press { callback, data } = &pressed.kind else { panic!("{pressed:?}") };
    assert_eq!((data.as_str(), pressed.message_id.clone()), ("yes:1", seen.id.to_string()));
    outlet.answer_press(callback, "Approved").await.unwrap();
    for _ in 0..2 {
        // The second one changes nothing, which is no error.
        outlet.conclude(&pressed.place, &pressed.message_id, "Approved by Somebody").await.unwrap();
    }
    let seen = imitation.messages().remove(0);
    assert_eq!(seen.text, "Approved by Somebody");
    assert_eq!(seen.body["reply_markup"]["inline_keyboard"], json!([]));
    let late = outlet.answer_press(callback, "again").await;
    assert!(matches!(late, Err(Error::Refused { status: 400, .. })), "{late:?}");
}

#[tokio::test]
async fn long_answers_come_in_parts_in_order_with_buttons_under_the_last() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    let code = "let x = \"<b>\" && y;\n".repeat(5_000);
    let text = format!("Here:\n```rust\n{code}```\nDone.");
    let buttons = vec![Button { label: "More".to_owned(), data: "more".to_owned() }];
    let message = OutboundMessage { buttons, reply_to: Some("1".to_owned()), ..OutboundMessage::to(chat(5), text) };
    let outlet = telegram.outlet();
    let (sent, _) = tokio::join!(outlet.send(&message), async {
        outlet.send(&OutboundMessage::to(chat(5), "Something else.")).await.unwrap()
    });
    let sent = sent.unwrap();
    let all = imitation.messages();
    let (last, parts) = all.split_last().unwrap();
    assert!(parts.len() > 20 && sent.message_ids.len() == parts.len());
    assert_eq!(last.text, "Something else.", "nobody speaks between the parts");
    for (index, part) in parts.iter().enumerate() {
        assert!(utf16_length(&part.text) <= 4096);
        assert_eq!(part.body["reply_parameters"].is_object(), index == 0);
        assert_eq!(part.body["reply_markup"].is_object(), index + 1 == parts.len());
        assert!(part.body["text"].as_str().unwrap().contains("<pre><code class=\"language-rust\">"), "{part:?}");
    }
    let seen: String = parts.iter().flat_map(|part| part.text.lines()).filter(|line| line.starts_with("let")).collect();
    assert_eq!(seen, code.replace('\n', ""));
}

#[tokio::test]
async fn whatever_a_model_writes_is_sent() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    let texts = [
        "<b>not closed",
        "</pre> & <script>alert(1)</script>",
        "**a _b** c_",
        "*_*_*_ `` ` [x](https://e.example/?a=\"b\") ](",
        "\u{202e}gnp.exe \u{200b}\u{feff}",
        "```\n```\n```\n```",
        "a\u{0}b\u{1b}[31mred",
        "@everyone <@42> tg://user?id=1",
        "&amp;&lt;b&gt;",
    ];
    for text in texts {
        telegram.outlet().send(&OutboundMessage::to(chat(5), text)).await.unwrap();
    }
    assert_eq!(imitation.messages().len(), texts.len());
    assert_eq!(imitation.calls("sendMessage").len(), texts.len() + 1, "only empty code had to be said plainly");
}

#[tokio::test]
async fn words_that_telegram_finds_fault_with_are_sent_without_formatting() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    let description = "Bad Request: can't parse entities: Unsupported start tag";
    let refusal = json!({ "ok": false, "error_code": 400, "description": description });
    imitation.fault("sendMessage", testkit::ApiFault::Status(400, refusal));
    telegram.outlet().send(&OutboundMessage::to(chat(5), "**bold**")).await.unwrap();
    let seen = imitation.messages().remove(0);
    assert_eq!((seen.text.as_str(), &seen.body["parse_mode"]), ("**bold**", &json!(null)));
    assert_eq!(seen.body["link_preview_options"]["is_disabled"], true);
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_is_asked() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    until_connected(telegram.states()).await;
    let outlet = telegram.outlet();
    let elsewhere = crate::scenes::guild_channel("1", "2");
    for message in [OutboundMessage::to(chat(5), " "), OutboundMessage::to(elsewhere.clone(), "hello")] {
        assert!(matches!(outlet.send(&message).await, Err(Error::Unsendable(_))));
    }
    let too_long = outlet.conclude(&chat(5), "1", &"word ".repeat(2_000)).await;
    assert!(matches!(too_long, Err(Error::Unsendable(_))));
    assert!(outlet.typing(&elsewhere, None).await.is_err() && outlet.direct("@sean").await.is_err());
    assert!(outlet.direct("-100").await.is_err());
    assert!(imitation.calls("sendMessage").is_empty() && imitation.calls("editMessageText").is_empty());
}

#[tokio::test]
async fn what_was_not_taken_is_offered_again_and_nothing_overtakes_it() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    inbox.close(true);
    let telegram = telegram(&imitation, &inbox);
    imitation.say(1111, 1111, "first");
    imitation.say(1111, 1111, "second");
    let offered = inbox.until(3).await;
    assert!(offered.iter().all(|message| message.text == "first"));
    crate::scenes::until_failing(telegram.states(), "does not take").await;
    assert_eq!(imitation.waiting(), [1, 2], "nothing is confirmed that was not taken");
    inbox.close(false);
    imitation.until_confirmed().await;
    let mut texts = inbox.texts();
    texts.dedup();
    assert_eq!(texts, ["first", "second"]);
    until_connected(telegram.states()).await;
}

#[tokio::test]
async fn after_a_restart_it_goes_on_with_what_was_not_confirmed() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    inbox.close(true);
    let first = telegram(&imitation, &inbox);
    imitation.say(1111, 1111, "before");
    inbox.until(1).await;
    let states = first.states();
    first.stop().await;
    until(states, |state| *state == State::Stopped).await;
    let later = Inbox::new();
    let _second = telegram(&imitation, &later);
    imitation.say(1111, 1111, "after");
    later.until(2).await;
    imitation.until_confirmed().await;
    assert_eq!(later.texts(), ["before", "after"]);
}

#[tokio::test]
async fn updates_that_nobody_understands_do_not_stand_in_the_way() {
    let (imitation, inbox) = (ImitatedTelegram::start().await, Inbox::new());
    let telegram = telegram(&imitation, &inbox);
    until_connected(telegram.states()).await;
    imitation.tell(json!({ "message_reaction": { "chat": {} } }));
    imitation.tell(json!({ "message": { "message_id": "five" } }));
    imitation.tell(json!({ "channel_post": imitation.message(1, GROUP, "news") }));
    imitation.tell_text(|id| format!(r#"{{"update_id":{id},"message":{{"text":"\ud800","chat":[[[[]]]]}}}}"#));
    let broken = imitation.message(1111, 1111, "a BROKEN").to_string().replace("BROKEN", "\\ud800");
    imitation.tell_text(|id| format!(r#"{{"update_id":{id},"message":{broken}}}"#));
    imitation.tell(json!({ "edited_message": imitation.message(1111, 1111, "changed") }));
    let messages = inbox.until(2).await;
    assert!(messages[0].text.starts_with("a \u{fffd}"));
    assert_eq!((messages[1].text.as_str(), &messages[1].kind), ("changed", &InboundKind::Edit));
    imitation.until_confirmed().await;
}
