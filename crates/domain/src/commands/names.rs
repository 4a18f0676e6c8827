//! The programs that are never run, each with why, and the few that are only kept away from devices.

/// What a listed program would do that nobody can allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Privilege,
    Elsewhere,
    ShellString,
    RawDisk,
    Power,
    Kernel,
    Configured,
}

impl Why {
    pub(super) fn as_sentence(self) -> &'static str {
        match self {
            Self::Privilege => "it would act with other rights than the node has",
            Self::Elsewhere => "it would start something that the node can neither confine nor stop",
            Self::ShellString => "it would read a text as commands; give the program and its arguments instead",
            Self::RawDisk => "it works on disks or devices below the file system",
            Self::Power => "it stops or restarts the machine or its services",
            Self::Kernel => "it changes the kernel",
            Self::Configured => "the rule `approvals.denied_commands` of this house denies it",
        }
    }
}

const PRIVILEGE: &[&str] = &[
    "sudo",
    "sudoedit",
    "sudo-rs",
    "sudo.ws",
    "su-rs",
    "visudo",
    "visudo-rs",
    "su",
    "doas",
    "doasedit",
    "pkexec",
    "runuser",
    "setpriv",
    "chroot",
    "nsenter",
    "unshare",
    "gosu",
    "su-exec",
    "setuidgid",
    "chpst",
    "capsh",
    "setcap",
    "newgrp",
    "sg",
    "newuidmap",
    "newgidmap",
    "gksu",
    "gksudo",
    "kdesu",
    "kdesudo",
    "beesu",
    "bwrap",
    "firejail",
    "pivot_root",
    "switch_root",
    "passwd",
    "chpasswd",
    "chsh",
    "chfn",
    "useradd",
    "userdel",
    "usermod",
    "groupadd",
    "groupdel",
    "groupmod",
    "adduser",
    "deluser",
    "vipw",
    "vigr",
    "sudoreplay",
    "sux",
    "super",
    "calife",
    "userhelper",
    "consolehelper",
];
const ELSEWHERE: &[&str] = &[
    "systemd-run",
    "run0",
    "systemd-nspawn",
    "machinectl",
    "at",
    "batch",
    "crontab",
    "start-stop-daemon",
    "daemonize",
    "dbus-send",
    "gdbus",
    "busctl",
];
/// They hand their arguments to a shell.
const SHELL_STRING: &[&str] = &["eval", "watch", "parallel", "screen", "tmux", "script", "scriptlive"];
const RAW_DISK: &[&str] = &[
    "mkfs",
    "mke2fs",
    "mkswap",
    "mkdosfs",
    "mkntfs",
    "swapon",
    "swapoff",
    "fdisk",
    "sfdisk",
    "cfdisk",
    "gdisk",
    "sgdisk",
    "cgdisk",
    "parted",
    "partprobe",
    "partx",
    "kpartx",
    "addpart",
    "delpart",
    "resizepart",
    "losetup",
    "mount",
    "umount",
    "fusermount",
    "fusermount3",
    "udisksctl",
    "pmount",
    "fsck",
    "e2fsck",
    "tune2fs",
    "resize2fs",
    "debugfs",
    "dumpe2fs",
    "xfs_repair",
    "xfs_db",
    "xfs_growfs",
    "btrfs",
    "zfs",
    "zpool",
    "wipefs",
    "blkdiscard",
    "blockdev",
    "badblocks",
    "hdparm",
    "sdparm",
    "nvme",
    "mdadm",
    "cryptsetup",
    "dmsetup",
    "lvm",
    "pvcreate",
    "pvremove",
    "vgcreate",
    "vgremove",
    "lvcreate",
    "lvremove",
    "lvresize",
    "flashrom",
    "fstrim",
    "fsfreeze",
    "ntfsclone",
    "partclone",
    "testdisk",
];
const POWER: &[&str] = &[
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "telinit",
    "init",
    "systemctl",
    "loginctl",
    "initctl",
    "rc-service",
    "service",
    "rtcwake",
    "pm-suspend",
    "pm-hibernate",
    "pm-suspend-hybrid",
];
const KERNEL: &[&str] =
    &["insmod", "rmmod", "modprobe", "depmod", "kmod", "kexec", "sysctl", "dkms", "bpftool", "bpftrace"];

/// Families: `mkfs.ext4`, `mount.nfs`.
const BEGINNINGS: &[(&str, Why)] = &[
    ("mkfs.", Why::RawDisk),
    ("mount.", Why::RawDisk),
    ("umount.", Why::RawDisk),
    ("fsck.", Why::RawDisk),
    ("partclone.", Why::RawDisk),
];

const LISTS: &[(&[&str], Why)] = &[
    (PRIVILEGE, Why::Privilege),
    (ELSEWHERE, Why::Elsewhere),
    (SHELL_STRING, Why::ShellString),
    (RAW_DISK, Why::RawDisk),
    (POWER, Why::Power),
    (KERNEL, Why::Kernel),
];

/// They copy bytes to wherever they are told to, and are ordinary otherwise.
const WRITERS: &[&str] =
    &["dd", "dcfldd", "dc3dd", "ddrescue", "cp", "mv", "install", "tee", "shred", "truncate", "rsync", "ln", "pv"];

/// The name as it is listed, and why it is.
pub(super) fn find(name: &str) -> Option<(&'static str, Why)> {
    let by_name = LISTS.iter().find_map(|(names, why)| Some((*names.iter().find(|listed| **listed == name)?, *why)));
    let by_beginning = || BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning)).copied();
    by_name.or_else(by_beginning)
}

/// The name of a program that is denied only when devices are among its arguments.
pub(super) fn writer(name: &str) -> Option<&'static str> {
    WRITERS.iter().find(|listed| **listed == name).copied()
}
