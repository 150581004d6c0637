//! What follows on a completion: stems, listed when the scheduler has taken them, and only those that it has taken.

use conformance::harness::{Edge, Keys, ScriptedWorker};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared_protocol::{Assign, FailureCode, JobFailure, MessageId, StemFile, Stems, WorkerMessage};

fn stem(worker: &ScriptedWorker, assign: &Assign, name: &str, bytes: &[u8]) -> StemFile {
    worker.put_object(assign, &format!("stems/{name}"), "audio/flac", bytes).expect(201);
    let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    StemFile { name: name.to_owned(), size: bytes.len() as u64, sha256 }
}

fn message(
    assign: &Assign,
    id: &str,
    files: Vec<StemFile>,
    failure: Option<JobFailure>,
) -> (MessageId, WorkerMessage) {
    let message_id = MessageId::new(id).unwrap();
    let (job_id, attempt) = (assign.job_id.clone(), assign.attempt);
    (message_id.clone(), WorkerMessage::Stems(Stems { message_id, job_id, attempt, files, failure }))
}

fn job_with_stems(edge: &Edge) -> (String, ScriptedWorker, Assign) {
    let job = edge.api(Keys::ACME).queue(&json!({ "outputs": ["wav", "stems"] }));
    let mut worker = ScriptedWorker::ready(edge, "mini-1", 1);
    let assign = worker.take_job();
    (job["jobId"].as_str().unwrap().to_owned(), worker, assign)
}

fn stems(edge: &Edge, job: &str) -> Value {
    edge.api(Keys::ACME).get(&format!("/v1/jobs/{job}/files")).expect(200).json()["stems"].clone()
}

#[test]
fn stems_are_listed_and_readable_when_the_scheduler_has_taken_them_even_after_its_death() {
    let mut edge = Edge::start();
    let (job, mut worker, assign) = job_with_stems(&edge);
    assert_eq!(stems(&edge, &job)["state"], "waiting");
    worker.complete(&assign);
    let speech = stem(&worker, &assign, "speech.flac", b"speech");
    let manifest = stem(&worker, &assign, "manifest.json", b"{}");
    assert_eq!(stems(&edge, &job)["state"], "waiting", "stored is not told");
    let url = format!("/v1/jobs/{job}/stems/speech.flac");
    let api = edge.api(Keys::ACME);
    api.get(&url).expect_problem(404, "file_not_found");

    let (id, told) = message(&assign, "msg_stems", vec![speech, manifest], None);
    worker.send(&told);
    worker.expect_ack(&id);
    let listed = stems(&edge, &job);
    assert_eq!(listed["state"], "ready");
    assert_eq!(listed["files"][0]["url"], url);
    let read = api.get(&url).expect(200);
    assert_eq!((read.body.as_slice(), read.header("content-type")), (b"speech".as_slice(), "audio/flac"));
    let manifest = api.get(&format!("/v1/jobs/{job}/stems/manifest.json")).expect(200);
    assert_eq!(manifest.header("content-type"), "application/json");
    edge.api(Keys::OTHER).get(&url).expect_problem(404, "job_not_found");

    edge.kill();
    edge.boot();
    assert_eq!(stems(&edge, &job)["state"], "ready");
}

#[test]
fn stems_that_could_not_be_made_are_told_as_such_and_the_job_stays_completed() {
    let edge = Edge::start();
    let (job, mut worker, assign) = job_with_stems(&edge);
    worker.complete(&assign);
    let failure = JobFailure::new(FailureCode::DiskFull, "no space left");
    let (id, told) = message(&assign, "msg_none", vec![], Some(failure));
    worker.send(&told);
    worker.expect_ack(&id);
    let listed = stems(&edge, &job);
    assert_eq!((&listed["state"], &listed["failure"]["code"]), (&json!("failed"), &json!("disk_full")));
    assert_eq!(edge.api(Keys::ACME).job(&job)["state"], "completed");

    let plain = edge.api(Keys::ACME).queue_job();
    assert_eq!(stems(&edge, &plain), Value::Null, "nobody asked for any");
}
