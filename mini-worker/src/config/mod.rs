//! The worker's configuration: a TOML file, turned into valid values in one step. Every setting is explained in
//! `config.example.toml`; secrets come from the environment or from a file of their own, never from the configuration.

mod error;
mod file;
mod scorer;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use shared_protocol::WorkerId;
use url::Url;

pub use error::ConfigError;
pub use scorer::ScorerConfig;

use crate::inference::{Scheduling, Selection};
use crate::job::upload::UploadSizes;

/// The documented example, as `mini-worker config example` prints it.
pub const EXAMPLE: &str = include_str!("../../config.example.toml");

/// The environment variable that holds a worker key unless an environment names another one.
pub const DEFAULT_KEY_VARIABLE: &str = "MINIFLEET_WORKER_KEY";

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Config {
    /// The worker's name.
    pub worker_id: WorkerId,
    /// Jobs at once at most.
    pub slots: u32,
    /// What jobs can ask for.
    pub labels: Vec<String>,
    /// Preference among workers that are equally good for a job; higher first.
    pub priority: i32,
    /// The schedulers, in the order of their priority.
    pub environments: Vec<Environment>,
    /// Where jobs keep their files while they run. Its `jobs` folder is emptied at start.
    pub work_folder: PathBuf,
    /// Where results wait for their acknowledgement.
    pub state_folder: PathBuf,
    /// Where the model bundle lies; the usual place when not set.
    pub model_home: Option<PathBuf>,
    /// Threads that compute one window.
    pub inference_threads: usize,
    /// Who is next at the model.
    pub scheduling: Scheduling,
    /// Which engine restores, and on what.
    pub selection: Selection,
    /// Another library of ONNX Runtime than the bundle's.
    pub onnxruntime: Option<PathBuf>,
    /// Who scores completed jobs.
    pub scorer: ScorerConfig,
    /// Where metrics for Prometheus are served; nowhere when not set.
    pub metrics_listen: Option<SocketAddr>,
    /// What media are handled with, and how much of them.
    pub media: MediaConfig,
    /// How large objects travel.
    pub upload_sizes: UploadSizes,
}

/// What media are handled with, and how much of them.
#[derive(Debug, Clone)]
pub struct MediaConfig {
    /// The program `ffmpeg`.
    pub ffmpeg: PathBuf,
    /// The program `ffprobe`.
    pub ffprobe: PathBuf,
    /// Longer recordings are refused.
    pub max_audio_minutes: u32,
}

impl Default for MediaConfig {
    fn default() -> Self {
        Self {
            ffmpeg: "ffmpeg".into(),
            ffprobe: "ffprobe".into(),
            max_audio_minutes: file::default_max_audio_minutes(),
        }
    }
}

/// One scheduler.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Its name here: in logs and in the names of folders.
    pub name: EnvironmentName,
    /// The edge's address.
    pub url: Url,
    /// The key of this worker there.
    pub key: Secret,
}

/// A text that no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// An environment's name: 1 to 32 of `a-z 0-9 -`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct EnvironmentName(String);

impl EnvironmentName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for EnvironmentName {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let safe = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        let begins_well = text.bytes().next().is_some_and(|c| c.is_ascii_lowercase());
        if begins_well && text.len() <= 32 && text.bytes().all(safe) {
            Ok(Self(text))
        } else {
            Err("an environment's name is 1 to 32 of a-z 0-9 - and begins with a letter")
        }
    }
}

impl fmt::Display for EnvironmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
