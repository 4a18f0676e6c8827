//! Backups: consistent while others write, private, and good for a house of their own.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use testkit::World;

async fn back_up(world: &World, path: &Path) -> Value {
    world.post("/admin/backup", &json!({"path": path})).locally().send().await.ok()
}

/// A house from a backup, and what a token of the old one reads there.
async fn read_from(backup: &Path, folder: &Path, world: &World, token: &str, key: &str) -> Value {
    let house = world.restored(backup, folder).await;
    house.store().check().await.expect("whole");
    let signed_in = service::authority::authenticate(&house, token).await.expect("tokens go on");
    let ctx = service::Ctx::new(house, &signed_in);
    let session = service::sessions::SessionRef::parse("plans", None).expect("a session");
    let request = domain::requests::Request::Read { key: key.to_owned() };
    let answer = service::shared_context::execute(&ctx, session, request).await.expect("readable");
    serde_json::to_value(answer).expect("JSON")
}

#[tokio::test]
async fn a_backup_restored_elsewhere_has_everything_in_it() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "a", "kept").await;
    let backup = world.folder().join("backup");
    assert_eq!(back_up(&world, &backup).await["path"], backup.display().to_string());
    world.write(&owner, "plans", "a", "later").await;
    let read = read_from(&backup, &world.folder().join("restored"), &world, &owner, "a").await;
    assert_eq!((&read["value"], &read["version"]), (&json!("kept"), &json!(1)));
}

/// What a tool of the owner's agent answers in another house.
async fn call(house: &service::House, token: &str, agent: &str, tool: &str, request: Value) -> Value {
    let signed_in = service::authority::authenticate(house, token).await.expect("tokens go on");
    let ctx = service::Ctx::new(house.clone(), &signed_in);
    let project = service::projects::ProjectRef { id_or_name: "garden".to_owned(), workspace: None };
    let acting = service::items::Acting::Named(service::agents::AgentPath { project, id_or_name: agent.to_owned() });
    let Value::Object(request) = request else { panic!("an envelope is an object") };
    let answer = service::items::call(&ctx, acting, tool, request).await.expect("an answer");
    serde_json::to_value(answer).expect("JSON")
}

#[tokio::test]
async fn projects_items_and_publications_are_in_it_and_go_on_where_they_were() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.project(&owner, "garden").await;
    let board = world.agent(&owner, "garden", json!({"name": "board", "visibility": "shared"})).await;
    let write = json!({"key": "list", "value": "kept"});
    world.tool(&owner, "garden/agent_coder", "workspace_write", &write).send().await.ok();
    let publish = json!({"key": "list", "target_agent_id": board["id"]});
    let published = world.tool(&owner, "garden/agent_coder", "workspace_publish", &publish).send().await.ok();
    let agent = world.agent_token(&owner, json!({"agent": board["id"]})).await;
    let backup = world.folder().join("backup");
    back_up(&world, &backup).await;
    world.delete("/my/projects/garden").by(&owner).send().await.ok();
    let house = world.restored(&backup, &world.folder().join("restored")).await;
    house.store().check().await.expect("whole");
    let read = json!({"key": "list"});
    let (own, copy) = (
        call(&house, &owner, "agent_coder", "workspace_read", read.clone()).await,
        call(&house, &agent, "board", "workspace_read", read).await,
    );
    assert_eq!((&own["value"], &copy["value"]), (&json!("kept"), &json!("kept")));
    assert_eq!(copy["published_from"], json!({"scope": "user-usr_owner", "key": "list", "version": 1}));
    let written = call(&house, &owner, "agent_coder", "workspace_write", write).await;
    assert_eq!(written["version"], 2);
    let signed_in = service::authority::authenticate(&house, &owner).await.expect("tokens go on");
    let ctx = service::Ctx::new(house, &signed_in);
    let id = published["publication_id"].as_str().expect("an id");
    let id = domain::ids::PublicationId::parse(id).expect("an id");
    service::items::recall(&ctx, id).await.expect("recalled");
}

