//! Commands in confinement. What they must not be able to do is first shown to work without it.
//!
//! Where the kernel cannot confine, every test here fails and says why: nothing is passed over.

use super::scenes::{CANARY, NOW_MS, Scene};
use domain::times::Timestamp;
use node::commands::{Executed, Launcher, RunCommand, Runner};
use node::confinement::Limits;
use node::{Hands, Identity, Setup, Vetoes};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::FdFlags;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine, and far shorter than what would never end.
const PATIENCE: Duration = Duration::from_secs(60);

fn launcher() -> Launcher {
    Launcher { program: PathBuf::from(env!("CARGO_BIN_EXE_longhouse-confined")), arguments: Vec::new() }
}

fn runner(scene: &Scene) -> Runner {
    match Runner::open(scene.files.root(), &scene.state, launcher(), Limits::default()) {
        Ok(runner) => runner,
        Err(error) => panic!("this machine cannot confine commands, so nothing was shown: {error}"),
    }
}

fn command(program: &str, args: &[&str]) -> RunCommand {
    let args = args.iter().map(|argument| (*argument).to_owned()).collect();
    RunCommand { program: program.to_owned(), args, cwd: None, timeout_s: 20 }
}

fn shell(scene: &Scene, script: &str) -> Executed {
    runner(scene).run(&command("bash", &["-c", script]), false).unwrap()
}

/// The same without confinement.
fn unconfined(scene: &Scene, script: &str) -> bool {
    Command::new("bash").args(["-c", script]).current_dir(scene.root()).status().unwrap().success()
}

/// Passed on to whatever is started, as by a shell's `exec 7>>file`.
fn inherited(handle: &impl AsFd) -> i32 {
    rustix::io::fcntl_setfd(handle, FdFlags::empty()).unwrap();
    handle.as_fd().as_raw_fd()
}

#[test]
fn what_the_node_was_started_with_is_not_passed_on_to_commands() {
    let scene = Scene::new();
    let secret = scene.outside().join("file");
    let (open_file, log) = (File::open(&secret).unwrap(), scene.folder.path().join("log"));
    let open_log = File::options().append(true).create(true).open(&log).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let numbers = (inherited(&open_file), inherited(&open_log), inherited(&connection));
    let use_all = |word: &str| {
        let (file, log, connection) = numbers;
        format!("cat <&{file}; echo {word} >&{log}; echo {word} >&{connection}; true")
    };

    assert!(unconfined(&scene, &use_all("free")));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "free\n");
    let mut heard = [0; 5];
    accepted.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"free\n");
    (&open_file).rewind().unwrap();

    let executed = shell(&scene, &use_all("confined"));
    assert!(executed.success && executed.stdout.is_empty(), "{executed:?}");
    assert_eq!(executed.stderr.matches("Bad file descriptor").count(), 3, "{}", executed.stderr);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "free\n");
    drop(connection);
    let mut rest = String::new();
    accepted.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    // `ls` itself opens the fourth.
    let open = shell(&scene, "ls /proc/self/fd | wc -l").stdout;
    assert_eq!(open.trim(), "4");

    // The same for everything that the node starts.
    node::confinement::keep_handles_from_programs().unwrap();
    for handle in [&open_file, &open_log] {
        assert_eq!(rustix::io::fcntl_getfd(handle).unwrap(), FdFlags::CLOEXEC);
    }
}

