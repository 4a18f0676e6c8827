//! Events as Discord and others might send them, and what is made of them.

use super::*;
use domain::channels::ChatCommand;
use serde_json::{Value, json};

const ME: &str = "42";

fn heard(name: &str, event: &Value) -> Heard {
    read(name, &serde_json::value::to_raw_value(event).unwrap(), ME)
}

fn with(mut event: Value, differences: &Value) -> Value {
    for (name, value) in differences.as_object().cloned().unwrap_or_default() {
        event[name] = value;
    }
    event
}

fn message(differences: &Value) -> Value {
    let author = json!({ "id": "222", "username": "sean", "global_name": "Sean", "discriminator": "0" });
    let message = json!({
        "id": "5", "channel_id": "111222", "guild_id": "987654", "author": author, "content": "hello", "type": 0,
        "mentions": [], "attachments": [], "timestamp": "2026-01-01T00:00:00Z", "edited_timestamp": null,
    });
    with(message, differences)
}

fn said(differences: &Value) -> Heard {
    heard("MESSAGE_CREATE", &message(differences))
}

#[test]
fn a_message_says_who_where_and_what() {
    let found = said(&json!({})).unwrap();
    assert_eq!(found.account, "42");
    assert_eq!(found.place.as_key(), "discord:987654:111222");
    assert_eq!((found.chat, found.sender_id.as_deref()), (ChatType::Group, Some("222")));
    assert_eq!((found.message_id.as_str(), found.text.as_str()), ("5", "hello"));
    assert_eq!((found.display_name.as_str(), found.marks), ("Sean", Marks::default()));
    let direct = said(&json!({ "guild_id": null })).unwrap();
    assert_eq!((direct.chat, direct.place.as_key().as_str()), (ChatType::Direct, "discord::111222"));
}

#[test]
fn mentions_replies_and_commands_are_for_the_bot() {
    let named = json!([{ "id": "42", "username": "bot" }]);
    let cases = [
        (json!({ "content": "<@42> hello", "mentions": named }), "hello", None, true),
        (json!({ "content": "<@!42> hello" }), "hello", None, true),
        (json!({ "content": "<@421> hello" }), "<@421> hello", None, false),
        (json!({ "content": "@everyone hello", "mention_everyone": true }), "@everyone hello", None, false),
        (json!({ "content": "<@42> /new" }), "", Some(ChatCommand::New), true),
        (json!({ "content": "/stop" }), "", Some(ChatCommand::Stop), true),
        (json!({ "content": "/stop@long_bot" }), "/stop@long_bot", None, false),
        (json!({ "type": 19, "referenced_message": { "author": { "id": "42", "bot": true } } }), "hello", None, true),
        (json!({ "type": 19, "referenced_message": { "author": { "id": "43" } } }), "hello", None, false),
        (json!({ "type": 19, "referenced_message": null }), "hello", None, false),
    ];
    for (differences, text, command, is_addressed) in cases {
        let found = said(&differences).unwrap();
        assert_eq!((found.text.as_str(), found.marks.is_addressed), (text, is_addressed), "{differences}");
        assert_eq!(found.kind, InboundKind::Message(command), "{differences}");
    }
}

#[test]
fn an_edit_is_one_only_if_somebody_changed_the_words() {
    let edited = json!({ "content": "/new", "edited_timestamp": "2026-01-01T00:00:01Z" });
    assert_eq!(heard("MESSAGE_UPDATE", &message(&edited)).unwrap().kind, InboundKind::Edit);
    assert!(heard("MESSAGE_UPDATE", &message(&json!({ "embeds": [{}] }))).is_err());
    let partial = json!({ "id": "5", "channel_id": "111222", "guild_id": "987654", "embeds": [] });
    assert!(heard("MESSAGE_UPDATE", &partial).is_err());
}

#[test]
fn bots_and_webhooks_are_not_heard() {
    for author in [
        json!({ "id": "9", "bot": true }),
        json!({ "id": "42" }),
        json!({ "id": "9", "system": true }),
        json!({ "id": "9", "bot": true, "username": "sean" }),
        json!(null),
    ] {
        assert!(said(&json!({ "author": author })).is_err(), "{author}");
    }
}

#[test]
fn what_is_no_number_is_no_id() {
    for id in ["sean", "", "-5", "007", "1 OR 1=1", "../users", "9".repeat(21).as_str()] {
        let author = json!({ "id": id, "username": "x" });
        assert_eq!(said(&json!({ "author": author })).unwrap().sender_id, None, "{id}");
        assert!(said(&json!({ "channel_id": id })).is_err(), "{id}");
        assert!(said(&json!({ "guild_id": id })).is_err(), "{id}");
    }
}

#[test]
fn a_pressed_button_says_who_pressed_what() {
    let press = json!({
        "id": "600", "application_id": "42", "type": 3, "token": "aW50ZXJh.ctio-n_", "channel_id": "111222",
        "guild_id": "987654", "member": { "user": { "id": "333", "username": "wife" }, "roles": [] },
        "data": { "custom_id": "approve:1", "component_type": 2 }, "message": { "id": "7" }, "version": 1,
    });
    let found = heard("INTERACTION_CREATE", &press).unwrap();
    assert_eq!((found.sender_id.as_deref(), found.message_id.as_str()), (Some("333"), "7"));
    let callback = CallbackId("600/aW50ZXJh.ctio-n_".to_owned());
    assert_eq!(found.kind, InboundKind::Press { callback, data: "approve:1".to_owned() });
    let direct = with(press.clone(), &json!({ "guild_id": null, "member": null, "user": { "id": "333" } }));
    let found = heard("INTERACTION_CREATE", &direct).unwrap();
    assert_eq!((found.chat, found.sender_id.as_deref()), (ChatType::Direct, Some("333")));
    for odd in [
        json!({ "type": 2 }),
        json!({ "id": "../../users" }),
        json!({ "token": "a/../../b" }),
        json!({ "token": "" }),
        json!({ "member": null }),
        json!({ "message": null }),
        json!({ "data": null }),
        json!({ "channel_id": null }),
    ] {
        assert!(heard("INTERACTION_CREATE", &with(press.clone(), &odd)).is_err(), "{odd}");
    }
}

#[test]
fn forwards_media_and_what_is_nothing() {
    let forwarded = said(&json!({ "content": "/stop", "message_reference": { "type": 1 } })).unwrap();
    assert!(forwarded.marks.is_forwarded && forwarded.kind == InboundKind::Message(None));
    let picture = said(&json!({ "content": "", "attachments": [{ "id": "1" }] })).unwrap();
    assert!(picture.marks.has_media && picture.text.is_empty());
    for nothing in [
        json!({ "content": "" }),
        json!({ "type": 7 }),
        json!({ "content": 5 }),
        json!({ "id": 5 }),
        json!({ "author": { "id": 222 } }),
        json!({ "type": "0" }),
    ] {
        assert!(said(&nothing).is_err(), "{nothing}");
    }
    assert!(heard("GUILD_CREATE", &json!({})).is_err() && heard("MESSAGE_CREATE", &json!(null)).is_err());
}

#[test]
fn half_a_character_does_not_make_a_message_unreadable() {
    let event = message(&json!({ "content": "a BROKEN b" })).to_string().replace("BROKEN", "\\udc00");
    let found = read("MESSAGE_CREATE", serde_json::from_str(&event).unwrap(), ME).unwrap();
    assert!(found.text.starts_with("a \u{fffd}"), "{}", found.text);
}
