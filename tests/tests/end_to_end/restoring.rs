//! One recording in, restored files out.

use conformance::harness::{Edge, Keys, WorkerProcess, media, start_restore};
use std::path::Path;

use crate::noisy_speech;

const RATE: u32 = 48_000;

/// How much closer to the clean speech the restored recording is than the noisy one, in dB of the scale-invariant
/// signal-to-distortion ratio (Le Roux et al., 2019).
fn si_sdr_db(estimate: &[f32], clean: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let scale = dot(estimate, clean) / dot(clean, clean);
    let error: f64 =
        estimate.iter().zip(clean).map(|(e, c)| (f64::from(*e) - scale * f64::from(*c)).powi(2)).sum();
    10.0 * (scale * scale * dot(clean, clean) / error).log10()
}

#[test]
fn a_noisy_recording_comes_back_restored_in_every_format_and_can_be_heard_by_a_link() {
    let noisy = noisy_speech();
    let edge = Edge::start();
    let mut worker = WorkerProcess::start(&edge, "mini-1");
    let output = tempfile::tempdir().unwrap();
    let result = start_restore(&edge.origin(), &noisy.path, output.path()).wait();
    assert_eq!(result.code, 0, "{}\n{}", result.document, result.messages);
    let restored = &result.document["results"][0];
    assert_eq!(restored["outcome"], "restored");
    let path = |name: &str| {
        let files = restored["files"].as_array().unwrap();
        let file =
            files.iter().find(|file| file["name"] == name).unwrap_or_else(|| panic!("no {name}: {files:?}"));
        Path::new(file["path"].as_str().unwrap()).to_owned()
    };

    let before = media::decode(&noisy.path, RATE);
    let clean = media::decode(&noisy.clean, RATE);
    let after = media::decode(&path("restored.wav"), RATE);
    assert_eq!(after.len(), before.len(), "not a sample more or less");
    let (pause_before, pause_after) =
        (media::pause_level_db(&before, RATE), media::pause_level_db(&after, RATE));
    assert!(
        pause_after < pause_before - 10.0,
        "the pauses are quieter: {pause_before:.1} dB, then {pause_after:.1} dB"
    );
    let (level_before, level_after) = (media::level_db(&before), media::level_db(&after));
    assert!(
        (level_after - level_before).abs() < 12.0,
        "a sane level: {level_before:.1} dB, then {level_after:.1} dB"
    );
    assert!(after.iter().all(|sample| sample.abs() <= 1.0), "nothing is clipped");
    let (sdr_before, sdr_after) = (si_sdr_db(&before, &clean), si_sdr_db(&after, &clean));
    println!(
        "SI-SDR {sdr_before:.1} dB, then {sdr_after:.1} dB; pauses {pause_before:.1} dB, then {pause_after:.1} dB"
    );
    assert!(
        sdr_after > sdr_before + 1.0,
        "closer to the clean speech: {sdr_before:.1} dB, then {sdr_after:.1} dB"
    );

    // The other formats are the same sound. MP3 pads, so it may be a little longer.
    let flac = media::decode(&path("restored.flac"), RATE);
    assert_eq!(flac.len(), after.len());
    assert!(flac.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-4), "FLAC is lossless");
    let mp3 = media::decode(&path("restored.mp3"), RATE);
    assert!(mp3.len().abs_diff(after.len()) < 4_800, "{} and {}", mp3.len(), after.len());
    assert!((media::level_db(&mp3) - level_after).abs() < 1.0);

    // The link plays without a key, whole, and the stream is the same sound.
    let link = restored["listen"]["url"].as_str().unwrap();
    let duration: f64 = media::ffprobe(link, "format=duration").parse().unwrap();
    assert!((duration - after.len() as f64 / f64::from(RATE)).abs() < 0.1, "{duration}");
    let stream = output.path().join("stream.wav");
    media::ffmpeg(&["-i", link, stream.to_str().unwrap()]);
    let stream = media::decode(&stream, RATE);
    assert!((media::level_db(&stream) - level_after).abs() < 1.0);

    let job = edge.api(Keys::ACME).job(restored["jobId"].as_str().unwrap());
    assert_eq!(job["state"], "completed");
    assert_eq!(job["worker"], "mini-1");
    assert!(
        (job["audioSeconds"].as_f64().unwrap() - after.len() as f64 / f64::from(RATE)).abs() < 0.01,
        "{job}"
    );
    assert!(job["firstAudioAtMs"].as_u64() < job["endedAtMs"].as_u64(), "heard before the end: {job}");
    assert!(!job["timings"].as_array().unwrap().is_empty());
    assert!(worker.is_running());
}
