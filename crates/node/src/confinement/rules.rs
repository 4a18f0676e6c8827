//! Landlock: which files a command reaches. Writing below the root and the command's home; reading and executing there and in
//! what of the system a program needs. Nothing else exists for it: not other homes, not `/tmp`, not the node's own directory.

use crate::{Error, Result};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::AsFd;
use std::path::Path;

/// Linux 6.2: the first that can refuse to shorten a file. Less is not confinement.
const NEEDED: ABI = ABI::V3;

const READ_DIRECTORIES: [&str; 18] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sys/devices/system/cpu",
    "/etc/alternatives",
    "/etc/ld.so.conf.d",
    "/etc/fonts",
    "/etc/perl",
    "/etc/python3",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
];
const READ_FILES: [&str; 25] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/protocols",
    "/etc/services",
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/gitconfig",
    "/etc/inputrc",
    "/etc/bash.bashrc",
    "/etc/ssl/openssl.cnf",
];
const DEVICES_TO_READ: [&str; 3] = ["/dev/zero", "/dev/random", "/dev/urandom"];
const DEVICES_TO_WRITE: [&str; 2] = ["/dev/null", "/dev/full"];

/// Making a ruleset restricts nobody, and fails where restricting would.
pub(super) fn check_kernel() -> Result<()> {
    needed().and_then(|ruleset| ruleset.create().map_err(off)).map(drop)
}

fn needed() -> Result<Ruleset> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(off)
}

/// Says which version of Landlock the kernel has, as far as we know of any.
pub(super) fn restrict_files(root: &impl AsFd, home: &Path) -> Result<u32> {
    let mut ruleset = needed()?.create().map_err(off)?;
    let home = PathFd::new(home).map_err(off)?;
    for handle in [root.as_fd(), home.as_fd()] {
        ruleset = ruleset.add_rule(PathBeneath::new(handle, ours())).map_err(off)?;
    }
    let directory = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let listed: [(&[&str], BitFlags<AccessFs>); 4] = [
        (&READ_DIRECTORIES, directory),
        (&READ_FILES, AccessFs::ReadFile.into()),
        (&DEVICES_TO_READ, AccessFs::ReadFile.into()),
        (&DEVICES_TO_WRITE, AccessFs::ReadFile | AccessFs::WriteFile),
    ];
    for (paths, access) in listed {
        // What this system does not have cannot be reached either.
        for handle in paths.iter().filter_map(|path| PathFd::new(path).ok()) {
            ruleset = ruleset.add_rule(PathBeneath::new(handle, access)).map_err(off)?;
        }
    }
    let status = ruleset.restrict_self().map_err(off)?;
    if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        let LandlockStatus::Available { effective_abi, .. } = status.landlock else { return Ok(NEEDED as u32) };
        return Ok(effective_abi as u32);
    }
    Err(Error::CommandsOff("the kernel does not enforce all rules for files".to_owned()))
}

/// Everything but device files: whoever makes the file of a disk has the disk.
fn ours() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEEDED) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

/// What newer kernels can do besides: no TCP, no signals and no abstract sockets beyond the command, no control of devices. Says
/// whether TCP and scopes hold; the filter of system calls makes up for what does not.
pub(super) fn restrict_the_rest(network: bool) -> Result<(bool, bool)> {
    let mut tcp = false;
    if !network {
        let rules = Ruleset::default().handle_access(AccessNet::from_all(ABI::V4)).map_err(off)?;
        tcp = is_enforced(rules)?;
    }
    let rules = Ruleset::default().scope(Scope::from_all(ABI::V6)).map_err(off)?;
    let scopes = is_enforced(rules)?;
    is_enforced(Ruleset::default().handle_access(AccessFs::IoctlDev).map_err(off)?)?;
    Ok((tcp, scopes))
}

fn is_enforced(rules: Ruleset) -> Result<bool> {
    let status = rules.create().and_then(|rules| rules.restrict_self()).map_err(off)?;
    Ok(status.ruleset == RulesetStatus::FullyEnforced)
}

fn off(error: impl std::fmt::Display) -> Error {
    Error::CommandsOff(format!("Landlock: {error}"))
}
