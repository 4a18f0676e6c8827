//! `longhouse config`, and starting with a configuration file.

use super::binary::{LONGHOUSE, Server, command, ok, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with a configuration file, a data directory and a log.
pub(super) struct Home(tempfile::TempDir);

impl Home {
    pub(super) fn new(config: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.write(config);
        home
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn config(&self) -> PathBuf {
        self.path().join("longhouse.yaml")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(super) fn write(&self, config: &str) {
        fs::write(self.config(), config).unwrap();
    }

    pub(super) fn skill(&self, name: &str) -> &Self {
        let folder = self.path().join("skills").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), format!("---\nname: {name}\ndescription: For {name}.\n---\nDo.\n")).unwrap();
        self
    }

    fn start(&self) -> Server {
        Server::start_configured(&self.data(), &self.config(), &self.path().join("log")).expect("it starts")
    }

    fn check(&self, more: &[&str]) -> Output {
        let config = self.config();
        let mut args = vec!["config", "check", config.to_str().unwrap()];
        args.extend(more);
        run(&self.data(), &args)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_right_file_is_ok_and_a_wrong_one_is_told_whole() {
    let home = Home::new("users:\n  sean: {}\nworkspaces:\n  lab: { members: [sean], nodes: [box] }\n");
    let right = home.check(&[]);
    assert_eq!(right.status.code(), Some(0));
    let config = home.config().display().to_string();
    assert_eq!(
        text(&right.stdout),
        format!("warning: {config}:4:35: the node `box` is not paired yet\nok, 1 warning\n")
    );
    home.write("users:\n  sean: { role: amin }\nworkspaces:\n  lab: { menbers: [sean] }\n");
    let wrong = home.check(&[]);
    assert_eq!(wrong.status.code(), Some(1));
    let lines: Vec<String> = text(&wrong.stdout).lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with(&format!("{config}:2:17: there is no role `amin`; expected")), "{lines:#?}");
    assert_eq!(lines[1], format!("{config}:4:10: unknown key `menbers`; did you mean `members`?"));
    assert_eq!(lines[2], "2 problems");
    assert!(!home.data().exists(), "looking makes no house");
}

#[test]
fn a_check_is_read_by_programs_too() {
    let home = Home::new("usrs: {}\n");
    let wrong = home.check(&["--json"]);
    assert_eq!(wrong.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&wrong.stdout).unwrap();
    assert_eq!(answer["ok"], false);
    let problem = &answer["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&1.into(), &1.into()));
    assert_eq!((problem["suggestion"].as_str(), &problem["file"]), (Some("users"), &home.config().to_str().into()));
    home.write("{}\n");
    let right: Value = serde_json::from_slice(&home.check(&["--json"]).stdout).unwrap();
    assert_eq!((&right["ok"], right["problems"].as_array().map(Vec::len)), (&true.into(), Some(0)));
    let schema: Value = serde_json::from_str(&ok(&home.data(), &["config", "schema"])).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["properties"]["workspaces"]["additionalProperties"]["properties"]["budget"].is_object());
}

#[test]
fn the_file_is_the_named_one_or_the_usual_one_of_the_working_directory() {
    let home = Home::new("usrs: {}\n");
    let in_folder = |args: &[&str]| {
        Command::new(LONGHOUSE).args(args).current_dir(home.path()).env_remove("LONGHOUSE_CONFIG").output().unwrap()
    };
    assert!(text(&in_folder(&["config", "check"]).stdout).starts_with("longhouse.yaml:1:1: unknown key"));
    fs::write(home.path().join("other.yaml"), "{}\n").unwrap();
    assert_eq!(text(&in_folder(&["config", "check", "--config", "other.yaml"]).stdout), "ok\n");
    assert_eq!(text(&in_folder(&["config", "check", "other.yaml"]).stdout), "ok\n");
    let missing = in_folder(&["--config", "none.yaml", "config", "check"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stdout).contains("none.yaml:1:1: the file cannot be read: there is no such file"));
    fs::remove_file(home.config()).unwrap();
    let none = in_folder(&["config", "check"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("there is no longhouse.yaml here"));
}

#[test]
fn a_sessions_settings_are_not_taken_for_the_file() {
    let home = Home::new("{}\n");
    let output = run(&home.data(), &["session", "create", "s", "--config", "{\"acl\": true}"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("--settings"), "{}", text(&output.stderr));
    ok(
        &home.data(),
        &["session", "create", "s", "--settings", "{\"acl\": true}", "--config", home.config().to_str().unwrap()],
    );
}

#[test]
fn what_is_not_a_file_is_refused_without_waiting() {
    let home = Home::new("{}\n");
    for odd in ["/dev/zero", "/", "/dev/null"] {
        let output = run(&home.data(), &["config", "check", odd]);
        assert!(output.status.code() == Some(1) && text(&output.stdout).contains("not a file"), "{odd}");
    }
}

#[test]
fn people_of_the_house_may_be_named_and_only_a_server_is_asked_for_them() {
    let home = Home::new("workspaces: { lab: { members: [anna] } }\n");
    assert_eq!(home.check(&[]).status.code(), Some(1));
    ok(&home.data(), &["user", "add", "anna"]);
    let server = home.start();
    let asked = home.check(&[]);
    assert!(asked.status.success() && asked.stderr.is_empty(), "{}", text(&asked.stderr));
    home.write("workspaces: { lab: { members: [anna, berta] } }\n");
    assert_eq!(home.check(&[]).status.code(), Some(1));
    drop(server);
    // Looking opens nothing: these are no rows, and nobody minds.
    fs::write(home.data().join("longhouse.db"), "not a database").unwrap();
    let files = || {
        let found = fs::read_dir(home.data()).unwrap().flatten();
        let mut found: Vec<_> =
            found.map(|file| (file.file_name(), file.metadata().unwrap().modified().unwrap())).collect();
        found.sort();
        found
    };
    let before = files();
    let looked = home.check(&[]);
    assert!(looked.status.success(), "{}", text(&looked.stdout));
    assert!(text(&looked.stderr).contains("no server runs: whether members are people of the house was not looked at"));
    assert_eq!(files(), before);
}

#[test]
fn a_new_folder_for_a_house_in_a_database_may_have_anybody() {
    let home = Home::new(
        "storage: { url: \"postgres://nobody@127.0.0.1:1/none\" }\nworkspaces: { lab: { members: [anna] } }\n",
    );
    assert!(home.check(&[]).status.success());
    let output = try_serve(&home, &home.config());
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && !said.contains("there is no user"), "{said}");
}

fn try_serve(home: &Home, config: &Path) -> Output {
    command(&home.data())
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(config)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

#[test]
fn a_start_with_a_wrong_file_says_everything_and_changes_nothing() {
    let home = Home::new("usrs: {}\nworkspaces: { lab: { members: [nobody] } }\n");
    let output = try_serve(&home, &home.config());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("longhouse.yaml:1:1: unknown key `usrs`") && said.contains(":2:32: there is no user"),
        "{said}"
    );
    assert!(said.contains("not started: 2 problems") && output.stdout.is_empty());
    assert!(!home.data().exists());
    let missing = try_serve(&home, &home.path().join("none.yaml"));
    assert!(missing.status.code() == Some(1) && text(&missing.stderr).contains("there is no such file"));
    // Somebody who is only in the house, once there is one.
    ok(&home.data(), &["user", "add", "anna"]);
    home.write("workspaces: { lab: { members: [anna, nobody] } }\n");
    let output = try_serve(&home, &home.config());
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains(":1:38: there is no user `nobody`"));
    assert!(!ok(&home.data(), &["workspace", "list"]).contains("lab"));
}

#[test]
fn what_the_file_says_holds_and_without_it_is_shut() {
    let home =
        Home::new("users: { sean: { role: admin } }\nworkspaces: { lab: { members: [sean], skills: [tidy] } }\n");
    home.skill("tidy");
    let server = home.start();
    let token = server.cli(&["token", "create", "--user", "sean"]);
    assert!(workspaces_of(&server, &token).contains(&"lab".to_owned()));
    drop(server);
    // In another folder, where the file is not found, it does not start by shutting everything.
    assert!(Server::try_start(&home.data()).is_err());
    assert!(ok(&home.data(), &["workspace", "list", "--all"]).contains("lab"));
    let server = Server::start_with(&home.data(), &["--without-config"]);
    assert!(me(&server, &token).is_err(), "who was only in the file is out");
    drop(server);
    let server = home.start();
    assert!(workspaces_of(&server, &token).contains(&"lab".to_owned()), "named again it is as it was");
}

pub(super) fn me(server: &Server, token: &str) -> Result<Value, ureq::Error> {
    let answer = ureq::get(format!("{}/me", server.url)).header("authorization", format!("Bearer {token}")).call();
    answer?.body_mut().read_json()
}

pub(super) fn workspaces_of(server: &Server, token: &str) -> Vec<String> {
    let me = me(server, token).expect("known");
    let ids = me["workspaces"].as_array().expect("a list").iter();
    ids.map(|workspace| workspace["id"].as_str().or(workspace.as_str()).unwrap_or_default().to_owned()).collect()
}

#[test]
fn flags_go_before_the_environment_before_the_file() {
    let home = Home::new(
        "storage: { url: \"postgres://longhouse:s3cret@db/house\" }\n\
         server: { public_url: \"https://file.example\", rate_limit: { per_second: 5 }, metrics_open: true, allowed_hosts: [f.example] }\n\
         users: { sean: { identities: { telegram: 1111 } } }\n\
         models: { providers: { here: { kind: openai, base_url: \"http://127.0.0.1:1/v1/\" } }, prices: { own: { input_per_mtok: 0.5, output_per_mtok: 2 } } }\n\
         worker_space: { queue_size: 7 }\napprovals: { high_timeout_s: 60, denied_commands: [docker] }\nalerts: { webhook: \"http://127.0.0.1:2/alerts\" }\n\
         workspaces: { lab: { members: [sean], budget: { daily_usd: 5.25, members: { sean: 1.5 } } } }\n",
    );
    let shown = |args: &[&str], environment: &[(&str, &str)]| -> Value {
        let mut command = command(&home.data());
        command.args(["serve", "--print-config", "--config"]).arg(home.config()).args(args);
        let output = command.envs(environment.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains("s3cret"));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let file = shown(&[], &[]);
    assert_eq!(file["storage"]["url"], "postgres://longhouse:…@db/house");
    assert_eq!(file["server"]["public_url"], "https://file.example");
    assert_eq!(file["server"]["rate_limit"]["burst"], 10);
    assert_eq!(
        (&file["server"]["metrics_open"], &file["server"]["allowed_hosts"][0]),
        (&true.into(), &"f.example".into())
    );
    assert_eq!(file["declaration"]["users"]["usr_sean"]["identities"][0]["id"], "1111");
    let budget = &file["declaration"]["workspaces"]["lab"]["settings"]["budget"];
    assert_eq!(*budget, serde_json::json!({"daily_usd": 5.25, "members": {"usr_sean": 1.5}}));
    assert_eq!(file["declaration"]["house"]["models"]["prices"]["own"]["input_per_mtok"], 0.5);
    let house = &file["declaration"]["house"];
    let provider = serde_json::json!({"kind": "openai", "base_url": "http://127.0.0.1:1/v1"});
    assert_eq!(house["models"]["providers"]["here"], provider);
    let spaces = serde_json::json!({"idle_timeout_s": 1800, "cache_ttl_s": 300, "queue_size": 7});
    assert_eq!((&house["worker_space"], &house["alerts"]["webhook"]), (&spaces, &"http://127.0.0.1:2/alerts".into()));
    let approvals = serde_json::json!({"medium_timeout_s": 300, "high_timeout_s": 60, "denied_commands": ["docker"]});
    assert_eq!(house["approvals"], approvals);
    let environment = [
        ("LONGHOUSE_PUBLIC_URL", "https://env.example"),
        ("LONGHOUSE_RATE_LIMIT", "7"),
        ("LONGHOUSE_METRICS_OPEN", "0"),
        ("LONGHOUSE_ALLOWED_HOSTS", "a.example,b.example"),
        ("LONGHOUSE_STORAGE_URL", "sqlite"),
    ];
    let given = shown(&[], &environment);
    assert_eq!(
        (&given["storage"]["url"], &given["server"]["public_url"]),
        (&"sqlite".into(), &"https://env.example".into())
    );
    assert_eq!(
        (&given["server"]["rate_limit"]["per_second"], &given["server"]["metrics_open"]),
        (&7.into(), &false.into())
    );
    assert_eq!(given["server"]["allowed_hosts"].as_array().map(Vec::len), Some(2));
    let flags = shown(&["--rate-limit", "off", "--public-url", "https://flag.example", "--metrics-open"], &environment);
    assert_eq!(
        (&flags["server"]["rate_limit"], &flags["server"]["public_url"]),
        (&"off".into(), &"https://flag.example".into())
    );
    assert_eq!(flags["server"]["metrics_open"], true);
    assert!(!home.data().exists());
}

#[test]
fn a_command_without_a_server_looks_for_the_rows_where_the_file_says() {
    let home = Home::new("storage: { url: \"postgres://nobody@127.0.0.1:1/none\" }\n");
    let config = home.config().display().to_string();
    let output = run(&home.data(), &["--config", &config, "user", "add", "anna"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!home.data().join("longhouse.db").exists(), "no other house was made in its place");
    home.write("a: [\n");
    let output = run(&home.data(), &["--config", &config, "user", "add", "anna"]);
    assert!(text(&output.stderr).contains("it is not known where the rows are"), "{}", text(&output.stderr));
}
