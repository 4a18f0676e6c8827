//! A PostgreSQL of the test's own, to be killed and started again. Where its programs are says `LONGHOUSE_TEST_POSTGRES`.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(super) struct Postgres {
    programs: PathBuf,
    home: PathBuf,
    port: u16,
    process: Child,
    _folder: TempDir,
}

fn programs() -> PathBuf {
    std::env::var_os("LONGHOUSE_TEST_POSTGRES").expect("`cargo xtask test` says where PostgreSQL is").into()
}

fn id(option: &str, of: &[&str]) -> u32 {
    let output = Command::new("id").arg(option).args(of).output().expect("id");
    String::from_utf8(output.stdout).unwrap().trim().parse().expect("a number")
}

/// PostgreSQL does not run as root.
fn as_its_user(command: &mut Command) {
    if id("-u", &[]) == 0 {
        command.uid(id("-u", &["postgres"])).gid(id("-g", &["postgres"]));
    }
}

impl Postgres {
    pub(super) fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), &[])
    }

    /// Starts one in a folder on a disk of the test's choice, with more words for `initdb`.
    pub(super) fn start_in(folder: TempDir, more: &[&str]) -> Self {
        let programs = programs();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        if id("-u", &[]) == 0 {
            chown(&home, Some(id("-u", &["postgres"])), Some(id("-g", &["postgres"]))).unwrap();
        }
        let mut initdb = Command::new(programs.join("initdb"));
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]).args(more);
        initdb.arg("-D").arg(home.join("data"));
        as_its_user(&mut initdb);
        assert!(initdb.current_dir(&home).stdout(Stdio::null()).status().unwrap().success());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = launch(&programs, &home, port);
        let postgres = Self { programs, home, port, process, _folder: folder };
        postgres.wait();
        postgres
    }

    pub(super) fn url(&self) -> String {
        self.database("postgres")
    }

    pub(super) fn database(&self, name: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{name}", self.port)
    }

    pub(super) fn execute(&self, sql: &str) {
        self.ask(sql);
    }

    /// The answer's columns and rows as text.
    pub(super) fn ask(&self, sql: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", sql]);
        let output = psql.output().unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Kills every process of it, as a power cut would but for the disk's own memory.
    pub(super) fn kill(&mut self) {
        let children = children_of(self.process.id());
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        for child in children {
            let _ = Command::new("kill").args(["-9", &child.to_string()]).stderr(Stdio::null()).status();
        }
    }

    /// Starts it again after it was killed.
    pub(super) fn start_again(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            self.process = launch(&self.programs, &self.home, self.port);
            if self.is_ready_soon() {
                return;
            }
            // What is left of the killed one may still hold its memory for a moment.
            assert!(Instant::now() < deadline, "PostgreSQL does not start again");
        }
    }

    fn is_ready(&self) -> bool {
        let mut ask = Command::new(self.programs.join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        ask.status().unwrap().success()
    }

    fn is_ready_soon(&mut self) -> bool {
        loop {
            if self.is_ready() {
                return true;
            }
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.is_ready() {
            assert!(Instant::now() < deadline, "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An orderly end frees its shared memory.
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn launch(programs: &Path, home: &Path, port: u16) -> Child {
    let mut postgres = Command::new(programs.join("postgres"));
    postgres.arg("-D").arg(home.join("data")).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k"]).arg(home);
    as_its_user(&mut postgres);
    postgres.current_dir(home).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("PostgreSQL starts")
}

fn children_of(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    listed.split_whitespace().map(|number| number.parse().unwrap()).collect()
}
