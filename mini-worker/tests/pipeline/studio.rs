//! Makes recordings with ffmpeg and runs the worker's offline pipeline on them, as a user does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder for one test's recordings and results; it goes away with it.
pub struct Studio {
    folder: tempfile::TempDir,
}

impl Studio {
    /// An empty one.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file as it is.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).expect("the file is written");
        self.path(name)
    }

    /// Makes a recording: ffmpeg's arguments between the command and the file's name.
    pub fn make(&self, name: &str, arguments: &str) -> PathBuf {
        let made = Command::new("ffmpeg")
            .args(["-hide_banner", "-v", "error", "-nostdin", "-y"])
            .args(arguments.split_whitespace())
            .arg(self.path(name))
            .output()
            .expect("ffmpeg is installed");
        assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
        self.path(name)
    }

    /// Restores recordings with one run of the worker, in their order.
    pub fn restore(&self, files: &[PathBuf], options: &[&str]) -> Vec<Restoration> {
        let output = self.run_restore(files, options);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_ne!(
            output.status.code(),
            Some(4),
            "the worker cannot start: {stderr}\nIf the model is missing: cargo run -p mini-worker -- models fetch"
        );
        let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
        let results: Vec<Restoration> = text
            .lines()
            .map(|line| Restoration(serde_json::from_str(line).expect("each line is JSON")))
            .collect();
        assert_eq!(results.len(), files.len(), "one line for each file; stderr: {stderr}");
        results
    }

    /// Runs `mini-worker restore` and gives all that it left behind.
    pub fn run_restore(&self, files: &[PathBuf], options: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_mini-worker"))
            .arg("restore")
            .args(files)
            .arg("-o")
            .arg(self.path("restored"))
            .arg("--json")
            .args(options)
            .output()
            .expect("the worker runs")
    }
}

/// What the worker said about one recording.
#[derive(Debug)]
pub struct Restoration(Value);

impl Restoration {
    /// The failure's code, or `ok`.
    pub fn code(&self) -> &str {
        if self.0["ok"] == true { "ok" } else { self.0["failure"]["code"].as_str().unwrap_or("no code") }
    }

    /// The failure's text.
    pub fn message(&self) -> &str {
        self.0["failure"]["message"].as_str().unwrap_or_default()
    }

    /// Length of the recording.
    pub fn seconds(&self) -> f64 {
        self.0["outcome"]["audioSeconds"].as_f64().expect("a length")
    }

    /// Its channels.
    pub fn channels(&self) -> u64 {
        self.0["outcome"]["channels"].as_u64().expect("channels")
    }

    /// A value of the answer, by JSON pointer.
    pub fn value(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).expect("the value is there")
    }

    /// A result's path.
    pub fn file(&self, name: &str) -> PathBuf {
        Path::new(self.0["folder"].as_str().expect("a folder")).join(name)
    }
}

/// Decodes a result with ffmpeg to samples of 16 bit, all channels after each other in time.
pub fn decoded(path: &Path) -> Vec<i16> {
    let output = Command::new("ffmpeg")
        .args(["-hide_banner", "-v", "error", "-nostdin", "-i"])
        .arg(path)
        .args(["-f", "s16le", "pipe:1"])
        .output()
        .expect("ffmpeg is installed");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout.as_chunks::<2>().0.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect()
}

/// Decodes a result of 24 bits to whole numbers, all channels after each other in time.
pub fn decoded_24(path: &Path) -> Vec<i32> {
    let output = Command::new("ffmpeg")
        .args(["-hide_banner", "-v", "error", "-nostdin", "-i"])
        .arg(path)
        .args(["-f", "s32le", "pipe:1"])
        .output()
        .expect("ffmpeg is installed");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes) >> 8).collect()
}

/// What ffprobe says of a result's only stream: codec, sample rate, channels.
pub fn described(path: &Path) -> String {
    let output = Command::new("ffprobe")
        .args([
            "-v",
            "error",
            "-select_streams",
            "a:0",
            "-show_entries",
            "stream=codec_name,sample_rate,channels",
        ])
        .args(["-of", "csv=p=0"])
        .arg(path)
        .output()
        .expect("ffprobe is installed");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned()
}
