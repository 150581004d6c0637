//! One shape for every error, a request id on every answer, and no input that ends in a 500.

use conformance::harness::{Edge, Keys, raw_request};
use serde_json::json;

#[test]
fn every_answer_has_a_request_id_of_its_own() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut ids: Vec<String> = ["/v1/health", "/v1/status", "/v1/jobs", "/v1/nothing", "/v1/jobs/job_none"]
        .iter()
        .map(|path| api.get(path).header("X-Request-Id").to_owned())
        .collect();
    ids.push(edge.api_without_key().get("/v1/status").header("X-Request-Id").to_owned());
    assert!(ids.iter().all(|id| !id.is_empty()), "{ids:?}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[test]
fn what_is_not_there_and_what_is_not_allowed_are_told_apart() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    for path in ["/v1/nothing", "/v1/", "/v1/jobs/job_1/nothing", "/v1/jobs/..%2f..%2fx", "/v1/jobs/%00"] {
        api.get(path).expect_problem(404, "route_not_found");
    }
    let answer = api.call("DELETE", "/v1/jobs", &[], None);
    answer.expect_problem(405, "method_not_allowed");
    assert_eq!(answer.header("Allow"), "GET, HEAD, POST, OPTIONS");
    api.get("/v1/jobs/job_none").expect_problem(404, "job_not_found");
}

#[test]
fn a_body_that_is_not_what_is_expected_is_the_clients_fault_and_says_so() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let json_type = [("Content-Type", "application/json")];
    for path in ["/v1/uploads", "/v1/jobs"] {
        for body in [
            b"".as_slice(),
            b"{",
            b"null",
            b"\xff\xfe",
            b"[1,2]",
            br#"{"uploadId":7}"#,
            br#"{"uploadId":"../x"}"#,
            br#"{"uploadId":"u","sampler":"best"}"#,
            br#"{"uploadId":"u","outputs":["opus"]}"#,
        ] {
            let problem =
                api.call("POST", path, &json_type, Some(body)).expect_problem(400, "invalid_request");
            assert!(problem["detail"].as_str().unwrap().len() > 20, "it says what is wrong: {problem}");
        }
        let huge = json!({ "name": "x".repeat(300_000), "size": 1 }).to_string();
        api.call("POST", path, &json_type, Some(huge.as_bytes())).expect_problem(413, "request_too_large");
        // Nested far deeper than any parser's stack.
        let deep = "[".repeat(60_000);
        api.call("POST", path, &json_type, Some(deep.as_bytes())).expect_problem(400, "invalid_request");
    }
    api.get("/v1/jobs?limit=0").expect_problem(400, "invalid_request");
    api.get("/v1/jobs?cursor=nonsense").expect_problem(400, "invalid_request");
    let no_key = [("Idempotency-Key", "white space")];
    let upload = api.upload("a.wav", b"x");
    api.post_with("/v1/jobs", &no_key, &json!({ "uploadId": upload })).expect_problem(400, "invalid_request");
}

/// A client that is still sending when it is refused must see the refusal and not a broken pipe. What the runtime holds in
/// buffers hides the fault of a small body, and of a big one now and then.
#[test]
fn a_client_that_is_refused_while_it_still_sends_reads_why() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let body = vec![b'x'; 3 * 1024 * 1024];
    let json_type = [("Content-Type", "application/json")];
    let wrong_ticket = [("Minifleet-Ticket", "nonsense")];
    for _ in 0..20 {
        api.call("POST", "/v1/jobs", &json_type, Some(&body)).expect_problem(413, "request_too_large");
        api.call("POST", "/v1/nothing", &json_type, Some(&body)).expect_problem(404, "route_not_found");
        let anonymous = edge.api_without_key().call("POST", "/v1/jobs", &json_type, Some(&body));
        anonymous.expect_problem(401, "key_missing");
        api.call("PUT", "/v1/uploads/upl_1/content", &wrong_ticket, Some(&body))
            .expect_problem(403, "ticket_invalid");
    }
}

#[test]
fn broken_requests_do_not_hurt_the_next_one() {
    let edge = Edge::start();
    for request in [
        "GET /v1/health HTTP/1.1\r\nHost: x\r\nContent-Length: nonsense\r\n\r\n".to_owned(),
        "nonsense\r\n\r\n".to_owned(),
        format!("GET /v1/jobs?cursor={} HTTP/1.1\r\nHost: x\r\n\r\n", "9".repeat(5_000)),
    ] {
        let (status, text) = raw_request(&edge, request.as_bytes());
        assert!((400..500).contains(&status), "{text}");
    }
    edge.api_without_key().get("/v1/health").expect(200);
}
