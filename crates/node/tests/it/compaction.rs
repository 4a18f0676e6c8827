//! The journal of a node that runs for months: it stays small, and neither a crash nor a failing disk costs it a record that counts.

use super::scenes::Scene;
use node::StateDirectory;
use node::journal::{Journal, Step};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const KEPT_DAYS: i64 = 7;
const NEVER: u64 = u64::MAX;

fn make(journal: &mut Journal, call: &str, last: Step, now_ms: i64) {
    journal.intent(call, 1, "tool_write_file", now_ms).unwrap();
    if last >= Step::Begun {
        journal.begun(call, 1, None, now_ms).unwrap();
    }
    if last >= Step::Ended {
        journal.ended(call, 1, Some(json!({"success": true, "text": "x".repeat(100)})), now_ms).unwrap();
    }
    if last >= Step::Told {
        journal.told(call, 1, now_ms).unwrap();
    }
}

fn steps(journal: &Journal) -> BTreeMap<String, Step> {
    journal.calls().map(|call| (call.id.clone(), call.step)).collect()
}

#[test]
fn a_node_that_runs_for_months_keeps_a_small_journal_with_all_that_counts() {
    let scene = Scene::new();
    let path = scene.state.path().join("journal");
    let mut journal = Journal::with_limit(&scene.state, 0, 10_000).unwrap();
    let (mut largest, mut written, mut open) = (0, 0, BTreeMap::new());
    for day in 0..80_i64 {
        for number in 0..5 {
            make(&mut journal, &format!("{day}-{number}"), Step::Told, day * DAY_MS);
        }
        // Now and then one that nobody heard the end of.
        if day % 20 == 7 {
            let step = [Step::Intended, Step::Begun, Step::Ended][(day / 20 % 3) as usize];
            make(&mut journal, &format!("open-{day}"), step, day * DAY_MS);
            open.insert(format!("open-{day}"), step);
        }
        let length = std::fs::metadata(&path).unwrap().len();
        largest = largest.max(length);
        written = written.max(journal.calls().count());
    }
    let of_a_week = 5 * KEPT_DAYS as usize;
    assert!(largest < 60_000, "{largest} bytes, of about 200 000 that were written");
    assert!(written <= 3 * of_a_week, "{written} calls are held in memory");
    let last_ms = 79 * DAY_MS;
    drop(journal);
    let again = steps(&Journal::open(&scene.state, last_ms).unwrap());
    for (call, step) in &open {
        assert_eq!(again.get(call), Some(step), "{call}");
    }
    let told = again.values().filter(|step| **step == Step::Told).count();
    assert_eq!((told, again.len()), (of_a_week, of_a_week + open.len()));
}

#[test]
fn a_journal_that_is_large_with_good_reason_stays_as_it_is() {
    let scene = Scene::new();
    let path = scene.state.path().join("journal");
    let twin = Scene::new();
    let mut small = Journal::with_limit(&scene.state, 0, 1_000).unwrap();
    let mut never = Journal::with_limit(&twin.state, 0, NEVER).unwrap();
    for number in 0..100 {
        for journal in [&mut small, &mut never] {
            make(journal, &format!("call_{number}"), Step::Told, 6 * DAY_MS);
        }
    }
    let written = std::fs::read(&path).unwrap();
    assert_eq!(written, std::fs::read(twin.state.path().join("journal")).unwrap());
    assert!(!path.with_extension("new").exists());
}

#[test]
fn a_crash_at_any_byte_of_the_new_file_leaves_the_old_one_and_after_it_the_new() {
    let (scene, twin) = (Scene::new(), Scene::new());
    let now_ms = 30 * DAY_MS;
    for (state, limit) in [(&scene.state, 2_000), (&twin.state, NEVER)] {
        let mut journal = Journal::with_limit(state, 0, NEVER).unwrap();
        for number in 0..10 {
            make(&mut journal, &format!("old-{number}"), Step::Told, 0);
        }
        make(&mut journal, "open", Step::Begun, 0);
        make(&mut journal, "ended", Step::Ended, 0);
        drop(journal);
        // What is past keeping goes at opening too: this is a node that was opened in time.
        let mut journal = Journal::with_limit(state, 0, limit).unwrap();
        make(&mut journal, "new", Step::Intended, now_ms);
    }
    let path = twin.state.path().join("journal");
    let (old, new) = (std::fs::read(&path).unwrap(), std::fs::read(scene.state.path().join("journal")).unwrap());
    assert!(2 * new.len() < old.len(), "it was made smaller");
    let counts = [("ended", Step::Ended), ("new", Step::Intended), ("open", Step::Begun)]
        .map(|(id, step)| (id.to_owned(), step));
    let check = |journal: &[u8], beside: Option<&[u8]>, moment: usize| {
        std::fs::write(&path, journal).unwrap();
        if let Some(beside) = beside {
            std::fs::write(path.with_extension("new"), beside).unwrap();
        }
        let mut opened = Journal::with_limit(&twin.state, now_ms, 100).unwrap();
        assert_eq!(steps(&opened), BTreeMap::from(counts.clone()), "cut at {moment}");
        if !moment.is_multiple_of(16) && moment != new.len() {
            return;
        }
        opened.ended("open", 1, None, now_ms).unwrap();
        make(&mut opened, "next", Step::Told, now_ms);
        drop(opened);
        let again = steps(&Journal::open(&twin.state, now_ms).unwrap());
        assert_eq!((again["open"], again["next"], again.len()), (Step::Ended, Step::Told, 4), "cut at {moment}");
    };
    for cut in 0..=new.len() {
        check(&old, Some(&new[..cut]), cut);
    }
    check(&new, None, new.len());
}

