//! Where a node keeps what is its own. Who it is must not depend on whether its house was up when it was started, so the place
//! goes by what was said, never by what was found.

use super::SERVER;
use super::identities::Identity;
use crate::cli::{Connect, Place};
use anyhow::{Context, Result};
use service::data_dir::is_house;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A folder of its own for each house, project and root, so that one machine can have several.
pub(super) fn state_dir(place: &Place, options: &Connect, root: &Path) -> Result<PathBuf> {
    if let Some(given) = &options.state_dir {
        return Ok(given.clone());
    }
    let wanted = options.project.as_deref().or(options.workspace.as_deref()).unwrap_or_default();
    folder_in(&states()?, (place.server.as_deref(), &place.data_dir), wanted, root)
}

/// Where the nodes of this person keep what is theirs.
pub(super) fn states() -> Result<PathBuf> {
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let states = home("XDG_STATE_HOME").or_else(|| home("HOME").map(|home| home.join(".local/state")));
    let states = states.context("say where to keep its key with --state-dir: there is no home directory")?;
    Ok(states.join("longhouse/nodes"))
}

/// `house`: the server that was named, and the data directory.
fn folder_in(states: &Path, house: (Option<&str>, &Path), wanted: &str, root: &Path) -> Result<PathBuf> {
    let of = |house: &str| {
        let named = format!("{house}\n{wanted}\n{}", root.display());
        states.join(data_encoding::HEXLOWER.encode(&Sha256::digest(named.as_bytes())[..8]))
    };
    match house {
        (Some(server), _) => Ok(of(server)),
        (None, data_dir) if is_house(data_dir) => {
            let data_dir = data_dir.canonicalize().context("the data directory is gone")?;
            let own = of(&format!("data directory {}", data_dir.display()));
            // Earlier versions took the usual address for every house that was not named. Who paired then stays who they are.
            let earlier = of(SERVER);
            Ok(if !Identity::is_in(&own) && Identity::is_in(&earlier) { earlier } else { own })
        }
        // There is no house here, so it is the one at the usual address, from whichever folder it is said.
        (None, _) => Ok(of(SERVER)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene(tempfile::TempDir);

    impl Scene {
        /// With a house in `data`, and none in `elsewhere`.
        fn new() -> Self {
            let scene = Self(tempfile::tempdir().unwrap());
            for folder in ["data", "elsewhere", "nodes"] {
                std::fs::create_dir(scene.path(folder)).unwrap();
            }
            std::fs::write(scene.path("data").join(service::data_dir::DATABASE), "").unwrap();
            scene
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn folder(&self, server: Option<&str>, data_dir: &str) -> PathBuf {
            folder_in(&self.path("nodes"), (server, &self.path(data_dir)), "alpha", Path::new("/work")).unwrap()
        }
    }

    fn pair_in(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("identity.json"), "{}").unwrap();
    }

    #[test]
    fn a_node_has_one_place_for_each_house_that_was_said_however_it_was_spelled() {
        let scene = Scene::new();
        let (here, usual) = (scene.folder(None, "data"), scene.folder(Some(SERVER), "data"));
        let named = scene.folder(Some("http://localhost:7700"), "data");
        assert!(here != usual && here != named && usual != named);
        assert_eq!(scene.folder(Some(SERVER), "elsewhere"), usual, "what was named is all that counts");
        assert_eq!(scene.folder(None, "elsewhere"), usual, "there is no house");
        assert_eq!(scene.folder(None, "missing"), usual);
        std::os::unix::fs::symlink(scene.path("data"), scene.path("link")).unwrap();
        for same in ["link", "./data", "elsewhere/../data"] {
            assert_eq!(scene.folder(None, same), here, "{same}");
        }
    }

    #[test]
    fn who_paired_with_an_earlier_version_stays_who_they_are() {
        let scene = Scene::new();
        let (own, earlier) = (scene.folder(None, "data"), scene.folder(Some(SERVER), "data"));
        std::fs::create_dir(&earlier).unwrap();
        assert_eq!(scene.folder(None, "data"), own, "nobody has paired there");
        pair_in(&earlier);
        assert_eq!(scene.folder(None, "data"), earlier);
        pair_in(&own);
        assert_eq!(scene.folder(None, "data"), own, "who has paired here does not become another one there");
    }
}
