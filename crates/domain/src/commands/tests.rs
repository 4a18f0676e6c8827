//! Commands as tables: what nobody can approve, however it is wrapped.

use super::*;
use proptest::prelude::*;

fn words(line: &str) -> (String, Vec<String>) {
    let mut words = line.split(' ').map(str::to_owned);
    (words.next().unwrap(), words.collect())
}

fn code(line: &str) -> Option<Code> {
    let (program, args) = words(line);
    check(&program, &args).err().map(|refusal| refusal.code)
}

#[test]
fn what_no_approval_makes_possible_is_denied() {
    for line in [
        "sudo ls",
        "/usr/bin/SUDO ls",
        "/usr//bin/./Sudo",
        "sudo-rs ls",
        "su - root",
        "doas ls",
        "pkexec ls",
        "runuser -u ada ls",
        "setpriv --reuid=0 ls",
        "chroot / ls",
        "nsenter -t 1 ls",
        "unshare -r ls",
        "ſudo ls",
        "systemd-run --user ls",
        "crontab -e",
        "mkfs /dev/sda",
        "mkfs.ext4 disk.img",
        "MKFS.XFS disk.img",
        "fdisk -l",
        "parted x",
        "losetup -f",
        "mount x y",
        "umount y",
        "mount.nfs x y",
        "dd if=x of=/dev/sda",
        "dd of=//dev//nvme0n1",
        "dd of=/tmp/../dev/sda",
        "dd of=../../../dev/sda",
        "dd if=/dev/sda of=image",
        "dd of=/proc/self/root/dev/sda",
        "cp image /dev/sdb",
        "tee /dev/mem",
        "shutdown now",
        "reboot",
        "halt",
        "poweroff",
        "systemctl reboot",
        "init 0",
        "insmod x.ko",
        "modprobe x",
        "kexec -l x",
        "sysctl -w x=1",
        "watch ls",
        "script -c ls",
    ] {
        assert_eq!(code(line), Some(Code::CommandDenied), "{line}");
    }
}

#[test]
fn a_shell_may_run_a_file_and_never_a_text() {
    for line in [
        "sh -c ls",
        "/bin/bash -c ls",
        "BASH -c ls",
        "bash -lc ls",
        "bash -euxc ls",
        "bash +ec ls",
        "bash -o pipefail -c ls",
        "bash -eo pipefail -c ls",
        "bash --norc -c ls",
        "bash --rcfile x -c ls",
        "bash -O extglob -c ls",
        "bash5.2 -c ls",
        "zsh --emulate sh -c ls",
        "zsh -fc ls",
        "dash -c ls",
        "ksh -c ls",
        "fish -c ls",
        "fish -C ls",
        "fish --command=ls",
        "fish --init-command ls",
        "busybox sh -c ls",
        "busybox ash -lc ls",
        "pwsh -Command ls",
        "pwsh -EncodedCommand bABzAA==",
        "pwsh -e bABzAA==",
        "nu -e ls",
    ] {
        assert_eq!(code(line), Some(Code::CommandDenied), "{line}");
    }
    for line in
        ["bash build.sh", "sh -eux build.sh", "bash build.sh -c x", "bash -o pipefail build.sh -c", "bash -- -c"]
    {
        assert_eq!(code(line), None, "{line}");
    }
}

#[test]
fn a_wrapper_hides_nothing() {
    for line in [
        "env sudo ls",
        "env -i PATH=/bin A=b sudo ls",
        "env -u HOME sudo ls",
        "env -uHOME sudo",
        "env -- A=1 sudo",
        "env - sudo",
        "env -S sudo",
        "env -iS sudo",
        "env --split-string=sudo",
        "env --spl sudo",
        "env bash -c ls",
        "nice sudo",
        "nice -n 5 sudo",
        "nice -n5 sudo",
        "nice -5 sudo",
        "nice --adjustment 5 sudo",
        "nice --adjustment=5 sudo",
        "timeout 5 sudo",
        "timeout -k 5 10 sudo",
        "timeout --kill-after 5 10 sudo",
        "timeout -s KILL 10 bash -c ls",
        "timeout --foreground 10 sudo",
        "timeout -- 10 sudo",
        "xargs sudo",
        "xargs -0 -n 1 sudo",
        "xargs -0n1 -I{} sh -c {}",
        "nohup sudo",
        "logsave -a log sh -c x",
        "choom -n 5 -- sudo",
        "uclampset -m 5 sudo",
        "perf stat sudo",
        "setsid -w sudo",
        "stdbuf -oL sudo",
        "stdbuf -o L sudo",
        "time -p sudo",
        "time -f %e sudo",
        "ionice -c 3 sudo",
        "taskset 3 sudo",
        "chrt -f 10 sudo",
        "strace -f -o x sudo",
        "taskset -c 0-3 sudo",
        "setarch -R sudo",
        "setarch x86_64 -R sudo",
        "ssh-agent sudo",
        "flock lock sudo",
        "flock lock -c ls",
        "flock -c ls",
        "find . -name x -exec sudo rm {} ;",
        "find . -execdir bash -c ls ;",
        "fd -x sudo",
        "busybox mount x y",
        "toybox reboot",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/sudo",
        "/lib64/ld-linux-x86-64.so.2 --library-path x /usr/bin/sudo",
        "env nice -n 5 timeout 9 nohup stdbuf -oL sudo",
        "nice env -i xargs dd of=/dev/sda",
        "env --unknown value sudo",
        "nice --unknown sudo",
    ] {
        assert_eq!(code(line), Some(Code::CommandDenied), "{line}");
    }
}

