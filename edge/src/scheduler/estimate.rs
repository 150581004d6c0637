//! What is guessed of a job's results before they are made. Guesses decide only about order and place; a wrong one costs
//! somebody a little waiting, never correctness.

use shared_protocol::OutputKind;

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
