//! What the file tools do when nobody means harm.

use super::scenes::{NOW_MS, Scene, mode, writing};
use node::files::{CONTENT_LIMIT_BYTES, Encoding, EntryType, ListDirectory, WriteFile, WriteMode};
use node::{Error, Failure, Files, Mark, Root, Sha256};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn a_file_is_read_as_text_or_as_bytes_with_its_hash() {
    let scene = Scene::new();
    scene.put("text", "grüße");
    std::fs::write(scene.root().join("bytes"), b"\xff\x00").unwrap();
    let text = scene.files.read("text").unwrap();
    assert_eq!((text.content.as_str(), text.size, text.encoding), ("grüße", 7, Encoding::Utf8));
    assert_eq!(text.sha256, Some(Sha256::of("grüße".as_bytes())));
    let bytes = scene.files.read("bytes").unwrap();
    assert_eq!((bytes.content.as_str(), bytes.encoding, bytes.truncated), ("/wA=", Encoding::Base64, false));
    let json = serde_json::to_value(&text).unwrap();
    assert_eq!(json["encoding"], "utf-8");
    assert_eq!(json["success"], true);
    assert_eq!(scene.files.read(".").unwrap_err().code(), "IS_A_DIRECTORY");
}

#[test]
fn a_long_file_is_cut_at_a_character_and_says_so() {
    let scene = Scene::new();
    let most = usize::try_from(CONTENT_LIMIT_BYTES).unwrap();
    scene.put("just", &"x".repeat(most));
    assert!(!scene.files.read("just").unwrap().truncated);
    let long = format!("x{}", "ü".repeat(most / 2));
    scene.put("long", &long);
    let read = scene.files.read("long").unwrap();
    assert!(read.truncated);
    assert_eq!(read.encoding, Encoding::Utf8);
    assert_eq!((read.content.len(), read.size), (most - 1, most as u64 + 1));
    assert_eq!(read.sha256, Some(Sha256::of(long.as_bytes())));
    let error = scene.files.prepare_write(&writing("new", &"x".repeat(most + 1))).unwrap_err();
    assert_eq!(error.code(), "TOO_LARGE");
}

