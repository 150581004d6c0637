//! Files are read whole, in parts, and by their head alone.

use conformance::harness::{Api, Edge, Keys, ScriptedWorker};
use shared_protocol::WorkerMessage;

const WAV: &[u8] = b"0123456789";

/// An edge with one completed job; the path of its file.
fn completed() -> (Edge, Api, String, String) {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let file = worker.put_wav(&assign, WAV);
    let complete = ScriptedWorker::completion(&assign, &[], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let path = format!("/v1/jobs/{id}/files/restored.wav");
    (edge, api, id, path)
}

#[test]
fn a_player_gets_the_bytes_that_it_asks_for() {
    let (_edge, api, _, path) = completed();
    let whole = api.get(&path).expect(200);
    assert_eq!((whole.body.as_slice(), whole.header("Accept-Ranges")), (WAV, "bytes"));
    assert_eq!(whole.header("Content-Length"), "10");
    assert_eq!(whole.header("Content-Type"), "audio/wav");
    assert!(whole.header("Content-Disposition").contains("attachment"), "{:?}", whole.headers);
    assert!(!whole.header("ETag").is_empty());
    for (range, expected, content_range) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=3-5", "345", "bytes 3-5/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=-99", "0123456789", "bytes 0-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
    ] {
        let part = api.get_range(&path, range).expect(206);
        assert_eq!(
            (part.text().as_str(), part.header("Content-Range")),
            (expected, content_range),
            "{range}"
        );
        assert_eq!(part.header("Content-Length"), expected.len().to_string());
    }
    for beyond in ["bytes=10-", "bytes=99-100", "bytes=-0"] {
        let refused = api.get_range(&path, beyond);
        refused.expect_problem(416, "range_not_satisfiable");
        assert_eq!(refused.header("Content-Range"), "bytes */10", "{beyond}");
    }
    for nonsense in ["bytes=x-y", "items=0-1", "bytes=5-3"] {
        assert_eq!(api.get_range(&path, nonsense).expect(200).body, WAV, "{nonsense}");
    }
}

#[test]
fn a_head_says_the_same_without_the_bytes() {
    let (_edge, api, _, path) = completed();
    let get = api.get(&path).expect(200);
    let head = api.call("HEAD", &path, &[], None).expect(200);
    assert!(head.body.is_empty());
    for name in ["Content-Length", "Content-Type", "ETag", "Accept-Ranges", "Content-Disposition"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    api.call("HEAD", "/v1/jobs/job_none/files/restored.wav", &[], None).expect(404);
}

#[test]
fn an_unchanged_file_is_not_sent_twice() {
    let (_edge, api, _, path) = completed();
    let etag = api.get(&path).expect(200).header("ETag").to_owned();
    let again = api.call("GET", &path, &[("If-None-Match", &etag)], None);
    // 304 where it is supported; never other bytes.
    assert!(again.status == 304 || (again.status == 200 && again.body == WAV), "{}", again.status);
}

#[test]
fn the_original_lies_beside_the_restored_file() {
    let (_edge, api, id, _) = completed();
    let path = format!("/v1/jobs/{id}/original");
    assert_eq!(api.get(&path).expect(200).body, b"not really audio");
    assert_eq!(api.get_range(&path, "bytes=0-2").expect(206).body, b"not");
}

#[test]
fn a_file_that_nobody_announced_is_not_there_though_its_bytes_are() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.put_wav(&assign, WAV);
    let path = format!("/v1/jobs/{id}/files/restored.wav");
    api.get(&path).expect_problem(404, "file_not_found");
    worker.complete(&assign);
    api.get(&path).expect_problem(404, "file_not_found");
}
