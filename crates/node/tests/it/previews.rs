//! What a person is shown before they are asked, and that showing it changes nothing.

use super::scenes::{NOW_MS, Scene, writing};
use node::commands::RunCommand;
use node::files::{EditFile, WriteFile, WriteMode};
use node::{Previews, Sha256};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_preview_shows_the_diff_and_the_hashes_that_the_change_will_have() {
    let scene = Scene::new();
    scene.put("file", "one\ntwo\nthree\n");
    let previews = Previews::new(&scene.files);
    let write = writing("file", "one\n2\nthree\n");
    let preview = previews.write(&write).unwrap();
    assert!(preview.exists);
    assert!(preview.diff.as_ref().unwrap().text.contains("-two\n+2\n"), "{preview:?}");
    let append = WriteFile { mode: WriteMode::Append, ..writing("file", "four\n") };
    let edit = EditFile { path: "file".to_owned(), old: "two".to_owned(), new: "2".to_owned() };
    let pairs = [
        (preview, scene.files.prepare_write(&write).unwrap()),
        (previews.write(&append).unwrap(), scene.files.prepare_write(&append).unwrap()),
        (previews.edit(&edit).unwrap(), scene.files.prepare_edit(&edit).unwrap()),
        (previews.delete("file").unwrap(), scene.files.prepare_delete("file").unwrap()),
    ];
    for (preview, change) in pairs {
        assert_eq!((preview.base_sha256, preview.new_sha256), (change.base_sha256(), change.new_sha256()));
        assert_eq!(preview.path, change.path());
    }
    assert_eq!(scene.content("file"), "one\ntwo\nthree\n");
    assert_eq!(scene.list(".").unwrap(), ["file"]);
}

#[test]
fn a_preview_creates_nothing_and_refuses_what_the_change_would_be_refused() {
    let scene = Scene::new();
    scene.put("file", "x");
    scene.link("../outside", "link");
    let previews = Previews::new(&scene.files);
    let deep = WriteFile { create_dirs: true, ..writing("a/b/c", "new\n") };
    let preview = previews.write(&deep).unwrap();
    assert_eq!((preview.exists, preview.new_sha256), (false, Some(Sha256::of(b"new\n"))));
    assert!(!scene.root().join("a").exists());
    for path in ["../outside/file", "link/file", "/etc/passwd", "missing/../../x"] {
        assert!(previews.write(&WriteFile { create_dirs: true, ..writing(path, "x") }).is_err(), "{path}");
        assert!(previews.delete(path).is_err(), "{path}");
    }
    let stale = WriteFile { base_sha256: Some(Sha256::of(b"y")), ..writing("file", "z") };
    assert_eq!(previews.write(&stale).unwrap_err().code(), "STALE_BASE");
    assert_eq!(scene.list(".").unwrap(), ["file", "link"]);
}

#[test]
fn what_cannot_be_shown_says_why_and_what_is_long_says_that_it_is_cut() {
    let scene = Scene::new();
    std::fs::write(scene.root().join("bytes"), b"\xff\x00").unwrap();
    scene.put("large", &"x\n".repeat(2_200_000));
    let previews = Previews::new(&scene.files);
    let preview = previews.write(&writing("bytes", "text")).unwrap();
    assert_eq!((preview.diff, preview.why_no_diff), (None, Some("not text")));
    let preview = previews.delete("large").unwrap();
    assert_eq!((preview.diff, preview.why_no_diff), (None, Some("too long to be compared")));
    // A file that would be gone is not shown in part.
    scene.put("long", &"x\n".repeat(600_000));
    let preview = previews.delete("long").unwrap();
    assert_eq!((preview.diff, preview.why_no_diff), (None, Some("too long to be compared")));
    let preview = previews.write(&writing("new", &"line of text ü\n".repeat(80_000))).unwrap();
    let diff = preview.diff.unwrap();
    assert!(diff.truncated && diff.text.len() <= 1024 * 1024 && diff.text.ends_with('\n'));
    let preview = previews.write(&writing("new", &"line of text ü\n".repeat(40_000))).unwrap();
    assert!(!preview.diff.unwrap().truncated, "up to a mebibyte it is whole");
    // Made to be slow to compare: it is not compared to the end, but for a moment.
    let shuffled = |step: usize| (0..60_000).map(|line| format!("{}\n", line * step % 60_007)).collect::<String>();
    scene.put("slow", &shuffled(7));
    let begun = std::time::Instant::now();
    previews.write(&writing("slow", &shuffled(11))).unwrap();
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    assert_eq!(scene.write("slow", "x").unwrap().size, Some(1), "{NOW_MS}");
}

#[test]
fn a_command_is_shown_with_the_file_that_will_run() {
    let scene = Scene::new();
    let previews = Previews::new(&scene.files);
    let command = |program: &str, cwd: Option<&str>| RunCommand {
        program: program.to_owned(),
        args: vec!["a b".to_owned()],
        cwd: cwd.map(str::to_owned),
        timeout_s: 30,
    };
    let preview = previews.command(&command("cat", None)).unwrap();
    assert_eq!(preview.program, std::fs::canonicalize("/usr/bin/cat").unwrap().to_str().unwrap());
    assert_eq!(preview.args, ["a b"]);
    assert!(preview.environment.contains(&"PATH".to_owned()) && preview.environment.contains(&"HOME".to_owned()));
    assert!(previews.command(&command("cat", Some("../outside"))).is_err());
    assert_eq!(previews.command(&command("no-such-program", None)).unwrap_err().code(), "PROGRAM_NOT_FOUND");
}

#[test]
fn behind_a_wrapper_the_file_is_shown_that_a_word_means_and_never_where_the_root_lies() {
    let scene = Scene::new();
    let previews = Previews::new(&scene.files);
    let cat = std::fs::canonicalize("/usr/bin/cat").unwrap().to_str().unwrap().to_owned();
    scene.put("deep/own", "");
    std::fs::set_permissions(scene.root().join("deep/own"), std::fs::Permissions::from_mode(0o755)).unwrap();
    scene.link("/usr/bin/cat", "deep/box");
    let starts = |line: &str, cwd: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (program, args) = (words.next().unwrap(), words.collect());
        let command = RunCommand { program, args, cwd: Some(cwd.to_owned()), timeout_s: 30 };
        previews.command(&command).unwrap().starts.into_iter().collect::<Vec<_>>()
    };
    let one = |word: &str, file: &str| vec![(word.to_owned(), file.to_owned())];
    assert_eq!(starts("env ./box x", "deep"), one("./box", &cat));
    assert_eq!(starts("env A=b deep/box", "."), one("deep/box", &cat));
    assert_eq!(starts("timeout 5 cat x", "."), one("cat", &cat));
    assert_eq!(starts("env ./own", "deep"), one("./own", "own"));
    assert_eq!(starts("env ./box", "."), [], "there is none there");
    assert_eq!(starts("cat ./box", "deep"), [], "it starts nothing");
}
