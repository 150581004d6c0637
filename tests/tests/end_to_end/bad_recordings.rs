//! Files that cannot be restored, or only just: each gets a clear answer, and the worker goes on.

use conformance::harness::{Edge, Keys, WorkerProcess, media, start_restore};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::noisy_speech;

const JOB_PATIENCE: Duration = Duration::from_secs(120);

/// Runs jobs for files of its own making on one edge and one worker.
struct Bench {
    edge: Edge,
    worker: WorkerProcess,
    folder: tempfile::TempDir,
}

impl Bench {
    fn start() -> Self {
        let edge = Edge::start();
        let worker = WorkerProcess::start(&edge, "mini-1");
        Self { edge, worker, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make(&self, name: &str, arguments: &[&str]) -> PathBuf {
        let path = self.path(name);
        media::ffmpeg(&[arguments, &[path.to_str().unwrap()]].concat());
        path
    }

    fn end_of(&self, name: &str, content: &[u8]) -> Value {
        let api = self.edge.api(Keys::ACME);
        let body = json!({ "uploadId": api.upload(name, content) });
        let id = api.post("/v1/jobs", &body).expect(201).json()["jobId"].as_str().unwrap().to_owned();
        conformance::harness::until(&format!("{name} to end"), JOB_PATIENCE, || {
            let job = api.job(&id);
            job["endedAtMs"].is_u64().then_some(job)
        })
    }

    fn fails(&self, name: &str, content: &[u8], code: &str) {
        let job = self.end_of(name, content);
        assert_eq!(
            (&job["state"], &job["failure"]["code"]),
            (&json!("failed"), &json!(code)),
            "{name}: {job}"
        );
        assert_eq!(job["attempt"], 1, "{name}: trying again cannot help: {job}");
        for text in ["message", "advice"] {
            assert!(job["failure"][text].as_str().is_some_and(|text| text.len() > 15), "{name}: {job}");
        }
    }

    /// Restores a file and returns the restored samples at 48 kHz.
    fn restores(&self, name: &str, path: &Path) -> Vec<f32> {
        let job = self.end_of(name, &std::fs::read(path).unwrap());
        assert_eq!(job["state"], "completed", "{name}: {job}");
        let api = self.edge.api(Keys::ACME);
        let file =
            api.get(&format!("/v1/jobs/{}/files/restored.wav", job["jobId"].as_str().unwrap())).expect(200);
        let restored = self.path("restored.wav");
        std::fs::write(&restored, file.body).unwrap();
        media::decode(&restored, 48_000)
    }
}

/// A WAV header that says it has no channels.
fn wav_without_channels() -> Vec<u8> {
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend(1036_u32.to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    wav.extend([1, 0, 0, 0]);
    wav.extend(48_000_u32.to_le_bytes());
    wav.extend([0, 0, 0, 0, 0, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(1000_u32.to_le_bytes());
    wav.extend([7; 1000]);
    wav
}

#[test]
fn files_that_are_no_recordings_fail_with_their_code_and_the_worker_goes_on() {
    let mut bench = Bench::start();
    bench.fails("notes.wav", &b"This is a text that calls itself WAV.\n".repeat(50), "not_media");
    bench.fails("one-byte.mp3", b"x", "not_media");
    let video = bench.make(
        "silent-film.mp4",
        &["-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=10", "-c:v", "mpeg4", "-an"],
    );
    bench.fails("silent-film.mp4", &std::fs::read(video).unwrap(), "no_audio");
    let job = bench.end_of("no-channels.wav", &wav_without_channels());
    assert_eq!(job["state"], "failed", "{job}");
    let code = job["failure"]["code"].as_str().unwrap();
    assert!(["not_media", "no_audio", "undecodable"].contains(&code), "{job}");

    // The next recording is restored as if nothing had been.
    let good = noisy_speech().path;
    assert_eq!(bench.restores("good.wav", &good).len(), media::decode(&good, 48_000).len());
    assert!(bench.worker.is_running());
}

#[test]
fn an_empty_file_is_refused_before_it_is_sent() {
    let edge = Edge::start();
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.wav");
    std::fs::write(&empty, b"").unwrap();
    let result = start_restore(&edge.origin(), &empty, folder.path()).wait();
    assert_eq!(result.code, 2, "{}", result.document);
    assert!(result.document.to_string().contains("empty"), "it says which file and why: {}", result.document);
}

#[test]
fn odd_recordings_come_back_whole_at_their_own_length() {
    let mut bench = Bench::start();
    let tone = |seconds: &str, rate: u32| format!("sine=frequency=300:sample_rate={rate}:duration={seconds}");

    let short = bench.make("short.wav", &["-f", "lavfi", "-i", &tone("0.01", 48_000)]);
    assert_eq!(bench.restores("short.wav", &short).len(), 480, "0.01 s");

    let silence = bench.make("silence.wav", &["-f", "lavfi", "-i", "anullsrc=r=48000:cl=mono", "-t", "3"]);
    let restored = bench.restores("silence.wav", &silence);
    assert_eq!(restored.len(), 3 * 48_000);
    assert!(media::level_db(&restored) < -80.0, "silence stays silent: {} dB", media::level_db(&restored));

    let fine = bench.make("fine.wav", &["-f", "lavfi", "-i", &tone("2", 192_000)]);
    assert!(bench.restores("fine.wav", &fine).len().abs_diff(2 * 48_000) <= 48, "192 kHz");

    let many = bench.make(
        "eight.wav",
        &[
            "-f",
            "lavfi",
            "-i",
            &tone("2", 48_000),
            "-af",
            "pan=7.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0|c6=c0|c7=c0",
        ],
    );
    assert_eq!(bench.restores("eight.wav", &many).len(), 2 * 48_000, "8 channels");
    assert!(bench.worker.is_running());
}

#[test]
fn a_recording_that_breaks_off_is_restored_as_far_as_it_goes() {
    let bench = Bench::start();
    let noisy = noisy_speech().path;
    let whole = bench.make("whole.mp3", &["-i", noisy.to_str().unwrap(), "-b:a", "128k"]);
    let bytes = std::fs::read(&whole).unwrap();
    let half = bench.path("half.mp3");
    std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    let restored = bench.restores("half.mp3", &half);
    let seconds = restored.len() as f64 / 48_000.0;
    let expected = media::decode(&half, 48_000).len() as f64 / 48_000.0;
    assert!((seconds - expected).abs() < 0.1, "{seconds} s of {expected} s");
}
