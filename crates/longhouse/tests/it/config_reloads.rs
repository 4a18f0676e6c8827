//! A running server and its configuration file: edited, replaced, broken, mended, gone.

use super::binary::Server;
use super::config::{Home, me, workspaces_of};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

struct Running {
    home: Home,
    server: Server,
    token: String,
}

const ONE: &str = "users: { sean: { role: admin } }\nworkspaces: { lab: { members: [sean] } }\n";
const TWO: &str =
    "users: { sean: { role: admin } }\nworkspaces: { lab: { members: [sean] }, garden: { members: [sean] } }\n";
const BROKEN: &str =
    "users: { sean: { role: admin } }\nworkspaces: { lab: { menbers: [sean] }, garden: { members: [nobody] } }\n";

impl Running {
    fn start(home: Home) -> Self {
        let server =
            Server::start_configured(&home.data(), &home.config(), &home.path().join("log")).expect("it starts");
        let token = server.cli(&["token", "create", "--user", "sean"]);
        let running = Self { home, server, token };
        running.waits_for("the first", |running| running.has("lab"));
        running
    }

    fn has(&self, workspace: &str) -> bool {
        me(&self.server, &self.token).is_ok()
            && workspaces_of(&self.server, &self.token).contains(&workspace.to_owned())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap()
    }

    fn counts(&self, line: &str) -> usize {
        self.log().matches(line).count()
    }

    #[track_caller]
    fn waits_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(15);
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what} did not come\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn hang_up(&self) {
        let pid = self.server.pid().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    }
}

#[test]
fn an_edit_is_in_force_without_a_restart() {
    let running = Running::start(Home::new(ONE));
    assert!(!running.has("garden"));
    running.home.write(TWO);
    running.waits_for("the edit", |running| running.has("garden"));
    running.home.write(ONE);
    running.waits_for("the way back", |running| !running.has("garden"));
}

#[test]
fn a_file_that_was_emptied_shuts_nothing_and_what_an_edit_takes_away_is_said() {
    let running = Running::start(Home::new(TWO));
    running.home.write("");
    running.waits_for("the refusal", |running| running.log().contains("the file says nothing"));
    assert!(running.has("lab") && running.has("garden"));
    running.home.write(ONE);
    running.waits_for("the edit", |running| !running.has("garden"));
    running.waits_for("the word", |running| running.log().contains("takes away: 1 workspace closed"));
}

#[test]
fn a_file_that_is_replaced_or_linked_elsewhere_is_seen() {
    let home = Home::new(ONE);
    let running = Running::start(home);
    let fresh = running.home.path().join("longhouse.yaml.new");
    fs::write(&fresh, TWO).unwrap();
    fs::rename(&fresh, running.home.config()).unwrap();
    running.waits_for("the replacement", |running| running.has("garden"));
    // As a mounted folder of settings is swapped: a link to a link.
    let folder = running.home.path();
    for (name, text) in [("first", ONE), ("second", TWO)] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("longhouse.yaml"), text).unwrap();
    }
    let point = |at: &str, to: &str| {
        let partial = folder.join("partial-link");
        symlink(to, &partial).unwrap();
        fs::rename(&partial, folder.join(at)).unwrap();
    };
    point("current", "first");
    point("longhouse.yaml", "current/longhouse.yaml");
    running.waits_for("the link", |running| !running.has("garden"));
    point("current", "second");
    running.waits_for("the swap", |running| running.has("garden"));
    fs::write(folder.join("second/longhouse.yaml"), ONE).unwrap();
    running.waits_for("an edit behind the link", |running| !running.has("garden"));
}

#[test]
fn a_broken_edit_changes_nothing_says_why_and_is_mended() {
    let running = Running::start(Home::new(ONE));
    running.home.write(BROKEN);
    running.waits_for("the refusal", |running| running.log().contains("the configuration stays as it was: 2 problems"));
    let log = running.log();
    assert!(log.contains("ERROR") && log.contains("longhouse.yaml:2:22: unknown key `menbers`"), "{log}");
    assert!(log.contains("longhouse.yaml:2:61: there is no user `nobody`"), "{log}");
    assert!(running.has("lab") && !running.has("garden"));
    running.home.write(TWO);
    running.waits_for("the mended file", |running| running.has("garden"));
    // Who is only there because the file says so cannot be named by a file that no longer does.
    running.home.write("workspaces: { lab: { members: [sean] } }\n");
    running.waits_for("the lost user", |running| running.log().contains("there is no user `sean`"));
    assert!(running.has("lab"));
    fs::remove_file(running.home.config()).unwrap();
    running.waits_for("the missed file", |running| running.log().contains("there is no such file"));
    assert!(running.has("lab") && running.has("garden"));
    // The same as before: nothing is left of the refusal.
    running.home.write(TWO);
    running.waits_for("the found file", |running| running.server.health().as_deref() == Some("healthy"));
}

