//! Which file a program's name means: from the system's directories, never from the root or from where a command runs.

use crate::{Error, Result, Root};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(super) const SEARCHED: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
/// Where what is found there may really lie: a distribution's links lead around inside these.
const SYSTEM: [&str; 1] = ["/usr"];

/// A program and the name it is to be called by: some are several programs in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// With all links followed: the file that will be executed.
    pub path: PathBuf,
    pub name: String,
}

#[derive(Debug, Clone)]
pub struct Programs {
    searched: Vec<PathBuf>,
    system: Vec<PathBuf>,
}

impl Programs {
    pub fn system() -> Self {
        let existing = |paths: &[&str]| -> Vec<PathBuf> {
            let mut found: Vec<PathBuf> = paths.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
            found.dedup();
            found
        };
        let searched = existing(&SEARCHED);
        let system = existing(&SYSTEM).into_iter().chain(searched.iter().cloned()).collect();
        Self { searched, system }
    }

    /// A bare name is searched for; a path must name a file in one of the directories.
    pub fn find(&self, given: &str, root: &Root) -> Result<Program> {
        if given.is_empty() || given.contains('\0') || given.len() > 4_096 {
            return Err(Error::InvalidArgument("a program's name has 1 to 4096 bytes and no NUL"));
        }
        let path = Path::new(given);
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| given.ends_with(name)) else {
            return Err(Error::ProgramRefused);
        };
        let candidates: Vec<PathBuf> = match given.contains('/') {
            false => self.searched.iter().map(|directory| directory.join(name)).collect(),
            true => {
                let directory = path.parent().filter(|_| path.is_absolute()).ok_or(Error::ProgramRefused)?;
                let directory = directory.canonicalize().map_err(|_| Error::ProgramNotFound)?;
                if !self.searched.contains(&directory) {
                    return Err(Error::ProgramRefused);
                }
                vec![directory.join(name)]
            }
        };
        let found = candidates.iter().find(|candidate| is_executable(candidate)).ok_or(Error::ProgramNotFound)?;
        let path = found.canonicalize().map_err(|_| Error::ProgramNotFound)?;
        // A link in a system directory may lead to what somebody is working on.
        let is_of_system = self.system.iter().any(|directory| path.starts_with(directory));
        let directory = path.parent().ok_or(Error::ProgramRefused)?;
        if !is_of_system || root.encloses(directory)? {
            return Err(Error::ProgramRefused);
        }
        Ok(Program { path, name: name.to_owned() })
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
