//! Objects that are too large for one request: stored in parts, once, whole, and checked before anybody is told.

use conformance::harness::{Answer, Edge, Keys, ScriptedWorker};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared_protocol::Assign;

/// The least that storage takes for a part that is not the last one.
const PART: usize = 5 * 1024 * 1024;

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Parts<'a> {
    edge: &'a Edge,
    assign: &'a Assign,
    path: &'a str,
}

impl Parts<'_> {
    fn call(&self, method: &str, step: &str, body: &[u8]) -> Answer {
        let Assign { job_id, attempt, ticket, .. } = self.assign;
        let path = format!("/v1/worker/parts/{job_id}/{attempt}/{}{step}", self.path);
        self.edge.api_without_key().call(method, &path, &[("Minifleet-Ticket", ticket)], Some(body))
    }

    fn announce(&self, whole: &[u8], sha256: &str) -> Answer {
        let body = json!({ "size": whole.len(), "sha256": sha256, "contentType": "audio/wav" });
        self.call("POST", "", body.to_string().as_bytes())
    }

    fn begin(&self, whole: &[u8], sha256: &str) -> String {
        let id = self.announce(whole, sha256).expect(201).json()["uploadId"].as_str().unwrap().to_owned();
        id.bytes().map(|byte| format!("%{byte:02X}")).collect()
    }

    fn put(&self, id: &str, number: usize, part: &[u8]) -> Value {
        self.call("PUT", &format!("/{number}?uploadId={id}"), part).expect(200).json()
    }

    fn complete(&self, id: &str, whole: &[u8], sha256: &str, parts: &[Value]) -> Answer {
        let body = json!({ "size": whole.len(), "sha256": sha256, "parts": parts });
        self.call("POST", &format!("/complete?uploadId={id}"), body.to_string().as_bytes())
    }
}

#[test]
fn an_object_of_parts_is_read_back_whole_and_a_lost_answer_is_asked_for_again() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let job = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let parts = Parts { edge: &edge, assign: &assign, path: "files/restored.wav" };
    let whole = bytes(2 * PART + 1_234);
    let sha256 = hex(&whole);

    let id = parts.begin(&whole, &sha256);
    // In any order, and one of them twice: its first answer was lost.
    let third = parts.put(&id, 3, &whole[2 * PART..]);
    parts.put(&id, 1, &whole[..PART]);
    let second = parts.put(&id, 2, &whole[PART..2 * PART]);
    let first = parts.put(&id, 1, &whole[..PART]);
    let put = [first, second, third];
    parts.complete(&id, &whole, &sha256, &put).expect(201);
    let again = parts.complete(&id, &whole, &sha256, &put).expect(200).json();
    assert_eq!(again["size"], whole.len());
    let announced = parts.announce(&whole, &sha256).expect(200).json();
    assert_eq!(announced["uploadId"], Value::Null, "nothing is left to be put");
    parts.announce(&whole, &hex(b"other")).expect_problem(409, "object_exists");
    worker
        .put_object(&assign, "files/restored.wav", "audio/wav", b"small")
        .expect_problem(409, "object_exists");

    let file = shared_protocol::PublishedFile {
        name: "restored.wav".into(),
        kind: shared_protocol::OutputKind::Wav,
        size: whole.len() as u64,
        sha256,
        content_type: "audio/wav".into(),
    };
    let complete = ScriptedWorker::completion(&assign, &[], &[file]);
    worker.send(&shared_protocol::WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let read = api.get(&format!("/v1/jobs/{job}/files/restored.wav")).expect(200);
    assert_eq!(read.header("content-type"), "audio/wav");
    assert!(read.body == whole, "{} bytes came back", read.body.len());
}

#[test]
fn parts_that_make_something_else_than_was_announced_are_not_stored() {
    let edge = Edge::start();
    edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let parts = Parts { edge: &edge, assign: &assign, path: "stems/speech.flac" };
    let whole = bytes(1_000);
    let announced = hex(b"something else");

    let id = parts.begin(&whole, &announced);
    let part = parts.put(&id, 1, &whole);
    parts.complete(&id, &whole, &announced, &[part]).expect_problem(422, "checksum_mismatch");
    let id = parts.begin(&whole, &hex(&whole));
    parts
        .complete(&id, &whole, &hex(&whole), &[json!({ "partNumber": 1, "etag": "made-up" })])
        .expect_problem(409, "parts_invalid");
    let id = parts.begin(&whole, &hex(&whole));
    parts.call("POST", &format!("/abort?uploadId={id}"), b"").expect(200);
    parts.call("PUT", &format!("/1?uploadId={id}"), &whole).expect_problem(409, "parts_invalid");

    let id = parts.begin(&whole, &hex(&whole));
    let part = parts.put(&id, 1, &whole);
    parts.complete(&id, &whole, &hex(&whole), &[part]).expect(201);
}

#[test]
fn parts_need_the_ticket_of_their_own_attempt() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    api.queue_job();
    api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    let (mine, other) = (worker.take_job(), worker.take_job());
    let stranger = Assign { ticket: other.ticket.clone(), ..mine.clone() };
    let parts = Parts { edge: &edge, assign: &stranger, path: "files/a.wav" };
    parts.announce(b"x", &hex(b"x")).expect_problem(403, "ticket_invalid");
    let parts = Parts { edge: &edge, assign: &mine, path: "files/a.wav" };
    parts.announce(b"x", "nonsense").expect_problem(400, "invalid_request");
    parts.call("PUT", "/1", b"x").expect_problem(400, "invalid_request");
}
