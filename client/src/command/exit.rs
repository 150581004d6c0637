//! Exit codes: one table, and how failures map to it. Scripts rely on the numbers, so they never change.

use std::io::Write;

use minifleet_client::{Error, ErrorKind};
use serde_json::{Value, json};

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok,
    JobFailed,
    Usage,
    NotFoundOrNotAllowed,
    Unavailable,
    Refused,
    Local,
    Interrupted,
}

/// The table, as `--help` and `docs/command.md` show it.
pub const TABLE: [(Exit, &str); 8] = [
    (Exit::Ok, "everything was done"),
    (Exit::JobFailed, "a job failed or was cancelled, or several files ended differently"),
    (Exit::Usage, "wrong arguments, no address or key, or a recording that cannot be uploaded"),
    (Exit::NotFoundOrNotAllowed, "no such job or file, or the key is not accepted"),
    (Exit::Unavailable, "the service cannot be reached, is overloaded or failed"),
    (Exit::Refused, "the service understood the request and refused it"),
    (Exit::Local, "a file of this machine could not be written or read, or arrived damaged"),
    (Exit::Interrupted, "interrupted by Ctrl-C or SIGTERM"),
];

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::JobFailed => 1,
            Exit::Usage => 2,
            Exit::NotFoundOrNotAllowed => 3,
            Exit::Unavailable => 4,
            Exit::Refused => 5,
            Exit::Local => 6,
            Exit::Interrupted => 130,
        }
    }

    /// The one code for several results: an interruption wins, a code that all failures share stays, else "failed".
    pub fn of_all(exits: impl IntoIterator<Item = Exit>) -> Exit {
        exits.into_iter().filter(|exit| *exit != Exit::Ok).fold(Exit::Ok, |all, one| match (all, one) {
            (Exit::Ok, one) => one,
            (Exit::Interrupted, _) | (_, Exit::Interrupted) => Exit::Interrupted,
            (all, one) if all == one => all,
            _ => Exit::JobFailed,
        })
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Exit {
        match error.kind() {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::NotAuthorized | ErrorKind::NotFound => Exit::NotFoundOrNotAllowed,
            ErrorKind::Unavailable => Exit::Unavailable,
            ErrorKind::Refused => Exit::Refused,
            ErrorKind::Local => Exit::Local,
        }
    }
}

/// Text for `--help`.
pub fn help() -> String {
    let rows: Vec<String> =
        TABLE.iter().map(|(exit, meaning)| format!("  {:>3}  {meaning}", exit.code())).collect();
    format!("Exit codes:\n{}", rows.join("\n"))
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The library's reasons.
    Service(Error),
    /// Found by the command itself; `code` is for `--json`.
    Own { exit: Exit, code: &'static str, message: String },
}

impl Failure {
    /// Something that the user has to write differently.
    pub fn usage(code: &'static str, message: String) -> Self {
        Failure::Own { exit: Exit::Usage, code, message }
    }

    /// Something of this machine.
    pub fn local(action: &str, error: &std::io::Error) -> Self {
        Failure::Own { exit: Exit::Local, code: "local_file", message: format!("cannot {action}: {error}") }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Failure::Service(error) => error.into(),
            Failure::Own { exit, .. } => *exit,
        }
    }

    /// As it stands in JSON documents.
    pub fn document(&self) -> Value {
        let (code, request_id) = match self {
            Failure::Service(error) => (error.code(), error.request_id()),
            Failure::Own { code, .. } => (*code, None),
        };
        json!({
            "code": code,
            "message": self.to_string(),
            "requestId": request_id,
            "exitCode": self.exit().code(),
        })
    }

    /// Says it on standard error, and with `--json` also as the document on standard output.
    pub fn print(&self, json: bool) {
        complain(&self.to_string());
        if json {
            // With the output closed there is nobody left to tell; the exit code says it.
            writeln!(std::io::stdout(), "{:#}", json!({ "error": self.document() })).ok();
        }
    }
}

/// Says what is wrong on standard error.
pub fn complain(message: &str) {
    // With standard error closed there is nobody left to tell; the exit code says it.
    writeln!(std::io::stderr(), "minifleet: {message}").ok();
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Service(error) => error.fmt(f),
            Failure::Own { message, .. } => f.write_str(message),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Service(error)
    }
}

impl From<minifleet_client::config::ConfigError> for Failure {
    fn from(error: minifleet_client::config::ConfigError) -> Self {
        Failure::Service(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_table_is_the_one_in_code() {
        let documentation = include_str!("../../../docs/command.md");
        for (exit, meaning) in TABLE {
            let row = format!("| {} | {meaning} |", exit.code());
            assert!(documentation.contains(&row), "docs/command.md lacks the row {row}");
        }
    }

    #[test]
    fn several_results_give_one_code() {
        use Exit::{Interrupted, JobFailed, Ok, Unavailable, Usage};
        assert_eq!(Exit::of_all([Ok, Ok]), Ok);
        assert_eq!(Exit::of_all([Ok, Unavailable, Unavailable]), Unavailable);
        assert_eq!(Exit::of_all([Usage, Unavailable, Ok]), JobFailed);
        assert_eq!(Exit::of_all([Unavailable, Interrupted, Ok]), Interrupted);
    }
}