#[test]
fn a_link_behind_a_wrapper_counts_by_the_file_that_it_means() {
    let links =
        [("box", "/usr/bin/docker"), ("wrap", "/usr/bin/env"), ("./mine", "podman"), ("shell", "/usr/bin/dash")];
    let find = |word: &str| links.iter().find(|(name, _)| *name == word).map(|(_, file)| (*file).to_owned());
    let denied = DeniedCommands::with_extra(["docker", "podman"]);
    for (line, expected) in [
        ("env box ps", Some("docker")),
        ("env -i A=b nice -n 5 box", Some("docker")),
        ("env wrap box", Some("docker")),
        ("wrap box", Some("docker")),
        ("timeout 5 ./mine ps", Some("podman")),
        ("find . -exec box {} ;", Some("docker")),
        ("env shell -c ls", Some("sh")),
        ("env shell script", None),
        ("env wrap", None),
        ("echo box", None),
        ("env echo box", None),
    ] {
        let (program, args) = words(line);
        let files = files_behind(&program, &args, find).unwrap();
        // The program itself is asked about by both its names, as everywhere.
        let found = find(&program).unwrap_or_else(|| program.clone());
        let refused = [&program, &found].into_iter().find_map(|name| denied.check_found(name, &args, &files).err());
        let listed = refused.map(|refusal| refusal.details["program"].as_str().unwrap().to_owned());
        assert_eq!(listed.as_deref().map(|listed| listed.replace("dash", "sh")).as_deref(), expected, "{line}");
        assert_eq!(denied.check(&program, &args), Ok(()), "by its name it is harmless: {line}");
    }
    let (program, args) = words("env wrap box");
    let files = files_behind(&program, &args, find).unwrap();
    let expected = [("box", "/usr/bin/docker"), ("wrap", "/usr/bin/env")];
    assert_eq!(files, expected.map(|(word, file)| (word.to_owned(), file.to_owned())).into());
}

#[test]
fn a_command_with_more_programs_than_are_looked_up_is_refused_and_not_let_through() {
    let find =
        |word: &str| Some(if word == "./box" { "/usr/bin/docker".to_owned() } else { format!("/usr/bin/{word}") });
    let denied = DeniedCommands::with_extra(["docker"]);
    let line = |programs: &[String]| -> Vec<String> {
        let each = programs.iter().flat_map(|program| ["-exec", program, ";"]);
        std::iter::once(".").chain(each).map(str::to_owned).collect()
    };
    // Wherever the one stands that counts: the order in which they are looked at is nobody's promise.
    for (others, at) in [(63, 0), (63, 63), (64, 0), (64, 32), (64, 64), (300, 0), (300, 300)] {
        let mut programs: Vec<String> = (0..others).map(|number| format!("p{number}")).collect();
        programs.insert(at, "./box".to_owned());
        let args = line(&programs);
        let checked = files_behind("find", &args, find).and_then(|files| denied.check_found("find", &args, &files));
        let refused = checked.unwrap_err();
        let is_found = refused.details.contains_key("program");
        assert_eq!((refused.code, is_found), (Code::CommandDenied, others < FILES_MOST), "{others} others, at {at}");
    }
    let same = line(&std::iter::repeat_n("ls".to_owned(), 300).collect::<Vec<_>>());
    assert_eq!(files_behind("find", &same, find).map(|files| files.len()), Ok(1), "one word is one program");
}

