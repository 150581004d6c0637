//! The command `minifleet`, run as people run it.

use serde_json::Value;
use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use super::{Key, Keys, program, workerd::end_with_this_thread};

/// What a run of the command came to.
#[derive(Debug)]
pub struct CommandResult {
    /// The exit code.
    pub code: i32,
    /// The JSON document on standard output.
    pub document: Value,
    /// Standard error.
    pub messages: String,
}

/// A running command.
#[derive(Debug)]
pub struct RunningCommand(Child);

/// Starts `minifleet ARGUMENTS --json` against an edge at `origin`. It may outlive a restart of the edge.
///
/// # Panics
/// It was not built, or cannot be started.
pub fn start_minifleet(origin: &str, key: Key, arguments: &[&Path]) -> RunningCommand {
    let mut command = Command::new(program("minifleet"));
    command
        .args(arguments)
        .args(["--json", "--progress", "json"])
        .env("MINIFLEET_URL", origin)
        .env("MINIFLEET_API_KEY", key.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    end_with_this_thread(&mut command);
    RunningCommand(command.spawn().expect("minifleet can be run"))
}

/// Starts the restoration of a recording into a folder.
///
/// # Panics
/// As [`start_minifleet`].
pub fn start_restore(origin: &str, recording: &Path, output: &Path) -> RunningCommand {
    start_minifleet(origin, Keys::ACME, &[Path::new("restore"), recording, Path::new("-o"), output])
}

impl RunningCommand {
    /// Waits for its end.
    ///
    /// # Panics
    /// It ended by a signal, or printed something else than one JSON document.
    pub fn wait(self) -> CommandResult {
        let output = self.0.wait_with_output().expect("a child can be waited for");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let document = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("not one JSON document ({error}): {text}\n{messages}"));
        CommandResult { code: output.status.code().expect("it ended by itself"), document, messages }
    }
}