#[test]
fn a_command_runs_in_the_root_and_says_how_it_ended() {
    let scene = Scene::new();
    scene.put("dir/file", "text");
    let runner = runner(&scene);
    let executed = runner.run(&command("cat", &["dir/file"]), false).unwrap();
    assert_eq!((executed.success, executed.stdout.as_str(), executed.exit_code), (true, "text", Some(0)));
    let below = RunCommand { cwd: Some("dir".to_owned()), ..command("cat", &["file"]) };
    assert_eq!(runner.run(&below, false).unwrap().stdout, "text");
    let executed = shell(&scene, "echo out; echo err >&2; cat; exit 3");
    assert_eq!((executed.stdout.as_str(), executed.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((executed.success, executed.exit_code, executed.error), (false, Some(3), None));
    let executed = shell(&scene, "kill -TERM $$");
    assert_eq!((executed.exit_code, executed.signal), (None, Some(15)));
    let outside = RunCommand { cwd: Some("../outside".to_owned()), ..command("ls", &[]) };
    assert_eq!(runner.run(&outside, false).unwrap_err().code(), "OUTSIDE_ROOT");
    assert_eq!(std::fs::read_dir(scene.state.path().join("runs")).unwrap().count(), 0);
}

#[test]
fn an_ordinary_piece_of_work_is_possible() {
    let scene = Scene::new();
    let script = "set -e; mkdir -p a/b; echo hello > a/b/c; mv a/b/c a/d; ln a/d a/e; ln -s d a/f; \
                  cat a/f | tr a-z A-Z > g; chmod +x g; mkfifo pipe; sort g | head -1; \
                  cp g $TMPDIR/x; cp g $HOME/y; cat <(cat g) > /dev/null; perl -e 'print 6*7'";
    let executed = shell(&scene, script);
    assert_eq!((executed.stdout.as_str(), executed.stderr.as_str()), ("HELLO\n42", ""));
    assert!(executed.success);
    assert_eq!(scene.content("g"), "HELLO\n");
}

#[test]
fn nothing_outside_the_root_is_written() {
    let scene = Scene::new();
    let outside = scene.outside();
    let outside = outside.to_str().unwrap();
    let state = scene.state.path().to_str().unwrap();
    std::fs::write(scene.state.path().join("journal"), "kept").unwrap();
    scene.link("../outside/by-link", "link");
    let scripts = [
        format!("echo x > {outside}/new"),
        format!("echo x >> {outside}/file"),
        format!("truncate -s 0 {outside}/file"),
        format!("rm {outside}/file"),
        format!("mv {outside}/file here"),
        format!("touch here; mv here {outside}/there"),
        format!("ln {outside}/file hard"),
        format!("mkdir {outside}/dir"),
        format!("ln -s x {outside}/soft"),
        "echo x > link".to_owned(),
        "echo x > ../outside/up".to_owned(),
        "echo x > /tmp/longhouse-must-not-exist".to_owned(),
        "echo x > /dev/shm/longhouse-must-not-exist".to_owned(),
        "echo x > /usr/longhouse-must-not-exist".to_owned(),
        format!("echo x > {state}/journal"),
        "mknod device c 1 3 && echo x > device".to_owned(),
        "mknod disk b 254 0".to_owned(),
    ];
    for script in &scripts {
        let executed = shell(&scene, script);
        assert!(!executed.success, "{script}: {executed:?}");
        assert!(scene.outside_is_untouched(), "{script}");
    }
    assert_eq!(std::fs::read_to_string(scene.state.path().join("journal")).unwrap(), "kept");
    for script in &scripts[..2] {
        assert!(unconfined(&scene, script), "{script}");
    }
    assert!(!scene.outside_is_untouched(), "the control changed nothing");
}

#[test]
fn nobody_elses_files_are_read() {
    let scene = Scene::new();
    let home = tempfile::tempdir_in(std::env::var("HOME").unwrap()).unwrap();
    let other = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut secrets = vec![scene.outside().join("file"), scene.state.path().join("mark")];
    for folder in [home.path(), other.path()] {
        std::fs::write(folder.join("secret"), CANARY).unwrap();
        secrets.push(folder.join("secret"));
    }
    // Only root can read this one, confined or not.
    if rustix::process::getuid().is_root() {
        secrets.push("/etc/shadow".into());
    }
    for secret in &secrets {
        let secret = secret.to_str().unwrap();
        assert!(unconfined(&scene, &format!("cat {secret} > /dev/null")), "the control: {secret}");
        for script in
            [format!("cat {secret}"), format!("cat /proc/self/root{secret}"), format!("ls $(dirname {secret})")]
        {
            let executed = shell(&scene, &script);
            assert_eq!((executed.success, executed.stdout.as_str()), (false, ""), "{script}");
        }
    }
    let own = std::process::id();
    for script in [
        format!("cat /proc/{own}/environ"),
        format!("readlink /proc/{own}/fd/1"),
        format!("cat /proc/{own}/root/etc/passwd"),
    ] {
        assert!(unconfined(&scene, &format!("{script} > /dev/null")), "the control: {script}");
        let executed = shell(&scene, &script);
        assert_eq!((executed.success, executed.stdout.as_str()), (false, ""), "{script}");
    }
}

/// Whether the script can have a socket of that family and kind.
const SOCKET: &str = "socket(my $s, $ARGV[0], $ARGV[1], 0) or die \"$!\\n\"; print 'made'";

#[test]
fn there_is_no_network_unless_it_is_granted() {
    let scene = Scene::new();
    let runner = runner(&scene);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    assert!(unconfined(&scene, &connect), "the control");
    let udp = "exec 3<>/dev/udp/127.0.0.1/9; echo x >&3";
    for script in [connect.as_str(), udp] {
        assert!(!shell(&scene, script).success, "{script}");
    }
    let granted = runner.run(&command("bash", &["-c", &connect]), true).unwrap();
    assert!(granted.success, "{granted:?}");
    // Families: 1 of the machine, 2 and 10 of the internet, 16 of the kernel, 17 raw, 40 of virtual machines.
    for (family, kind, is_granted) in [
        ("1", "1", false),
        ("2", "1", true),
        ("2", "2", true),
        ("10", "1", true),
        ("16", "3", false),
        ("17", "3", false),
        ("40", "1", false),
    ] {
        let made = |network: bool| runner.run(&command("perl", &["-e", SOCKET, family, kind]), network).unwrap();
        let without = made(false);
        assert_eq!((without.success, without.stdout.as_str()), (false, ""), "family {family}");
        assert_eq!(made(true).success, is_granted, "family {family} with the network");
    }
    let pair = "socketpair(my $a, my $b, 1, 1, 0) or die; syswrite $a, 'x'; sysread $b, my $c, 1; print $c";
    assert_eq!(runner.run(&command("perl", &["-e", pair]), false).unwrap().stdout, "x");
}

#[test]
fn privileges_and_doors_of_the_kernel_are_closed() {
    let scene = Scene::new();
    let executed = shell(&scene, "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapPrm|CapBnd):' /proc/self/status");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
        assert!(executed.stdout.contains(line), "{line} in {}", executed.stdout);
    }
    for script in [
        "unshare -U true",
        "mount -t tmpfs none .",
        "chroot . true",
        "setsid --wait true",
        "kill -0 1",
        "kill -0 $PPID",
    ] {
        assert!(!shell(&scene, script).success, "{script}");
    }
    // Limits of its own are a command's business; those of anybody else would be a way to stop them.
    let other = std::process::id();
    assert!(shell(&scene, "prlimit --nofile=64:64 true && prlimit --pid $$ > /dev/null").success);
    assert!(unconfined(&scene, &format!("prlimit --pid {other} --core=0:0")), "the control");
    assert!(!shell(&scene, &format!("prlimit --pid {other} --core=0:0")).success);
    // `io_uring_setup` and `clone3` do not exist.
    let probe = "my $r = syscall($ARGV[0], 0, 0); print $r, ' ', $!+0";
    for number in ["425", "435"] {
        let executed = runner(&scene).run(&command("perl", &["-e", probe, number]), false).unwrap();
        assert_eq!(executed.stdout, "-1 38", "system call {number}");
    }
    let limits = shell(&scene, "ulimit -t; ulimit -v; ulimit -f; ulimit -c; umask");
    assert_eq!(limits.stdout, "300\n2097152\n1048576\n0\n0022\n");
    assert!(!shell(&scene, "head -c 2G /dev/zero > large").success);
    assert!(std::fs::metadata(scene.root().join("large")).unwrap().len() <= 1 << 30);
}

#[test]
fn a_program_comes_from_the_system_and_never_from_the_root() {
    let scene = Scene::new();
    for name in ["cat", "mine"] {
        let path = scene.put(name, "#!/bin/sh\necho from the root\n");
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    scene.put("file", "text");
    let runner = runner(&scene);
    let run = |program: &str| runner.run(&command(program, &["file"]), false);
    assert_eq!(run("cat").unwrap().stdout, "text");
    assert_eq!(run("/usr/bin/cat").unwrap().stdout, "text");
    assert_eq!(run("/bin/cat").unwrap().stdout, "text");
    let inside = scene.root().join("cat");
    let inside = inside.to_str().unwrap();
    for program in [
        "./cat",
        "cat/",
        "../work/cat",
        inside,
        "/usr/bin/../../tmp/x",
        "/usr/lib/../bin/..",
        "usr/bin/cat",
        ".",
        "..",
        "/",
    ] {
        let code = run(program).unwrap_err().code();
        assert!(matches!(code, "PROGRAM_REFUSED" | "PROGRAM_NOT_FOUND"), "{program}: {code}");
    }
    assert_eq!(run("mine").unwrap_err().code(), "PROGRAM_NOT_FOUND");
    assert_eq!(run("").unwrap_err().code(), "INVALID_ARGUMENT");
    for (timeout_s, args) in [(0, vec![]), (301, vec![]), (1, vec!["a\0b".to_owned()])] {
        let request = RunCommand { timeout_s, args, ..command("cat", &[]) };
        assert_eq!(runner.run(&request, false).unwrap_err().code(), "INVALID_ARGUMENT");
    }
}

#[test]
fn the_environment_holds_listed_names_only() {
    let scene = Scene::new();
    scene.put(".env", "SECRET=from-the-root");
    scene.put(".bashrc", "export SECRET=from-the-root");
    // The test's own environment is full of names that must not be seen, as those that cargo sets.
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    let executed = shell(&scene, "env");
    let allowed =
        ["PATH", "HOME", "TMPDIR", "TERM", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "PWD", "SHLVL", "_", "OLDPWD"];
    for line in executed.stdout.lines() {
        let name = line.split('=').next().unwrap();
        assert!(allowed.contains(&name) || name.starts_with("LC_"), "{line}");
    }
    assert!(executed.stdout.contains("PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin\n"));
    assert!(!executed.stdout.contains("from-the-root"));
    let root = scene.root();
    assert!(!executed.stdout.contains(&format!("HOME={}", root.display())));
    let handles = shell(&scene, "ls -l /proc/self/fd").stdout;
    assert!(handles.contains("0 -> /dev/null"), "{handles}");
    assert!(
        !handles.contains(scene.folder.path().to_str().unwrap()),
        "handles of the node are not passed on: {handles}"
    );
}

#[test]
fn a_flood_of_words_is_cut_and_blocks_nobody() {
    let scene = Scene::new();
    let begun = Instant::now();
    let executed =
        shell(&scene, "head -c 50000000 /dev/zero | tr '\\0' x; head -c 50000000 /dev/zero | tr '\\0' y >&2; exit 7");
    assert_eq!(executed.exit_code, Some(7));
    assert_eq!((executed.stdout.len(), executed.stderr.len()), (256 * 1024, 256 * 1024));
    assert!(executed.truncated);
    assert!(begun.elapsed() < PATIENCE);
    let exact = shell(&scene, "head -c 262144 /dev/zero | tr '\\0' x");
    assert_eq!((exact.stdout.len(), exact.truncated), (256 * 1024, false));
}

/// How long a process sleeps, which is also what it is known by: of no other test and no other run.
fn long(number: u32) -> String {
    (u64::from(std::process::id()) * 10 + 900_000_000 + u64::from(number)).to_string()
}

/// A process of ours with that word on its command line.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("sleep") && line.contains(word)
    })
}

