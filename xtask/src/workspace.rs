//! Where things are in this repository, and how its binaries are built.

use crate::processes;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy)]
pub(crate) enum Profile {
    Debug,
    Release,
}

impl Profile {
    fn folder(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that started us, in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Cargo's own answer, so that `CARGO_TARGET_DIR` and configuration files count.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let text = processes::output_of(cargo().args(["metadata", "--format-version", "1", "--no-deps", "--offline"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target_directory")?;
    Ok(PathBuf::from(folder))
}

/// Builds one binary of the workspace and says where it is.
pub(crate) fn build(package: &str, profile: Profile) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--package", package, "--bin", package]);
    if matches!(profile, Profile::Release) {
        command.arg("--release");
    }
    processes::run(&mut command)?;
    Ok(target_dir()?.join(profile.folder()).join(package))
}

/// Builds an example of a package in release and says where it is.
pub(crate) fn build_example(package: &str, example: &str) -> Result<PathBuf> {
    processes::run(cargo().args(["build", "--release", "--package", package, "--example", example]))?;
    Ok(target_dir()?.join("release").join("examples").join(example))
}
