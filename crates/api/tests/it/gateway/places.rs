//! Where messages go, and that what is of one workspace stays there.

use super::{Gate, declaration, message, reason, with_reply};
use domain::ids::WorkspaceId;
use domain::workspaces::Reply;
use serde_json::json;
use std::time::Duration;
use testkit::{Turn, keep_logs, kept_logs};

const LAB: &str = "canary_lab_5d1e";
const FAMILY: &str = "canary_family_9b2c";

#[tokio::test]
async fn three_places_lead_to_two_workspaces_and_nothing_crosses_over() {
    keep_logs();
    let gate = Gate::new().await;
    let lab = gate.write("lab", "sean", "1", &format!("remember {LAB}")).await;
    assert_eq!(reason(&lab), ("routed", ""), "{lab}");
    assert_eq!((&lab["workspace"], &lab["user"]), (&json!("homelab"), &json!("usr_sean")));
    assert_eq!(lab["reply"]["content"], format!("You said: remember {LAB}"));
    assert_eq!((&lab["reply"]["model"], &lab["reply"]["agent"]), (&json!("gpt-4"), &json!("agent_coder")));
    let family = gate.write("family", "wife", "1", &format!("dinner {FAMILY}")).await;
    assert_eq!((&family["workspace"], &family["user"]), (&json!("family"), &json!("usr_wife")));
    assert_eq!(family["reply"]["model"], "claude-3-5-sonnet-latest", "each workspace has its own model");
    let alerts = gate.write("lab-alerts", "sean", "1", "and here?").await;
    assert_eq!(alerts["workspace"], "homelab");
    assert_ne!(alerts["session_id"], lab["session_id"], "a session for each place");
    let more = gate.write("lab", "sean", "2", "what was it?").await;
    assert_eq!(more["session_id"], lab["session_id"]);
    gate.write("family", "sean", "2", "and we?").await;
    for request in gate.provider.requests() {
        let text = request.body.to_string();
        assert!(!(text.contains(LAB) && text.contains(FAMILY)), "a prompt has one workspace's history: {text}");
    }
    let history = gate.provider.requests().iter().filter(|request| request.body.to_string().contains(LAB)).count();
    assert_eq!(history, 2, "its own history it has");
    let wife = gate.token_of("wife").await;
    let path = format!("/sessions/{}", lab["session_id"].as_str().unwrap());
    gate.world.get(&path).by(&wife).send().await.refused(404, "SESSION_NOT_FOUND");
    for path in ["/sessions", "/my/projects", "/workspaces", "/agents/shared"] {
        let seen = gate.world.get(path).by(&wife).send().await;
        assert!(!seen.text.contains("homelab") && !seen.text.contains(LAB), "{path}: {}", seen.text);
    }
    assert!(!kept_logs().contains(LAB) && !kept_logs().contains(FAMILY), "what people write is in no log");
    for workspace in ["homelab", "family", "@house"] {
        let rows = gate.world.get(&format!("/admin/audit?limit=500&workspace={workspace}")).by(&gate.admin);
        let text = rows.send().await.text;
        assert!(!text.contains(LAB) && !text.contains(FAMILY), "and in no audit row");
    }
    assert_eq!(gate.audit("homelab", "gateway.route").await.len(), 3);
}

#[tokio::test]
async fn a_direct_message_is_the_senders_own_and_an_unbound_group_is_nobodys() {
    let gate = Gate::new().await;
    let own = gate.whisper("dm", "sean", "1", "my secret plan").await;
    assert_eq!((&own["workspace"], &own["user"]), (&json!("personal-usr_sean"), &json!("usr_sean")));
    // The same chat id, told of somebody else: it is theirs.
    let other = gate.whisper("dm", "wife", "2", "what was the plan?").await;
    assert_eq!(other["workspace"], "personal-usr_wife");
    assert_ne!(own["session_id"], other["session_id"]);
    let last = gate.provider.requests().last().unwrap().body.to_string();
    assert!(!last.contains("my secret plan"));
    let group = gate.write("new group", "sean", "1", "hello?").await;
    assert_eq!(reason(&group), ("refused", "UNBOUND_GROUP"));
    for part in ["workspace", "session_id", "message_id", "reply", "message", "pairing_code"] {
        assert!(group[part].is_null(), "nothing is said there: {group}");
    }
    // A group of the same name as the direct chat leads nowhere, either.
    assert_eq!(reason(&gate.write("dm", "sean", "3", "hello?").await), ("refused", "UNBOUND_GROUP"));
}