#[test]
fn ordinary_commands_pass_whatever_words_they_have() {
    for line in [
        "ls -la",
        "cargo test --workspace",
        "git commit -m sudo",
        "grep -r sudo .",
        "echo mount umount reboot",
        "env",
        "env A=1 cargo test",
        "env -i grep su x",
        "xargs -0 grep mount",
        "xargs -n1 grep mount",
        "nice -n5 grep su x",
        "timeout 10 grep mount x",
        "timeout -k 5 10 grep su x",
        "time -p grep halt x",
        "flock lock grep -c su x",
        "taskset 3 grep su x",
        "find . -name sudo",
        "find . -type f -exec grep su {} +",
        "python3 -c print(1)",
        "perl -e 1",
        "node -e 1",
        "dd if=/dev/zero of=image bs=1M count=1",
        "dd if=/dev/urandom of=/dev/null",
        "cp a b",
        "cp a dev/b",
        "tee /dev/shm/x",
        "sudoku",
        "mounts",
        "resume",
        "cat -c",
        "gcc -c a.c",
    ] {
        assert_eq!(code(line), None, "{line}");
    }
}

#[test]
fn a_program_is_one_name_and_arguments_have_their_bounds() {
    let none: Vec<String> = vec![];
    let long = "a".repeat(PROGRAM_LONGEST_BYTES + 1);
    let bad =
        ["", " ", "ls -l", "ls\n", "a\0", "ls;", "a|b", "$(ls)", "`ls`", "/usr/bin/", ".", "..", "a/..", "\u{85}"];
    for program in bad.into_iter().chain([long.as_str()]) {
        let refusal = check(program, &none).unwrap_err();
        assert_eq!((refusal.code, &refusal.details["field"]), (Code::InvalidRequest, &"program".into()), "{program:?}");
    }
    assert_eq!(check("ls", &["a\0".to_owned()]).unwrap_err().details["field"], "args");
    assert!(check("ls", &["a\nb".to_owned(), String::new()]).is_ok());
    assert!(check("ls", &vec!["a".to_owned(); ARGUMENTS_MOST]).is_ok());
    assert_eq!(check("ls", &vec!["a".to_owned(); ARGUMENTS_MOST + 1]).unwrap_err().details["field"], "args");
    let large = check("ls", &["a".repeat(COMMAND_LARGEST_BYTES)]).unwrap_err();
    assert_eq!(large.code, Code::ValueTooLarge);
}

#[test]
fn a_configuration_adds_names_and_takes_none_away() {
    let denied = DeniedCommands::with_extra(["Docker", "/usr/bin/curl", ""]);
    for line in ["docker ps", "/opt/bin/DOCKER", "env curl x", "sudo ls"] {
        let (program, args) = words(line);
        assert_eq!(denied.check(&program, &args).unwrap_err().code, Code::CommandDenied, "{line}");
    }
    let (program, args) = words("ls docker");
    assert!(denied.check(&program, &args).is_ok());
    let (program, args) = words("docker ps");
    assert_eq!(
        denied.check(&program, &args).unwrap_err().message,
        "`docker` is never run here, whoever approves: the rule `approvals.denied_commands` of this house denies it"
    );
}

#[test]
fn a_refusal_says_why_and_repeats_nothing_that_was_sent() {
    let refusal = check("/secret/place/SUDO", &["token".to_owned()]).unwrap_err();
    assert_eq!(
        refusal.message,
        "`sudo` is never run here, whoever approves: it would act with other rights than the node has"
    );
    assert!(!format!("{refusal:?}").contains("secret"));
}

#[test]
fn wrappers_within_wrappers_stay_cheap() {
    let args: Vec<String> = (0..ARGUMENTS_MOST).map(|at| ["-x", "env"][at % 2].to_owned()).collect();
    assert!(check("env", &args).is_ok());
    let options = vec!["-x".to_owned(); ARGUMENTS_MOST];
    assert!(check("timeout", &options).is_ok());
}

proptest! {
    #[test]
    fn what_is_denied_is_denied_behind_any_row_of_wrappers(
        row in prop::collection::vec(prop::sample::select(vec!["env", "env A=1", "nice -n 3", "timeout 9", "nohup", "xargs -0", "setsid"]), 0..6),
        denied in prop::sample::select(vec!["sudo", "bash -lc x", "mkfs.ext4 x", "dd of=/dev/sda", "reboot"]),
    ) {
        let line = row.into_iter().chain([denied]).collect::<Vec<_>>().join(" ");
        prop_assert_eq!(code(&line), Some(Code::CommandDenied));
    }

    #[test]
    fn any_words_are_judged_without_a_panic(program in "\\PC{1,12}", args in prop::collection::vec("[-+=/a-z.é ]{0,8}", 0..12)) {
        let _ = check(&program, &args);
    }
}
