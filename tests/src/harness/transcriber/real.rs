//! The real recogniser, as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::harness::workerd::end_with_this_thread;
use crate::harness::{home, repository};

/// A running `scripts/transcriber/server.py`. It ends with this value.
#[derive(Debug)]
pub struct Transcriber {
    process: Child,
    url: String,
}

impl Transcriber {
    /// Starts it and waits until its model is loaded. Callers have to send `key`, unless it is empty.
    ///
    /// # Panics
    /// It does not come up; the message says what to install.
    pub fn start(key: &str) -> Self {
        let python = home().join("transcriber/bin/python");
        assert!(python.exists(), "{} is missing: run scripts/setup-transcriber", python.display());
        let mut command = Command::new(python);
        command
            .arg(repository().join("scripts/transcriber/server.py"))
            .args(["--port", "0", "--threads", "1"])
            .env("TRANSCRIBER_KEY", key)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        end_with_this_thread(&mut command);
        let mut process = command.spawn().expect("python can be run");
        let stdout = process.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("what it prints is text");
        let url = line.trim().strip_prefix("listening at ").map(str::to_owned);
        let url = url.unwrap_or_else(|| panic!("the recogniser does not come up; it says {line:?}"));
        Self { process, url }
    }

    /// Its address, for `TRANSCRIPTION_URL`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Transcriber {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}
