//! Items by command line: beside a running server, without one, and from another machine with the token of an agent.

use super::binary::{Server, command, fed, ok, refused_with, run};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not text: {value}")).to_owned()
}

/// The id of an agent of the project `alpha`.
fn agent_id(folder: &Path, name: &str) -> String {
    text(&json(&ok(folder, &["agent", "show", "-p", "alpha", name, "--json"]))["id"])
}

/// A command about the items of `agent_writer`.
fn items<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [&["items"], words, &["-p", "alpha", "-a", "agent_writer"]].concat()
}

/// An item from its first version to a copy that is taken back.
fn tell_the_story(folder: &Path) {
    let cli = |args: &[&str]| ok(folder, args);
    cli(&["project", "create", "alpha"]);
    let (writer, coder) = (agent_id(folder, "agent_writer"), agent_id(folder, "agent_coder"));
    let library = cli(&["agent", "create", "-p", "alpha", "library", "--shared"]);

    assert!(cli(&items(&["write", "style", "Short."])).starts_with("style is at version 1 (6 bytes) by agt_"));
    assert!(fed(folder, &items(&["write", "report", "-"]), "erste\nZeile ü".as_bytes()).status.success());
    assert_eq!(
        cli(&["items", "read", "report", "-a", &coder]),
        "erste\nZeile ü",
        "one memory for one's private agents"
    );
    cli(&items(&["write", "style", "Shorter.", "--if-version", "1"]));
    refused_with(&run(folder, &items(&["write", "style", "x", "--if-version", "1"])), 1, "VERSION_CONFLICT");
    refused_with(&run(folder, &items(&["write", "style", "x", "--if-version", "0"])), 1, "VERSION_CONFLICT");
    let listed = json(&cli(&items(&["list", "--json"])));
    assert_eq!((&listed["items"][0]["key"], &listed["items"][0]["version"]), (&"style".into(), &2.into()));
    let table = cli(&items(&["list"]));
    assert!(table.lines().count() == 3 && table.contains("erste…"), "{table}");

    let publish = items(&["publish", "style", "--to", &library, "--as", "house style"]);
    let published = cli(&publish);
    let publication = published.rsplit(' ').next().unwrap();
    assert!(published.contains("as house style, version 1") && publication.starts_with("pub_"), "{published}");
    refused_with(&run(folder, &publish), 1, "ITEM_EXISTS");
    let again = json(&cli(&[&publish[..], &["--overwrite", "--json"]].concat()));
    assert_eq!(again["overwritten"], true);
    refused_with(&run(folder, &["items", "recall", publication]), 1, "PUBLICATION_CHANGED");
    assert_eq!(cli(&["items", "read", "house style", "-a", &library]), "Shorter.");
    let mine = json(&cli(&["items", "publications", "--json"]));
    assert_eq!((&mine[0]["state"], &mine[1]["state"]), (&"changed".into(), &"unchanged".into()));
    let publication = text(&again["publication_id"]);
    assert_eq!(cli(&["items", "recall", &publication]), format!("recalled {publication}"));
    assert_eq!(cli(&["items", "list", "-a", &library]), "none");
    for (to, from, word) in [(&writer, "agent_coder", "FORBIDDEN"), (&library, "library", "FORBIDDEN")] {
        let output = run(folder, &["items", "publish", "style", "--to", to, "-p", "alpha", "-a", from]);
        refused_with(&output, 1, word);
    }
    assert_eq!(cli(&items(&["delete", "style"])), "deleted style");
    refused_with(&run(folder, &items(&["read", "style"])), 1, "ITEM_NOT_FOUND");
    cli(&["project", "delete", "alpha"]);
    assert!(cli(&["audit", "verify"]).starts_with("intact"));
}

#[test]
fn an_items_story_is_the_same_with_and_without_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let (alone, beside) = (folder.path().join("alone"), folder.path().join("beside"));
    tell_the_story(&alone);
    let server = Server::start(&beside);
    tell_the_story(&beside);
    drop(server);
}