#[tokio::test]
async fn whoever_is_no_member_is_refused_from_the_very_next_message_on() {
    let gate = Gate::new().await;
    assert_eq!(reason(&gate.write("lab", "wife", "1", "let me in").await), ("refused", "NOT_A_MEMBER"));
    gate.write("family", "wife", "1", "hello").await;
    let mut changed = declaration();
    changed.workspaces.get_mut(&WorkspaceId::parse("family").unwrap()).unwrap().members.pop();
    gate.world.declare(changed.clone()).await;
    assert_eq!(reason(&gate.write("family", "wife", "2", "hello").await), ("refused", "NOT_A_MEMBER"));
    // An account that is nobody's any more, and a place that is bound no more.
    changed.users.get_mut(&domain::ids::UserId::parse("wife").unwrap()).unwrap().identities.clear();
    changed.workspaces.get_mut(&WorkspaceId::parse("family").unwrap()).unwrap().bindings.clear();
    gate.world.declare(changed).await;
    assert_eq!(reason(&gate.whisper("dm", "wife", "3", "hello").await), ("refused", "UNKNOWN_SENDER"));
    assert_eq!(reason(&gate.write("family", "sean", "4", "hello").await), ("refused", "UNBOUND_GROUP"));
}

#[tokio::test]
async fn an_answer_under_way_is_not_told_to_a_place_that_is_bound_no_more() {
    let gate = Gate::new().await;
    gate.provider.block();
    let mut body = message("family", "group", "wife", "1", "slowly");
    body["wait_s"] = json!(20);
    let asked = gate.posting(&body).send();
    let unbinding = async {
        gate.provider.until_in_flight(1).await;
        let mut changed = declaration();
        changed.workspaces.get_mut(&WorkspaceId::parse("family").unwrap()).unwrap().bindings.clear();
        gate.world.declare(changed).await;
        gate.provider.release();
    };
    let (answer, ()) = tokio::join!(asked, unbinding);
    let answer = answer.ok();
    assert_eq!(reason(&answer), ("routed", ""));
    assert!(answer["reply"].is_null(), "{answer}");
}

#[tokio::test]
async fn a_name_is_nobodys_identity() {
    let gate = Gate::new().await;
    for impostor in ["Sean", "@sean", "usr_sean", "sean ", "SEAN", "ѕean", "sean\u{301}", "1111"] {
        let mut body = message("lab", "group", impostor, impostor, "I am sean, the admin");
        body["sender_name"] = json!("sean");
        let answer = gate.posting(&body).send().await.ok();
        assert_eq!(reason(&answer), ("refused", "UNKNOWN_SENDER"), "{impostor}");
        assert!(answer["pairing_code"].is_null(), "in a group nothing is said to strangers");
    }
    assert!(gate.provider.requests().is_empty());
    assert_eq!(gate.audit("@house", "gateway.refuse").await.len(), 8);
}

#[tokio::test]
async fn new_begins_afresh_stop_cancels_and_help_explains() {
    let gate = Gate::new().await;
    let first = gate.write("lab", "sean", "1", "the word is plum").await;
    let help = gate.write("lab", "sean", "2", "/help").await;
    assert!(help["reply"]["content"].as_str().unwrap().contains("/stop"), "{help}");
    let fresh = gate.write("lab", "sean", "3", "/new").await;
    assert_eq!(reason(&fresh), ("routed", ""));
    assert_ne!(fresh["session_id"], first["session_id"]);
    let next = gate.write("lab", "sean", "4", "which word?").await;
    assert_eq!(next["session_id"], fresh["session_id"]);
    assert!(!gate.provider.requests().last().unwrap().body.to_string().contains("plum"));
    gate.provider.block();
    let mut body = message("lab", "group", "sean", "5", "for ever");
    body["wait_s"] = json!(20);
    let asked = gate.posting(&body).send();
    let stopping = async {
        gate.provider.until_in_flight(1).await;
        let stopped = gate.write("lab", "sean", "6", "/stop").await;
        assert_eq!(stopped["reply"]["content"], "Stopped.");
    };
    let (answer, ()) = tokio::join!(asked, stopping);
    assert_eq!(answer.ok()["status"], "cancelled");
    gate.provider.release();
    assert_eq!(gate.write("lab", "sean", "7", "/stop").await["reply"]["content"], "There is nothing to stop.");
}

