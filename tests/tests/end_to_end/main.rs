//! The whole system as people meet it: the real command, the real worker with its model, ffmpeg, a real browser; the edge
//! under bare `workerd`.

#![allow(clippy::unwrap_used, reason = "whatever fails in here ends the test, which is right")]

mod bad_recordings;
mod crashes;
mod environments;
mod large_files;
mod listening;
mod quality;
mod restoring;
mod stems;
mod streaming;
mod transcribing;

use conformance::recordings::{Noisy, RecordingSet};
use std::path::PathBuf;

/// Recorded speech of 12 s in a loud recorded noise, with the clean speech that it was made from.
fn noisy_speech() -> Noisy {
    let mixtures = RecordingSet::ready().unwrap().noisy().unwrap();
    let loud = mixtures
        .into_iter()
        .filter(|mixture| mixture.speech == "en-novel" && !mixture.noise.contains("hall"));
    loud.min_by_key(|mixture| mixture.snr_db).expect("the set has the novel in noise")
}

/// A recording of that length: `10s`, `60s`, `10min`.
fn long(name: &str) -> PathBuf {
    RecordingSet::ready().unwrap().long(name)
}
