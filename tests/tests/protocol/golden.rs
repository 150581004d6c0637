//! Every message type has a golden file, which is read as exactly the value written here and written as exactly that JSON.
//! A change that breaks one of these breaks workers in the field: add fields, never change them.

use serde::{Serialize, de::DeserializeOwned};
use shared_protocol::*;
use std::fmt::Debug;

use crate::{golden_json, golden_names};

fn job() -> JobId {
    JobId::new("job_7Q2m").unwrap()
}

fn message_id(last: &str) -> MessageId {
    MessageId::new(format!("01934f6a-9b10-7c11-8a2f-1d3b5f7a9c{last}")).unwrap()
}

fn segment(sequence: u32, duration_ms: u64, size: u64) -> HlsSegment {
    HlsSegment { sequence, duration_ms: DurationMs(duration_ms), size }
}

fn file(name: &str, kind: OutputKind, size: u64, sha256: &str, content_type: &str) -> PublishedFile {
    PublishedFile { name: name.into(), kind, size, sha256: sha256.into(), content_type: content_type.into() }
}

fn timing(phase: &str, start_ms: u64, end_ms: u64) -> PhaseTiming {
    PhaseTiming { phase: phase.into(), start_ms: DurationMs(start_ms), end_ms: DurationMs(end_ms) }
}

/// Golden file and value of everything that a worker says.
fn worker_messages() -> Vec<(&'static str, WorkerMessage)> {
    let attempt = Attempt(1);
    vec![
        (
            "worker/hello",
            WorkerMessage::Hello(Hello {
                protocol: ProtocolVersion(1),
                worker_id: WorkerId::new("mini-1").unwrap(),
                boot_id: BootId::new("01934f6a-7c3e-7a52-9d1b-0f2e4c6a8b01").unwrap(),
                version: "0.1.0".into(),
                slots: 6,
                samplers: vec![Sampler::Flash, Sampler::Pro],
                engine: "onnx-cpu".into(),
                labels: vec!["gpu".into(), "studio-2".into()],
                priority: -1,
            }),
        ),
        (
            "worker/ready",
            WorkerMessage::Ready(Ready {
                slots: 5,
                job_ids: vec![RunningAttempt { job_id: job(), attempt: Attempt(2) }],
                backlog_seconds: 12.5,
                draining: false,
                speeds: vec![
                    SamplerSpeed { sampler: Sampler::Flash, audio_seconds_per_second: 34.5 },
                    SamplerSpeed { sampler: Sampler::Pro, audio_seconds_per_second: 11.0 },
                ],
                link: Some(LinkReport {
                    download_bytes_per_second: 48.0e6,
                    upload_bytes_per_second: 4.75e6,
                    request_seconds: 0.35,
                }),
            }),
        ),
        (
            "worker/ready.draining",
            WorkerMessage::Ready(Ready {
                slots: 0,
                job_ids: vec![],
                backlog_seconds: 0.0,
                draining: true,
                speeds: vec![],
                link: None,
            }),
        ),
        ("worker/ping", WorkerMessage::Ping(Ping { sequence: 41, backlog_seconds: 3.25 })),
        ("worker/job.accept", WorkerMessage::Accept(Accept { job_id: job(), attempt })),
        (
            "worker/job.reject",
            WorkerMessage::Reject(Reject { job_id: job(), attempt, reason: RejectReason::NoSlot }),
        ),
        (
            "worker/job.reject.draining",
            WorkerMessage::Reject(Reject { job_id: job(), attempt, reason: RejectReason::Draining }),
        ),
        (
            "worker/job.reject.unsupported",
            WorkerMessage::Reject(Reject { job_id: job(), attempt, reason: RejectReason::Unsupported }),
        ),
        (
            "worker/job.progress.downloading",
            WorkerMessage::Progress(Progress {
                job_id: job(),
                attempt,
                phase: Phase::Downloading,
                fraction: 0.05,
                audio_seconds: None,
                segments: vec![],
            }),
        ),
        (
            "worker/job.progress",
            WorkerMessage::Progress(Progress {
                job_id: job(),
                attempt,
                phase: Phase::Restoring,
                fraction: 0.42,
                audio_seconds: Some(61.3),
                segments: vec![segment(0, 4000, 65_210), segment(1, 4000, 64_988)],
            }),
        ),
        (
            "worker/job.complete",
            WorkerMessage::Complete(Complete {
                message_id: message_id("02"),
                job_id: job(),
                attempt,
                segments: vec![segment(0, 4000, 65_210), segment(1, 2300, 37_404)],
                outcome: JobOutcome {
                    files: vec![
                        file(
                            "restored.wav",
                            OutputKind::Wav,
                            907_244,
                            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                            "audio/wav",
                        ),
                        file(
                            "restored.flac",
                            OutputKind::Flac,
                            514_020,
                            "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
                            "audio/flac",
                        ),
                        file(
                            "restored.mp3",
                            OutputKind::Mp3,
                            151_404,
                            "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13",
                            "audio/mpeg",
                        ),
                    ],
                    hls_segments: 2,
                    audio_seconds: 6.3,
                    channels: 1,
                    real_time_factor: 0.031,
                    timings: vec![
                        timing("downloading", 0, 80),
                        timing("inference", 120, 315),
                        timing("uploading", 260, 640),
                    ],
                },
            }),
        ),
        (
            "worker/job.failed",
            WorkerMessage::Failed(Failed {
                message_id: message_id("03"),
                job_id: job(),
                attempt,
                failure: JobFailure::new(FailureCode::NoAudio, "holiday.mp4 has 1 stream: video (h264)"),
            }),
        ),
        (
            "worker/job.cancelled",
            WorkerMessage::Cancelled(Cancelled { message_id: message_id("04"), job_id: job(), attempt }),
        ),
        (
            "worker/job.stems",
            WorkerMessage::Stems(Stems {
                message_id: message_id("05"),
                job_id: job(),
                attempt,
                files: vec![StemFile {
                    name: "speech.flac".into(),
                    size: 498_112,
                    sha256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae".into(),
                }],
                failure: None,
            }),
        ),
        (
            "worker/job.stems.failed",
            WorkerMessage::Stems(Stems {
                message_id: message_id("06"),
                job_id: job(),
                attempt,
                files: vec![],
                failure: Some(JobFailure::new(FailureCode::DiskFull, "no space left for background.flac")),
            }),
        ),
        (
            "worker/job.quality",
            WorkerMessage::Quality(Quality {
                message_id: message_id("07"),
                job_id: job(),
                scores: QualityScores {
                    scorer: "dnsmos-p835-ovrl".into(),
                    original: 1.92,
                    restored: 3.08,
                    attempt,
                },
            }),
        ),
    ]
}

