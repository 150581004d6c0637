//! What is guessed of a recording before anybody has decoded it. Guesses decide only about order and place; a wrong one
//! costs somebody a little waiting, never correctness.

use shared_protocol::OutputKind;

/// Bytes per second of 16-bit stereo at 48 kHz.
const PCM_BYTES_PER_SECOND: f64 = 192_000.0;
/// FLAC of speech: about half.
const FLAC_BYTES_PER_SECOND: f64 = 96_000.0;
/// 128 kbit/s, the usual rate of MP3, M4A and Opus speech.
const COMPRESSED_BYTES_PER_SECOND: f64 = 16_000.0;
/// Video carries about ten times its sound.
const VIDEO_BYTES_PER_SECOND: f64 = 160_000.0;

/// Seconds of audio in an upload, by its size and the ending of its name.
pub fn audio_seconds(size: u64, name: &str) -> f64 {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let rate = match ending.as_deref() {
        Some("wav" | "aif" | "aiff" | "w64" | "rf64" | "caf") => PCM_BYTES_PER_SECOND,
        Some("flac" | "alac" | "ape" | "wv") => FLAC_BYTES_PER_SECOND,
        Some("mp4" | "mov" | "mkv" | "webm" | "avi" | "m4v" | "mpg" | "ts") => VIDEO_BYTES_PER_SECOND,
        _ => COMPRESSED_BYTES_PER_SECOND,
    };
    size as f64 / rate
}

/// Bytes that the outputs of a second of mono audio take: 24-bit WAV 144 kB, FLAC of it 75 kB, MP3 and AAC 192 and 128 kbit/s.
pub fn output_bytes_per_second(outputs: &[OutputKind]) -> f64 {
    outputs
        .iter()
        .map(|kind| match kind {
            OutputKind::Wav => 144_000.0,
            OutputKind::Flac => 75_000.0,
            OutputKind::Mp3 => 24_000.0,
            OutputKind::Hls => 16_000.0,
            // They follow when the job is complete.
            OutputKind::Stems => 0.0,
        })
        .sum()
}

/// PUTs that the outputs take: one for each file, and one for each segment of about six seconds.
pub fn output_requests(outputs: &[OutputKind], audio_seconds: f64) -> f64 {
    let requests = |kind: &OutputKind| match kind {
        OutputKind::Hls => 2.0 + audio_seconds / 6.0,
        OutputKind::Wav | OutputKind::Flac | OutputKind::Mp3 => 1.0,
        OutputKind::Stems => 0.0,
    };
    outputs.iter().map(requests).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_guessed_as_about_a_minute_whatever_its_format() {
        assert_eq!(audio_seconds(11_520_000, "Talk.WAV"), 60.0);
        assert_eq!(audio_seconds(960_000, "talk.mp3"), 60.0);
        assert_eq!(audio_seconds(960_000, "no ending"), 60.0);
    }
}
