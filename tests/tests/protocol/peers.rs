//! What peers of other releases send, and how this release reads it.

use shared_protocol::*;

use crate::{golden_json, golden_names};

fn from_worker(name: &str) -> WorkerMessage {
    let json = golden_json(&format!("peers/{name}"));
    decode_frame(&json.to_string()).remove(0).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn from_scheduler(name: &str) -> SchedulerMessage {
    let json = golden_json(&format!("peers/{name}"));
    decode_frame(&json.to_string()).remove(0).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn job() -> JobId {
    JobId::new("job_1").unwrap()
}

fn hello(version: &str, slots: u32, engine: &str) -> WorkerMessage {
    WorkerMessage::Hello(Hello {
        protocol: PROTOCOL_VERSION,
        worker_id: WorkerId::new("mini-1").unwrap(),
        boot_id: BootId::new("boot-1").unwrap(),
        version: version.into(),
        slots,
        samplers: vec![Sampler::Flash],
        engine: engine.into(),
        labels: vec![],
        priority: 0,
    })
}

#[test]
fn a_newer_workers_fields_are_ignored() {
    assert_eq!(from_worker("newer-worker.hello"), hello("3.0.0", 6, "mlx"));
}

#[test]
fn a_newer_workers_reasons_are_read_as_unknown_and_lose_nothing_else() {
    assert_eq!(
        from_worker("newer-worker.job.reject"),
        WorkerMessage::Reject(Reject { job_id: job(), attempt: Attempt(1), reason: RejectReason::Unknown })
    );
    let WorkerMessage::Failed(failed) = from_worker("newer-worker.job.failed") else {
        panic!("not a failure")
    };
    assert_eq!(failed.failure, JobFailure { code: FailureCode::Unknown, message: "the roof is gone".into() });
    assert!(
        failed.failure.code.retryable(),
        "a fault that we do not know may be the worker's: another may succeed"
    );
}

#[test]
fn an_older_workers_missing_fields_have_harmless_values() {
    assert_eq!(from_worker("older-worker.hello"), hello("0.0.9", 1, ""));
    assert_eq!(
        from_worker("older-worker.ready"),
        WorkerMessage::Ready(Ready {
            slots: 1,
            job_ids: vec![],
            backlog_seconds: 0.0,
            draining: false,
            speeds: vec![],
            link: None
        })
    );
    assert_eq!(
        from_worker("older-worker.ping"),
        WorkerMessage::Ping(Ping { sequence: 1, backlog_seconds: 0.0 })
    );
    let WorkerMessage::Complete(complete) = from_worker("older-worker.job.complete") else {
        panic!("not a completion")
    };
    assert_eq!((complete.segments, complete.outcome.timings), (vec![], vec![]));
}

#[test]
fn a_newer_schedulers_fields_and_capabilities_are_ignored() {
    assert_eq!(
        from_scheduler("newer-scheduler.welcome"),
        SchedulerMessage::Welcome(Welcome {
            protocol: PROTOCOL_VERSION,
            environment: "dev".into(),
            capabilities: vec!["job.dreams".into()],
            ping_interval_ms: DurationMs(3000),
        })
    );
    assert_eq!(
        from_scheduler("newer-scheduler.job.assign"),
        SchedulerMessage::Assign(Assign {
            job_id: job(),
            attempt: Attempt(1),
            sampler: Sampler::Flash,
            outputs: vec![OutputKind::Wav],
            source: Source { upload_id: UploadId::new("upl_1").unwrap(), name: "talk.mp3".into(), size: 9 },
            ticket: "t".into(),
            transcript_version: None,
        })
    );
    assert_eq!(
        from_scheduler("newer-scheduler.job.cancel"),
        SchedulerMessage::Cancel(Cancel {
            job_id: job(),
            attempt: Attempt(1),
            reason: CancelReason::Unknown
        })
    );
    assert_eq!(
        from_scheduler("newer-scheduler.error"),
        SchedulerMessage::Error(ProtocolError {
            code: "no_such_moon".into(),
            message: "wrong planet".into(),
            regarding: None,
        })
    );
}

#[test]
fn every_peer_file_is_read_by_the_side_that_would_get_it() {
    for name in golden_names("peers") {
        let frame = golden_json(&name).to_string();
        let read = if name.contains("-worker.") {
            decode_frame::<WorkerMessage>(&frame).remove(0).map(|_| ())
        } else {
            decode_frame::<SchedulerMessage>(&frame).remove(0).map(|_| ())
        };
        assert_eq!(read, Ok(()), "{name}");
    }
}
