//! Handles that were open before: a file or a connection that a process was started with is beyond every rule about what may be
//! opened, so no program gets one.

use crate::{Error, Result};
use std::path::Path;

/// After the three that every program has.
const FIRST: i32 = 3;
const CLOSES_ON_EXEC: u32 = rustix::fs::OFlags::CLOEXEC.bits();

/// Every handle of this process beyond the first three ends where another program begins. An error is that one might not.
pub fn keep_from_programs() -> Result<()> {
    close_fds::set_fds_cloexec_threadsafe(FIRST, &[]);
    // It does not say whether it could.
    for entry in std::fs::read_dir("/proc/self/fdinfo").map_err(Error::io("looking at open handles"))? {
        let path = entry.map_err(Error::io("looking at open handles"))?.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<i32>().ok());
        if number.is_none_or(|number| number >= FIRST) && is_passed_on(&path)? {
            return Err(Error::CommandsOff("a handle that it was started with cannot be kept from them".to_owned()));
        }
    }
    Ok(())
}

/// By what the kernel says of an open handle. One that is closed by now is passed on to nobody.
fn is_passed_on(described: &Path) -> Result<bool> {
    let text = match std::fs::read_to_string(described) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("looking at an open handle")(error)),
    };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    Ok(flags.is_none_or(|flags| flags & CLOSES_ON_EXEC == 0))
}
