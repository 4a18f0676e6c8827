//! How many calls may be under way for one person in one project. Each of them is kept whole until it ends, and may be large.

use crate::{Code, Refusal, Result};

const OPEN_MOST: u64 = 100;
const OPEN_LARGEST_BYTES: u64 = 64 * 1024 * 1024;
/// Most of what is open waits for a person, who takes a while.
const TRY_AGAIN_MS: u64 = 30_000;

/// What has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenCalls {
    pub calls: u64,
    /// Of their arguments.
    pub bytes: u64,
}

/// Refuses a call with so large arguments if there is no room for it now.
pub fn check_room(open: OpenCalls, bytes: u64) -> Result<()> {
    let message = if open.calls >= OPEN_MOST {
        format!("{OPEN_MOST} calls are under way for you in this project: wait until some of them have ended")
    } else if open.bytes.saturating_add(bytes) > OPEN_LARGEST_BYTES {
        "the calls under way for you in this project hold too much: wait until some of them have ended".to_owned()
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::QueueFull, message).with("retry_after_ms", TRY_AGAIN_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_a_hundred_calls_and_for_64_mebibytes_of_them() {
        let most = 64 * 1024 * 1024;
        for (calls, bytes, more, has_room) in [
            (0, 0, most, true),
            (99, 0, 0, true),
            (100, 0, 0, false),
            (1, most - 10, 10, true),
            (1, most - 10, 11, false),
            (1, 10, u64::MAX, false),
        ] {
            assert_eq!(check_room(OpenCalls { calls, bytes }, more).is_ok(), has_room, "{calls} {bytes} {more}");
        }
    }
}
