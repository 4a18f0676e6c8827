//! Having back what a tool replaced.

use super::scenes::{NOW_MS, Scene, mode, writing};
use node::files::EditFile;
use node::{Change, Undo};
use std::os::unix::fs::PermissionsExt;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn done(undo: &mut Undo, call: &str, change: Change, at_ms: i64) {
    undo.keep(call, &change, at_ms).unwrap();
    change.commit(at_ms).unwrap();
}

#[test]
fn a_write_an_edit_a_delete_and_a_new_file_are_undone() {
    let scene = Scene::new();
    for name in ["written", "edited", "deleted"] {
        let path = scene.put(name, "old");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let mut undo = Undo::open(&scene.state, NOW_MS).unwrap();
    let edit = EditFile { path: "edited".to_owned(), old: "old".to_owned(), new: "new".to_owned() };
    done(&mut undo, "call_1", scene.files.prepare_write(&writing("written", "new")).unwrap(), NOW_MS);
    done(&mut undo, "call_2", scene.files.prepare_edit(&edit).unwrap(), NOW_MS);
    done(&mut undo, "call_3", scene.files.prepare_delete("deleted").unwrap(), NOW_MS);
    done(&mut undo, "call_4", scene.files.prepare_write(&writing("made", "new")).unwrap(), NOW_MS);
    assert_eq!((scene.content("written"), scene.content("edited")), ("new".to_owned(), "new".to_owned()));
    // As after a restart.
    let mut undo = Undo::open(&scene.state, NOW_MS).unwrap();
    assert_eq!(undo.calls().count(), 4);
    for call in ["call_1", "call_2", "call_3", "call_4"] {
        undo.undo(call, &scene.files, NOW_MS).unwrap();
        assert_eq!(undo.undo(call, &scene.files, NOW_MS).unwrap_err().code(), "NOTHING_KEPT");
    }
    for name in ["written", "edited", "deleted"] {
        assert_eq!(scene.content(name), "old");
        assert_eq!(mode(&scene.root().join(name)), 0o640, "{name}");
    }
    assert!(!scene.root().join("made").exists());
    assert_eq!(std::fs::read_dir(scene.state.path().join("undo")).unwrap().count(), 0);
}

#[test]
fn what_somebody_changed_since_is_not_overwritten() {
    let scene = Scene::new();
    scene.put("file", "old");
    scene.put("gone", "old");
    let mut undo = Undo::open(&scene.state, NOW_MS).unwrap();
    done(&mut undo, "write", scene.files.prepare_write(&writing("file", "new")).unwrap(), NOW_MS);
    done(&mut undo, "delete", scene.files.prepare_delete("gone").unwrap(), NOW_MS);
    scene.put("file", "theirs");
    scene.put("gone", "theirs");
    for call in ["write", "delete"] {
        assert_eq!(undo.undo(call, &scene.files, NOW_MS).unwrap_err().code(), "CHANGED_SINCE");
    }
    assert_eq!((scene.content("file"), scene.content("gone")), ("theirs".to_owned(), "theirs".to_owned()));
    // Once it is again as the call left it, it can be undone.
    scene.put("file", "new");
    undo.undo("write", &scene.files, NOW_MS).unwrap();
    assert_eq!(scene.content("file"), "old");
    // A name that became a link out is not followed.
    std::fs::remove_file(scene.root().join("gone")).unwrap();
    scene.link("../outside/new", "gone");
    assert!(undo.undo("delete", &scene.files, NOW_MS).is_err());
    assert!(scene.outside_is_untouched());
}

#[test]
fn what_cannot_be_kept_whole_leaves_nothing_behind() {
    let scene = Scene::new();
    let file = scene.put("file", &"old".repeat(100_000));
    let mut undo = Undo::open(&scene.state, NOW_MS).unwrap();
    let kept = scene.state.path().join("undo");
    // No room for the copy, and none for its description.
    for (name, doing) in [("call_1.kept", "writing the copy"), ("call_1.new", "writing the state directory")] {
        std::os::unix::fs::symlink("/dev/full", kept.join(name)).unwrap();
        let change = scene.files.prepare_write(&writing("file", "new")).unwrap();
        let refused = undo.keep("call_1", &change, NOW_MS).unwrap_err().to_string();
        assert!(refused.starts_with(doing) && refused.contains("No space left"), "{name}: {refused}");
        assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 0, "{name}");
    }
    // Somebody writes to the file meanwhile.
    let change = scene.files.prepare_write(&writing("file", "new")).unwrap();
    std::fs::write(&file, "theirs").unwrap();
    assert_eq!(undo.keep("call_1", &change, NOW_MS).unwrap_err().code(), "STALE_BASE");
    assert_eq!((std::fs::read_dir(&kept).unwrap().count(), undo.calls().count()), (0, 0));
}

#[test]
fn a_crash_at_any_step_leaves_something_that_can_be_undone_or_is_nothing() {
    let scene = Scene::new();
    scene.put("file", "old");
    let mut undo = Undo::open(&scene.state, NOW_MS).unwrap();
    // Kept, but the change never came.
    let change = scene.files.prepare_write(&writing("file", "new")).unwrap();
    undo.keep("call", &change, NOW_MS).unwrap();
    drop(change);
    undo.undo("call", &scene.files, NOW_MS).unwrap();
    assert_eq!(scene.content("file"), "old");
    // A copy without its description, and one half-written.
    for name in ["other.kept", "other.new"] {
        std::fs::write(scene.state.path().join("undo").join(name), "half").unwrap();
    }
    let undo = Undo::open(&scene.state, NOW_MS).unwrap();
    assert_eq!(undo.calls().count(), 0);
    assert_eq!(std::fs::read_dir(scene.state.path().join("undo")).unwrap().count(), 0);
}

#[test]
fn the_old_and_then_the_oldest_go_first() {
    let scene = Scene::new();
    let mut undo = Undo::with_limit(&scene.state, NOW_MS, 40_000).unwrap();
    for (number, age_days) in [(1, 0), (2, 1), (3, 2), (4, 3)] {
        let name = format!("file{number}");
        scene.put(&name, &"x".repeat(10_000));
        let at_ms = NOW_MS + age_days * DAY_MS;
        done(&mut undo, &format!("call_{number}"), scene.files.prepare_delete(&name).unwrap(), at_ms);
    }
    let left = |undo: &Undo| undo.calls().map(|(call, _, _)| call.to_owned()).collect::<Vec<_>>();
    assert_eq!(left(&undo), ["call_3", "call_4"]);
    // What is about to be replaced is kept, even if it is alone more than the limit.
    scene.put("large", &"x".repeat(100_000));
    done(&mut undo, "call_5", scene.files.prepare_delete("large").unwrap(), NOW_MS + 4 * DAY_MS);
    assert_eq!(left(&undo), ["call_5"]);
    let undo = Undo::open(&scene.state, NOW_MS + 11 * DAY_MS).unwrap();
    assert_eq!(left(&undo), Vec::<String>::new());
}

#[test]
fn a_call_id_is_no_path() {
    let scene = Scene::new();
    scene.put("file", "old");
    let mut undo = Undo::open(&scene.state, NOW_MS).unwrap();
    let change = scene.files.prepare_write(&writing("file", "new")).unwrap();
    for call in ["", "../journal", "a/b", "a.b", "a\0b", &"x".repeat(129)] {
        assert_eq!(undo.keep(call, &change, NOW_MS).unwrap_err().code(), "INVALID_ARGUMENT", "{call:?}");
    }
}
