//! Programs: what they are given, how they are ended, and how they are tried again.

use crate::scenes::{PROGRAM, Scene, declared, is_alive, odd, until_dead, why_away};
use domain::plugins::{PluginDeclaration, Reach, Timeouts};
use longhouse_plugins::State;
use serde_json::json;
use std::ffi::OsString;

#[tokio::test]
async fn a_program_gets_what_it_needs_of_the_environment_and_what_the_file_names() {
    let declaration = PluginDeclaration { environment: vec!["KUBECONFIG".to_owned()], ..odd("plain") };
    let scene = Scene::with(&[("odd", declaration)], |options| {
        let all = ["PATH", "HOME", "LC_ALL", "KUBECONFIG", "OPENAI_API_KEY", "LONGHOUSE_TOKEN", "LD_LIBRARY_PATH"];
        options.environment = all.map(|name| (OsString::from(name), OsString::from("/value"))).to_vec();
    })
    .await;
    scene.ready("odd").await;
    let about = scene.about().await;
    let mut names: Vec<&str> =
        about["environment"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "KUBECONFIG", "LC_ALL", "PATH"]);
    let directory = scene.directory.path().canonicalize().unwrap();
    assert_eq!(about["directory"].as_str(), directory.to_str());
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_told_of_and_tried_again_until_it_is_there() {
    let later = declared(Reach::Command(vec!["./later".to_owned(), "plain".to_owned()]), &["odd.*"]);
    let scene = Scene::new(&[("odd", later)]).await;
    let listing = scene.until("failed", |listing| matches!(listing.plugins["odd"].state, State::Failed { .. })).await;
    assert_eq!(why_away(&listing, "odd").as_deref(), Some("its program cannot be started (entity not found)"));
    std::os::unix::fs::symlink(PROGRAM, scene.directory.path().join("later")).unwrap();
    scene.ready("odd").await;
    assert!(scene.call("echo", json!({})).await.is_ok());
}

#[tokio::test]
async fn a_program_that_ends_at_once_fails_in_the_end_and_its_last_words_are_kept() {
    let scene = Scene::new(&[("odd", odd("crash-at-start"))]).await;
    let listing = scene.until("failed", |listing| matches!(listing.plugins["odd"].state, State::Failed { .. })).await;
    assert_eq!(why_away(&listing, "odd").as_deref(), Some("it ended: exit status: 3"));
    assert_eq!(scene.plugins.last_words("odd").as_deref().map(|words| words.contains("no such cluster")), Some(true));
}

#[tokio::test]
async fn a_program_that_never_begins_is_ended() {
    let timeouts = Timeouts { start_s: 1, call_s: 1 };
    let scene = Scene::new(&[("odd", PluginDeclaration { timeouts, ..odd("hang-at-start") })]).await;
    let listing = scene.until("away", |listing| why_away(listing, "odd").is_some()).await;
    assert_eq!(why_away(&listing, "odd").as_deref(), Some("it was not ready within 1 s"));
    scene.plugins.stop().await;
}

#[tokio::test]
async fn stopping_ends_also_a_program_that_does_not_want_to() {
    // What is ignored stays ignored in the program that takes the shell's place.
    let script = "trap '' TERM; exec \"$0\" stubborn";
    let command = ["sh", "-c", script, PROGRAM].map(str::to_owned).to_vec();
    let scene = Scene::new(&[("odd", declared(Reach::Command(command), &["odd.*"]))]).await;
    scene.ready("odd").await;
    let process = scene.about().await["process"].as_u64().unwrap();
    assert!(is_alive(process));
    scene.plugins.stop().await;
    assert!(!is_alive(process), "it was waited for");
}

#[tokio::test]
async fn what_a_program_left_behind_goes_with_it() {
    for ending in ["crash", "stop", "drop"] {
        let scene = Scene::odd("forks").await;
        let about = scene.about().await;
        let (parent, child) = (about["process"].as_u64().unwrap(), about["grandchild"].as_u64().unwrap());
        assert!(is_alive(child), "{ending}");
        match ending {
            // The child keeps the pipes open: the call ends all the same.
            "crash" => drop(scene.call("crash", json!({})).await.unwrap_err()),
            "stop" => scene.plugins.stop().await,
            _ => drop(scene),
        }
        until_dead(parent).await;
        until_dead(child).await;
    }
}

#[tokio::test]
async fn nothing_outlives_the_house_also_when_it_is_dropped_in_the_middle_of_a_start() {
    let declaration = declared(
        Reach::Command(vec!["sh".to_owned(), "-c".to_owned(), "echo $$ > started; exec sleep 3600".to_owned()]),
        &["odd.*"],
    );
    let scene = Scene::new(&[("odd", declaration)]).await;
    let file = scene.directory.path().join("started");
    let process = loop {
        // The file comes before what is in it.
        match std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()) {
            Some(process) => break process,
            None => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
        }
    };
    let Scene { plugins, directory } = scene;
    drop(plugins);
    until_dead(process).await;
    drop(directory);
}
