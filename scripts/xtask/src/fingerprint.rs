//! Whether anything that the edge is built from has changed. Contents are compared, not times: a
//! checkout or a rebase that restores the same bytes costs no build.

use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Files and folders, relative to the repository, whose bytes decide the result.
const INPUTS: &[&str] = &[
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "edge/Cargo.toml",
    "edge/src",
    "package-lock.json",
    "rust-toolchain.toml",
    "scripts/xtask/src",
    "shared-protocol/Cargo.toml",
    "shared-protocol/src",
];

/// A hash over every input, the profile, and the variables that a build reads.
pub fn of_inputs(root: &Path, profile: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    profile.hash(&mut hasher);
    std::env::var_os("RUSTUP_TOOLCHAIN").hash(&mut hasher);
    for input in INPUTS {
        hash_path(root, Path::new(input), &mut hasher)?;
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn hash_path(root: &Path, relative: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let path = root.join(relative);
    if path.is_dir() {
        let mut names = fs::read_dir(&path)
            .and_then(|entries| {
                entries.map(|entry| entry.map(|e| e.file_name())).collect::<Result<Vec<_>, _>>()
            })
            .with_context(|| format!("cannot list {}", path.display()))?;
        names.sort();
        for name in names {
            hash_path(root, &relative.join(name), hasher)?;
        }
        return Ok(());
    }
    relative.hash(hasher);
    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?.hash(hasher);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_exists_and_the_profile_counts() -> Result<()> {
        let root = crate::build_edge::repository();
        let release = of_inputs(&root, "edge")?;
        assert_eq!(release, of_inputs(&root, "edge")?);
        assert_ne!(release, of_inputs(&root, "dev")?);
        Ok(())
    }
}
