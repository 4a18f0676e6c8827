//! Senders whom nobody knows, and how they come in.

use super::{Gate, reason};
use serde_json::json;

#[tokio::test]
async fn a_stranger_gets_a_code_and_an_admin_lets_them_in_as_somebody_or_as_a_new_member() {
    let gate = Gate::new().await;
    let first = gate.whisper("dm", "stranger", "1", "hello").await;
    assert_eq!(reason(&first), ("refused", "UNKNOWN_SENDER"));
    let code = first["pairing_code"].as_str().unwrap().to_owned();
    assert!(first["message"].as_str().unwrap().contains(&code));
    let again = gate.whisper("dm", "stranger", "2", "hello?").await;
    assert_eq!(again["pairing_code"], first["pairing_code"], "the same while it lives");
    let other = gate.whisper("dm", "somebody else", "1", "hello").await;
    assert_ne!(other["pairing_code"], first["pairing_code"]);
    let waiting = gate.world.get("/admin/pairings").by(&gate.admin).send().await.ok();
    let codes: Vec<_> = waiting["items"].as_array().unwrap().iter().map(|item| item["code"].clone()).collect();
    assert_eq!(codes.len(), 2);
    assert!(codes.contains(&first["pairing_code"]));

    let path = format!("/admin/pairings/{}/approve", code.to_lowercase().replace('-', ""));
    let approved = gate.world.post(&path, &json!({})).by(&gate.admin).send().await.ok();
    assert_eq!((&approved["user"], &approved["is_new"]), (&json!("usr_http-stranger"), &json!(true)));
    gate.world.post(&path, &json!({})).by(&gate.admin).send().await.refused(404, "PAIRING_NOT_FOUND");
    // The message that was refused may be told again: now it is taken.
    let taken = gate.whisper("dm", "stranger", "1", "hello").await;
    assert_eq!((reason(&taken), &taken["workspace"]), (("routed", ""), &json!("personal-usr_http-stranger")));
    assert_eq!(reason(&gate.write("lab", "stranger", "3", "and here?").await), ("refused", "NOT_A_MEMBER"));

    let code = other["pairing_code"].as_str().unwrap();
    let path = format!("/admin/pairings/{code}/approve");
    gate.world.post(&path, &json!({"user": "nobody"})).by(&gate.admin).send().await.refused(404, "USER_NOT_FOUND");
    let approved = gate.world.post(&path, &json!({"user": "sean"})).by(&gate.admin).send().await.ok();
    assert_eq!((&approved["user"], &approved["is_new"]), (&json!("usr_sean"), &json!(false)));
    assert_eq!(gate.write("lab", "somebody else", "4", "it is me").await["user"], "usr_sean");
    assert_eq!(gate.audit("@house", "pairing.approve").await.len(), 2);
}

#[tokio::test]
async fn a_code_is_rejected_or_grows_old_and_the_next_message_brings_another() {
    let gate = Gate::new().await;
    let first = gate.whisper("dm", "stranger", "1", "hello").await["pairing_code"].as_str().unwrap().to_owned();
    let path = |code: &str, what: &str| format!("/admin/pairings/{code}/{what}");
    gate.world.post(&path(&first, "reject"), &json!({})).by(&gate.admin).send().await.ok();
    gate.world
        .post(&path(&first, "approve"), &json!({}))
        .by(&gate.admin)
        .send()
        .await
        .refused(404, "PAIRING_NOT_FOUND");
    let second = gate.whisper("dm", "stranger", "2", "hello").await["pairing_code"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    gate.world.clock.advance_s(3601);
    gate.world
        .post(&path(&second, "approve"), &json!({}))
        .by(&gate.admin)
        .send()
        .await
        .refused(404, "PAIRING_NOT_FOUND");
    let third = gate.whisper("dm", "stranger", "3", "hello").await["pairing_code"].as_str().unwrap().to_owned();
    assert_ne!(second, third);
}

#[tokio::test]
async fn a_code_is_the_same_after_a_restart_and_is_not_in_the_database() {
    let gate = Gate::new().await;
    let code = gate.whisper("dm", "stranger", "1", "hello").await["pairing_code"].as_str().unwrap().to_owned();
    let world = gate.world.reopened().await;
    let gate = Gate { world, ..gate };
    assert_eq!(gate.whisper("dm", "stranger", "2", "hello").await["pairing_code"], json!(code));
    if testkit::on_postgres() {
        return;
    }
    let plain = code.replace('-', "");
    for file in std::fs::read_dir(gate.world.folder().join("data")).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            let bytes = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            assert!(!bytes.contains(&plain) && !bytes.contains(&code), "{}", file.display());
        }
    }
}
