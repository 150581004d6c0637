//! An hour against a minute: the worker's memory at its peak and after the job, and whether the hour's files are byte for byte
//! those of a restore that holds everything in memory at once. A fresh worker for each.

use super::{
    overlap::{Seen, Site, speech},
    report::{Options, Report, megabytes},
};
use conformance::{
    harness::{Keys, UplinkConditions},
    reference_run::restore_whole,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Everything that can be left behind.
const OUTPUTS: [&str; 4] = ["hls", "wav", "flac", "mp3"];

struct Run {
    seconds: u32,
    before: u64,
    peak: u64,
    after: u64,
    seen: Seen,
    files: Value,
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let lengths = if options.quick { [60, 300] } else { [60, 3_600] };
    let recordings = lengths.map(|seconds| speech(seconds, 0));
    let runs: Vec<Run> =
        lengths.iter().zip(&recordings).map(|(&seconds, recording)| measure(seconds, recording)).collect();
    let [short, long] = &runs[..] else { unreachable!("one run for each of two lengths") };
    let ratio = long.peak as f64 / short.peak as f64;
    let differing = differing_files(long, &recordings[1]);
    let row = |run: &Run| {
        let minutes = format!("{} min", run.seconds / 60);
        let complete = format!("{:.1} s", run.seen.complete);
        vec![minutes, megabytes(run.before), megabytes(run.peak), megabytes(run.after), complete]
    };
    Report {
        columns: vec!["recording", "before", "at the peak", "after", "complete"],
        rows: runs.iter().map(row).collect(),
        figure: format!(
            "{ratio:.2} times the memory; files that differ from a restore without streaming: {}",
            if differing.is_empty() { "none".to_owned() } else { differing.join(", ") }
        ),
        runs: runs
            .iter()
            .map(|run| json!({ "seconds": run.seconds, "beforeBytes": run.before, "peakBytes": run.peak, "afterBytes": run.after }))
            .collect(),
        goal: "at most 1.2 times, and the same bytes",
        met: ratio <= 1.2 && differing.is_empty(),
    }
}

fn measure(seconds: u32, recording: &[u8]) -> Run {
    let site = Site::start(UplinkConditions::default(), 6, "windows");
    let now = || site.worker.holdings().map_or(0, |holdings| holdings.memory_bytes);
    let before = now();
    let upload = site.upload(recording);
    let job = site.submit(&upload, &OUTPUTS);
    let seen = site.wait(&job);
    let files = site.edge.api(Keys::ACME).get(&format!("/v1/jobs/{job}/files")).expect(200).json();
    let peak = site.worker.peak_memory_bytes().unwrap_or_else(|| panic!("this bench needs Linux's /proc"));
    let run = Run { seconds, before, peak, after: now(), seen, files };
    eprintln!(
        "{seconds} s: {} MB at the peak, complete after {:.1} s",
        run.peak / 1_000_000,
        run.seen.complete
    );
    run
}

/// The final files of a job that are not the reference's.
fn differing_files(run: &Run, recording: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("recording");
    std::fs::write(&path, recording).expect("the folder can be written");
    let reference = restore_whole(&path, 1);
    let of =
        |content: &[u8]| -> String { Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect() };
    let expected = [
        ("restored.wav", of(&reference.wav)),
        ("restored.flac", of(&reference.flac)),
        ("restored.mp3", of(&reference.mp3)),
    ];
    let files = run.files["files"].as_array().into_iter().flatten();
    let found: Vec<(&str, &str)> = files
        .map(|file| (file["name"].as_str().unwrap_or(""), file["sha256"].as_str().unwrap_or("")))
        .collect();
    let is_missing = |(name, hash): &&(&str, String)| !found.contains(&(*name, hash.as_str()));
    expected.iter().filter(is_missing).map(|(name, _)| (*name).to_owned()).collect()
}
