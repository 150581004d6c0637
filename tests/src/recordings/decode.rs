//! Decoding through ffmpeg.

use super::RecordingsError;
use super::wav::SAMPLE_RATE;
use std::path::Path;
use std::process::{Command, Stdio};

/// Decodes any sound file to mono at 48 kHz. Where the rate differs, ffmpeg's resampler converts it.
pub fn mono(path: &Path) -> Result<Vec<f32>, RecordingsError> {
    decode(path, SAMPLE_RATE)
}

/// Decodes any sound file to mono at a rate of the caller's choice.
pub fn decode(path: &Path, sample_rate: u32) -> Result<Vec<f32>, RecordingsError> {
    let output = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-i"])
        .arg(path)
        .args(["-map", "0:a:0", "-ac", "1", "-ar", &sample_rate.to_string(), "-f", "f32le", "pipe:1"])
        .stdin(Stdio::null())
        .output()
        .map_err(|source| RecordingsError::NoProgram { program: "ffmpeg".into(), source })?;
    if !output.status.success() || output.stdout.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(RecordingsError::Decode { path: path.to_owned(), said });
    }
    Ok(output.stdout.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}
