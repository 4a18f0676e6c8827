//! Updates as Telegram and others might send them, and what is made of them.

use super::*;
use domain::channels::ChatCommand;
use serde_json::{Value, json};

fn me() -> Me {
    Me { id: 42, username: "long_bot".to_owned() }
}

fn heard(update: &Value) -> Result<InboundMessage, &'static str> {
    heard_text(&update.to_string())
}

fn heard_text(update: &str) -> Result<InboundMessage, &'static str> {
    match read_bytes(update.as_bytes(), &me()) {
        Heard::Message(message) => Ok(*message),
        Heard::Nothing(why) => Err(why),
    }
}

/// A message of a person in a group, with what is different about it.
fn in_group(differences: &Value) -> Value {
    let mut message = json!({
        "message_id": 5, "date": 1, "text": "hello",
        "from": { "id": 1111, "is_bot": false, "first_name": "Sean", "last_name": "O", "username": "wife" },
        "chat": { "id": -100123, "type": "supergroup", "title": "homelab" },
    });
    for (name, value) in differences.as_object().cloned().unwrap_or_default() {
        message[name] = value;
    }
    message
}

fn message(differences: &Value) -> Value {
    json!({ "update_id": 9, "message": in_group(differences) })
}

#[test]
fn a_message_says_who_where_and_what() {
    let found = heard(&message(&json!({}))).unwrap();
    assert_eq!(found.account, "42");
    assert_eq!(found.place, place(-100123));
    assert_eq!((found.chat, found.sender_id.as_deref()), (ChatType::Group, Some("1111")));
    assert_eq!((found.message_id.as_str(), found.update_id.as_deref()), ("5", Some("9")));
    assert_eq!((found.text.as_str(), found.display_name.as_str()), ("hello", "Sean O"));
    assert_eq!((found.kind, found.marks), (InboundKind::Message(None), Marks::default()));
    let direct = heard(&message(&json!({ "chat": { "id": 1111, "type": "private" } }))).unwrap();
    assert_eq!((direct.chat, direct.place), (ChatType::Direct, place(1111)));
}

#[test]
fn whoever_hides_behind_a_chat_is_nobody() {
    let hidden = [
        // An anonymous admin: Telegram fills in a bot.
        json!({ "from": { "id": 1087968824, "is_bot": true, "first_name": "Group" }, "sender_chat": { "id": -100123 } }),
        // A channel that is linked to the group: Telegram fills in an account of its own.
        json!({ "from": { "id": 777000, "is_bot": false, "first_name": "Telegram" }, "sender_chat": { "id": -1009 } }),
        json!({ "from": null }),
        json!({ "from": { "id": 0 } }),
        json!({ "from": { "id": -5 } }),
    ];
    for differences in hidden {
        assert_eq!(heard(&message(&differences)).unwrap().sender_id, None, "{differences}");
    }
}

#[test]
fn mentions_replies_and_commands_are_for_the_bot() {
    let cases = [
        (json!({ "text": "@long_bot hello" }), "hello", None, true),
        (json!({ "text": "hello" }), "hello", None, false),
        (json!({ "text": "@other_bot hello" }), "@other_bot hello", None, false),
        (json!({ "text": "/new" }), "", Some(ChatCommand::New), true),
        (json!({ "text": "/stop@long_bot now" }), "now", Some(ChatCommand::Stop), true),
        (json!({ "text": "@long_bot /help" }), "", Some(ChatCommand::Help), true),
        (json!({ "text": "/new@other_bot" }), "/new@other_bot", None, false),
        (json!({ "reply_to_message": { "message_id": 4, "from": { "id": 42, "is_bot": true } } }), "hello", None, true),
        (json!({ "reply_to_message": { "message_id": 4, "from": { "id": 43 } } }), "hello", None, false),
        (json!({ "entities": [{ "type": "text_mention", "user": { "id": 42 } }] }), "hello", None, true),
    ];
    for (differences, text, command, is_addressed) in cases {
        let found = heard(&message(&differences)).unwrap();
        assert_eq!((found.text.as_str(), found.marks.is_addressed), (text, is_addressed), "{differences}");
        assert_eq!(found.kind, InboundKind::Message(command), "{differences}");
    }
}

#[test]
fn in_a_topic_only_a_real_reply_counts() {
    let topic = |replied: i64| {
        let replied = json!({ "message_id": replied, "from": { "id": 42 } });
        json!({ "message_thread_id": 7, "is_topic_message": true, "reply_to_message": replied })
    };
    let found = heard(&message(&topic(7))).unwrap();
    assert_eq!((found.thread_id.as_deref(), found.marks.is_addressed), (Some("7"), false));
    assert!(heard(&message(&topic(8))).unwrap().marks.is_addressed);
    let thread_of_replies = heard(&message(&json!({ "message_thread_id": 7 }))).unwrap();
    assert_eq!(thread_of_replies.thread_id, None);
}

