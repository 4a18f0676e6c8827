//! Programs that a chore needs and the distribution has. Installs only as root, and leaves no service running.

use crate::processes;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// True where a missing program that could be had must fail the run instead of being skipped.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Sees to it that `program` is there, from the Debian package of the given name if need be.
pub(crate) fn ensure(program: &str, package: &str) -> Result<()> {
    if is_installed(program) {
        return Ok(());
    }
    install(package).with_context(|| format!("{program} is missing and could not be installed"))?;
    if !is_installed(program) {
        bail!("the package {package} is installed and still has no {program}");
    }
    Ok(())
}

/// Sees to it that a package is there whose programs are not in the PATH.
pub(crate) fn ensure_package(package: &str) -> Result<()> {
    install(package).with_context(|| format!("the package {package} could not be installed"))
}

fn install(package: &str) -> Result<()> {
    if processes::output_of(Command::new("id").arg("-u"))? != "0" {
        bail!("only root may install the package {package}");
    }
    println!("installing {package} …");
    apt_get(&["update", "-q"])?;
    apt_get(&["install", "-y", "-q", package])?;
    // Debian starts what it installs; we start our own on a port and folder of our own.
    let _ = Command::new("service").args([package, "stop"]).output();
    Ok(())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    processes::output_of(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))?;
    Ok(())
}
