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

/// A recording as FLAC of 16 bit: a long WAV is larger than one upload may be.
///
/// # Panics
/// As [`ffmpeg`].
pub fn to_flac(file: &Path) -> Vec<u8> {
    let path = file.to_str().expect("tests name their files in UTF-8");
    ffmpeg(&["-i", path, "-c:a", "flac", "-sample_fmt", "s16", "-f", "flac", "-"])
}

/// An HLS stream of real audio: AAC in fragmented MP4.
#[derive(Debug)]
pub struct HlsStream {
    /// The init segment.
    pub init: Vec<u8>,
    /// Bytes and length in milliseconds of every segment.
    pub segments: Vec<(Vec<u8>, u64)>,
}

/// A tone of so many seconds, in segments of two seconds.
///
/// # Panics
/// As [`ffmpeg`].
pub fn hls_tone(seconds: u32) -> HlsStream {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let tone = format!("sine=frequency=440:sample_rate=48000:duration={seconds}");
    ffmpeg(
        &[
            &["-f", "lavfi", "-i", &tone, "-c:a", "aac", "-b:a", "96k", "-f", "hls", "-hls_time", "2"][..],
            &[
                "-hls_playlist_type",
                "event",
                "-hls_segment_type",
                "fmp4",
                "-hls_fmp4_init_filename",
                "init.mp4",
            ],
            &["-hls_segment_filename", &path("seg-%05d.m4s"), &path("index.m3u8")],
        ]
        .concat(),
    );
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("ffmpeg wrote it");
    let playlist = String::from_utf8(read("index.m3u8")).expect("a playlist is text");
    let lengths =
        playlist.lines().filter_map(|line| line.strip_prefix("#EXTINF:")?.split(',').next()?.parse().ok());
    let names = playlist.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let segments = names
        .zip(lengths)
        .map(|(name, seconds): (&str, f64)| (read(name), (seconds * 1000.0).round() as u64))
        .collect();
    HlsStream { init: read("init.mp4"), segments }
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
