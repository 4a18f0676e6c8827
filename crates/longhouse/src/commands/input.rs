//! Texts that come from standard input or a file.

use crate::client::BODY_LARGEST_BYTES;
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;

/// A value as it was typed; `-` is standard input.
pub(super) fn value(text: String) -> Result<String> {
    if text == "-" { read(std::io::stdin().lock(), "standard input") } else { Ok(text) }
}

/// What a file holds; `-` is standard input.
pub(super) fn file(path: &Path) -> Result<String> {
    if path.as_os_str() == "-" {
        return value("-".to_owned());
    }
    let name = path.display().to_string();
    read(std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?, &name)
}

fn read(source: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    // What no request can hold is not read to its end: it may have none.
    let enough = BODY_LARGEST_BYTES as u64 + 1;
    source.take(enough).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    if bytes.len() > BODY_LARGEST_BYTES {
        bail!("VALUE_TOO_LARGE: {name} holds more than {BODY_LARGEST_BYTES} bytes, the most that can be sent");
    }
    String::from_utf8(bytes).ok().with_context(|| format!("{name} is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_never_ends_is_left_alone() {
        let refusal = read(std::io::repeat(b'x'), "a pipe").unwrap_err().to_string();
        assert!(refusal.starts_with("VALUE_TOO_LARGE: a pipe"), "{refusal}");
        assert_eq!(read(&b"\xff"[..], "a pipe").unwrap_err().to_string(), "a pipe is not text");
        assert_eq!(read("é\n".as_bytes(), "a pipe").unwrap(), "é\n");
    }
}
