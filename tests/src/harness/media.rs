//! Recordings made and read with ffmpeg: a second opinion on what the worker makes.

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Runs ffmpeg with these arguments; overwrites, and is quiet.
///
/// # Panics
/// It is not installed, or fails; the message has its words.
pub fn ffmpeg(arguments: &[&str]) -> Vec<u8> {
    run("ffmpeg", &[&["-hide_banner", "-loglevel", "error", "-nostdin", "-y"], arguments].concat())
}

/// Runs ffprobe on a file or an address and returns one entry, such as `format=duration`.
///
/// # Panics
/// As [`ffmpeg`].
pub fn ffprobe(source: &str, entry: &str) -> String {
    let arguments =
        ["-v", "error", "-show_entries", entry, "-of", "default=noprint_wrappers=1:nokey=1", source];
    String::from_utf8_lossy(&run("ffprobe", &arguments)).trim().to_owned()
}

/// Samples of a file, mixed to one channel, at `rate`.
///
/// # Panics
/// As [`ffmpeg`].
pub fn decode(file: &Path, rate: u32) -> Vec<f32> {
    let path = file.to_str().expect("tests name their files in UTF-8");
    let bytes = ffmpeg(&["-i", path, "-ac", "1", "-ar", &rate.to_string(), "-f", "f32le", "-"]);
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Root mean square in dB of full scale.
pub fn level_db(samples: &[f32]) -> f64 {
    let sum: f64 = samples.iter().map(|s| f64::from(*s).powi(2)).sum();
    10.0 * (sum / samples.len().max(1) as f64).max(1e-20).log10()
}

/// The level of the pauses: that of the quietest tenth of all stretches of 50 ms, in dB of full scale.
pub fn pause_level_db(samples: &[f32], rate: u32) -> f64 {
    let stretch = (rate / 20) as usize;
    let mut levels: Vec<f64> = samples.chunks_exact(stretch).map(level_db).collect();
    levels.sort_by(f64::total_cmp);
    let quietest = &levels[..(levels.len() / 10).max(1).min(levels.len())];
    quietest.iter().sum::<f64>() / quietest.len().max(1) as f64
}

fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be run ({error}): install ffmpeg"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {words}", arguments.join(" "));
    output.stdout
}
