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

impl Programs {
    /// The file that a wrapper would start for a word: `env` asks nobody whether it is of the system. What is elsewhere is told by
    /// its name alone, for where the root lies is nobody's business. `folder`: where a path that is not absolute begins.
    pub fn behind(&self, word: &str, folder: &Path) -> Option<String> {
        let candidates: Vec<PathBuf> = match word.contains('/') {
            false => self.searched.iter().map(|directory| directory.join(word)).collect(),
            true => vec![folder.join(word)],
        };
        let found = candidates.iter().find(|candidate| is_executable(candidate))?.canonicalize().ok()?;
        let is_of_system = self.system.iter().any(|directory| found.starts_with(directory));
        let told = if is_of_system { Some(found.as_os_str()) } else { found.file_name() };
        told?.to_str().map(str::to_owned)
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A system with `usr/bin` and `usr/lib`, a root, and a link from each to each.
    fn scene() -> (tempfile::TempDir, Programs, Root) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for directory in ["usr/bin", "usr/lib", "usr/work", "elsewhere"] {
            std::fs::create_dir_all(path.join(directory)).unwrap();
        }
        for program in ["usr/bin/tool", "usr/lib/engine", "usr/work/mine", "elsewhere/other"] {
            std::fs::write(path.join(program), "").unwrap();
            std::fs::set_permissions(path.join(program), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(path.join("usr/bin/text"), "").unwrap();
        symlink("../lib/engine", path.join("usr/bin/motor")).unwrap();
        symlink("../work/mine", path.join("usr/bin/mine")).unwrap();
        symlink("../../elsewhere/other", path.join("usr/bin/other")).unwrap();
        let programs = Programs { searched: vec![path.join("usr/bin")], system: vec![path.join("usr")] };
        let root = Root::open(&path.join("usr/work")).unwrap();
        (folder, programs, root)
    }

    #[test]
    fn a_name_means_a_file_of_the_system_wherever_its_links_lead_inside() {
        let (folder, programs, root) = scene();
        let path = folder.path().canonicalize().unwrap();
        for (given, file) in [("tool", "usr/bin/tool"), ("motor", "usr/lib/engine")] {
            let found = programs.find(given, &root).unwrap();
            assert_eq!((found.path, found.name.as_str()), (path.join(file), given));
            let given = path.join("usr/bin").join(given);
            assert_eq!(programs.find(given.to_str().unwrap(), &root).unwrap().path, path.join(file));
        }
    }

    #[test]
    fn behind_a_wrapper_a_word_means_whatever_would_be_started() {
        let (folder, programs, _) = scene();
        let path = folder.path().canonicalize().unwrap();
        let (work, system) = (path.join("usr/work"), |file: &str| path.join(file).to_str().unwrap().to_owned());
        symlink(path.join("elsewhere/other"), work.join("harmless")).unwrap();
        symlink(path.join("usr/bin/tool"), work.join("linked")).unwrap();
        let programs = Programs { system: vec![path.join("usr/bin"), path.join("usr/lib")], ..programs };
        for (word, expected) in [
            ("tool", Some(system("usr/bin/tool"))),
            ("motor", Some(system("usr/lib/engine"))),
            ("mine", Some("mine".to_owned())),
            ("./harmless", Some("other".to_owned())),
            ("./linked", Some(system("usr/bin/tool"))),
            ("../../elsewhere/other", Some("other".to_owned())),
            ("harmless", None),
            ("text", None),
            ("missing", None),
            ("-n", None),
            ("", None),
            ("/", None),
        ] {
            assert_eq!(programs.behind(word, &work), expected, "{word}");
        }
    }

    #[test]
    fn what_leads_into_the_root_or_out_of_the_system_is_refused() {
        let (folder, programs, root) = scene();
        let path = folder.path().canonicalize().unwrap();
        let absolute = |file: &str| path.join(file).to_str().unwrap().to_owned();
        let refused = [
            "mine".to_owned(),
            "other".to_owned(),
            absolute("usr/bin/mine"),
            absolute("usr/work/mine"),
            absolute("usr/lib/engine"),
            absolute("usr/bin/../lib/engine"),
            absolute("elsewhere/other"),
            "./tool".to_owned(),
        ];
        for given in refused {
            assert_eq!(programs.find(&given, &root).unwrap_err().code(), "PROGRAM_REFUSED", "{given}");
        }
        for given in ["engine", "text", "missing"] {
            assert_eq!(programs.find(given, &root).unwrap_err().code(), "PROGRAM_NOT_FOUND", "{given}");
        }
    }
}