/// Golden file and value of everything that a scheduler says.
fn scheduler_messages() -> Vec<(&'static str, SchedulerMessage)> {
    let attempt = Attempt(1);
    vec![
        (
            "scheduler/welcome",
            SchedulerMessage::Welcome(Welcome {
                protocol: ProtocolVersion(1),
                environment: "production".into(),
                capabilities: vec!["job.stems".into(), "job.quality".into()],
                ping_interval_ms: limits::PING_INTERVAL,
            }),
        ),
        ("scheduler/pong", SchedulerMessage::Pong(Pong { sequence: 41 })),
        (
            "scheduler/job.assign",
            SchedulerMessage::Assign(Assign {
                job_id: job(),
                attempt,
                sampler: Sampler::Flash,
                outputs: vec![OutputKind::Hls, OutputKind::Wav, OutputKind::Flac, OutputKind::Mp3],
                source: Source {
                    upload_id: UploadId::new("upl_3xKd").unwrap(),
                    name: "talk.mp3".into(),
                    size: 123_456,
                },
                ticket: "eyJqb2IiOiJqb2JfN1EybSJ9.c2lnbmF0dXJl".into(),
                transcript_version: None,
            }),
        ),
        (
            "scheduler/job.assign.transcript",
            SchedulerMessage::Assign(Assign {
                job_id: job(),
                attempt,
                sampler: Sampler::Pro,
                outputs: vec![OutputKind::Hls, OutputKind::Wav],
                source: Source {
                    upload_id: UploadId::new("upl_3xKd").unwrap(),
                    name: "talk.mp3".into(),
                    size: 123_456,
                },
                ticket: "eyJqb2IiOiJqb2JfN1EybSJ9.c2lnbmF0dXJl".into(),
                transcript_version: Some(3),
            }),
        ),
        (
            "scheduler/job.cancel",
            SchedulerMessage::Cancel(Cancel { job_id: job(), attempt, reason: CancelReason::Requested }),
        ),
        (
            "scheduler/job.cancel.superseded",
            SchedulerMessage::Cancel(Cancel { job_id: job(), attempt, reason: CancelReason::Superseded }),
        ),
        ("scheduler/ack", SchedulerMessage::Ack(Ack { message_id: message_id("02") })),
        (
            "scheduler/error",
            SchedulerMessage::Error(ProtocolError {
                code: "unknown_type".into(),
                message: "unknown message type \"job.dance\"".into(),
                regarding: Some("job.dance".into()),
            }),
        ),
        (
            "scheduler/error.hello_expected",
            SchedulerMessage::Error(ProtocolError {
                code: "hello_expected".into(),
                message: "the first message has to be hello".into(),
                regarding: None,
            }),
        ),
    ]
}

