//! Entries as resources.

use super::clients::{ALL, Client, NEW, uri};
use serde_json::json;
use testkit::World;

#[tokio::test]
async fn the_keys_of_ones_own_session_are_resources() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({"namespaces": true})).await;
    world.write(&owner, "plans", "inv:scope", "read only").await;
    for version in ALL {
        let mut agent = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        let listed = agent.result("resources/list", json!({})).await["resources"].clone();
        assert_eq!(listed.as_array().map(Vec::len), Some(1));
        assert_eq!((&listed[0]["uri"], &listed[0]["name"]), (&json!(uri("plans", "inv:scope")), &json!("inv:scope")));
        let about = listed[0]["description"].as_str().expect("a description");
        assert!(about.starts_with("3 tokens, version 1, written by user:usr_owner at 20"), "{about}");
        let templates = agent.result("resources/templates/list", json!({})).await["resourceTemplates"].clone();
        assert_eq!(templates[0]["uriTemplate"], "longhouse://sessions/{session}/context/{key}");
        for address in [
            uri("plans", "inv:scope"),
            uri("plans", "inv%3Ascope"),
            uri("plans", "inv:scope") + "?workspace=personal-usr_owner",
        ] {
            let read = agent.result("resources/read", json!({"uri": address})).await["contents"][0].clone();
            assert_eq!((&read["text"], &read["mimeType"]), (&json!("read only"), &json!("text/plain")));
            assert_eq!(read["uri"], address);
            let meta = &read["_meta"];
            assert_eq!(
                (&meta["written_by"], &meta["version"], &meta["rev"]),
                (&json!("user:usr_owner"), &json!(1), &json!(1))
            );
        }
        let mut person = Client::new(&world, &owner, version).await;
        assert_eq!(person.result("resources/list", json!({})).await["resources"], json!([]), "no session, no list");
        let read = person.result("resources/read", json!({"uri": uri("plans", "inv:scope")})).await;
        assert_eq!(read["contents"][0]["text"], "read only");
    }
}

#[tokio::test]
async fn what_may_not_be_seen_is_not_there() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    world.session(&owner, "plans", json!({"acl": true})).await;
    world.session(&bea, "private", json!({})).await;
    world.write(&bea, "private", "diary", "CANARY").await;
    let hidden = json!({"action": "write", "key": "hidden", "value": "CANARY", "readable_by": ["orchestrator"]});
    world.context(&owner, "plans", &hidden).send().await.ok();
    for version in ALL {
        let mut agent = Client::joins(&world, &owner, "plans", "subagent:a", version).await;
        assert_eq!(agent.result("resources/list", json!({})).await["resources"], json!([]));
        let absent = agent.error("resources/read", json!({"uri": uri("plans", "absent")})).await;
        assert_eq!(absent["code"], if version == NEW { -32602 } else { -32002 });
        let hidden = agent.error("resources/read", json!({"uri": uri("plans", "hidden")})).await;
        assert_eq!(hidden, absent, "a hidden key is told apart from an absent one");
        let unseen = agent.error("resources/read", json!({"uri": uri("private", "diary")})).await;
        let unknown = agent.error("resources/read", json!({"uri": uri("nowhere", "diary")})).await;
        assert_eq!(unseen, unknown);
        for odd in
            ["", "longhouse://", "file:///etc/passwd", "longhouse://items/x", "longhouse://sessions/../context/a"]
        {
            let refused = agent.error("resources/read", json!({"uri": odd})).await;
            assert_eq!(refused["code"], absent["code"], "{odd}");
        }
    }
}

#[tokio::test]
async fn two_sessions_of_one_id_are_told_apart_by_their_workspace() {
    let world = World::new().await;
    let (owner, bea) = (world.owner().await, world.member("bea").await);
    for token in [&owner, &bea] {
        world.session(token, "plans", json!({})).await;
    }
    world.write(&owner, "plans", "a", "of the owner").await;
    world.write(&bea, "plans", "a", "of bea").await;
    for version in ALL {
        for (token, value) in [(&owner, "of the owner"), (&bea, "of bea")] {
            let mut person = Client::new(&world, token, version).await;
            let read = person.result("resources/read", json!({"uri": uri("plans", "a")})).await;
            assert_eq!(read["contents"][0]["text"], value);
        }
        let mut person = Client::new(&world, &bea, version).await;
        let theirs = json!({"uri": uri("plans", "a") + "?workspace=personal-usr_owner"});
        assert!(person.error("resources/read", theirs).await["code"].is_i64());
    }
}
