//! Paths that try to leave the root, and things that are no files.

use super::scenes::{CANARY, Scene, writing};
use node::Root;
use node::files::WriteFile;
use proptest::prelude::*;
use std::os::unix::net::UnixListener;

/// Every operation on one path, with what it was refused for.
fn refusals(scene: &Scene, path: &str) -> Vec<(&'static str, &'static str)> {
    let with_directories = WriteFile { create_dirs: true, ..writing(path, "x") };
    let answers = [
        ("read", scene.files.read(path).err()),
        ("write", scene.write(path, "x").err()),
        ("create", scene.files.prepare_write(&with_directories).and_then(|change| change.commit(0)).err()),
        ("edit", scene.edit(path, CANARY, "x").err()),
        ("delete", scene.delete(path).err()),
        ("list", scene.list(path).err()),
    ];
    answers.into_iter().map(|(name, error)| (name, error.map_or("done", |error| error.code()))).collect()
}

#[test]
fn no_path_leads_out_of_the_root() {
    let scene = Scene::new();
    scene.put("deep/inside", "fine");
    scene.link(scene.outside(), "absolute-link");
    scene.link("../outside", "relative-link");
    scene.link("relative-link", "link-to-link");
    scene.link("deep/../../outside", "winding-link");
    scene.link("/proc/self/root", "magic-link");
    scene.link("/proc/self/cwd", "magic-directory");
    scene.link("circle-b", "circle-a");
    scene.link("circle-a", "circle-b");
    scene.link("../outside/file", "link-to-file");
    scene.link(scene.outside().join("file"), "absolute-link-to-file");
    scene.link("../outside/not-there", "link-to-nothing");
    let outside = scene.outside().join("file");
    let evil = scene.folder.path().join("work-evil/file");
    let back = scene.root().join("../outside/file");
    let through_link = scene.root().join("absolute-link/file");
    let paths = [
        "..",
        "../outside/file",
        "../work-evil/file",
        "deep/../../outside/file",
        "./deep/.././../outside/file",
        "deep/../../../../../../../../etc/passwd",
        "absolute-link/file",
        "relative-link/file",
        "link-to-link/file",
        "winding-link/file",
        "relative-link/deep/../file",
        "magic-link/etc/passwd",
        "magic-directory/file",
        "circle-a",
        "circle-a/file",
        "link-to-file",
        "absolute-link-to-file",
        "link-to-nothing",
        "missing/../../outside/file",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "/proc/self/environ",
        outside.to_str().unwrap(),
        evil.to_str().unwrap(),
        back.to_str().unwrap(),
        through_link.to_str().unwrap(),
        "",
        "deep/inside\0/../x",
        "deep/inside/..",
        "deep/inside/file",
    ];
    for path in paths {
        for (name, code) in refusals(&scene, path) {
            assert_ne!(code, "done", "{name} of {path:?}");
        }
        assert!(scene.outside_is_untouched(), "after {path:?}");
    }
    let long = "x/".repeat(2_049);
    assert!(refusals(&scene, &long).iter().all(|(_, code)| *code == "INVALID_PATH"));
    assert_eq!(scene.content("deep/inside"), "fine");
}

#[test]
fn what_lies_outside_is_told_apart_from_what_does_not_exist() {
    let scene = Scene::new();
    scene.link("../outside", "link");
    assert_eq!(scene.files.read("../outside/file").unwrap_err().code(), "OUTSIDE_ROOT");
    assert_eq!(scene.files.read("../outside/not-there").unwrap_err().code(), "OUTSIDE_ROOT");
    assert_eq!(scene.files.read("link/file").unwrap_err().code(), "OUTSIDE_ROOT");
    assert_eq!(scene.files.read("/no/such/place").unwrap_err().code(), "OUTSIDE_ROOT");
    assert_eq!(scene.files.read("not-there").unwrap_err().code(), "FILE_NOT_FOUND");
}

#[test]
fn an_absolute_path_is_accepted_if_it_lies_inside_however_the_root_is_spelled() {
    let scene = Scene::new();
    scene.put("deep/file", "fine");
    let other_way = scene.folder.path().join("other-way");
    std::os::unix::fs::symlink(scene.root(), &other_way).unwrap();
    let spellings = [
        scene.root().join("deep/file"),
        scene.root().join("./deep//file"),
        scene.root().join("deep/../deep/file"),
        scene.folder.path().join("outside/../work/deep/file"),
        other_way.join("deep/file"),
    ];
    for path in spellings {
        assert_eq!(scene.files.read(path.to_str().unwrap()).unwrap().content, "fine", "{path:?}");
    }
    assert_eq!(scene.list(scene.root().to_str().unwrap()).unwrap(), ["deep", "deep/file"]);
    // The same without our care: text that begins alike.
    let evil = scene.folder.path().join("work-evil/file");
    assert!(evil.to_str().unwrap().starts_with(scene.root().to_str().unwrap()));
    assert_eq!(scene.files.read(evil.to_str().unwrap()).unwrap_err().code(), "OUTSIDE_ROOT");
}