#[tokio::test]
async fn an_empty_folder_is_filled_where_it_is() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "a", "kept").await;
    let backup = world.folder().join("backup");
    back_up(&world, &backup).await;
    // As where a disk is mounted: the folder cannot be replaced. What a restore that was cut off left is no hindrance.
    let mounted = world.folder().join("mounted");
    std::fs::create_dir_all(mounted.join(".restore.partial")).expect("made");
    let before = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&mounted).expect("there"));
    let read = read_from(&backup, &mounted, &world, &owner, "a").await;
    assert_eq!(read["value"], "kept");
    let after = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&mounted).expect("there"));
    assert_eq!(before, after, "it is the same folder");
}

#[tokio::test]
async fn a_backup_taken_while_others_write_is_one_moment() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "plans", json!({})).await;
    world.write(&owner, "plans", "a", "0").await;
    let world = Arc::new(world);
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (world, owner) = (world.clone(), owner.clone());
            tokio::spawn(async move {
                for number in 0..50 {
                    world.write(&owner, "plans", "a", &number.to_string()).await;
                }
            })
        })
        .collect();
    let backups: Vec<PathBuf> = (0..3).map(|number| world.folder().join(format!("backup-{number}"))).collect();
    for backup in &backups {
        back_up(&world, backup).await;
    }
    for writer in writers {
        writer.await.expect("a writer");
    }
    for (number, backup) in backups.iter().enumerate() {
        let folder = world.folder().join(format!("restored-{number}"));
        let read = read_from(backup, &folder, &world, &owner, "a").await;
        assert_eq!(read["version"], read["rev"], "one change, one version, one rev: {read}");
    }
}

#[tokio::test]
async fn a_backup_is_for_its_owners_eyes_and_never_over_something_else() {
    let world = World::new().await;
    let backup = world.folder().join("backup");
    back_up(&world, &backup).await;
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&backup), 0o700);
    for file in std::fs::read_dir(&backup).expect("a folder") {
        let path = file.expect("a file").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let again = world.post("/admin/backup", &json!({"path": backup})).locally().send().await;
    again.refused(400, "INVALID_REQUEST");
    assert!(
        service::backups::restore(&backup, &world.folder().join("data"), None).await.is_err(),
        "not over a house that is there"
    );
}

#[tokio::test]
async fn from_the_network_an_admin_makes_a_backup_but_does_not_choose_where() {
    let world = World::new().await;
    let owner = world.owner().await;
    let chosen = json!({"path": world.folder().join("elsewhere")});
    world.post("/admin/backup", &chosen).by(&owner).send().await.refused(403, "FORBIDDEN");
    assert!(!world.folder().join("elsewhere").exists());
    let made = world.post("/admin/backup", &json!({})).by(&owner).send().await.ok();
    let path = Path::new(made["path"].as_str().expect("a path"));
    assert!(path.starts_with(world.folder().join("data/backups")) && path.join("longhouse.db").is_file());
}

#[tokio::test]
async fn two_backups_in_the_same_moment_are_both_made() {
    let world = World::new().await;
    let owner = world.owner().await;
    let ask = || world.post("/admin/backup", &json!({})).by(&owner).send();
    let (one, other) = tokio::join!(ask(), ask());
    for answer in [&one, &other] {
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    assert_ne!(one.json()["path"], other.json()["path"]);
}

#[tokio::test]
async fn a_place_where_nothing_can_be_written_is_the_askers_mistake_not_the_houses() {
    let world = World::new().await;
    let file = world.folder().join("file");
    std::fs::write(&file, "x").expect("written");
    let places = [json!(file.join("below")), json!("/proc/nowhere/backup"), json!("/"), json!(""), json!("a\u{0}b")];
    for path in places {
        let answer = world.post("/admin/backup", &json!({"path": path})).locally().send().await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text);
    }
}
