//! Texts that come from standard input or a file.

use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;

/// No request is larger. Reading on would only fill the memory.
const LARGEST_BYTES: u64 = 1024 * 1024;

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
    source.take(LARGEST_BYTES + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > LARGEST_BYTES {
        bail!("VALUE_TOO_LARGE: {name} holds more than {LARGEST_BYTES} bytes, the most that can be sent");
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
