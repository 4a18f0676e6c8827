//! What a command says: the first 256 KiB of a stream are kept, the rest is read and let go, so that nobody waits for room.

use super::OUTPUT_LIMIT_BYTES;
use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Once all writers are dead, the end of a stream is a matter of moments.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    truncated: bool,
}

pub(super) struct Output {
    kept: Arc<Mutex<Kept>>,
    ended: Receiver<()>,
}

impl Output {
    pub(super) fn follow(mut stream: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (end, ended) = channel();
        let filled = Arc::clone(&kept);
        thread::spawn(move || {
            let mut buffer = vec![0; 16 * 1024];
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        let mut kept = filled.lock().unwrap_or_else(PoisonError::into_inner);
                        let room = OUTPUT_LIMIT_BYTES - kept.bytes.len();
                        kept.truncated |= count > room;
                        kept.bytes.extend_from_slice(&buffer[..count.min(room)]);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            // Nobody may be listening any more.
            let _ = end.send(());
        });
        Self { kept, ended }
    }

    /// The text and whether there was more. What is not UTF-8 is shown as such.
    pub(super) fn end(&self) -> (String, bool) {
        let all = self.ended.recv_timeout(LAST_WORDS).is_ok();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&kept.bytes).into_owned(), kept.truncated || !all)
    }
}
