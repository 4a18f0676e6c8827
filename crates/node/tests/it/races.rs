//! Somebody swaps directories and files for links while the tools run. Each run counts successes and refusals, and nothing may be
//! read, listed or changed outside. The control does the same by checking first and opening then, and is caught.
//!
//! `LONGHOUSE_LONG_TESTS=1` runs until there are a thousand of each.

use super::scenes::{CANARY, Scene};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

fn enough() -> usize {
    if std::env::var_os("LONGHOUSE_LONG_TESTS").is_some() { 1_000 } else { 200 }
}

/// What one attempt came to.
enum Attempt {
    Success,
    Refusal,
    /// Something from outside was seen.
    Leak,
}

/// `work` is by turns a directory of the root and a link out of it.
fn swap_directory(root: &Path) {
    renameat_with(CWD, root.join("work"), CWD, root.join("lure"), RenameFlags::EXCHANGE).unwrap();
}

/// `leaf` is by turns a file and a link to a file outside.
fn swap_file(root: &Path, turn: usize) {
    let next = root.join("next");
    match turn % 2 {
        0 => std::fs::write(&next, "inside").unwrap(),
        _ => std::os::unix::fs::symlink("../outside/file", &next).unwrap(),
    }
    std::fs::rename(next, root.join("leaf")).unwrap();
}

/// The directory that is sometimes called `work`, whatever it is called at the moment.
struct Real(std::fs::File);

impl Real {
    fn file(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}/file", self.0.as_raw_fd()))
    }
}

fn stage() -> (Scene, Real) {
    let scene = Scene::new();
    scene.put("work/file", "inside");
    scene.put("leaf", "inside");
    scene.link("../outside", "lure");
    let real = Real(std::fs::File::open(scene.root().join("work")).unwrap());
    (scene, real)
}

/// Tries until there were enough of both, or of leaks; the swapping goes on all the time.
fn contest(scene: &Scene, swap: fn(&Path, usize), mut attempt: impl FnMut() -> Attempt) -> (usize, usize, usize) {
    let (done, root) = (AtomicBool::new(false), scene.root());
    let (mut successes, mut refusals, mut leaks) = (0, 0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                swap(&root, turn);
                turn += 1;
                if turn % 16 == 0 {
                    thread::yield_now();
                }
            }
        });
        let begun = Instant::now();
        while (successes < enough() || refusals < enough()) && begun.elapsed() < PATIENCE {
            match attempt() {
                Attempt::Success => successes += 1,
                Attempt::Refusal => refusals += 1,
                Attempt::Leak => leaks += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    (successes, refusals, leaks)
}

fn holds(scene: &Scene, name: &str, swap: fn(&Path, usize), attempt: impl FnMut() -> Attempt) {
    let (successes, refusals, leaks) = contest(scene, swap, attempt);
    eprintln!("{name}: {successes} successes, {refusals} refusals, {leaks} leaks");
    assert_eq!(leaks, 0, "{name}: something outside was reached");
    assert!(scene.outside_is_untouched(), "{name}: something outside was changed");
    assert!(successes >= enough() && refusals >= enough(), "{name}: {successes} successes, {refusals} refusals");
}

fn judged(content: node::Result<String>) -> Attempt {
    match content {
        Ok(content) if content.contains("outside") || content.contains("canary") => Attempt::Leak,
        Ok(_) => Attempt::Success,
        Err(_) => Attempt::Refusal,
    }
}

#[test]
fn reads_never_leave_the_root_while_links_are_swapped() {
    let (scene, _real) = stage();
    let read = |path: &str| judged(scene.files.read(path).map(|read| read.content));
    holds(&scene, "read below a swapped directory", |root, _| swap_directory(root), || read("work/file"));
    holds(&scene, "read of a swapped file", swap_file, || read("leaf"));
}

#[test]
fn writes_never_leave_the_root_while_links_are_swapped() {
    let (scene, _real) = stage();
    let write = |path: &str| judged(scene.write(path, "mine").map(|_| String::new()));
    holds(&scene, "write below a swapped directory", |root, _| swap_directory(root), || write("work/file"));
    holds(&scene, "write of a swapped file", swap_file, || write("leaf"));
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn deletes_never_leave_the_root_while_links_are_swapped() {
    let (scene, real) = stage();
    holds(
        &scene,
        "delete below a swapped directory",
        |root, _| swap_directory(root),
        || {
            std::fs::write(real.file(), "inside").unwrap();
            judged(scene.delete("work/file").map(|_| String::new()))
        },
    );
    holds(&scene, "delete of a swapped file", swap_file, || judged(scene.delete("leaf").map(|_| String::new())));
}

#[test]
fn lists_never_leave_the_root_while_links_are_swapped() {
    let (scene, _real) = stage();
    let list = |path: &str| judged(scene.list(path).map(|names| names.join(" ")));
    holds(&scene, "list of a swapped directory", |root, _| swap_directory(root), || list("work"));
    let mut seen = 0;
    let (successes, _, leaks) = contest(
        &scene,
        |root, _| swap_directory(root),
        || {
            seen += 1;
            match list(".") {
                // The walk itself is never refused; what it meets as a link it does not enter.
                Attempt::Success if seen % 2 == 0 => Attempt::Refusal,
                attempt => attempt,
            }
        },
    );
    assert!(successes >= enough());
    assert_eq!(leaks, 0, "a walk entered a swapped directory");
}

/// What the tools would be if they compared paths before they opened them.
fn checked_first(root: &Path, path: &str) -> Option<PathBuf> {
    let path = root.join(path);
    path.canonicalize().ok().filter(|real| real.starts_with(root.canonicalize().unwrap())).map(|_| path)
}

#[test]
fn the_control_that_checks_before_it_opens_is_caught() {
    let (scene, real) = stage();
    let begun = Instant::now();
    let (mut leaked, mut written, mut deleted) = (false, false, false);
    while !(leaked && written && deleted) && begun.elapsed() < PATIENCE {
        std::fs::write(scene.outside().join("file"), CANARY).unwrap();
        contest_once(&scene, swap_directory, || {
            std::fs::write(real.file(), "inside").unwrap();
            if let Some(path) = checked_first(&scene.root(), "work/file") {
                match begun.elapsed().subsec_nanos() % 3 {
                    0 => leaked |= std::fs::read_to_string(path).is_ok_and(|text| text == CANARY),
                    1 => drop(std::fs::write(path, "mine")),
                    _ => drop(std::fs::remove_file(path)),
                }
            }
            let outside = std::fs::read_to_string(scene.outside().join("file"));
            written |= outside.as_ref().is_ok_and(|text| text == "mine");
            deleted |= outside.is_err();
        });
    }
    assert!(
        leaked && written && deleted,
        "the control was not caught: leaked {leaked}, written {written}, deleted {deleted}"
    );
}

/// A few hundred attempts under swapping.
fn contest_once(scene: &Scene, swap: fn(&Path), mut attempt: impl FnMut()) {
    let (done, root) = (AtomicBool::new(false), scene.root());
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&root);
            }
        });
        for _ in 0..500 {
            attempt();
        }
        done.store(true, Ordering::Relaxed);
    });
}
