//! What is told of a call, when a yes is offered under it, and which message counts.

use super::*;
use crate::approvals::{Approval, ApprovalStatus, Decided};
use crate::channels::{DISCORD_LONGEST, split, utf16_length};
use crate::ids::{AgentId, ToolCallId};
use crate::messages::NamedAgent;
use crate::participants::Participant;
use crate::tool_calls::{
    CallOrigin, CallOutcome, CallStatus, CallTimes, Delivery, Judgement, Preview, Risk, ToolCall, Wish,
};
use serde_json::{Value, json};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

fn target(is_direct: bool) -> DeliveryTarget {
    let place =
        ChannelPlace { channel: "telegram".into(), chat_id: Some("-100".into()), guild_id: None, channel_id: None };
    DeliveryTarget {
        place,
        is_direct,
        thread_id: None,
        reply_to: Some("7".into()),
        sender_id: "5555".into(),
        parts_sent: 0,
    }
}

fn notice(origin: Option<DeliveryTarget>) -> Notice {
    let whose = (
        WorkspaceId::parse("homelab").unwrap(),
        ProjectId::from_trusted("prj_1".into()),
        ApprovalId::from_trusted("apr_1".into()),
    );
    let identity = Identity { channel: "telegram".into(), id: "5555".into() };
    Notice::owed(whose, (user("sean"), identity), origin, at(0))
}

fn told() -> Told {
    Told { place: target(true).place, message_id: "9".into(), digest: "abc".into(), offers_approval: true }
}

fn approval() -> Approval {
    Approval {
        id: ApprovalId::from_trusted("apr_1".into()),
        project: ProjectId::from_trusted("prj_1".into()),
        call: ToolCallId::from_trusted("call_1".into()),
        user: user("sean"),
        digest: "abc".into(),
        status: ApprovalStatus::Pending,
        requested_at: at(0),
        expires_at: at(300_000),
        decided: None,
    }
}

fn call(tool: &str, params: &Value, risk: Risk, preview: Option<Preview>) -> ToolCall {
    ToolCall {
        id: ToolCallId::from_trusted("call_1".into()),
        origin: CallOrigin {
            project: ProjectId::from_trusted("prj_1".into()),
            session: None,
            agent: NamedAgent { id: AgentId::from_trusted("agt_1".into()), name: "agent_coder".into() },
            user: user("sean"),
            participant: Participant::of_user(&user("sean")),
            waiter: None,
        },
        wish: Wish { tool: tool.into(), params: params.to_string(), node: None },
        status: CallStatus::WaitingApproval,
        judgement: Some(Judgement {
            risk,
            reasons: vec!["writes a file".into()],
            digest: "abc".into(),
            policy_epoch: 1,
            expires_at: at(300_000),
            network: false,
            preview,
            plugin: None,
            session_knew: None,
            for_deciders: false,
        }),
        approval: Some(ApprovalId::from_trusted("apr_1".into())),
        delivery: Delivery::default(),
        outcome: CallOutcome::default(),
        times: CallTimes { created_at: at(0), deadline_at: None, ended_at: None },
    }
}

fn asked(call: &ToolCall) -> Words {
    let question =
        Question { workspace: "homelab", project: "garden", node: Some("laptop"), approval: &approval(), call };
    question.words()
}

fn write(path: &str, diff: &str) -> ToolCall {
    let preview = Preview { exists: Some(false), diff: Some(diff.into()), ..Preview::default() };
    call("tool_write_file", &json!({"path": path, "content": "x"}), Risk::Medium, Some(preview))
}

#[test]
fn a_question_names_where_who_what_why_and_until_when() {
    let words = asked(&write("notes.txt", "+hello\n"));
    for part in ["`homelab`", "`garden`", "`agent_coder`", "`tool_write_file`", "`laptop`", "`notes.txt`"] {
        assert!(words.text.contains(part), "{part}: {}", words.text);
    }
    for part in ["Risk MEDIUM: writes a file", "```diff\n+hello\n```", "1970-01-01T00:05:00.000Z"] {
        assert!(words.text.contains(part), "{part}: {}", words.text);
    }
    assert!(words.offers_approval);
}

