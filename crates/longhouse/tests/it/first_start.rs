//! The first start, and what must not start.

use super::binary::{Server, command, keep_rows_elsewhere, ok, run};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_first_start_makes_the_directory_the_secret_the_owner_and_a_link_that_works_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    let server = Server::start(&data);
    let secret = std::fs::read_to_string(data.join("secret.key")).unwrap();
    assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!((mode(&data), mode(&data.join("secret.key")), mode(&data.join("longhouse.db"))), (0o700, 0o600, 0o600));
    assert_eq!(mode(&data.join("control.sock")), 0o600);

    let code = server.greeting.split("/#/sign-in/").nth(1).unwrap().split_whitespace().next().unwrap();
    let sign_in = || server.post("none", "/auth/sign-in", &json!({"code": code})).unwrap().0;
    assert_eq!((sign_in(), sign_in()), (204, 401));

    assert_eq!(server.terminate(), Some(0));
    let again = Server::start(&data);
    assert!(!again.greeting.contains("#/sign-in/"), "a second start prints no new way in: {}", again.greeting);
    assert_eq!(std::fs::read_to_string(data.join("secret.key")).unwrap(), secret);
}

#[test]
fn a_house_made_by_the_command_line_still_offers_its_first_sign_in() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["user", "add", "sean"]);
    assert!(Server::start(folder.path()).greeting.contains("#/sign-in/"));
}

#[test]
fn weak_secrets_are_refused_before_anything_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    for weak in ["short", &"0".repeat(64), &"deadbeef".repeat(8)] {
        let output = command(folder.path())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("LONGHOUSE_SECRET", weak)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("openssl rand -hex 32"));
    }
    assert!(!folder.path().join("longhouse.db").exists());
}

#[test]
fn a_second_server_on_the_same_directory_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path());
    let second = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use"));
    first.token();
}

#[test]
fn beyond_loopback_it_wants_tls_or_an_explicit_word() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(folder.path(), &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--tls-cert"));
    let server = Server::start_with(folder.path(), &["--listen", "0.0.0.0:0", "--allow-plain-http"]);
    let doctor = run(folder.path(), &["doctor", "--security"]);
    assert_eq!(doctor.status.code(), Some(1), "the deviation is reported");
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("setting.plain_http"));
    drop(server);
}

#[test]
fn a_file_that_is_not_ours_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("longhouse.db");
    std::fs::write(&path, "my diary").unwrap();
    let output = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my diary");
}

#[test]
fn a_folder_that_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("photos"), "mine").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["token", "create"], &["doctor"], &["session", "list"]] {
        assert_eq!(run(folder.path(), args).status.code(), Some(1), "{args:?}");
    }
    assert_eq!((mode(folder.path()), std::fs::read_dir(folder.path()).unwrap().count()), (0o755, 1));
}

#[test]
fn a_command_that_looks_builds_no_house() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    for args in [&["backup", "b"][..], &["doctor"], &["audit", "verify"], &["session", "list"]] {
        let output = run(&nowhere, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no Longhouse in"));
    }
    assert!(!nowhere.exists());
}

#[test]
fn what_others_could_read_is_closed_and_the_doctor_says_so() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["user", "add", "sean"]);
    let secret = folder.path().join("secret.key");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
    let doctor = run(folder.path(), &["doctor"]);
    assert_eq!((doctor.status.code(), mode(&secret)), (Some(1), 0o600));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("exposed"));
}

#[test]
fn an_engine_that_is_not_there_is_not_replaced_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    keep_rows_elsewhere(&data, "mysql://localhost/house");
    let output = run(&data, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("LONGHOUSE_STORAGE_URL"));
    assert!(!data.exists());
}
