//! A recording reaches storage whole, once, and as announced, or not at all.

use conformance::harness::{Edge, EdgeOptions, Keys, raw_request};
use serde_json::json;
use std::time::Duration;

const CONTENT: &[u8] = b"RIFF and so on, thirty-two bytes";
/// SHA-256 of [`CONTENT`], by `sha256sum`.
const SHA256: &str = "1b0252899957b6550c64f3a9712c07f268f6688af09e90e5c2fe1cf85fa9b3ca";

#[test]
fn an_upload_is_there_once_its_content_has_arrived() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let upload = api.announce(
        &json!({ "name": "talk.mp3", "size": CONTENT.len(), "contentType": "audio/mpeg", "futureField": 1 }),
    );
    let path = format!("/v1/uploads/{}", upload.id);
    api.get(&path).expect_problem(404, "upload_not_found");
    let put = api.put_content(&upload, CONTENT).expect(200).json();
    assert_eq!(put["uploadId"], json!(upload.id));
    assert_eq!(put["size"], CONTENT.len());
    assert!(put["etag"].as_str().is_some_and(|etag| !etag.is_empty()), "{put}");
    let found = api.get(&path).expect(200).json();
    assert_eq!(found["uploadId"], json!(upload.id));
    assert_eq!(
        (&found["name"], &found["size"], &found["contentType"]),
        (&json!("talk.mp3"), &json!(CONTENT.len()), &json!("audio/mpeg"))
    );
    assert!(found["uploadedAtMs"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{found}");
}

#[test]
fn a_put_that_is_repeated_after_a_lost_answer_succeeds_again() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let upload = api.announce(&json!({ "name": "talk.wav", "size": CONTENT.len() }));
    let first = api.put_content(&upload, CONTENT).expect(200).json();
    let again = api.put_content(&upload, CONTENT).expect(200).json();
    assert_eq!(first["etag"], again["etag"], "the second put changed nothing");
}

#[test]
fn content_of_unknown_or_wrong_length_is_refused_and_the_right_one_still_taken() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let upload = api.announce(&json!({ "name": "talk.wav", "size": CONTENT.len() }));
    let chunked = format!(
        "PUT {} HTTP/1.1\r\nHost: x\r\nMinifleet-Ticket: {}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        upload.url, upload.ticket
    );
    let (status, text) = raw_request(&edge, chunked.as_bytes());
    assert_eq!(status, 411, "{text}");
    assert!(text.contains("length_required"), "{text}");
    api.put_content(&upload, b"short").expect_problem(422, "size_mismatch");
    api.put_content(&upload, &[CONTENT, b"more"].concat()).expect_problem(422, "size_mismatch");
    api.get(&format!("/v1/uploads/{}", upload.id)).expect_problem(404, "upload_not_found");
    api.put_content(&upload, CONTENT).expect(200);
    // What is there stays, whatever comes after.
    let refused = api.put_content(&upload, b"other").status;
    assert!(refused == 409 || refused == 422, "{refused}");
    let found = api.get(&format!("/v1/uploads/{}", upload.id)).expect(200).json();
    assert_eq!(found["size"], CONTENT.len());
}

#[test]
fn content_with_another_checksum_is_not_stored() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let upload = api.announce(&json!({ "name": "talk.wav", "size": CONTENT.len(), "sha256": SHA256 }));
    let damaged = [b"X", &CONTENT[1..]].concat();
    api.put_content(&upload, &damaged).expect_problem(422, "checksum_mismatch");
    api.get(&format!("/v1/uploads/{}", upload.id)).expect_problem(404, "upload_not_found");
    api.put_content(&upload, CONTENT).expect(200);
}

#[test]
fn a_ticket_is_good_for_its_own_upload_only_and_not_for_ever() {
    let edge = Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() });
    let api = edge.api(Keys::ACME);
    let mine = api.announce(&json!({ "name": "a.wav", "size": CONTENT.len() }));
    let other = api.announce(&json!({ "name": "b.wav", "size": CONTENT.len() }));
    let without_key = edge.api_without_key();
    let put = |ticket: &[(&str, &str)]| without_key.call("PUT", &mine.url, ticket, Some(CONTENT));
    put(&[]).expect_problem(401, "ticket_missing");
    put(&[("Minifleet-Ticket", &other.ticket)]).expect_problem(403, "ticket_invalid");
    for forged in [
        "x".to_owned(),
        "a.b".to_owned(),
        format!("{}A", mine.ticket),
        mine.ticket.split('.').next().unwrap().to_owned() + ".",
        mine.ticket.to_uppercase(),
        "x".repeat(6000),
    ] {
        put(&[("Minifleet-Ticket", &forged)]).expect_problem(403, "ticket_invalid");
    }
    edge.set_wall_clock_ahead(Duration::from_secs(25 * 3600));
    put(&[("Minifleet-Ticket", &mine.ticket)]).expect_problem(403, "ticket_expired");
    edge.set_wall_clock_ahead(Duration::ZERO);
    put(&[("Minifleet-Ticket", &mine.ticket)]).expect(200);
}

#[test]
fn what_cannot_become_an_upload_is_refused_with_the_field_at_fault() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    for (body, status, code, field) in [
        (json!({ "name": "a.wav", "size": 0 }), 400, "invalid_request", json!("size")),
        (json!({ "name": "", "size": 1 }), 400, "invalid_request", json!("name")),
        (json!({ "name": "a.wav" }), 400, "invalid_request", json!(null)),
        (json!({ "name": "a.wav", "size": -1 }), 400, "invalid_request", json!(null)),
        (json!({ "name": "a.wav", "size": 1, "sha256": "xyz" }), 400, "invalid_request", json!("sha256")),
        (json!({ "name": "a.wav", "size": 104_857_601 }), 413, "upload_too_large", json!(null)),
        (json!([]), 400, "invalid_request", json!(null)),
    ] {
        let problem = api.post("/v1/uploads", &body).expect_problem(status, code);
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
}

#[test]
fn a_name_is_never_a_path() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.upload("../../etc/passwd", b"x");
    assert_eq!(api.get(&format!("/v1/uploads/{id}")).expect(200).json()["name"], "passwd");
}