#[test]
fn a_yes_is_offered_for_what_a_chat_shows_whole_and_for_nothing_else() {
    let diff = |text: &str| Some(Preview { diff: Some(text.into()), ..Preview::default() });
    let cut = Some(Preview { diff: Some("+x".into()), diff_cut: true, ..Preview::default() });
    let path = json!({"path": "a"});
    let change = json!({"path": "a", "content": "x"});
    let edit = json!({"path": "a", "old": "x", "new": "y"});
    let deep = json!({"path": "a/".repeat(200) + "b", "content": "x"});
    let command = json!({"program": "ls", "args": []});
    for (tool, params, risk, preview, expected) in [
        ("tool_write_file", &change, Risk::Medium, diff("+x"), true),
        ("tool_edit_file", &edit, Risk::Medium, diff("-x\n+y"), true),
        ("tool_read_file", &path, Risk::Low, None, true),
        ("tool_list_directory", &path, Risk::Low, None, true),
        ("tool_write_file", &change, Risk::High, diff("+x"), false),
        ("tool_write_file", &change, Risk::Medium, None, false),
        ("tool_write_file", &change, Risk::Medium, Some(Preview::default()), false),
        ("tool_write_file", &change, Risk::Medium, cut, false),
        ("tool_write_file", &change, Risk::Medium, diff(&"+x\n".repeat(600)), false),
        ("tool_write_file", &deep, Risk::Medium, diff("+x"), false),
        ("tool_delete_file", &path, Risk::Medium, None, false),
        ("tool_execute_command", &command, Risk::Medium, None, false),
        ("dice.drop", &json!({}), Risk::Medium, None, false),
        ("tool_unheard_of", &json!({}), Risk::Medium, None, false),
    ] {
        let words = asked(&call(tool, params, risk, preview));
        assert_eq!(words.offers_approval, expected, "{tool} {risk:?}: {}", words.text);
        let says_where = words.text.contains("longhouse approvals show apr_1");
        assert_eq!(says_where, !expected, "{tool} {risk:?}: {}", words.text);
    }
}

#[test]
fn whatever_the_text_it_is_one_message_and_its_code_is_not_left() {
    let bombs = ["```\n**free**", "+a\n```\n[x](http://y)\n```", "````", " ```", "~~~\n```~~~", "`` ``` ` ````` ``"];
    let long = "+\u{1f600}`\n".repeat(2_000);
    let one_line = "x".repeat(5_000);
    for bomb in bombs.into_iter().chain([long.as_str(), one_line.as_str(), "\u{202e}\u{200b}\r"]) {
        let words = asked(&write("notes.txt", bomb));
        assert_eq!(split(&words.text, DISCORD_LONGEST).len(), 1, "{}", words.text);
        let inside = words.text.split("```diff\n").nth(1).unwrap();
        let (inside, after) = inside.split_once("```").expect("it ends");
        assert!(after.starts_with("\nIt waits until"), "{bomb:?}: {after}");
        assert!(!inside.contains(['\u{202e}', '\u{200b}', '\r']), "{bomb:?}");
    }
    let mut names = write(&"`\u{1f600}\n".repeat(900), &long);
    names.origin.agent.name = "`**x**`\u{202e}".repeat(90);
    names.judgement.as_mut().unwrap().reasons = vec!["\u{1f600} because".repeat(90)];
    names.judgement.as_mut().unwrap().preview.as_mut().unwrap().path = Some("\u{1f600}`".repeat(900));
    let words = asked(&names);
    assert!(utf16_length(&words.text) <= DISCORD_LONGEST && !words.offers_approval, "{}", words.text);
    assert_eq!(words.text.matches('`').count() % 2, 0, "{}", words.text);
}

