//! Logs: to standard error, as text or as JSON lines.
//!
//! WARN means that somebody would want to look at it today, ERROR that somebody would want to be woken.

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging. `MINIFLEET_LOG` chooses levels and modules, such as `debug` or `mini_worker::job=debug`.
pub fn start(format: LogFormat, default_level: &str) {
    let filter = EnvFilter::try_from_env("MINIFLEET_LOG").unwrap_or_else(|_| EnvFilter::new(default_level));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
}
