//! The filter of system calls: what Landlock does not cover. Sockets (unless the network is granted, and never those that lead to
//! other programs of the machine), leaving the process group, namespaces, and doors of the kernel that no ordinary command uses.

use crate::{Error, Result};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused with `EPERM`.
const REFUSED: [i64; 44] = [
    // A command is ended by its process group, so it stays in it.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Other processes and what they hold.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    // Files without a path.
    libc::SYS_open_by_handle_at,
    // Landlock does not know of owners and attributes of files outside.
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    // The machine itself, and doors of the kernel with a history.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

/// What only this kind of machine still has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [i64; 2] = [libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [i64; 0] = [];

/// Refused with `ENOSYS`, whereupon programs take the older way that can be looked at: the arguments of `clone3` lie in memory,
/// and what is asked of a ring is no system call at all.
const UNKNOWN: [i64; 4] =
    [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Where Landlock cannot keep signals inside, none are sent.
const SIGNALS: [i64; 6] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];

const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The same calls have a second number on this machine, for programs with short pointers.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERS: Option<i64> = None;

pub(super) fn check_machine() -> Result<()> {
    machine().map(drop)
}

fn machine() -> Result<TargetArch> {
    std::env::consts::ARCH.try_into().map_err(|_| off("there is no filter for this kind of machine"))
}

/// `scopes`: Landlock keeps signals inside.
pub(super) fn apply(network: bool, scopes: bool) -> Result<()> {
    let mut refused: Rules = REFUSED.into_iter().chain(REFUSED_HERE).map(always).collect();
    refused.extend(sockets(network)?);
    refused.insert(libc::SYS_clone, namespaces()?);
    refused.insert(libc::SYS_prlimit64, limits_of_others()?);
    if !scopes {
        refused.extend(SIGNALS.into_iter().map(always));
    }
    let unknown: Rules = UNKNOWN.into_iter().map(always).collect();
    for (rules, errno) in [(unknown, libc::ENOSYS), (refused, libc::EPERM)] {
        apply_filter(&program(rules, errno.unsigned_abs())?).map_err(off)?;
    }
    Ok(())
}

fn program(mut rules: Rules, errno: u32) -> Result<BpfProgram> {
    if let Some(offset) = SECOND_NUMBERS {
        let again: Rules = rules.iter().map(|(number, rules)| (number | offset, rules.clone())).collect();
        rules.extend(again);
    }
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), machine()?)
        .and_then(BpfProgram::try_from)
        .map_err(off)
}

fn always(number: i64) -> (i64, Vec<SeccompRule>) {
    (number, Vec::new())
}

/// Pairs of a command's own are fine. A socket of the machine's own kind would reach whoever listens on a path: agents of keys,
/// of containers, of the session. It is refused even with the network.
fn sockets(network: bool) -> Result<Rules> {
    let is_not = |families: &[i32]| -> Result<SeccompRule> {
        let conditions: Result<Vec<_>> = families.iter().map(|family| condition(SeccompCmpOp::Ne, *family)).collect();
        SeccompRule::new(conditions?).map_err(off)
    };
    let socket = if network { vec![is_not(&[libc::AF_INET, libc::AF_INET6])?] } else { Vec::new() };
    let pair = vec![is_not(&[libc::AF_UNIX])?];
    Ok(Rules::from([(libc::SYS_socket, socket), (libc::SYS_socketpair, pair)]))
}

fn namespaces() -> Result<Vec<SeccompRule>> {
    let rule = |flag: &i32| {
        let condition = condition(SeccompCmpOp::MaskedEq(u64::from(flag.cast_unsigned())), *flag)?;
        SeccompRule::new(vec![condition]).map_err(off)
    };
    NEW_NAMESPACES.iter().map(rule).collect()
}

/// Limits of processes that are not its own: with them a command could stop the node, or anything else of the same person.
fn limits_of_others() -> Result<Vec<SeccompRule>> {
    let other = condition(SeccompCmpOp::Ne, 0)?;
    let is_set = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0).map_err(off)?;
    Ok(vec![SeccompRule::new(vec![other, is_set]).map_err(off)?])
}

fn condition(operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, u64::from(value.cast_unsigned())).map_err(off)
}

fn off(error: impl std::fmt::Display) -> Error {
    Error::CommandsOff(format!("filter of system calls: {error}"))
}
