//! Where the programs of `node_modules` are, on each platform that we build on.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `command` with its output passed through.
///
/// # Errors
/// The program cannot be started, or ends with another status than 0.
pub fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}

/// esbuild's native program. npm installs one package for each platform; the launcher in
/// `node_modules/.bin` would start Node only to start this.
pub fn esbuild(root: &Path) -> Result<PathBuf> {
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "aarch64") => "darwin-arm64",
        ("macos", "x86_64") => "darwin-x64",
        (os, arch) => bail!("the edge builds on Linux and macOS, x86-64 and arm64, not on {os} {arch}"),
    };
    installed(root, &format!("node_modules/@esbuild/{platform}/bin/esbuild"))
}

/// `relative` below the repository, or an error that says how to install it.
pub fn installed(root: &Path, relative: &str) -> Result<PathBuf> {
    let path = root.join(relative);
    ensure!(path.exists(), "{relative} is missing: run `npm ci` in {}", root.display());
    Ok(path)
}
