//! Why there is no configuration, and what to do about it.

use std::path::PathBuf;

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
