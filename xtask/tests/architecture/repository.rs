//! What the rules look at: packages with their declared dependencies, and the text of sources and documents.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) packages: Vec<Package>,
    pub(crate) files: Vec<File>,
}

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(crate) struct Dependency {
    /// The package's name, whatever it is renamed to.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// A file with its path from the root, parts divided by `/`.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repository {
    pub(crate) fn read() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(root.join("crates"))? {
            collect(root, &entry?.path().join("src"), "rs", &mut files)?;
        }
        collect(root, &root.join("xtask/src"), "rs", &mut files)?;
        collect(root, &root.join("docs/adr"), "md", &mut files)?;
        if root.join("ARCHITECTURE.md").is_file() {
            files.push(read(root, &root.join("ARCHITECTURE.md"))?);
        }
        Ok(Self { packages: packages(root)?, files })
    }
}

fn collect(root: &Path, folder: &Path, extension: &str, files: &mut Vec<File>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(read(root, &path)?);
        }
    }
    Ok(())
}

fn read(root: &Path, path: &Path) -> Result<File> {
    let relative = path.strip_prefix(root)?.to_str().context("paths here are UTF-8")?;
    Ok(File { path: relative.to_owned(), text: std::fs::read_to_string(path)? })
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(root).output()?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages.iter().map(package).collect()
}

fn package(value: &Value) -> Result<Package> {
    let dependencies = value["dependencies"].as_array().context("a package lists no dependencies")?;
    Ok(Package { name: name(value)?, dependencies: dependencies.iter().map(dependency).collect::<Result<_>>()? })
}

fn dependency(value: &Value) -> Result<Dependency> {
    let kind = match value["kind"].as_str() {
        None => Kind::Normal,
        Some("build") => Kind::Build,
        Some("dev") => Kind::Dev,
        Some(other) => bail!("an unknown kind of dependency: {other}"),
    };
    Ok(Dependency { name: name(value)?, kind })
}

fn name(value: &Value) -> Result<String> {
    Ok(value["name"].as_str().context("a package without a name")?.to_owned())
}
