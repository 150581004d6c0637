//! How long somebody waits who has just uploaded a recording: until the first restored audio could be heard, which is when
//! a client has fetched and decoded a segment, and until everything is there. Edge under bare `workerd`, real worker, one
//! fresh worker for each length, so that its peak of memory is that length's own.

use conformance::{
    harness::{Api, Edge, Keys, WorkerProcess, media, until},
    recordings::RecordingSet,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use super::report::{Options, Report, median, megabytes};

/// What is waited at most for a whole job.
const PATIENCE: Duration = Duration::from_secs(900);

/// One job, as its client saw it.
struct Run {
    first_audio_seconds: f64,
    end_seconds: f64,
    real_time_factor: f64,
    job: Value,
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let set = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}"));
    let lengths: &[&str] = if options.quick { &["10s"] } else { &["10s", "60s", "10min"] };
    let repetitions = if options.quick { 1 } else { 3 };
    let mut report = Report {
        columns: vec![
            "recording",
            "first audio",
            "slowest",
            "complete",
            "real-time factor",
            "worker's peak memory",
        ],
        rows: vec![],
        runs: vec![],
        figure: String::new(),
        goal: "the first audio of any length within 3 s of the upload's end",
        met: false,
    };
    let mut worst: f64 = 0.0;
    for length in lengths {
        let recording = media::to_flac(&set.long(length));
        let edge = Edge::start();
        let worker = WorkerProcess::start(&edge, "bench");
        let api = edge.api(Keys::ACME);
        let runs: Vec<Run> = (0..repetitions).map(|_| one_job(&api, &recording)).collect();
        let of = |value: fn(&Run) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
        let first_audio = of(|run| run.first_audio_seconds);
        let slowest = first_audio.iter().copied().fold(0.0, f64::max);
        worst = worst.max(median(&first_audio));
        let memory = worker.peak_memory_bytes().unwrap_or(0);
        eprintln!("{length}: first audio after {first_audio:.2?} s");
        report.rows.push(vec![
            (*length).to_owned(),
            format!("{:.2} s", median(&first_audio)),
            format!("{slowest:.2} s"),
            format!("{:.2} s", median(&of(|run| run.end_seconds))),
            format!("{:.3}", median(&of(|run| run.real_time_factor))),
            megabytes(memory),
        ]);
        report.runs.extend(runs.into_iter().map(|run| {
            json!({
                "recording": length,
                "firstAudioSeconds": run.first_audio_seconds,
                "completeSeconds": run.end_seconds,
                "realTimeFactor": run.real_time_factor,
                "workerPeakMemoryBytes": memory,
                "timings": run.job["timings"],
            })
        }));
    }
    report.figure = format!("{worst:.2} s");
    report.met = worst <= 3.0;
    report
}

fn one_job(api: &Api, recording: &[u8]) -> Run {
    let upload = api.upload("recording.flac", recording);
    let uploaded = Instant::now();
    let job = api.post("/v1/jobs", &json!({ "uploadId": upload })).expect(201).json();
    let id = job["jobId"].as_str().expect("a job has an id").to_owned();
    let base = format!("/v1/jobs/{id}/hls");
    let playlist = until("the first segment", PATIENCE, || {
        let answer = api.playlist(&id);
        (answer.status == 200).then(|| answer.text())
    });
    let init = playlist
        .lines()
        .find_map(|line| line.strip_prefix("#EXT-X-MAP:URI=\"")?.strip_suffix('"'))
        .expect("a playlist names its init segment");
    let segment = playlist.lines().find(|line| !line.starts_with('#')).expect("a playlist lists a segment");
    let mut stream = api.get(&format!("{base}/{init}")).expect(200).body;
    stream.extend(api.get(&format!("{base}/{segment}")).expect(200).body);
    let file = tempfile::NamedTempFile::with_suffix(".mp4").expect("a temporary file");
    std::fs::write(file.path(), stream).expect("a temporary file can be written");
    let heard = media::decode(file.path(), 48_000).len();
    let first_audio_seconds = uploaded.elapsed().as_secs_f64();
    assert!(heard > 4_800, "the first segment decodes to {heard} samples only");
    let job = api.wait_for_within(&id, "completed", PATIENCE);
    Run {
        first_audio_seconds,
        end_seconds: uploaded.elapsed().as_secs_f64(),
        real_time_factor: job["realTimeFactor"].as_f64().unwrap_or(f64::NAN),
        job,
    }
}
