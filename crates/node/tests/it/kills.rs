//! A node that is killed in the middle of writing leaves each file old or new, and what it left half-made goes at the next start.

use super::scenes::Scene;
use node::{Files, Mark, Root, StateDirectory};
use std::process::{Command, Stdio};
use std::time::Duration;

const SIZE: usize = 300_000;
const NAMES: [&str; 3] = ["one", "two", "three"];

#[test]
fn a_sudden_kill_leaves_every_file_whole() {
    let scene = Scene::new();
    for name in NAMES {
        scene.put(name, &"a".repeat(SIZE));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::rename(scene.root(), folder.path().join("work")).unwrap();
    let mut halves = 0;
    let mut letters = std::collections::BTreeSet::new();
    for round in 0..40_u64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_longhouse-confined"))
            .arg("--write-until-killed")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + round * 7 % 60));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        let state = StateDirectory::open(&folder.path().join("state")).unwrap();
        let files = Files::new(Root::open(&folder.path().join("work")).unwrap(), Mark::open(&state).unwrap());
        halves += files.sweep().unwrap();
        for name in NAMES {
            let content = std::fs::read(folder.path().join("work").join(name)).unwrap();
            assert_eq!(content.len(), SIZE, "{name} is torn");
            assert!(content.iter().all(|byte| *byte == content[0]), "{name} is mixed");
            letters.insert(content[0]);
        }
        assert_eq!(std::fs::read_dir(folder.path().join("work")).unwrap().count(), NAMES.len());
    }
    // Otherwise nothing was killed in the middle, and the test has shown nothing.
    assert!(halves > 0, "no kill came between the two steps");
    assert_eq!(letters.len(), 2, "nothing was written before a kill");
}
