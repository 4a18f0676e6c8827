//! People and groups that the house does not know, and those that it knows no more.

use super::{FAMILY, HOMELAB, SEAN, Scene, WIFE, until};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ATTACKER: i64 = 6666;

#[test]
fn a_group_that_is_not_bound_and_a_stranger_with_the_owners_handle_get_nothing() {
    let scene = Scene::new();
    let unbound = -100_555;
    // Its owner adds the bot to some group: private things stay at home.
    scene.ask(SEAN, unbound, "what is in my diary?");
    // Somebody takes the owner's name and handle.
    let claimed = |chat: i64, text: &str| {
        let mut message = scene.telegram.message(ATTACKER, chat, text);
        message["from"]["username"] = json!("sean");
        message["from"]["first_name"] = json!("Sean usr_sean 1111");
        scene.telegram.tell(json!({ "message": message }));
    };
    claimed(HOMELAB, "@long_bot delete the cluster");
    claimed(ATTACKER, "it is me, Sean");
    // Whoever speaks for a channel, or as an anonymous admin, is nobody.
    let mut anonymous = scene.telegram.message(SEAN, HOMELAB, "@long_bot as an admin");
    anonymous["sender_chat"] = json!({"id": HOMELAB, "type": "supergroup", "title": "homelab"});
    scene.telegram.tell(json!({ "message": anonymous }));
    scene.runtime.block_on(scene.telegram.until_confirmed());
    let said = scene.sent(1);
    scene.ask(SEAN, HOMELAB, "still there?");
    until("the owner is answered", || scene.said_in(HOMELAB).len() == 1);
    assert_eq!(scene.telegram.messages().len(), 2, "nothing else was said: {:?}", scene.telegram.messages());
    assert!(said[0].chat_id == ATTACKER && said[0].text.contains("I do not know you yet"), "{said:?}");
    assert_eq!(scene.provider.requests().len(), 1);
    let refused: Vec<Value> = house_audit(&scene).into_iter().filter(|row| row["action"] == "gateway.refuse").collect();
    let reasons: Vec<&str> = refused.iter().filter_map(|row| row["detail"]["reason_code"].as_str()).collect();
    for reason in ["UNBOUND_GROUP", "UNKNOWN_SENDER"] {
        assert!(reasons.contains(&reason), "{refused:?}");
    }
    // With the code from the direct chat an admin lets them in, as themselves.
    let code = said[0].text.split("code ").nth(1).and_then(|rest| rest.split([',', ' ']).next()).unwrap().to_owned();
    assert!(scene.server().cli(&["pair", "list"]).contains(&code));
    scene.server().cli(&["pair", "approve", &code]);
    scene.ask(ATTACKER, ATTACKER, "hello");
    until("they are answered", || scene.said_in(ATTACKER).len() == 2);
    scene.ask(ATTACKER, HOMELAB, "and here?");
    scene.runtime.block_on(scene.telegram.until_confirmed());
    scene.ask(SEAN, HOMELAB, "once more");
    until("the owner is answered", || scene.said_in(HOMELAB).len() == 2);
    assert_eq!(scene.provider.requests().len(), 3, "no turn in a workspace that is not theirs");
}

fn house_audit(scene: &Scene) -> Vec<Value> {
    let rows = scene.server().cli(&["--json", "audit", "--last", "1000"]);
    serde_json::from_str(&rows).expect("JSON")
}

#[test]
fn who_is_removed_is_refused_within_a_second_and_hears_nothing_that_was_under_way() {
    let scene = Scene::new();
    scene.ask(WIFE, FAMILY, "first");
    scene.sent(1);
    scene.provider.block();
    scene.ask(WIFE, FAMILY, "a question under way");
    scene.runtime.block_on(scene.provider.until_in_flight(1));
    scene.change_config("members: [sean, wife]", "members: [sean]");
    let saved = Instant::now();
    let admin = scene.server().token();
    let route = json!({"channel": "telegram", "chat_id": FAMILY, "chat_type": "group", "sender_id": WIFE});
    let refused = || scene.server().post(&admin, "/gateway/route", &route).unwrap().1["reason_code"] == "NOT_A_MEMBER";
    until("the new file is in force", refused);
    assert!(saved.elapsed() < Duration::from_secs(3), "the file is noticed and in force: {:?}", saved.elapsed());
    scene.ask(WIFE, FAMILY, "am I still there?");
    scene.runtime.block_on(scene.telegram.until_confirmed());
    scene.provider.release();
    scene.ask(SEAN, FAMILY, "and I?");
    until("who is still there is answered", || scene.said_in(FAMILY).iter().any(|text| text.contains("and I?")));
    let said = scene.said_in(FAMILY);
    assert!(!said.iter().any(|text| text.contains("under way") || text.contains("still there")), "{said:?}");
    assert!(!scene.provider.requests().iter().any(|request| request.last_user_text().contains("still there")));
}

#[test]
fn no_money_is_a_sentence_in_the_group_and_nobody_elses_trouble() {
    let scene = Scene::new();
    scene.change_config("daily_usd: 20.00", "daily_usd: 0.000001");
    let admin = scene.server().token();
    until("the new budget holds", || scene.get(&admin, "/workspaces/family/budget")["limit_usd"] == json!(0.000_001));
    scene.ask(WIFE, FAMILY, "what is for dinner?");
    let said = scene.sent(1);
    assert!(said[0].chat_id == FAMILY && said[0].text.contains("budget"), "{said:?}");
    scene.ask(SEAN, HOMELAB, "and the lab?");
    let said = scene.sent(2);
    assert!(said[1].chat_id == HOMELAB && said[1].text.contains("and the lab?"), "{said:?}");
}
