//! What every HTTP client may expect: HEAD, OPTIONS, validators, and a description of it all.

use conformance::harness::{Edge, Keys, raw_request, repository};
use serde_json::json;

#[test]
fn whatever_answers_get_answers_head_with_the_same_headers_and_no_body() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    for path in [
        "/v1/health",
        "/v1/openapi.json",
        "/v1/status",
        "/v1/jobs",
        &format!("/v1/jobs/{id}"),
        "/v1/jobs/job_none",
    ] {
        let (get, head) = (api.get(path), api.call("HEAD", path, &[], None));
        assert_eq!(head.status, get.status, "{path}");
        assert!(head.body.is_empty(), "{path}: {}", head.text());
        for name in ["Content-Type", "Cache-Control", "ETag"] {
            assert_eq!(head.header(name), get.header(name), "{path}");
        }
    }
    let operator = edge.api(Keys::ADMIN);
    assert_eq!(operator.call("HEAD", "/v1/admin/queue", &[], None).status, 200);
    assert_eq!(edge.api_without_key().call("HEAD", "/v1/jobs", &[], None).status, 401);
}

#[test]
fn options_says_what_a_path_takes_and_other_pages_scripts_learn_only_of_what_is_public() {
    let edge = Edge::start();
    let anyone = edge.api_without_key();
    for (path, allow, is_public) in [
        ("/v1/jobs", "GET, HEAD, POST, OPTIONS", false),
        ("/v1/uploads/upl_1/content", "PUT, OPTIONS", true),
        ("/v1/admin/queue/pause", "POST, OPTIONS", false),
        ("/v1/openapi.json", "GET, HEAD, OPTIONS", true),
        ("/v1/play/t.s/index.m3u8", "GET, HEAD, OPTIONS", true),
    ] {
        let answer = anyone.call("OPTIONS", path, &[("Origin", "https://example.com")], None).expect(204);
        assert_eq!(answer.header("Allow"), allow, "{path}");
        assert_eq!(answer.header("Access-Control-Allow-Origin"), if is_public { "*" } else { "" }, "{path}");
    }
    anyone.call("OPTIONS", "/v1/nothing", &[], None).expect_problem(404, "route_not_found");
    let refused = anyone.call("PATCH", "/v1/health", &[], None);
    refused.expect_problem(405, "method_not_allowed");
    assert_eq!(refused.header("Allow"), "GET, HEAD, OPTIONS");
}

#[test]
fn the_edge_serves_its_own_description_and_a_page_that_draws_it() {
    let edge = Edge::start();
    let anyone = edge.api_without_key();
    let served = anyone.get("/v1/openapi.json").expect(200);
    let committed = std::fs::read(repository().join("docs/openapi.json")).unwrap();
    assert!(
        served.body == committed,
        "what is served is not docs/openapi.json: run `cargo xtask build-edge`"
    );
    assert_eq!(served.header("Content-Type"), "application/json");
    assert_eq!(served.header("Access-Control-Allow-Origin"), "*");
    let etag = served.header("ETag");
    assert!(!etag.is_empty());
    let again = anyone.call("GET", "/v1/openapi.json", &[("If-None-Match", etag)], None).expect(304);
    assert!(again.body.is_empty() && !again.header("X-Request-Id").is_empty());

    let page = anyone.get("/docs").expect(200);
    assert!(page.header("Content-Type").starts_with("text/html"));
    for file in ["docs.js", "swagger-ui.js", "swagger-ui.css"] {
        assert!(page.text().contains(file), "the page does not load {file}");
        anyone.get(&format!("/{file}")).expect(200);
    }
}

#[test]
fn paths_and_bodies_that_no_library_writes_are_refused_with_a_code() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let long = format!("/v1/jobs/{}", "x".repeat(4_000));
    for path in ["/v1/jobs/%zz", "/v1/jobs/%", "/v1/jobs/%ff%fe", "/v1/jobs/%00", "/v1/jobs/a;b", &long] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        let (status, text) = raw_request(&edge, request.as_bytes());
        assert_eq!(status, 404, "{path}: {text}");
        assert!(text.contains("route_not_found"), "{path}: {text}");
    }
    let deep = [b"[".repeat(20_000), b"]".repeat(20_000)].concat();
    let json_type = [("Content-Type", "application/json")];
    api.call("POST", "/v1/jobs", &json_type, Some(&deep)).expect_problem(400, "invalid_request");
    api.post("/v1/jobs", &json!({ "uploadId": "upl_1", "expectedSeconds": 1e300 }))
        .expect_problem(400, "invalid_request");
}
