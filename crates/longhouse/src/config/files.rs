//! Reading files that somebody else may have put there: regular ones only, within a size, never waiting.

use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Reads a regular file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its other end.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    read_open(file, most)
}

/// Reads what was opened, if it is a regular file of at most `most` bytes.
pub(crate) fn read_open(file: std::fs::File, most: usize) -> io::Result<Vec<u8>> {
    let bytes = read_beginning(file, most + 1)?;
    if bytes.len() > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large(most)));
    }
    Ok(bytes)
}

pub(crate) fn too_large(most: usize) -> String {
    format!("it has more than {} KiB", most / 1024)
}

/// Reads the first `most` bytes of what was opened, if it is a regular file.
pub(crate) fn read_beginning(file: std::fs::File, most: usize) -> io::Result<Vec<u8>> {
    let kind = file.metadata()?.file_type();
    if !kind.is_file() {
        let what = if kind.is_dir() { "it is a folder" } else { "it is a device or a pipe" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what}, not a file")));
    }
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file could not be read, without the number that an operating system adds.
pub(crate) fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            "it is a link, and links are not followed".to_owned()
        }
        io::ErrorKind::PermissionDenied => "it may not be read by this user".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for other in [folder.path(), &pipe, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let error = read(other, 5).unwrap_err();
            assert!(error.to_string().contains("not a file"), "{}: {error}", other.display());
        }
        assert_eq!(why(&read(&folder.path().join("none"), 5).unwrap_err()), "there is no such file");
    }
}
