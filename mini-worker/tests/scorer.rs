//! The scorer gives the figures of its authors' reference program. Needs ffmpeg and the model
//! (`mini-worker models fetch`).

use mini_worker::scorer::{ScoreError, Scorer, ScorerModel, Scores};
use mini_worker::storage::{Bundle, Home, bundle};
use std::path::PathBuf;
use std::process::Command;

/// The demonstration that the repository ships: 11 s of speech.
fn demonstration() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/recordings/demo/inaugural.flac")
}

fn samples_16k() -> Vec<f32> {
    let output = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-i"])
        .arg(demonstration())
        .args(["-ac", "1", "-ar", "16000", "-f", "f32le", "pipe:1"])
        .output()
        .expect("ffmpeg is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn scorer() -> Scorer {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    let model = bundle::scorer(&home).unwrap_or_else(|error| panic!("{error}"));
    let runtime = Bundle::open(&home).unwrap_or_else(|error| panic!("{error}")).runtime().clone();
    Scorer::load(ScorerModel::dnsmos(model), &runtime).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_close(found: Scores, [overall, signal, background]: [f64; 3]) {
    let expected = Scores { overall, signal, background };
    let off = found - expected;
    let furthest = off.overall.abs().max(off.signal.abs()).max(off.background.abs());
    assert!(furthest < 1e-4, "{found:?} instead of {expected:?}");
}

/// The figures are those of the package `speechmos` 0.0.1.1: `dnsmos.run(samples, sr=16000)`.
#[test]
fn scores_are_those_of_the_reference_program() {
    let samples = samples_16k();
    let mut scorer = scorer();
    assert_close(scorer.score(&samples, 1).unwrap(), [2.715_040_468, 3.475_761_168, 2.989_247_875]);

    // Four seconds of it at a tenth of the level: repeated until they fill a stretch.
    let short: Vec<f32> = samples[32_000..96_000].iter().map(|sample| sample * 0.1).collect();
    assert_close(scorer.score(&short, 1).unwrap(), [2.418_110_575, 2.929_857_518, 3.368_260_821]);
}

#[test]
fn what_cannot_be_scored_is_refused_and_the_scorer_goes_on() {
    let mut scorer = scorer();
    assert!(matches!(scorer.score(&[], 1), Err(ScoreError::Empty)));
    assert!(matches!(scorer.score(&[0.0, f32::NAN], 1), Err(ScoreError::NotFinite(1))));
    assert!(matches!(scorer.score(&[0.0; 10], 0), Err(ScoreError::HopTooShort)));
    let silence = scorer.score(&vec![0.0; 16_000], 1).unwrap();
    assert!(silence.overall.is_finite() && silence.overall < 3.0);
}
