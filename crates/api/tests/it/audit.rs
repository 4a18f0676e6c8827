//! The audit log: who did what, never a value, and a chain that shows when somebody changed it.

use axum::http::Method;
use serde_json::{Value, json};
use testkit::World;

async fn rows(world: &World, owner: &str, query: &str) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/admin/audit?limit=7{query}{cursor}")).by(owner).send().await.ok();
        found.extend(page["items"].as_array().expect("items").clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn actions(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["action"].as_str().expect("an action")).collect()
}

#[tokio::test]
async fn every_change_leaves_one_row_and_a_refused_one_leaves_none() {
    let world = World::new().await;
    let owner = world.owner().await;
    let before = rows(&world, &owner, "").await.len();
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "a", "x").await;
    let stale = json!({"action": "write", "key": "a", "value": "y", "if_version": 9});
    world.context(&owner, "plans", &stale).send().await.refused(409, "VERSION_CONFLICT");
    world.context(&owner, "plans", &json!({"action": "read", "key": "a"})).send().await.ok();
    world.context(&owner, "plans", &json!({"action": "snapshot", "label": "one"})).send().await.ok();
    world.context(&owner, "plans", &json!({"action": "delete", "key": "a"})).send().await.ok();
    world.participant(&owner, "plans", "orchestrator").await;
    world.get("/admin/sessions/plans/context").by(&owner).send().await.ok();
    world.post("/sessions/plans/archive", &json!({})).by(&owner).send().await.ok();
    world.delete("/sessions/plans").by(&owner).send().await.ok();
    let found = rows(&world, &owner, "&workspace=personal-usr_owner").await;
    let all = rows(&world, &owner, "").await.len();
    let expected = [
        "session.create",
        "context.write",
        "context.snapshot",
        "context.delete",
        "token.create",
        "context.inspect",
        "session.archive",
        "session.delete",
    ];
    assert_eq!(actions(&found)[found.len() - 8..], expected);
    assert_eq!(all, before + expected.len());
}

#[tokio::test]
async fn identity_leaves_its_rows_too() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.member("bea").await;
    let role = json!({"role": "guest"});
    world.ask(Method::PATCH, "/admin/users/bea").json(&role).by(&owner).send().await.ok();
    let link = world.post("/admin/users/bea/link", &json!({})).locally().send().await.ok();
    world.post("/auth/sign-in", &json!({"code": link["code"]})).send().await.ok();
    world.delete("/admin/users/bea").by(&owner).send().await.ok();
    world.post("/admin/backup", &json!({})).by(&owner).send().await.ok();
    let house = rows(&world, &owner, "&workspace=@house").await;
    assert_eq!(actions(&house), ["house.build", "user.add", "user.role", "user.remove", "backup.create"]);
    let hers = rows(&world, &owner, "&workspace=personal-usr_bea").await;
    assert_eq!(actions(&hers), ["token.create", "sign_in.link", "sign_in"], "and they stay when she has gone");
}

#[tokio::test]
async fn a_row_names_the_key_and_the_author_and_never_a_value_a_code_or_a_token() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    let review = world.participant(&owner, "plans", "subagent:review").await;
    world.write(&review, "plans", "findings", "VALUE_CANARY").await;
    let link = world.post("/admin/users/owner/link", &json!({})).by(&owner).send().await.ok();
    let found = rows(&world, &owner, "").await;
    let written = found.iter().find(|row| row["action"] == "context.write").expect("a row");
    assert_eq!((&written["user"], &written["participant"]), (&json!("usr_owner"), &json!("subagent:review")));
    assert_eq!((&written["session"], &written["detail"]["key"]), (&json!("plans"), &json!("findings")));
    for name in ["version", "rev", "tokens"] {
        assert!(written["detail"][name].is_u64(), "{name}: {written}");
    }
    let text = json!(found).to_string();
    for secret in ["VALUE_CANARY", "eyJ", link["code"].as_str().expect("a code")] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn the_chain_holds_and_a_hash_depends_on_what_was_before() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    for number in 0..30 {
        world.write(&owner, "plans", "a", &number.to_string()).await;
    }
    let found = rows(&world, &owner, "").await;
    let hashes: std::collections::HashSet<_> = found.iter().map(|row| row["hash"].as_str()).collect();
    assert_eq!(hashes.len(), found.len());
    let verdict = world.post("/admin/audit/verify", &json!({})).by(&owner).send().await.ok();
    assert_eq!((&verdict["intact"], verdict["rows"].as_u64()), (&json!(true), Some(found.len() as u64)));
    let world = world.reopened().await;
    assert_eq!(world.post("/admin/audit/verify", &json!({})).by(&owner).send().await.ok()["intact"], true);
}

/// Changes one byte of a sealed row in the closed database file, as somebody with a hex editor would.
#[tokio::test]
async fn a_row_that_somebody_changed_on_disk_is_found() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "findings_original", "x").await;
    let world = world.reopened().await;
    let copy = world.folder().join("copy");
    world.post("/admin/backup", &json!({"path": copy})).locally().send().await.ok();
    let path = copy.join("longhouse.db");
    let mut bytes = std::fs::read(&path).expect("the database");
    let (old, new) = (br#""key":"findings_original""#, br#""key":"findings_replaced""#);
    let at = bytes.windows(old.len()).rposition(|window| window == old).expect("the audit row");
    let places: Vec<_> = (0..bytes.len() - old.len()).filter(|&at| &bytes[at..at + old.len()] == old).collect();
    assert!(places.contains(&at));
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new);
    }
    std::fs::write(&path, bytes).expect("written");
    let other = world.folder().join("other");
    let house = world.restored(&copy, &other).await;
    let signed_in = service::authority::authenticate(&house, &owner).await.expect("the same secret");
    let ctx = service::Ctx::new(house, &signed_in);
    let verdict = service::audit::verify(&ctx).await.expect("a verdict");
    let fault = verdict.fault.expect("the change is found");
    assert_eq!(fault.workspace, "personal-usr_owner");
}
