//! What the benches of overlapping jobs have in common: a real worker behind an emulated line, and what its jobs' clients see.

use conformance::{
    harness::{Edge, Keys, Uplink, UplinkConditions, WorkerProcess, WorkerSetup, media, until},
    recordings::RecordingSet,
};
use serde_json::{Value, json};
use std::time::Duration;

/// What is waited at most for a whole job.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// An edge, a line, and a worker at its far end.
pub struct Site {
    /// The edge.
    pub edge: Edge,
    /// The line.
    pub uplink: Uplink,
    /// The worker.
    pub worker: WorkerProcess,
}

/// A job as its client saw it, seconds since it was submitted, and where the time went.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The first segment could be played.
    pub first_audio: f64,
    /// It was complete.
    pub complete: f64,
    /// When it was submitted and complete, milliseconds of the edge's clock.
    pub span_ms: (u64, u64),
    /// Seconds that the model worked.
    pub computed: f64,
    /// Seconds that its first window waited for the model.
    pub waited: f64,
    /// The job's document.
    pub document: Value,
}

impl Site {
    /// Starts everything.
    pub fn start(conditions: UplinkConditions, slots: u32, scheduling: &str) -> Self {
        let edge = Edge::start();
        let uplink = Uplink::start(edge.port(), conditions);
        let worker = WorkerSetup::new("bench")
            .slots(slots)
            .setting(&format!("scheduling = {scheduling:?}"))
            .environment("bench", &uplink.origin())
            .start_connected(&edge);
        Self { edge, uplink, worker }
    }

    /// Uploads a recording past the line; returns its upload's id.
    pub fn upload(&self, recording: &[u8]) -> String {
        self.edge.api(Keys::ACME).upload("talk.flac", recording)
    }

    /// Submits a job; returns its id.
    pub fn submit(&self, upload: &str, outputs: &[&str]) -> String {
        let body = json!({ "uploadId": upload, "outputs": outputs });
        let job = self.edge.api(Keys::ACME).post("/v1/jobs", &body).expect(201).json();
        job["jobId"].as_str().expect("a job has an id").to_owned()
    }

    /// Waits for the end of a job.
    pub fn wait(&self, id: &str) -> Seen {
        let api = self.edge.api(Keys::ACME);
        let document = until(&format!("{id} to be completed"), PATIENCE, || {
            let job = api.job(id);
            assert_ne!(job["state"], "failed", "{job}\n{}", self.worker.log());
            (job["state"] == "completed").then_some(job)
        });
        Seen::of(document)
    }

    /// Runs one job for each recording, all submitted at once; returns what was seen of them and how long all took.
    pub fn burst(&self, recordings: &[Vec<u8>], outputs: &[&str]) -> (Vec<Seen>, f64) {
        let uploads: Vec<String> = recordings.iter().map(|recording| self.upload(recording)).collect();
        let ids: Vec<String> = uploads.iter().map(|upload| self.submit(upload, outputs)).collect();
        let seen: Vec<Seen> = ids.iter().map(|id| self.wait(id)).collect();
        let begin = seen.iter().map(|seen| seen.span_ms.0).min().unwrap_or(0);
        let end = seen.iter().map(|seen| seen.span_ms.1).max().unwrap_or(0);
        (seen, (end - begin) as f64 / 1_000.0)
    }
}

impl Seen {
    fn of(document: Value) -> Self {
        let time = |name: &str| document[name].as_u64().unwrap_or(0);
        let since = |name: &str| (time(name) - time("createdAtMs")) as f64 / 1_000.0;
        let number = |name: &str| document[name].as_f64().unwrap_or(0.0);
        Self {
            first_audio: since("firstAudioAtMs"),
            complete: since("endedAtMs"),
            span_ms: (time("createdAtMs"), time("endedAtMs")),
            computed: number("realTimeFactor") * number("audioSeconds"),
            waited: first_wait(&document),
            document,
        }
    }
}

/// How long the first window waited: from the first wait to the first work, if the wait came first. Waits below 10 ms are not
/// told.
fn first_wait(document: &Value) -> f64 {
    let first = |phase: &str| intervals(document, phase).first().map(|interval| interval.0);
    match (first("inference_wait"), first("inference")) {
        (Some(asked), Some(began)) if asked <= began => began - asked,
        _ => 0.0,
    }
}

fn intervals(document: &Value, phase: &str) -> Vec<(f64, f64)> {
    let timings = document["timings"].as_array().into_iter().flatten();
    let seconds = |timing: &Value, name: &str| timing[name].as_f64().unwrap_or(0.0) / 1_000.0;
    timings
        .filter(|timing| timing["phase"] == phase)
        .map(|timing| (seconds(timing, "startMs"), seconds(timing, "endMs")))
        .collect()
}

/// Longer recordings are MP3: as FLAC they would be larger than one upload may be.
const LONGEST_FLAC_SECONDS: u32 = 1_200;

/// A recording of speech of so many seconds, from a place of the set's ten minutes that differs with `part`.
pub fn speech(seconds: u32, part: u32) -> Vec<u8> {
    let set = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}"));
    let long = set.long("10min");
    let path = long.to_str().expect("the set's names are UTF-8");
    let format = if seconds > LONGEST_FLAC_SECONDS {
        ["-c:a", "libmp3lame", "-b:a", "128k", "-f", "mp3"]
    } else {
        ["-c:a", "flac", "-sample_fmt", "s16", "-f", "flac"]
    };
    let (seconds, start) = (seconds.to_string(), (part * 31 % 500).to_string());
    let input = ["-stream_loop", "-1", "-ss", &start, "-i", path, "-t", &seconds];
    media::ffmpeg(&[&input[..], &format, &["-"]].concat())
}