#[tokio::test]
async fn a_session_that_was_archived_or_deleted_is_replaced_by_the_next_message() {
    let gate = Gate::new().await;
    let sean = gate.token_of("sean").await;
    let first = gate.write("lab", "sean", "1", "one").await["session_id"].as_str().unwrap().to_owned();
    gate.world.post(&format!("/sessions/{first}/archive"), &json!({})).by(&sean).send().await.ok();
    let second = gate.write("lab", "sean", "2", "two").await["session_id"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    gate.world.delete(&format!("/sessions/{second}")).by(&sean).send().await.ok();
    let third = gate.write("lab", "sean", "3", "three").await;
    assert_eq!(reason(&third), ("routed", ""));
    assert_ne!(third["session_id"], second);
}

#[tokio::test]
async fn where_mentions_count_only_they_are_answered() {
    let gate = Gate::declared(with_reply(declaration(), "homelab", Reply::Mention)).await;
    let talk = gate.write("lab", "sean", "1", "just talking").await;
    assert_eq!(reason(&talk), ("refused", ""), "{talk}");
    let mut body = message("lab", "group", "sean", "2", "you there?");
    body["addressed"] = json!(true);
    assert_eq!(reason(&gate.posting(&body).send().await.ok()), ("routed", ""));
}

#[tokio::test]
async fn a_day_without_money_is_a_refusal_with_a_sentence_and_leaves_nothing() {
    let mut poor = declaration();
    let family = poor.workspaces.get_mut(&WorkspaceId::parse("homelab").unwrap()).unwrap();
    family.settings.budget.as_mut().unwrap().daily = Some(domain::money::Micros(1));
    let gate = Gate::declared(poor).await;
    let refused = gate.write("lab", "sean", "1", "what does it cost?").await;
    assert_eq!(reason(&refused), ("refused", "BUDGET_EXCEEDED"));
    assert!(refused["message"].as_str().is_some_and(|text| text.len() > 20), "{refused}");
    assert!(gate.provider.requests().is_empty());
    let sean = gate.token_of("sean").await;
    let sessions = gate.world.get("/sessions").by(&sean).send().await.ok();
    assert_eq!(sessions["items"], json!([]), "not even an empty session");
    let told = gate.audit("homelab", "gateway.refuse").await;
    assert!(told[0]["detail"].to_string().contains("BUDGET_EXCEEDED"), "{told:?}");
    gate.world.declare(declaration()).await;
    assert_eq!(reason(&gate.write("lab", "sean", "1", "again").await), ("routed", ""), "the same message, taken now");
}

#[tokio::test]
async fn a_routing_is_explained_step_by_step_and_nothing_is_done() {
    let gate = Gate::new().await;
    let ask = json!({"channel": "telegram", "chat_id": -100, "chat_type": "group", "sender_id": 1111});
    let explained = gate.route(&ask).await.ok();
    assert_eq!((&explained["decision"], &explained["workspace"]), (&json!("routed"), &json!("homelab")));
    assert_eq!((&explained["user"], &explained["reason_code"]), (&json!("usr_sean"), &json!(null)));
    let steps: Vec<_> = explained["steps"].as_array().unwrap().iter().map(|step| step["step"].clone()).collect();
    assert_eq!(steps, ["sender", "binding", "membership", "session", "agent"]);
    assert!(explained["steps"].as_array().unwrap().iter().all(|step| step["outcome"] == "passed"));
    let table = [
        (json!({"channel": "telegram", "chat_id": "-100", "chat_type": "group", "sender_id": "3333"}), "NOT_A_MEMBER"),
        (json!({"channel": "telegram", "chat_id": -100, "chat_type": "group", "sender_id": 9}), "UNKNOWN_SENDER"),
        (json!({"channel": "telegram", "chat_id": -9, "chat_type": "group", "sender_id": 1111}), "UNBOUND_GROUP"),
        (json!({"channel": "telegram", "chat_id": -100, "chat_type": "group", "sender_id": "@sean"}), "UNKNOWN_SENDER"),
        (json!({"channel": "telegram", "chat_id": 1111, "chat_type": "direct", "sender_id": 1111}), ""),
        (json!({"channel": "discord", "channel_id": "5", "chat_type": "direct", "sender_id": "5"}), "UNKNOWN_SENDER"),
    ];
    for (ask, expected) in table {
        let explained = gate.route(&ask).await.ok();
        assert_eq!(explained["reason_code"].as_str().unwrap_or(""), expected, "{ask}");
        assert!(!explained["steps"].as_array().unwrap().is_empty());
    }
    let sean = gate.token_of("sean").await;
    assert_eq!(gate.world.get("/sessions").by(&sean).send().await.ok()["items"], json!([]), "nothing was made");
    let written = gate.write("lab", "sean", "1", "now").await;
    let ask = json!({"channel": "http", "chat_id": "lab", "chat_type": "group", "sender_id": "sean"});
    assert_eq!(gate.route(&ask).await.ok()["session"], written["session_id"]);
}

#[tokio::test]
async fn without_waiting_the_answer_is_there_for_whoever_asks_again() {
    let gate = Gate::new().await;
    gate.provider.script(vec![Turn::say("here it is").after(Duration::from_millis(300))]);
    let mut body = message("lab", "group", "sean", "1", "take your time");
    body.as_object_mut().unwrap().remove("wait_s");
    let first = gate.posting(&body).send().await.ok();
    assert_eq!(reason(&first), ("routed", ""));
    assert!(first["reply"].is_null() && first["message_id"].is_string());
    let again = gate.write("lab", "sean", "1", "take your time").await;
    assert_eq!(reason(&again), ("refused", "DUPLICATE"));
    assert_eq!((&again["message_id"], &again["session_id"]), (&first["message_id"], &first["session_id"]));
    assert_eq!(again["reply"]["content"], "here it is");
}
