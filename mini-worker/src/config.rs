//! The worker's configuration: a TOML file, turned into valid values in one step. Every setting is explained in
//! `config.example.toml`; secrets come from the environment or from a file of their own, never from the configuration.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shared_protocol::WorkerId;
use shared_protocol::limits::MAX_SLOTS;
use url::Url;

use crate::inference::Scheduling;
use crate::job::upload::UploadSizes;

/// The documented example, as `mini-worker config example` prints it.
pub const EXAMPLE: &str = include_str!("../config.example.toml");

/// The environment variable that holds a worker key unless an environment names another one.
pub const DEFAULT_KEY_VARIABLE: &str = "MINIFLEET_WORKER_KEY";

/// Longest recording that can be allowed. A completion lists every segment of the recording in one message: 8 hours are
/// 4,803 segments of about 50 bytes, which fits into a frame (256 KiB).
const LONGEST_AUDIO_MINUTES: u32 = 480;

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
            max_audio_minutes: default_max_audio_minutes(),
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

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {path}: {source}. Make one with `mini-worker config example > {path}`.", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is wrong.
    #[error("the configuration {path} is wrong:\n{reason}", path = path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// With the line and what was expected.
        reason: String,
    },
    /// An environment has no key.
    #[error(
        "environment {environment:?} has no worker key: set the variable {variable}, or name a file with `key_file`"
    )]
    NoKey {
        /// The environment.
        environment: String,
        /// Where the key was looked for.
        variable: String,
    },
    /// A key file cannot be read.
    #[error("cannot read the worker key of environment {environment:?} from {path}: {source}", path = path.display())]
    KeyUnreadable {
        /// The environment.
        environment: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A key has characters that no header can carry.
    #[error(
        "the worker key of environment {environment:?} is not a plain text without spaces: copy it again, without quotes"
    )]
    BadKey {
        /// The environment.
        environment: String,
    },
    /// Two environments have one name.
    #[error("two environments are named {name:?}: their names have to differ")]
    SameName {
        /// The name.
        name: String,
    },
    /// The host name cannot serve as the worker's name.
    #[error("the host name {host:?} cannot be the worker's name: set `worker_id`")]
    BadHostName {
        /// The host name.
        host: String,
    },
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

fn default_max_audio_minutes() -> u32 {
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
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let variable = |name: &str| (name == DEFAULT_KEY_VARIABLE).then(|| "mfw_key\n".to_owned());
        Config::parse(text, Path::new("/etc/minifleet/worker.toml"), Path::new("/home"), &variable)
            .map_err(|e| e.to_string())
    }

    const ENVIRONMENT: &str = "[[environment]]\nname = \"production\"\nurl = \"https://edge.example\"\n";

    #[test]
    fn the_example_is_valid_and_shows_the_defaults() {
        let example = parse(EXAMPLE).unwrap();
        let shortest = parse(ENVIRONMENT).unwrap();
        assert_eq!(example.slots, shortest.slots);
        assert_eq!(example.inference_threads, shortest.inference_threads);
        assert_eq!(example.scheduling, shortest.scheduling);
        assert_eq!((example.metrics_listen, shortest.metrics_listen), (None, None), "off unless asked for");
        assert_eq!(example.media.max_audio_minutes, shortest.media.max_audio_minutes);
        assert_eq!(example.media.ffmpeg, shortest.media.ffmpeg);
        assert_eq!(shortest.environments[0].key.expose(), "mfw_key");
        assert_eq!(shortest.work_folder, Path::new("/home/worker/work"));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, line, words) in [
            (format!("slotz = 2\n{ENVIRONMENT}"), "line 1", "slotz"),
            (format!("\nslots = 0\n{ENVIRONMENT}"), "line 2", "1 to 64"),
            (format!("worker_id = \"a b\"\n{ENVIRONMENT}"), "line 1", "an id may hold only"),
            (ENVIRONMENT.replace("https://edge.example", "wss://edge.example"), "line 3", "https://"),
            (ENVIRONMENT.replace("https://edge.example", "https://edge.example/v1"), "line 3", "only scheme"),
            (ENVIRONMENT.replace("production", "../x"), "line 2", "an environment's name"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(line) && error.contains(words), "{text}\n{error}");
        }
    }

    #[test]
    fn a_missing_key_says_where_it_was_looked_for_and_a_key_is_never_shown() {
        let error = parse(&format!("{ENVIRONMENT}key_env = \"OTHER\"")).unwrap_err();
        assert!(error.contains("OTHER") && error.contains("key_file"), "{error}");
        let shown = format!("{:?}", parse(ENVIRONMENT).unwrap());
        assert!(!shown.contains("mfw_key"), "{shown}");
    }

    #[test]
    fn two_environments_of_one_name_would_share_a_journal() {
        let error = parse(&format!("{ENVIRONMENT}{ENVIRONMENT}")).unwrap_err();
        assert!(error.contains("two environments are named"), "{error}");
    }
}
