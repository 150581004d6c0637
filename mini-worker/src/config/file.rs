//! The file as it is written, and the one step from it to valid values.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shared_protocol::WorkerId;
use shared_protocol::limits::MAX_SLOTS;
use url::Url;

use super::scorer::ScorerTable;
use super::{Config, ConfigError, DEFAULT_KEY_VARIABLE, Environment, EnvironmentName, MediaConfig, Secret};
use crate::inference::{EngineKind, Precision, Provider, Scheduling, Selection};
use crate::job::upload::UploadSizes;

/// Longest recording that can be allowed. A completion lists every segment of the recording in one message: 8 hours are
/// 4,803 segments of about 50 bytes, which fits into a frame (256 KiB).
const LONGEST_AUDIO_MINUTES: u32 = 480;

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    worker_id: Option<WorkerId>,
    #[serde(default)]
    slots: Slots,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    priority: i32,
    work_folder: Option<PathBuf>,
    state_folder: Option<PathBuf>,
    model_home: Option<PathBuf>,
    #[serde(default)]
    inference_threads: InferenceThreads,
    #[serde(default)]
    scheduling: Scheduling,
    #[serde(default)]
    engine: EngineKind,
    provider: Option<Provider>,
    #[serde(default)]
    precision: Precision,
    onnxruntime: Option<PathBuf>,
    metrics_listen: Option<SocketAddr>,
    #[serde(default = "default_ffmpeg")]
    ffmpeg: PathBuf,
    #[serde(default = "default_ffprobe")]
    ffprobe: PathBuf,
    #[serde(default)]
    max_audio_minutes: MaxAudioMinutes,
    #[serde(default)]
    parts_above_mib: PartsAboveMib,
    #[serde(default)]
    part_mib: PartMib,
    #[serde(default)]
    scorer: ScorerTable,
    #[serde(rename = "environment")]
    environments: Vec<EnvironmentTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvironmentTable {
    name: EnvironmentName,
    url: EdgeUrl,
    #[serde(default = "default_key_variable")]
    key_env: String,
    key_file: Option<PathBuf>,
}

fn default_ffmpeg() -> PathBuf {
    "ffmpeg".into()
}

fn default_ffprobe() -> PathBuf {
    "ffprobe".into()
}

pub(super) fn default_max_audio_minutes() -> u32 {
    MaxAudioMinutes::default().0
}

fn default_key_variable() -> String {
    DEFAULT_KEY_VARIABLE.into()
}

/// A whole number within bounds: an error about it names its line.
macro_rules! bounded {
    ($name:ident, $default:expr, $range:expr, $message:expr) => {
        #[derive(Debug, Clone, Copy, Deserialize)]
        #[serde(try_from = "u32")]
        struct $name(u32);

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }

        impl TryFrom<u32> for $name {
            type Error = String;
            fn try_from(number: u32) -> Result<Self, String> {
                if $range.contains(&number) { Ok(Self(number)) } else { Err($message) }
            }
        }
    };
}

bounded!(Slots, 6, (1..=MAX_SLOTS), format!("slots are 1 to {MAX_SLOTS}"));
bounded!(InferenceThreads, 1, (1..=64), "inference_threads are 1 to 64".to_owned());
bounded!(
    MaxAudioMinutes,
    240,
    (1..=LONGEST_AUDIO_MINUTES),
    format!("max_audio_minutes are 1 to {LONGEST_AUDIO_MINUTES}")
);

bounded!(PartsAboveMib, 100, (5..=100), "parts_above_mib are 5 to 100".to_owned());
bounded!(PartMib, 16, (5..=100), "part_mib are 5 to 100".to_owned());

const MIB: u64 = 1024 * 1024;

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct EdgeUrl(Url);

impl TryFrom<String> for EdgeUrl {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let url = Url::parse(&text).map_err(|e| format!("not an address: {e}"))?;
        let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        match url.scheme() {
            "http" | "https" if plain && url.path() == "/" => Ok(Self(url)),
            "http" | "https" => Err("the edge's address has only scheme, host and port".into()),
            other => Err(format!("the edge's address begins with https:// or http://, not {other}://")),
        }
    }
}

impl Config {
    /// Reads the file, with secrets from the process's environment.
    ///
    /// # Errors
    /// [`ConfigError`], with what to do about it.
    pub fn load(path: &Path, home: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
        Self::parse(&text, path, home, &|name| std::env::var(name).ok())
    }

    /// Parses the file's text. Folders that are not set lie in `home`; relative ones are relative to the file.
    fn parse(
        text: &str,
        path: &Path,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError::Wrong { path: path.into(), reason };
        let file: ConfigFile = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let base = path.parent().unwrap_or(Path::new("."));
        let selection = Selection { engine: file.engine, provider: file.provider, precision: file.precision };
        selection.provider().map_err(|e| wrong(e.to_string()))?;
        let environments = read_environments(&file.environments, base, variable)?;
        if environments.is_empty() {
            return Err(wrong("there is no [[environment]]: name at least one scheduler".into()));
        }
        Ok(Self {
            worker_id: file.worker_id.map_or_else(name_of_this_host, Ok)?,
            slots: file.slots.0,
            labels: file.labels,
            priority: file.priority,
            environments,
            work_folder: file.work_folder.map_or_else(|| home.join("worker/work"), |f| base.join(f)),
            state_folder: file.state_folder.map_or_else(|| home.join("worker/state"), |f| base.join(f)),
            model_home: file.model_home.map(|folder| base.join(folder)),
            inference_threads: file.inference_threads.0 as usize,
            scheduling: file.scheduling,
            selection,
            onnxruntime: file.onnxruntime.map(|library| base.join(library)),
            scorer: file.scorer.checked(base).map_err(wrong)?,
            metrics_listen: file.metrics_listen,
            media: MediaConfig {
                ffmpeg: file.ffmpeg,
                ffprobe: file.ffprobe,
                max_audio_minutes: file.max_audio_minutes.0,
            },
            upload_sizes: UploadSizes {
                single_put_bytes: u64::from(file.parts_above_mib.0) * MIB,
                part_bytes: u64::from(file.part_mib.0) * MIB,
            },
        })
    }
}

fn read_environments(
    tables: &[EnvironmentTable],
    base: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Environment>, ConfigError> {
    let mut environments: Vec<Environment> = Vec::new();
    for table in tables {
        if environments.iter().any(|other| other.name == table.name) {
            return Err(ConfigError::SameName { name: table.name.to_string() });
        }
        let key = read_key(table, base, variable)?;
        environments.push(Environment { name: table.name.clone(), url: table.url.0.clone(), key });
    }
    Ok(environments)
}

fn read_key(
    table: &EnvironmentTable,
    base: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Secret, ConfigError> {
    let environment = table.name.to_string();
    let text = match &table.key_file {
        Some(file) => {
            let path = base.join(file);
            std::fs::read_to_string(&path).map_err(|source| ConfigError::KeyUnreadable {
                environment: environment.clone(),
                path,
                source,
            })?
        }
        None => variable(&table.key_env).ok_or_else(|| ConfigError::NoKey {
            environment: environment.clone(),
            variable: table.key_env.clone(),
        })?,
    };
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(ConfigError::BadKey { environment });
    }
    Ok(Secret::new(key))
}

/// The host's name without its domain, with what an id cannot hold turned into dashes.
fn name_of_this_host() -> Result<WorkerId, ConfigError> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let short = host.split('.').next().unwrap_or_default();
    let safe: String =
        short.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(64).collect();
    WorkerId::new(safe.trim_start_matches('-')).map_err(|_| ConfigError::BadHostName { host })
}

#[cfg(test)]
mod tests;
