//! What a worker stores: with a ticket, once, whole, and below its own attempt only.

use conformance::harness::{Answer, Edge, Keys, ScriptedWorker, raw_request};
use shared_protocol::Assign;

fn put(edge: &Edge, assign: &Assign, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut all = vec![("Minifleet-Ticket", assign.ticket.as_str()), ("Content-Type", "audio/wav")];
    all.extend(headers);
    edge.api_without_key().call("PUT", &format!("/v1/worker/objects/{path}"), &all, Some(b"bytes"))
}

/// SHA-256 of `bytes`.
const SHA256: &str = "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9";

#[test]
fn an_object_is_stored_once_and_a_retry_is_no_mistake() {
    let edge = Edge::start();
    edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let put = |bytes: &[u8]| worker.put_object(&assign, "files/restored.wav", "audio/wav", bytes);
    put(b"RIFF one").expect(201);
    put(b"RIFF one").expect(200);
    put(b"RIFF two").expect_problem(409, "object_exists");
    put(b"RIFF and longer").expect_problem(409, "object_exists");
    put(b"RIFF one").expect(200);
}

#[test]
fn an_object_that_is_not_what_it_says_is_not_stored() {
    let edge = Edge::start();
    edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let path = format!("{}/1/files/restored.wav", assign.job_id);
    let wrong = [("X-Content-Sha256", "00".repeat(32))];
    put(&edge, &assign, &path, &[("X-Content-Sha256", &wrong[0].1)]).expect_problem(422, "checksum_mismatch");
    put(&edge, &assign, &path, &[("X-Content-Sha256", "nonsense")]).expect_problem(400, "invalid_request");
    let chunked = format!(
        "PUT /v1/worker/objects/{path} HTTP/1.1\r\nHost: x\r\nMinifleet-Ticket: {}\r\nX-Content-Sha256: {SHA256}\r\n\
         Content-Type: audio/wav\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n0\r\n\r\n",
        assign.ticket
    );
    let (status, text) = raw_request(&edge, chunked.as_bytes());
    assert_eq!(status, 411, "{text}");
    put(&edge, &assign, &path, &[("X-Content-Sha256", SHA256)]).expect(201);
}

#[test]
fn a_jobs_ticket_opens_its_own_attempt_and_nothing_else() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    api.queue_job();
    api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    let (mine, other) = (worker.take_job(), worker.take_job());
    let sha = [("X-Content-Sha256", SHA256)];
    let object = |job: &str, attempt: &str, path: &str| format!("{job}/{attempt}/{path}");
    let (my_job, other_job) = (mine.job_id.as_str(), other.job_id.as_str());
    put(&edge, &mine, &object(other_job, "1", "files/a.wav"), &sha).expect_problem(403, "ticket_invalid");
    put(&edge, &mine, &object(my_job, "2", "files/a.wav"), &sha).expect_problem(403, "ticket_invalid");
    for path in ["files/..%2f..%2fx", "uploads/x", "files/.hidden", "hls/seg-1.m4s", "hls/other.mp4", "x"] {
        put(&edge, &mine, &object(my_job, "1", path), &sha).expect_problem(404, "route_not_found");
    }
    let path = format!("/v1/worker/objects/{}", object(my_job, "1", "files/a.wav"));
    edge.api(Keys::ACME).call("PUT", &path, &sha, Some(b"bytes")).expect_problem(401, "ticket_missing");
    edge.api(Keys::WORKER).call("PUT", &path, &sha, Some(b"bytes")).expect_problem(401, "ticket_missing");
    // An upload's ticket is no job's ticket, and the other way round.
    let upload = api.announce(&serde_json::json!({ "name": "a.wav", "size": 5 }));
    let wrong_kind = [("Minifleet-Ticket", upload.ticket.as_str()), sha[0]];
    edge.api_without_key()
        .call("PUT", &path, &wrong_kind, Some(b"bytes"))
        .expect_problem(403, "ticket_invalid");
    let wrong_kind = [("Minifleet-Ticket", mine.ticket.as_str())];
    edge.api_without_key()
        .call("PUT", &upload.url, &wrong_kind, Some(b"bytes"))
        .expect_problem(403, "ticket_invalid");
    put(&edge, &mine, &object(my_job, "1", "files/a.wav"), &sha).expect(201);
}

#[test]
fn a_worker_reads_its_upload_whole_or_in_part() {
    let edge = Edge::start();
    edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let api = edge.api_without_key();
    let ticket = ("Minifleet-Ticket", assign.ticket.as_str());
    let whole = api.call("GET", "/v1/worker/upload", &[ticket], None).expect(200);
    assert_eq!(whole.body, b"not really audio");
    let rest = api.call("GET", "/v1/worker/upload", &[ticket, ("Range", "bytes=11-")], None).expect(206);
    assert_eq!(rest.body, b"audio");
    api.get("/v1/worker/upload").expect_problem(401, "ticket_missing");
}
