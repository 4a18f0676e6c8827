//! Everything that this process logs, at every level, so that a test can search it for what must never be there.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static BEGUN: OnceLock<()> = OnceLock::new();

/// From now on everything is kept.
pub fn keep_logs() {
    BEGUN.get_or_init(|| {
        // As the binary has it: the MCP library, which logs whole messages, is never heard.
        let log = tracing_subscriber::fmt().with_env_filter("trace,rmcp=off").with_ansi(false).with_writer(Writers);
        tracing::subscriber::set_global_default(log.finish()).expect("nobody else keeps them");
    });
}

pub fn kept_logs() -> String {
    String::from_utf8_lossy(&text()).into_owned()
}

fn text() -> MutexGuard<'static, Vec<u8>> {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Writers;

struct Writer;

impl<'w> MakeWriter<'w> for Writers {
    type Writer = Writer;

    fn make_writer(&'w self) -> Writer {
        Writer
    }
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        text().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
