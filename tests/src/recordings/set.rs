//! The recordings on this disk.

use super::RecordingsError;
use super::build;
use mini_worker::storage::Home;
use std::path::{Path, PathBuf};

/// The folder with `clean/`, `noise/`, `room/`, `noisy/` and `long/`.
#[derive(Debug, Clone)]
pub struct RecordingSet {
    folder: PathBuf,
}

/// A mixture, and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Noisy {
    /// Name of the clean speech.
    pub speech: String,
    /// Name of the noise, with the room before it where there is one: `hall-train`.
    pub noise: String,
    /// Signal-to-noise ratio in dB.
    pub snr_db: i32,
    /// The mixture.
    pub path: PathBuf,
    /// The clean speech, aligned with the mixture sample by sample.
    pub clean: PathBuf,
}

impl RecordingSet {
    /// The set in the home folder, built first when it is missing or outdated. Says nothing unless it builds.
    pub fn ready() -> Result<Self, RecordingsError> {
        let set = Self::locate()?;
        build::ensure(&set, false, &mut |line| eprintln!("recordings: {line}"))?;
        Ok(set)
    }

    /// The set in the home folder, whether it is there or not.
    pub fn locate() -> Result<Self, RecordingsError> {
        Ok(Self::at(Home::locate()?.root().join("recordings")))
    }

    /// A set at a place of the caller's choice.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Clean speech of that name.
    pub fn clean(&self, name: &str) -> PathBuf {
        self.folder.join("clean").join(format!("{name}.wav"))
    }

    /// A long recording: `10s`, `60s`, `60s-stereo` or `10min`.
    pub fn long(&self, name: &str) -> PathBuf {
        self.folder.join("long").join(format!("{name}.wav"))
    }

    /// The names of all clean speech, sorted.
    pub fn speech(&self) -> Result<Vec<String>, RecordingsError> {
        names(&self.folder.join("clean"))
    }

    /// All mixtures, sorted by speech, noise and ratio.
    pub fn noisy(&self) -> Result<Vec<Noisy>, RecordingsError> {
        let folder = self.folder.join("noisy");
        let mixtures = names(&folder)?.into_iter().filter_map(|name| {
            let mut parts = name.splitn(3, '.');
            let (speech, noise, snr) = (parts.next()?, parts.next()?, parts.next()?);
            Some(Noisy {
                speech: speech.to_owned(),
                noise: noise.to_owned(),
                snr_db: snr.parse().ok()?,
                path: folder.join(format!("{name}.wav")),
                clean: self.clean(speech),
            })
        });
        let mut mixtures: Vec<_> = mixtures.collect();
        mixtures.sort();
        Ok(mixtures)
    }
}

fn names(folder: &Path) -> Result<Vec<String>, RecordingsError> {
    let entries = std::fs::read_dir(folder)
        .map_err(|source| RecordingsError::Disk { path: folder.to_owned(), source })?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".wav").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}