fn same_in_both_directions<M: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, value: M) {
    let json = golden_json(name);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&encode(&value)).unwrap(), json, "{name}");
    assert_eq!(decode_frame::<M>(&json.to_string()), [Ok(value)], "{name}");
}

#[test]
fn every_golden_message_is_read_and_written_unchanged() {
    for (name, value) in worker_messages() {
        same_in_both_directions(name, value);
    }
    for (name, value) in scheduler_messages() {
        same_in_both_directions(name, value);
    }
}

#[test]
fn every_golden_file_has_its_value_and_every_message_type_its_golden_file() {
    let worker: Vec<_> = worker_messages();
    let scheduler: Vec<_> = scheduler_messages();
    let mut names: Vec<&str> = worker.iter().map(|(name, _)| *name).collect();
    names.extend(scheduler.iter().map(|(name, _)| *name));
    names.sort_unstable();
    let mut files = golden_names("worker");
    files.extend(golden_names("scheduler"));
    files.sort();
    assert_eq!(files, names);

    // The kinds come from the types themselves: a new variant without a golden message fails here.
    for kind in conformance::protocol_schema::kinds("WorkerMessage") {
        assert!(worker.iter().any(|(_, message)| message.kind() == kind), "no golden message of {kind}");
    }
    for kind in conformance::protocol_schema::kinds("SchedulerMessage") {
        assert!(scheduler.iter().any(|(_, message)| message.kind() == kind), "no golden message of {kind}");
    }
}

#[test]
fn the_name_in_the_code_is_the_name_on_the_wire() {
    for (name, value) in worker_messages() {
        assert_eq!(golden_json(name)["type"], value.kind(), "{name}");
    }
    for (name, value) in scheduler_messages() {
        assert_eq!(golden_json(name)["type"], value.kind(), "{name}");
    }
}

#[test]
fn exactly_the_terminal_messages_and_follow_ups_are_acknowledged() {
    let acknowledged: Vec<&str> = worker_messages()
        .iter()
        .filter(|(_, message)| message.message_id().is_some())
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(
        acknowledged,
        [
            "worker/job.complete",
            "worker/job.failed",
            "worker/job.cancelled",
            "worker/job.stems",
            "worker/job.stems.failed",
            "worker/job.quality",
        ]
    );
}

#[test]
fn a_known_type_with_a_wrong_field_is_malformed_and_not_unknown() {
    // A peer is told "unknown_type" only for what this release really does not know: older peers fall silent about such types.
    let kinds = conformance::protocol_schema::kinds;
    for kind in kinds("WorkerMessage").iter().chain(&kinds("SchedulerMessage")) {
        let frame = format!(r#"{{"type":"{kind}","sequence":"not a number"}}"#);
        for item in decode_frame::<WorkerMessage>(&frame) {
            assert!(
                matches!(&item, Err(DecodeError::Malformed { kind: Some(k), .. }) if k == kind),
                "{kind}: {item:?}"
            );
        }
        for item in decode_frame::<SchedulerMessage>(&frame) {
            assert!(
                matches!(&item, Err(DecodeError::Malformed { kind: Some(k), .. }) if k == kind),
                "{kind}: {item:?}"
            );
        }
    }
}