#[test]
fn a_command_in_an_edit_or_in_somebody_elses_words_is_none() {
    let edit = heard(&json!({ "update_id": 9, "edited_message": in_group(&json!({ "text": "/new" })) })).unwrap();
    assert_eq!((edit.kind, edit.text.as_str()), (InboundKind::Edit, "/new"));
    for origin in [json!({ "forward_origin": { "type": "user" } }), json!({ "forward_date": 1 })] {
        let mut differences = origin;
        differences["text"] = "/stop".into();
        let found = heard(&message(&differences)).unwrap();
        assert!(found.marks.is_forwarded && found.kind == InboundKind::Message(None), "{found:?}");
    }
}

#[test]
fn media_has_its_caption_for_words_or_none() {
    let photo = json!({ "text": null, "photo": [{ "file_id": "x" }], "caption": "@long_bot what is this?" });
    let found = heard(&message(&photo)).unwrap();
    assert_eq!((found.text.as_str(), found.marks.has_media, found.marks.is_addressed), ("what is this?", true, true));
    let found = heard(&message(&json!({ "text": null, "voice": {} }))).unwrap();
    assert_eq!((found.text.as_str(), found.marks.has_media), ("", true));
    let joined = json!({ "text": null, "new_chat_members": [{ "id": 1 }] });
    assert_eq!(heard(&message(&joined)), Err("nobody said anything"));
}

#[test]
fn a_pressed_button_says_who_pressed_what() {
    let press = |differences: &Value| {
        let mut callback = json!({
            "id": "777", "from": { "id": 3333, "first_name": "W" }, "data": "approve:1", "chat_instance": "z",
            "message": { "message_id": 6, "date": 0, "chat": { "id": -100123, "type": "supergroup" } },
        });
        for (name, value) in differences.as_object().cloned().unwrap_or_default() {
            callback[name] = value;
        }
        json!({ "update_id": 10, "callback_query": callback })
    };
    let found = heard(&press(&json!({}))).unwrap();
    assert_eq!((found.sender_id.as_deref(), found.message_id.as_str()), (Some("3333"), "6"));
    let kind = InboundKind::Press { callback: CallbackId("777".to_owned()), data: "approve:1".to_owned() };
    assert_eq!(found.kind, kind);
    assert_eq!(heard(&press(&json!({ "from": { "id": 9, "is_bot": true } }))).unwrap().sender_id, None);
    for odd in [json!({ "message": null }), json!({ "data": null }), json!({ "from": null }), json!({ "id": 5 })] {
        assert!(heard(&press(&odd)).is_err(), "{odd}");
    }
}

#[test]
fn what_cannot_be_read_is_passed_over_and_its_number_is_known() {
    let odd = [
        json!({ "update_id": 9 }),
        json!({ "update_id": 9, "channel_post": in_group(&json!({})) }),
        json!({ "update_id": 9, "message_reaction": {} }),
        json!({ "update_id": 9, "poll_of_the_future": [1, 2] }),
        json!({ "update_id": 9, "message": 5 }),
        json!({ "update_id": 9, "message": {} }),
        message(&json!({ "message_id": "5" })),
        message(&json!({ "from": { "id": "1111" } })),
        message(&json!({ "from": { "id": 1.5 } })),
        message(&json!({ "chat": { "id": "-100123", "type": "group" } })),
        message(&json!({ "chat": { "id": -100123, "type": "channel" } })),
        message(&json!({ "chat": { "id": -100123 } })),
        message(&json!({ "text": ["hello"] })),
        message(&json!({ "text": "" })),
        message(&json!({ "from": { "id": 99, "is_bot": true } })),
        message(&json!({ "from": { "id": u64::MAX } })),
    ];
    for update in odd {
        assert!(heard(&update).is_err(), "{update}");
        let raw = serde_json::value::to_raw_value(&update).unwrap();
        assert_eq!(number_of(&raw), Some(9), "{update}");
    }
    for update in ["", "null", "[]", "{", "\u{feff}", "{\"update_id\": \"9\"}", "{\"update_id\": 1e99}"] {
        assert!(heard_text(update).is_err(), "{update}");
    }
}

#[test]
fn half_a_character_does_not_make_a_message_unreadable() {
    let update = message(&json!({ "text": "a BROKEN b", "sticker_set": "BROKEN" })).to_string();
    let found = heard_text(&update.replace("BROKEN", "\\ud83d")).unwrap();
    assert!(found.text.starts_with("a \u{fffd}") && found.text.ends_with(" b"), "{}", found.text);
    assert_eq!(found.sender_id.as_deref(), Some("1111"));
}

#[test]
fn a_name_never_becomes_an_id() {
    let from = json!({ "id": 2222, "first_name": "1111\u{202e}", "username": "1111" });
    let found = heard(&message(&json!({ "from": from }))).unwrap();
    assert_eq!(found.sender_id.as_deref(), Some("2222"));
    assert_eq!(found.display_name.as_str(), "1111⟨U+202E⟩");
}