/// Keeps a journal in a process of its own that `strace` interferes with.
fn kept_by_another(folder: &Path, injection: &str) -> Output {
    let mut command = Command::new("strace");
    let call = injection.split(':').next().unwrap();
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), &format!("--inject={injection}")]);
    command.args(["-P"]).arg(folder.join("state/journal.new")).arg("-P").arg(folder.join("state/journal"));
    command.arg("-P").arg(folder.join("state"));
    command.arg(env!("CARGO_BIN_EXE_longhouse-confined")).arg("--keep-a-journal").arg(folder);
    command.output().expect("strace is there")
}

/// Everything that was said to be in the journal is there, but for what was told long ago.
fn check_all_is_there(folder: &Path, said: &str, moment: &str) {
    let step = |word: &str| match word {
        "intended" => Step::Intended,
        "begun" => Step::Begun,
        "ended" => Step::Ended,
        "told" => Step::Told,
        other => panic!("{other}"),
    };
    let said: BTreeMap<i64, Step> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(day, word)| (day.parse().unwrap(), step(word)))
        .collect();
    let state = StateDirectory::open(&folder.join("state")).unwrap();
    // The first record of the next day may have been written, and not said.
    let today = said.keys().max().copied().unwrap_or(0) + 1;
    let journal = Journal::open(&state, today * DAY_MS).unwrap();
    for (day, said) in &said {
        match journal.call(&format!("call_{day}")) {
            Some(found) => assert!(found.step >= *said, "{moment}: {day} is {:?}, not {said:?}", found.step),
            None => assert!(*said == Step::Told && day + KEPT_DAYS <= today, "{moment}: {day} ({said:?}) is lost"),
        }
    }
    assert!(journal.calls().count() <= said.len() + 1, "{moment}: nothing is there that nobody wrote");
}

#[test]
fn a_kill_at_any_step_of_making_it_smaller_loses_nothing_that_was_acknowledged() {
    for (call, moments) in [("rename", 3), ("fsync", 7), ("ftruncate", 1), ("openat", 8)] {
        for moment in 1..=moments {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("state")).unwrap();
            let injection = format!("{call}:signal=SIGKILL:when={moment}");
            let kept = kept_by_another(folder.path(), &injection);
            assert!(!kept.status.success(), "{injection} was not reached");
            check_all_is_there(folder.path(), &String::from_utf8(kept.stdout).unwrap(), &injection);
        }
    }
}

#[test]
fn a_disk_that_fails_while_it_is_made_smaller_stops_the_journal_only_for_as_long_as_it_must() {
    // The first of each is the making of the file. Then: no room for the new one, which can wait; no rename, after which nobody
    // knows which of the two files counts, until one more succeeds; no write, for a while and for ever.
    for (injection, goes_on) in [
        ("fsync:error=ENOSPC:when=4", true),
        ("rename:error=EIO:when=2", true),
        ("rename:error=EIO:when=2+", false),
        ("fdatasync:error=ENOSPC:when=40..41", true),
        ("fdatasync:error=ENOSPC:when=40+", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("state")).unwrap();
        let kept = kept_by_another(folder.path(), injection);
        let said = String::from_utf8(kept.stdout).unwrap();
        assert_eq!(kept.status.success(), goes_on, "{injection}: {said}");
        assert!(said.lines().count() > 20, "{injection}: {said}");
        assert_eq!(said.contains("29 told"), goes_on, "{injection}");
        check_all_is_there(folder.path(), &said, injection);
    }
}