#[test]
fn a_link_to_another_file_is_told_and_so_are_folders_that_are_made() {
    let mut linked = write("notes.txt", "+x");
    linked.judgement.as_mut().unwrap().preview.as_mut().unwrap().path = Some("secret.txt".into());
    linked.wish.params = json!({"path": "notes.txt", "content": "x", "create_dirs": true}).to_string();
    let text = asked(&linked).text;
    assert!(text.contains("leads to `secret.txt`") && text.contains("Folders that are missing are made"), "{text}");
}

#[test]
fn a_change_of_no_line_is_told_in_words() {
    let words = asked(&write("empty.txt", "\n"));
    assert!(words.text.contains("No line of it changes.") && !words.text.contains("```"), "{}", words.text);
}

#[test]
fn what_became_of_it_is_told_in_a_sentence() {
    let decided = |status, by: Option<&str>| Approval {
        status,
        decided: Some(Decided { by: by.map(user), at: at(1), note: Some("my own words".into()) }),
        ..approval()
    };
    for (approval, expected) in [
        (Some(decided(ApprovalStatus::Approved, Some("sean"))), "Approved by you."),
        (Some(decided(ApprovalStatus::Approved, Some("mary"))), "Approved by usr_mary."),
        (Some(decided(ApprovalStatus::Rejected, Some("sean"))), "Rejected by you."),
        (Some(decided(ApprovalStatus::Expired, None)), "Nobody decided in time."),
        (Some(decided(ApprovalStatus::Cancelled, None)), "This was withdrawn"),
        (None, "This is not here"),
    ] {
        let said = conclusion(approval.as_ref(), &user("sean"));
        assert!(said.starts_with(expected) && !said.contains("own words"), "{said}");
    }
}

#[test]
fn a_group_hears_once_it_is_known_whether_the_person_could_be_written_to() {
    let owed = notice(Some(target(false)));
    assert!(owed.in_group(at(1)).is_none());
    let sent = owed.clone().told(told(), at(1));
    assert_eq!(group_words(&sent), "This needs your approval: I wrote to you directly.");
    let line = sent.in_group(at(1)).unwrap();
    assert_eq!((line.kind, line.status, &line.told), (NoticeKind::Group, NoticeStatus::Owed, &None));
    assert!(line.said(at(2)).in_group(at(2)).is_none());
    let later = owed.clone().begun(at(1)).failed(&Failed::for_now("status 502"), at(1));
    assert_eq!((later.status, later.tries.next_at), (NoticeStatus::Owed, at(5_001)));
    assert!(later.in_group(at(1)).is_none(), "it may still succeed");
    let refused = owed.begun(at(1)).failed(&Failed::for_good("status 403"), at(1));
    assert!(group_words(&refused).contains("could not write to you") && refused.in_group(at(1)).is_some());
    assert!(notice(Some(target(true))).told(told(), at(1)).in_group(at(1)).is_none());
    assert!(notice(None).told(told(), at(1)).in_group(at(1)).is_none());
}

#[test]
fn only_the_message_that_was_sent_is_the_one_whose_buttons_count() {
    let sent = notice(None).told(told(), at(1));
    let (sean, identity, place) = (user("sean"), sent.identity.clone(), told().place);
    let other = Identity { id: "1".into(), ..identity.clone() };
    let elsewhere = ChannelPlace { chat_id: Some("1".into()), ..place.clone() };
    assert!(sent.was_told((&sean, &identity), &place, "9"));
    assert!(!sent.was_told((&sean, &identity), &place, "8"));
    assert!(!sent.was_told((&sean, &other), &place, "9"));
    assert!(!sent.was_told((&user("mary"), &identity), &place, "9"), "the account is another's now");
    assert!(!sent.was_told((&sean, &identity), &elsewhere, "9"));
    assert!(!notice(None).was_told((&sean, &identity), &place, "9"), "not told yet");
}