fn is_gone_soon(word: &str) -> bool {
    let begun = Instant::now();
    while is_running(word) {
        if begun.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn a_command_and_its_grandchildren_end_at_the_deadline() {
    let scene = Scene::new();
    let script =
        "(bash -c 'trap \"\" TERM INT HUP; sleep LONG & sleep LONG' &) ; nohup sleep LONG & echo started; sleep LONG";
    let script = script.replace("LONG", &long(1));
    let request = RunCommand { timeout_s: 3, ..command("bash", &["-c", &script]) };
    let executed = runner(&scene).run(&request, false).unwrap();
    assert_eq!(executed.error.unwrap().code, "TIMEOUT");
    assert_eq!((executed.success, executed.stdout.as_str(), executed.signal), (false, "started\n", Some(9)));
    assert!(executed.execution_time >= 3.0, "{}", executed.execution_time);
    assert!(is_gone_soon(&long(1)));
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let scene = Scene::new();
    let begun = Instant::now();
    let script = "nohup sleep LONG & disown; (setsid sleep LONG || sleep LONG) & exit 0";
    let executed = shell(&scene, &script.replace("LONG", &long(2)));
    assert!(executed.success);
    assert!(begun.elapsed() < PATIENCE);
    assert!(is_gone_soon(&long(2)));
}

#[test]
fn a_command_that_nobody_waits_for_ends() {
    let scene = Scene::new();
    let runner = runner(&scene);
    let script = "sleep LONG & sleep LONG".replace("LONG", &long(3));
    let running = runner.start(&command("bash", &["-c", &script]), false).unwrap();
    let begun = Instant::now();
    while !is_running(&long(3)) {
        assert!(begun.elapsed() < PATIENCE, "it never started");
    }
    drop(running);
    assert!(is_gone_soon(&long(3)));
    let running = runner.start(&command("sleep", &[&long(4)]), false).unwrap();
    running.stop();
    assert_eq!(running.wait().unwrap().error.unwrap().code, "STOPPED");
}

#[test]
fn a_fork_bomb_is_ended() {
    let scene = Scene::new();
    let begun = Instant::now();
    let limits = Limits { processes: 50, ..Limits::default() };
    let runner = Runner::open(scene.files.root(), &scene.state, launcher(), limits).unwrap();
    let bomb = "for i in $(seq 100000); do sleep LONG & done; wait".replace("LONG", &long(5));
    let executed = runner.run(&command("bash", &["-c", &bomb]), false).unwrap();
    assert!(!executed.success);
    if !runner.confinement().counts_processes {
        assert_eq!(executed.error.unwrap().code, "TOO_MANY_PROCESSES");
    }
    assert!(begun.elapsed() < PATIENCE);
    assert!(is_gone_soon(&long(5)));
    let begun = Instant::now();
    let usual = self::runner(&scene);
    let classic = usual.run(&command("bash", &["-c", ":(){ :|:& };:; sleep 10"]), false).unwrap();
    assert!(!classic.success, "{classic:?}");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    let script = "for i in $(seq 30); do sleep 0.5 & done; wait; echo fine";
    assert_eq!(
        runner.run(&command("bash", &["-c", script]), false).unwrap().stdout,
        "fine\n",
        "few processes are fine"
    );
}

#[test]
fn commands_are_off_where_the_helper_does_not_confine() {
    let scene = Scene::new();
    // Something that runs, says nothing and confines nobody.
    let idle = Launcher { program: PathBuf::from("/usr/bin/true"), arguments: Vec::new() };
    let missing = Launcher { program: scene.root().join("missing"), arguments: Vec::new() };
    let open = |launcher| Runner::open(scene.files.root(), &scene.state, launcher, Limits::default());
    assert_eq!(open(idle).err().unwrap().code(), "COMMANDS_OFF");
    // It cannot write its report, and says why.
    let script = "echo 'No space left on device' >&2; exit 125";
    let full = Launcher { program: PathBuf::from("/bin/sh"), arguments: vec!["-c".into(), script.into()] };
    let why = open(full).err().unwrap().to_string();
    assert!(why.ends_with("No space left on device"), "{why}");
    assert!(open(missing).is_err());
    let root = node::Root::open(scene.folder.path()).unwrap();
    let inside = Runner::open(&root, &scene.state, launcher(), Limits::default());
    assert_eq!(inside.err().unwrap().code(), "COMMANDS_OFF", "the state directory lies in that root");
}

#[test]
fn commands_are_tried_when_what_a_crash_left_is_gone() {
    let scene = Scene::new();
    let left = scene.state.path().join("undo/call_1.kept");
    std::fs::create_dir(left.parent().unwrap()).unwrap();
    std::fs::write(&left, "half a copy").unwrap();
    let script = format!("if test -e '{}'; then echo in the way; else echo gone; fi >&2; exit 125", left.display());
    let launcher = Launcher { program: PathBuf::from("/bin/sh"), arguments: vec!["-c".into(), script.into()] };
    let (root, state) = (scene.root(), &scene.state);
    let (identity, vetoes, now) = (Identity::of_nobody(), Vetoes::default(), Timestamp::from_ms(NOW_MS));
    let hands = Hands::open(Setup { root: &root, state, launcher: Some(launcher), identity, vetoes, now }).unwrap();
    let why = hands.commands().unwrap_err();
    assert!(why.ends_with("gone"), "{why}");
}

#[test]
fn a_helper_without_an_order_starts_nothing() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_longhouse-confined"))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(125));
    let (mut said, mut why) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
    assert_eq!((said.as_str(), why.as_str()), ("", "the order is not one"));
}
