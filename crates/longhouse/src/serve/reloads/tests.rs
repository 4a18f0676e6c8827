//! A file that is right and a house that cannot take it now.

use super::*;
use service::house::Options;
use service::surroundings::Machine;
use std::sync::Arc;

async fn open(folder: &std::path::Path) -> House {
    House::open(Options::in_folder(folder.join("data")), Arc::new(Machine::default())).await.unwrap().0
}

#[tokio::test]
async fn what_the_house_could_not_do_is_tried_again_and_what_is_wrong_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("longhouse.yaml");
    std::fs::write(&path, "users: { sean: {} }\n").unwrap();
    let mut file = ConfigFile {
        path: Some(path.clone()),
        loaded: None,
        watching: None,
        started: None,
        behind: None,
        forgetting: false,
    };
    let house = open(folder.path()).await;
    assert!(file.put_in_force(&house).await.unwrap());
    house.close().await;
    // Somebody is let go while the house cannot note it.
    std::fs::write(&path, "users: {}\n").unwrap();
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
        file.reload(&house, path.clone()).await;
        assert_eq!(file.behind, Some(Behind::Failed { again_after: Duration::from_secs(seconds) }));
    }
    drop(house);
    let house = open(folder.path()).await;
    file.reload(&house, path.clone()).await;
    assert_eq!(file.behind, None);
    let sean = domain::ids::UserId::parse("sean").unwrap();
    let is_gone = file.loaded().is_some_and(|loaded| !loaded.declaration.users.contains_key(&sean));
    assert!(is_gone);
    std::fs::write(&path, "usrs: {}\n").unwrap();
    file.reload(&house, path.clone()).await;
    assert_eq!(file.behind, Some(Behind::Refused));
    // The owner would no longer be an admin, and nobody else is.
    std::fs::write(&path, "users: { owner: { role: guest } }\n").unwrap();
    file.reload(&house, path).await;
    assert_eq!(file.behind, Some(Behind::Refused));
    house.close().await;
}

#[tokio::test]
async fn a_refused_file_is_not_tried_again_by_itself() {
    let waits = |behind| tokio::time::timeout(Duration::from_millis(50), again(behind));
    assert!(waits(Some(Behind::Failed { again_after: Duration::ZERO })).await.is_ok());
    assert!(waits(Some(Behind::Refused)).await.is_err() && waits(None).await.is_err());
}