#[test]
fn a_hangup_reads_the_file_again_and_ends_nobody() {
    let running = Running::start(Home::new(ONE));
    running.hang_up();
    running.waits_for("the answer", |running| running.log().contains("SIGHUP: reading the configuration again"));
    assert!(running.has("lab"));
    let alone = tempfile::tempdir().unwrap();
    let mut server = Server::start(alone.path().join("data").as_path());
    assert!(Command::new("kill").args(["-HUP", &server.pid().to_string()]).status().unwrap().success());
    assert!(!server.has_ended(Duration::from_millis(300)), "also without a file");
}

#[test]
fn skills_are_read_again_when_one_changes() {
    let home = Home::new(&ONE.replace("[sean] }", "[sean], skills: [tidy] }"));
    home.skill("tidy");
    let running = Running::start(home);
    let document = running.home.path().join("skills/tidy/SKILL.md");
    fs::write(&document, "nothing").unwrap();
    running.waits_for("the refusal", |running| running.log().contains("tidy/SKILL.md:1:1: there is no front matter"));
    let before = running.log().matches("the new configuration is in force").count();
    fs::write(&document, "---\nname: tidy\ndescription: Better.\n---\nDo.\n").unwrap();
    running.waits_for("the better skill", |running| {
        running.log().matches("the new configuration is in force").count() > before
    });
    // In a folder that was not there.
    running.home.write(&TWO.replace("members: [sean] } }", "members: [sean], skills: [sow] } }"));
    running.waits_for("the missing skill", |running| running.log().contains("there is no skill `sow`"));
    running.home.skill("sow");
    running.waits_for("the new skill", |running| running.has("garden"));
}

#[test]
fn settings_of_the_process_wait_for_the_next_start_and_that_is_said() {
    let running = Running::start(Home::new(ONE));
    running.home.write(&format!("{ONE}server: {{ rate_limit: off, metrics_open: true }}\n"));
    running.waits_for("the note", |running| {
        running.log().contains("server.metrics_open, server.rate_limit changed: that takes effect at the next start")
    });
}

const SAME: &str = "the configuration says the same as before";
const IN_FORCE: &str = "the new configuration is in force";

#[test]
fn an_unchanged_file_is_not_applied_again() {
    let running = Running::start(Home::new(ONE));
    running.home.write(&format!("# a word\n{ONE}"));
    running.waits_for("the reading", |running| running.counts(SAME) == 1);
    fs::write(running.home.path().join("neighbour"), "x").unwrap();
    // What comes after it is seen, so the neighbour would have been.
    running.home.write(TWO);
    running.waits_for("the edit", |running| running.has("garden"));
    assert_eq!((running.counts(SAME), running.counts(IN_FORCE)), (1, 1), "{}", running.log());
}

#[test]
fn links_in_a_skill_are_not_watched() {
    let home = Home::new(&ONE.replace("[sean] }", "[sean], skills: [tidy] }"));
    home.skill("tidy");
    // The folder itself may be a link.
    fs::rename(home.path().join("skills"), home.path().join("shelf")).unwrap();
    symlink("shelf", home.path().join("skills")).unwrap();
    fs::create_dir(home.data()).unwrap();
    let skill = home.path().join("shelf/tidy");
    symlink("/", skill.join("everything")).unwrap();
    symlink(home.data(), skill.join("data")).unwrap();
    symlink(home.data(), home.path().join("shelf/data")).unwrap();
    let running = Running::start(home);
    assert!(running.server.ready < Duration::from_secs(10), "{:?}", running.server.ready);
    let watches = format!("/proc/{}/fdinfo", running.server.pid());
    let of_descriptor = |entry: fs::DirEntry| fs::read_to_string(entry.path()).unwrap_or_default();
    let watched = || fs::read_dir(&watches).unwrap().flatten().map(of_descriptor).collect::<String>();
    let number = watched().matches("inotify wd:").count();
    assert!((1..10).contains(&number), "{number} folders are watched");
    for n in 0..20 {
        running.server.cli(&["session", "create", &format!("s{n}")]);
    }
    fs::write(skill.join("SKILL.md"), "---\nname: tidy\ndescription: Better.\n---\nDo.\n").unwrap();
    running.waits_for("the better skill", |running| running.counts(IN_FORCE) == 1);
    assert_eq!(running.counts(SAME), 0, "{}", running.log());
    // Folders of no interest are let go.
    running.home.write(&ONE.replace("users", "skills_dir: .\nusers"));
    running.waits_for("other skills", |running| running.counts(IN_FORCE) == 2);
    running.home.write(ONE);
    running.waits_for("no skills", |running| running.counts(IN_FORCE) == 3);
    running.waits_for("as many watches as before", |_| watched().matches("inotify wd:").count() == number);
}

#[test]
fn what_the_house_refuses_has_its_place_in_the_file() {
    let running = Running::start(Home::new(ONE));
    running.server.cli(&["user", "add", "anna"]);
    running.server.cli(&["user", "remove", "anna"]);
    running.home.write("workspaces: { lab: { members: [owner] } }\nusers:\n  sean: { role: admin }\n  anna: {}\n");
    running.waits_for("the refusal", |running| running.log().contains("the configuration stays as it was: 1 problem"));
    let log = running.log();
    assert!(log.contains("longhouse.yaml:4:3: user `anna` was removed"), "{log}");
}
