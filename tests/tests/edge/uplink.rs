//! The emulated line itself: what the benches of uploads stand on.

use conformance::harness::{
    Api, Edge, Keys, ScriptedWorker, Uplink, UplinkConditions, WorkerSetup, uplink::Direction,
};
use serde_json::json;
use std::time::{Duration, Instant};

fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

#[test]
fn bytes_go_through_unchanged_no_faster_than_the_line_and_with_its_cost_for_each_put() {
    let edge = Edge::start();
    let ms = Duration::from_millis;
    let conditions = UplinkConditions {
        up: Direction { bytes_per_second: Some(2_000_000), ..Direction::default() },
        round_trip: ms(40),
        put_overhead: ms(300)..ms(500),
        ..UplinkConditions::default()
    };
    let uplink = Uplink::start(edge.port(), conditions);
    let api = Api::new(uplink.origin(), Some(Keys::ACME));
    let content = noise(1_000_000);
    let upload = api.announce(&json!({ "name": "noise.bin", "size": content.len() }));
    let address = upload.url.replace(&edge.origin(), &uplink.origin());
    let put = |address: &str| {
        let started = Instant::now();
        let ticket = [("Minifleet-Ticket", upload.ticket.as_str())];
        Api::new(uplink.origin(), None).call("PUT", address, &ticket, Some(&content)).expect(200);
        started.elapsed()
    };
    let took = put(&address);
    assert!(took >= ms(500 + 300), "0.5 s of bytes and at least 0.3 s of overhead: {took:?}");

    let mut direct = ScriptedWorker::ready(&edge, "mini-1", 1);
    let job = api.post("/v1/jobs", &json!({ "uploadId": upload.id })).expect(201).json();
    let assign = direct.take_job();
    assert_eq!(assign.job_id.as_str(), job["jobId"]);
    let fetched = Api::new(uplink.origin(), None).call(
        "GET",
        "/v1/worker/upload",
        &[("Minifleet-Ticket", &assign.ticket)],
        None,
    );
    assert!(fetched.expect(200).body == content, "the same bytes come back");
    assert!(uplink.counts().bytes_up > 1_000_000 && uplink.counts().bytes_down > 1_000_000);
    assert_eq!(uplink.counts().failed, 0);
}

#[test]
fn requests_fail_as_ordered_and_the_next_ones_pass() {
    let edge = Edge::start();
    let uplink = Uplink::start(edge.port(), UplinkConditions::default());
    let api = Api::new(uplink.origin(), Some(Keys::ACME));
    let all_fail = |direction: Direction| UplinkConditions { down: direction, ..UplinkConditions::default() };
    uplink.set_conditions(all_fail(Direction { busy: 1.0, ..Direction::default() }));
    assert_eq!(api.get("/v1/status").status, 503);
    uplink.set_conditions(all_fail(Direction { reset: 1.0, ..Direction::default() }));
    api.try_call("GET", "/v1/status", &[], None).unwrap_err();
    uplink.set_conditions(UplinkConditions::default());
    uplink.swallow("/v1/status", 1);
    let waiting = std::thread::spawn({
        let api = api.clone();
        move || api.try_call("GET", "/v1/status", &[], None)
    });
    while uplink.counts().unanswered == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    api.get("/v1/status").expect(200);
    assert!(!waiting.is_finished(), "nobody answers it");
    uplink.cut();
    waiting.join().unwrap().unwrap_err();
    assert_eq!(uplink.counts().failed, 3);
}

#[test]
fn a_real_worker_works_through_it_and_comes_back_after_a_cut() {
    let edge = Edge::start();
    let uplink = Uplink::start(edge.port(), UplinkConditions::home());
    let worker = WorkerSetup::new("mini-1").environment("test", &uplink.origin()).start_connected(&edge);
    let connections = || {
        worker.log().matches("connected environment").count() + worker.log().matches(" connected ").count()
    };
    let before = connections();
    assert!(before > 0, "{}", worker.log());
    uplink.cut();
    conformance::harness::until("the worker to come back", Duration::from_secs(30), || {
        (connections() > before).then_some(())
    });
}