#[test]
fn a_write_replaces_the_name_keeps_the_mode_and_leaves_nothing_behind() {
    let scene = Scene::new();
    let path = scene.put("script", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let changed = scene.write("script", "new").unwrap();
    assert_eq!(scene.content("script"), "new");
    assert_eq!(mode(&path), 0o750);
    assert_eq!(changed.timestamp.as_deref(), Some("2026-02-20T14:30:00.007Z"));
    assert_eq!((changed.size, changed.sha256), (Some(3), Some(Sha256::of(b"new"))));
    scene.write("made", "x").unwrap();
    let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::process::umask(mask);
    assert_eq!(mode(&scene.root().join("made")), 0o644 & !mask.as_raw_mode());
    assert_eq!(scene.list(".").unwrap(), ["made", "script"]);
}

#[test]
fn a_write_never_reaches_what_a_hard_link_shares() {
    let scene = Scene::new();
    let shared = scene.outside().join("file");
    let before = std::fs::read(&shared).unwrap();
    for (name, mode) in [("written", WriteMode::Write), ("appended", WriteMode::Append)] {
        std::fs::hard_link(&shared, scene.root().join(name)).unwrap();
        let request = WriteFile { mode, ..writing(name, "mine") };
        scene.files.prepare_write(&request).unwrap().commit(NOW_MS).unwrap();
        assert!(scene.content(name).ends_with("mine"));
    }
    std::fs::hard_link(&shared, scene.root().join("edited")).unwrap();
    scene.edit("edited", "outside", "inside").unwrap();
    std::fs::hard_link(&shared, scene.root().join("deleted")).unwrap();
    scene.delete("deleted").unwrap();
    assert_eq!(std::fs::read(&shared).unwrap(), before);
    assert_eq!(std::fs::metadata(&shared).unwrap().nlink(), 1);
    // The same without our care: the link's other name is written too.
    std::fs::hard_link(&shared, scene.root().join("naive")).unwrap();
    std::fs::write(scene.root().join("naive"), "lost").unwrap();
    assert_ne!(std::fs::read(&shared).unwrap(), before);
}

#[test]
fn appending_adds_at_the_end_and_makes_what_is_missing() {
    let scene = Scene::new();
    let append = |text: &str| WriteFile { mode: WriteMode::Append, create_dirs: true, ..writing("a/b/log", text) };
    for text in ["one\n", "two\n"] {
        scene.files.prepare_write(&append(text)).unwrap().commit(NOW_MS).unwrap();
    }
    assert_eq!(scene.content("a/b/log"), "one\ntwo\n");
    assert_eq!(scene.files.prepare_write(&writing("c/d", "x")).unwrap_err().code(), "FILE_NOT_FOUND");
    assert!(!scene.root().join("c").exists());
}

#[test]
fn a_base_that_is_not_there_any_more_stops_the_write() {
    let scene = Scene::new();
    scene.put("file", "one");
    let based = |text: &str, base: &str| WriteFile {
        base_sha256: Some(Sha256::of(base.as_bytes())),
        create_dirs: true,
        ..writing("file", text)
    };
    scene.files.prepare_write(&based("two", "one")).unwrap().commit(NOW_MS).unwrap();
    assert_eq!(scene.files.prepare_write(&based("three", "one")).unwrap_err().code(), "STALE_BASE");
    let missing = WriteFile { path: "a/b".to_owned(), ..based("x", "one") };
    assert!(scene.files.prepare_write(&missing).is_err());
    assert!(!scene.root().join("a").exists());
    // Somebody else's change between the two steps is never overwritten, with a base or without.
    for request in [based("three", "two"), writing("file", "three")] {
        scene.put("file", "two");
        let change = scene.files.prepare_write(&request).unwrap();
        scene.put("file", "theirs");
        assert_eq!(change.commit(NOW_MS).unwrap_err().code(), "STALE_BASE");
        assert_eq!(scene.content("file"), "theirs");
    }
    let change = scene.files.prepare_write(&writing("new", "mine")).unwrap();
    scene.put("new", "theirs");
    assert_eq!(change.commit(NOW_MS).unwrap_err().code(), "STALE_BASE");
    assert_eq!(scene.content("new"), "theirs");
    let change = scene.files.prepare_delete("new").unwrap();
    scene.put("new", "changed");
    assert_eq!(change.commit(NOW_MS).unwrap_err().code(), "STALE_BASE");
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn an_edit_needs_exactly_one_match_and_a_delete_takes_files_only() {
    let scene = Scene::new();
    scene.put("dir/file", "a b a");
    scene.edit("dir/file", "b", "ü").unwrap();
    assert_eq!(scene.content("dir/file"), "a ü a");
    assert_eq!(scene.edit("dir/file", "a", "x").unwrap_err().code(), "MANY_MATCHES");
    assert_eq!(scene.edit("dir/file", "z", "x").unwrap_err().code(), "NO_MATCH");
    assert_eq!(scene.edit("dir/missing", "z", "x").unwrap_err().code(), "FILE_NOT_FOUND");
    std::fs::create_dir(scene.root().join("empty")).unwrap();
    for directory in ["empty", "dir", "dir/", ".", "dir/.."] {
        assert_eq!(scene.delete(directory).unwrap_err().code(), "IS_A_DIRECTORY", "{directory}");
    }
    assert_eq!(serde_json::to_value(scene.delete("dir/file").unwrap()).unwrap(), serde_json::json!({"success": true}));
    assert_eq!(scene.delete("dir/file").unwrap_err().code(), "FILE_NOT_FOUND");
    assert!(scene.root().join("dir").is_dir());
    let failure = serde_json::to_value(Failure::from(&Error::NoMatch)).unwrap();
    assert_eq!((&failure["success"], &failure["error"]["code"]), (&false.into(), &"NO_MATCH".into()));
}

#[test]
fn a_listing_shows_links_without_following_them_and_says_when_it_is_cut() {
    let scene = Scene::new();
    scene.put("src/main.rs", "x");
    scene.put("src/deep/lib.rs", "xy");
    scene.link(".", "src/circle");
    scene.link("../outside", "way-out");
    assert_eq!(
        scene.list(".").unwrap(),
        ["src", "way-out", "src/circle", "src/deep", "src/main.rs", "src/deep/lib.rs"]
    );
    let list = |path: &str, recursive: bool, pattern: Option<&str>| {
        let request = ListDirectory { path: path.to_owned(), recursive, pattern: pattern.map(str::to_owned) };
        scene.files.list(&request).unwrap()
    };
    let found = list("src", true, Some("*.rs"));
    assert_eq!(
        found.files.iter().map(|entry| (entry.path.as_str(), entry.size)).collect::<Vec<_>>(),
        [("src/main.rs", 1), ("src/deep/lib.rs", 2)]
    );
    let kinds: Vec<_> = list("src", false, None).files.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryType::Link, EntryType::Directory, EntryType::File]);
    for number in 0..1_001 {
        scene.put(&format!("many/{number}"), "");
    }
    let many = list("many", false, None);
    assert_eq!((many.files.len(), many.truncated), (1_000, true));
    std::fs::remove_file(scene.root().join("many/0")).unwrap();
    let many = list("many", false, None);
    assert_eq!((many.files.len(), many.truncated), (1_000, false));
    assert_eq!(scene.list("src/main.rs").unwrap_err().code(), "NOT_A_DIRECTORY");
}

#[test]
fn what_an_earlier_run_left_is_removed_and_nothing_that_only_looks_so() {
    let scene = Scene::new();
    scene.put("dir/file", "x");
    let change = scene.files.prepare_write(&writing("dir/file", "half")).unwrap();
    let ours = scene.leftovers();
    assert_eq!(ours.len(), 1);
    // As a crash does: the change is never dropped.
    std::mem::forget(change);
    let forged = ours[0].replace("a", "b").replace("0", "1");
    scene.put(&forged, "somebody's own");
    scene.put(".longhouse-notes.part", "somebody's own");
    assert_eq!(scene.files.sweep().unwrap(), 0, "what this run made is in use");
    let again = Files::new(Root::open(&scene.root()).unwrap(), Mark::open(&scene.state).unwrap());
    assert_eq!(again.sweep().unwrap(), 1);
    assert!(!scene.root().join(&ours[0]).exists());
    assert!(scene.root().join(&forged).exists());
    assert!(scene.root().join(".longhouse-notes.part").exists());
}
