//! Times the reading of a small file below the root, resolved by the kernel under a handle, beside the same by its path. `cargo xtask
//! bench` builds and runs it, because xtask itself knows nothing of the product. Prints one JSON object.

// A program that only measures: what it prints is its answer, and a folder that cannot be made is no measurement.
#![allow(clippy::print_stdout, clippy::expect_used)]

use longhouse_node::{Files, Mark, Root, Sha256, StateDirectory};
use std::hint::black_box;
use std::time::Instant;

const PATH: &str = "one/two/three/four/notes.md";
const ROUNDS: usize = 7;
const REPEATS: u32 = 5_000;

fn each(run: impl Fn()) -> f64 {
    let started = Instant::now();
    (0..REPEATS).for_each(|_| run());
    started.elapsed().as_secs_f64() * 1e9 / f64::from(REPEATS)
}

fn main() {
    let scene = tempfile::tempdir().expect("a folder");
    let (folder, own) = (scene.path().join("root"), scene.path().join("state"));
    let file = folder.join(PATH);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    std::fs::write(&file, "hello\n".repeat(40)).expect("written");
    let state = StateDirectory::open(&own).expect("a state directory");
    let files = Files::new(Root::open(&folder).expect("a root"), Mark::open(&state).expect("a mark"));
    let (mut safe, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        safe.push(each(|| {
            black_box(files.read(black_box(PATH)).expect("read"));
        }));
        plain.push(each(|| {
            let text = std::fs::read_to_string(black_box(&file)).expect("read");
            black_box((Sha256::of(text.as_bytes()), text));
        }));
    }
    println!("{}", serde_json::json!({"safe_ns": safe, "plain_ns": plain}));
}