#[test]
fn links_that_stay_inside_are_followed() {
    let scene = Scene::new();
    scene.put("real/file", "old");
    scene.link("real", "directory-link");
    scene.link("real/file", "file-link");
    scene.link("../directory-link/file", "real/winding");
    assert_eq!(scene.files.read("directory-link/file").unwrap().content, "old");
    for (number, path) in ["directory-link/file", "file-link", "real/winding"].into_iter().enumerate() {
        scene.write(path, &number.to_string()).unwrap();
        assert_eq!(scene.content("real/file"), number.to_string(), "{path}");
    }
    assert!(scene.root().join("file-link").is_symlink());
    scene.link("real/new", "link-to-nothing-yet");
    scene.write("link-to-nothing-yet", "made").unwrap();
    assert_eq!(scene.content("real/new"), "made");
    assert_eq!(scene.delete("file-link").unwrap_err().code(), "LINK_REFUSED");
    assert!(scene.root().join("file-link").is_symlink());
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once_and_left_alone() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let scene = Scene::new();
    let path = |name: &str| scene.root().join(name);
    mknodat(CWD, path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _listener = UnixListener::bind(path("socket")).unwrap();
    scene.link("pipe", "link-to-pipe");
    let mut names = vec!["pipe", "socket", "link-to-pipe"];
    // Only root can make a device, and not everywhere.
    let null = mknodat(CWD, path("device"), FileType::CharacterDevice, Mode::from_raw_mode(0o666), 0x103);
    match null {
        Ok(()) => names.push("device"),
        Err(errno) => eprintln!("no device could be made here ({errno}): three kinds instead of four"),
    }
    let begun = std::time::Instant::now();
    for name in names {
        for (operation, code) in refusals(&scene, name) {
            let expected = if operation == "list" {
                "NOT_A_DIRECTORY"
            } else if operation == "delete" && name.starts_with("link") {
                "LINK_REFUSED"
            } else {
                "SPECIAL_FILE"
            };
            assert_eq!(code, expected, "{operation} of {name}");
        }
        assert!(path(name).symlink_metadata().is_ok());
    }
    assert!(begun.elapsed().as_secs() < 60);
    // The same without our care would wait for somebody to write into the pipe.
    let (tell, told) = std::sync::mpsc::channel();
    let pipe = path("pipe");
    std::thread::spawn(move || tell.send(std::fs::read(pipe)));
    assert!(told.recv_timeout(std::time::Duration::from_millis(200)).is_err());
}

#[test]
fn the_root_stays_the_same_directory_when_its_name_means_another() {
    let scene = Scene::new();
    scene.put("file", "mine");
    std::fs::rename(scene.root(), scene.folder.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(scene.outside(), scene.root()).unwrap();
    assert_eq!(scene.files.read("file").unwrap().content, "mine");
    scene.write("file", "still mine").unwrap();
    assert!(scene.outside_is_untouched());
}

#[test]
fn the_root_knows_what_lies_inside_it() {
    let scene = Scene::new();
    std::fs::create_dir(scene.root().join("state")).unwrap();
    let root = Root::open(&scene.root()).unwrap();
    assert!(root.encloses(&scene.root().join("state")).unwrap());
    assert!(root.encloses(&scene.root()).unwrap());
    assert!(!root.encloses(scene.state.path()).unwrap());
    assert!(Root::open(&scene.outside().join("file")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_mixture_of_steps_leads_out(steps in prop::collection::vec(0..STEPS.len(), 1..9), begins_in_root in any::<bool>()) {
        thread_local!(static SCENE: Scene = winding());
        SCENE.with(|scene| {
            let path = steps.iter().map(|step| STEPS[*step]).collect::<Vec<_>>().join("/");
            let path = if begins_in_root { scene.root().join(&path).to_str().unwrap().to_owned() } else { path };
            let read = scene.files.read(&path).map(|read| read.content);
            assert!(read.is_err() || read.unwrap() != CANARY, "read {path}");
            let names = scene.list(&path).unwrap_or_default().join(" ");
            assert!(!names.contains("canary"), "list {path}");
            // Whatever is written lies inside, and is gone again.
            if scene.write(&path, "mine").is_ok() {
                scene.write(&path, "fine").unwrap();
            }
            assert!(scene.outside_is_untouched(), "{path}");
        });
    }
}

const STEPS: [&str; 10] = ["..", ".", "", "deep", "file", "out", "up", "inside", "deeper", "outside"];

/// Directories and links that lead around.
fn winding() -> Scene {
    let scene = Scene::new();
    scene.put("deep/deeper/file", "fine");
    scene.link("../outside", "out");
    scene.link("..", "deep/up");
    scene.link("../..", "deep/deeper/up");
    scene.link("deep/deeper", "inside");
    scene.link("../../../outside/file", "deep/deeper/outside");
    scene
}
