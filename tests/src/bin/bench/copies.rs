//! Two copies of the model, each with a job at a time, against one copy that four jobs share: the same jobs (decode, restore,
//! encode) on the same machine, each way in a process of its own.
//!
//! Where the model is what is scarce, a second copy only pays if the device can run two at once; and it costs its memory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use conformance::{harness::media, recordings::RecordingSet};
use mini_worker::inference::{Inference, InferenceConfig, RestoreSpec};
use mini_worker::storage::Bundle;
use serde_json::{Value, json};
use shared_protocol::Sampler;

use super::one_engine::{WINDOW, home};
use super::report::{Options, Report, median, megabytes, own_peak_memory_bytes};

/// The argument with which this program goes one way once.
pub const CHILD: &str = "--measure-copies";

/// Copies of the model, and jobs at once at each.
const WAYS: [(usize, usize); 3] = [(1, 1), (2, 1), (1, 4)];

/// Jobs in all.
const JOBS: usize = 8;

/// Measures.
pub fn run(options: &Options) -> Report {
    let (length, repetitions) = if options.quick { ("10s", 1) } else { ("60s", 3) };
    let mut runs: Vec<Value> = vec![];
    for round in 0..repetitions {
        let mut order = WAYS.to_vec();
        if round % 2 == 1 {
            order.reverse();
        }
        runs.extend(order.into_iter().map(|way| go(way, length)));
    }
    let of = |(copies, at_once): (usize, usize), value: &str| -> f64 {
        let own = runs.iter().filter(|run| run["copies"] == copies && run["atOnce"] == at_once);
        median(&own.filter_map(|run| run[value].as_f64()).collect::<Vec<_>>())
    };
    let row = |way: &(usize, usize)| {
        vec![
            way.0.to_string(),
            way.1.to_string(),
            format!("{:.1} s", of(*way, "seconds")),
            megabytes(of(*way, "peakMemoryBytes") as u64),
        ]
    };
    let rows = WAYS.iter().map(row).collect();
    let ratio = of(WAYS[1], "seconds") / of(WAYS[2], "seconds");
    Report {
        columns: vec!["copies of the model", "jobs at each", "all jobs done after", "peak memory"],
        rows,
        figure: format!("one shared copy is {ratio:.2} times as fast as two copies with a job each"),
        runs,
        goal: "none; whether a second copy pays is what is to be known",
        met: true,
    }
}

fn go((copies, at_once): (usize, usize), length: &str) -> Value {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(own);
    command.args([CHILD, &copies.to_string(), &at_once.to_string(), length]);
    let run = command.output().expect("this program can be run");
    let words = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{words}");
    serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
}

/// Goes one way once and prints a JSON object.
pub fn child(arguments: &mut impl Iterator<Item = String>) -> ExitCode {
    let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok());
    let (Some(copies), Some(at_once)) = (number(), number()) else { return ExitCode::from(2) };
    let Some(length) = arguments.next() else { return ExitCode::from(2) };
    let recording = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}")).long(&length);
    let runtime = tokio::runtime::Runtime::new().expect("the system has threads");
    let seconds = runtime.block_on(work(copies, at_once, recording));
    let document = json!({
        "copies": copies,
        "atOnce": at_once,
        "seconds": seconds,
        "peakMemoryBytes": own_peak_memory_bytes(),
    });
    println!("{document}");
    ExitCode::SUCCESS
}

/// Seconds until all jobs are done, with the copies loaded before.
async fn work(copies: usize, at_once: usize, recording: PathBuf) -> f64 {
    let mut engines = vec![];
    for _ in 0..copies {
        let bundle = Bundle::open(&home()).unwrap_or_else(|error| panic!("{error}"));
        let started = Inference::start(bundle, InferenceConfig::default()).await;
        engines.push(started.unwrap_or_else(|error| panic!("{error}")).0);
    }
    let begin = Instant::now();
    let lines = copies * at_once;
    let workers: Vec<_> = (0..lines)
        .map(|line| {
            let (inference, recording) = (engines[line % copies].clone(), recording.clone());
            let jobs = JOBS / lines;
            tokio::spawn(async move {
                for _ in 0..jobs {
                    one_job(&inference, &recording).await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("no job panics");
    }
    let seconds = begin.elapsed().as_secs_f64();
    for inference in engines {
        inference.stop().await;
    }
    seconds
}

async fn one_job(inference: &Inference, recording: &Path) {
    let path = recording.to_path_buf();
    let decoded = tokio::task::spawn_blocking(move || media::decode(&path, 48_000)).await;
    let audio = decoded.expect("the recording can be decoded");
    let spec = RestoreSpec {
        environment_rank: 0,
        sampler: Sampler::Flash,
        transcript: None,
        channels: 1,
        expected_samples: Some(audio.len() as u64),
    };
    let mut session = inference.open(spec).await.unwrap_or_else(|error| panic!("{error}"));
    let mut restored = vec![];
    for window in audio.chunks(WINDOW) {
        let part = session.restore(vec![window.to_vec()]).await.unwrap_or_else(|error| panic!("{error}"));
        restored.extend(part.audio.into_iter().flatten());
    }
    let rest = session.finish().await.unwrap_or_else(|error| panic!("{error}"));
    restored.extend(rest.audio.into_iter().flatten());
    let encoding = tokio::task::spawn_blocking(move || encode(&restored)).await;
    encoding.expect("the restored audio can be encoded");
}

/// Encodes as the worker's final files are.
fn encode(samples: &[f32]) {
    let mut ffmpeg = Command::new("ffmpeg")
        .args(["-v", "error", "-f", "f32le", "-ar", "48000", "-ac", "1", "-i", "pipe:0"])
        .args(["-f", "flac", "/dev/null", "-y", "-f", "mp3", "-q:a", "2", "/dev/null"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("ffmpeg can be run");
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let mut input = ffmpeg.stdin.take().expect("its input is piped");
    input.write_all(&bytes).expect("ffmpeg reads all of it");
    drop(input);
    assert!(ffmpeg.wait().expect("ffmpeg ends").success());
}