/// A server with the projects `alpha` and `beta`, and somebody on another machine.
struct Afar {
    folder: tempfile::TempDir,
    server: Server,
}

impl Afar {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("data"));
        server.cli(&["project", "create", "alpha"]);
        server.cli(&["project", "create", "beta"]);
        server.cli(&["session", "create", "work", "--project", "alpha"]);
        Self { folder, server }
    }

    fn agent(&self, name: &str) -> String {
        agent_id(&self.folder.path().join("data"), name)
    }

    fn run(&self, token: &str, args: &[&str]) -> Output {
        let mut command = command(&self.folder.path().join("elsewhere"));
        command.args(["--server", &self.server.url]).args(args).env("LONGHOUSE_TOKEN", token).output().unwrap()
    }

    #[track_caller]
    fn ok(&self, token: &str, args: &[&str]) -> String {
        let output = self.run(token, args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

#[test]
fn an_agents_token_says_which_agent_is_meant_and_reaches_no_other() {
    let afar = Afar::new();
    let (server, writer, coder) = (&afar.server, afar.agent("agent_writer"), afar.agent("agent_coder"));
    let library = server.cli(&["agent", "create", "-p", "alpha", "library", "--shared"]);
    let token = server.cli(&["token", "create", "--user", "owner", "--agent", &writer]);
    afar.ok(&token, &["items", "write", "style", "Short."]);
    assert_eq!(server.cli(&["items", "read", "style", "-a", &writer]), "Short.");
    assert!(afar.ok(&token, &["items", "list"]).contains(&writer));
    assert_eq!(afar.ok(&token, &["items", "read", "style", "-p", "alpha", "-a", "agent_writer"]), "Short.");
    assert!(afar.ok(&token, &["agent", "shared"]).contains(&library));
    assert!(afar.ok(&token, &["items", "publish", "style", "--to", &library]).contains("pub_"));
    for (args, word) in [
        (&["items", "list", "-a", "agent_coder"][..], "AGENT_NOT_FOUND"),
        (&["items", "list", "-a", &coder], "AGENT_NOT_FOUND"),
        (&["items", "list", "-p", "beta"], "PROJECT_NOT_FOUND"),
        (&["items", "read", "style", "--user", "owner"], "--server"),
        (&["items", "publications"], "FORBIDDEN"),
        (&["project", "list"], "FORBIDDEN"),
        (&["agent", "update", &writer, "--shared"], "FORBIDDEN"),
        (&["token", "create"], "FORBIDDEN"),
    ] {
        refused_with(&afar.run(&token, args), 1, word);
    }
    assert!(server.cli(&["token", "list"]).contains(&writer));
}

#[test]
fn an_agents_token_may_be_for_one_session_and_for_a_name_in_it() {
    let afar = Afar::new();
    let (server, writer) = (&afar.server, afar.agent("agent_writer"));
    let create = ["token", "create", "--agent", &writer, "--session", "work"];
    for (more, name) in [(&[][..], "subagent:agent_writer"), (&["--participant", "subagent:poet:1"], "subagent:poet:1")]
    {
        let token = server.cli(&[&create[..], more].concat());
        afar.ok(&token, &["context", "write", "-s", "work", "verse", "one"]);
        let entry = json(&server.cli(&["context", "read", "-s", "work", "verse", "--json"]));
        assert_eq!(entry["written_by"], name);
        assert_eq!(afar.ok(&token, &["items", "list"]), "none");
    }
}

#[test]
fn a_token_for_no_agent_leaves_open_which_is_meant_and_a_persons_finds_it_by_its_id() {
    let afar = Afar::new();
    let writer = afar.agent("agent_writer");
    let person = afar.server.token();
    let session = afar.server.cli(&["token", "create", "--session", "work"]);
    for token in [&person, &session, "not.a.token"] {
        refused_with(&afar.run(token, &["items", "list"]), 2, "-a AGENT");
    }
    refused_with(&afar.run("not.a.token", &["items", "list", "-a", &writer]), 1, "UNAUTHENTICATED");
    refused_with(&afar.run(&session, &["items", "list", "-a", &writer]), 1, "FORBIDDEN");
    afar.ok(&person, &["items", "write", "style", "Short.", "-a", &writer]);
    let file = afar.folder.path().join("token");
    std::fs::write(&file, format!("{person}\n")).unwrap();
    let mut elsewhere = command(&afar.folder.path().join("elsewhere"));
    elsewhere.args(["--server", &afar.server.url, "--token-file"]).arg(file).args(["items", "read", "style"]);
    elsewhere.env("LONGHOUSE_PROJECT", "alpha").env("LONGHOUSE_AGENT", "agent_writer");
    assert_eq!(elsewhere.output().unwrap().stdout, b"Short.\n");
}

#[test]
fn people_see_their_own_projects_and_publish_to_agents_shown_to_everyone() {
    let folder = tempfile::tempdir().unwrap();
    let cli = |args: &[&str]| ok(folder.path(), args);
    cli(&["user", "add", "sean"]);
    cli(&["project", "create", "alpha"]);
    cli(&["project", "create", "alpha", "--user", "sean"]);
    let library =
        cli(&["agent", "create", "-p", "alpha", "library", "--shared", "--audience", "everyone", "--user", "sean"]);
    cli(&["agent", "create", "-p", "alpha", "inner", "--shared", "--user", "sean"]);
    let shared = json(&cli(&["agent", "shared", "--json"]));
    assert_eq!((shared.as_array().unwrap().len(), &shared[0]["member"]), (1, &false.into()));

    cli(&["items", "write", "-p", "alpha", "-a", "agent_writer", "secret", "mine"]);
    cli(&["items", "publish", "-p", "alpha", "-a", "agent_writer", "secret", "--to", &library, "--as", "gift"]);
    assert_eq!(cli(&["items", "list", "-p", "alpha", "-a", "agent_writer", "--user", "sean"]), "none");
    assert_eq!(cli(&["items", "read", "gift", "-a", &library, "--user", "sean"]), "mine");
    assert!(!cli(&["items", "list", "-a", &library, "--user", "sean"]).contains("secret"));
    assert_eq!(cli(&["items", "publications", "--user", "sean"]), "none");
    // Seen, but not to be worked with.
    refused_with(&run(folder.path(), &["items", "list", "-a", &library]), 1, "AGENT_NOT_FOUND");
    refused_with(&run(folder.path(), &["items", "list", "-a", "inner", "-p", "alpha"]), 1, "AGENT_NOT_FOUND");
    refused_with(&run(folder.path(), &["project", "show", "alpha", "--user", "nobody"]), 1, "USER_NOT_FOUND");
}

#[test]
fn what_is_too_much_or_no_text_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (here, server) = (folder.path(), Server::start(folder.path()));
    server.cli(&["project", "create", "alpha"]);
    let write = ["items", "write", "-p", "alpha", "-a", "agent_writer", "key", "-"];
    refused_with(&fed(here, &write, &vec![b'x'; 256 * 1024 + 1]), 1, "VALUE_TOO_LARGE");
    // As a request it is six times as large.
    refused_with(&fed(here, &write, &vec![1; 256 * 1024]), 1, "PAYLOAD_TOO_LARGE");
    refused_with(&fed(here, &write, b"\xff\xfe"), 1, "not text");
    refused_with(&fed(here, &write, b"a\0b"), 1, "INVALID_REQUEST");
    let endless = std::fs::File::open("/dev/zero").unwrap();
    refused_with(&command(here).args(write).stdin(endless).output().unwrap(), 1, "VALUE_TOO_LARGE");
    assert_eq!(server.cli(&["items", "list", "-p", "alpha", "-a", "agent_writer"]), "none");
    assert!(fed(here, &write, &vec![b'x'; 256 * 1024]).status.success());
    assert_eq!(server.cli(&["items", "read", "-p", "alpha", "-a", "agent_writer", "key"]).len(), 256 * 1024);
}
