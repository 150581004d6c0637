//! What a worker may say on its link, and how the edge answers what it cannot understand.

use conformance::harness::{Edge, EdgeOptions, Keys, ScriptedWorker};
use shared_protocol::{PROTOCOL_VERSION, ProtocolVersion, WorkerMessage, limits};
use std::time::Duration;
use tungstenite::Message;

#[test]
fn hello_is_answered_with_what_this_scheduler_understands() {
    let edge = Edge::start();
    let welcome = ScriptedWorker::connect(&edge, "mini-1").hello();
    assert_eq!(welcome.protocol, PROTOCOL_VERSION);
    assert_eq!(welcome.environment, "default");
    assert_eq!(welcome.ping_interval_ms, limits::PING_INTERVAL);
}

#[test]
fn another_version_is_told_so_and_the_link_is_closed() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::connect(&edge, "mini-1");
    let mut hello = worker.hello_message();
    hello.protocol = ProtocolVersion(PROTOCOL_VERSION.0 + 1);
    worker.send(&WorkerMessage::Hello(hello));
    worker.expect_error("version_mismatch");
    worker.expect_closed();
}

#[test]
fn a_connection_that_never_says_who_it_is_does_not_stay() {
    let edge = Edge::start();
    let mut stranger = ScriptedWorker::connect(&edge, "mini-1");
    let closed = stranger.expect_closed();
    assert_eq!(closed.code.map(u16::from), Some(4004), "{closed:?}");
}

#[test]
fn nothing_is_taken_from_a_worker_that_has_not_said_who_it_is() {
    let edge = Edge::start();
    edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::connect(&edge, "mini-1");
    worker.offer_slots(1);
    assert_eq!(worker.expect_error("hello_expected").as_deref(), Some("ready"));
    worker.hello();
    worker.offer_slots(1);
    worker.expect_assign();
}

#[test]
fn an_unknown_type_gets_an_error_and_the_link_lives_on() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    worker.send_text(r#"{"type":"job.dance","jobId":"job_1"}"#);
    assert_eq!(worker.expect_error("unknown_type").as_deref(), Some("job.dance"));
    worker.expect_link_alive();
}

#[test]
fn garbage_is_answered_and_the_next_good_frame_is_handled() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 0);
    for garbage in [
        "",
        "{",
        "nonsense",
        "null",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"ready"}"#,
        r#"{"type":"job.accept","jobId":"../x","attempt":1}"#,
        r#"{"type":"ready","slots":-1,"jobIds":[]}"#,
        "\u{0}\u{1}",
    ] {
        worker.send_text(garbage);
        worker.expect_error("malformed");
    }
    // No stack is deep enough for this.
    worker.send_text(&"[".repeat(100_000));
    worker.expect_error("malformed");
    edge.api(Keys::ACME).queue_job();
    worker.offer_slots(1);
    worker.expect_assign();
}

#[test]
fn a_frame_beyond_the_limits_is_refused_and_the_link_lives_on() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    worker.send_text(&format!(
        r#"{{"type":"ping","sequence":1,"padding":"{}"}}"#,
        "x".repeat(limits::MAX_FRAME_BYTES)
    ));
    worker.expect_error("too_large");
    let many = vec![r#"{"type":"ping","sequence":1}"#; limits::MAX_MESSAGES_PER_FRAME + 1].join(",");
    worker.send_text(&format!("[{many}]"));
    worker.expect_error("too_large");
    worker.expect_link_alive();
}

#[test]
fn a_bad_message_in_a_batch_takes_none_of_its_neighbours_along() {
    let edge = Edge::start();
    edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 0);
    worker.send_text(r#"[{"type":"job.dance"},{"type":"ready","slots":1,"jobIds":[]},{"type":"ping"}]"#);
    let first = worker.receive();
    let second = worker.receive();
    let third = worker.receive();
    let mut kinds = [first.kind(), second.kind(), third.kind()];
    kinds.sort_unstable();
    assert_eq!(kinds, ["error", "error", "job.assign"]);
}

#[test]
fn a_binary_frame_does_not_end_the_link() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 0);
    worker.send_frame(Message::binary(vec![0, 159, 146, 150]));
    worker.expect_error("malformed");
    worker.expect_link_alive();
}

#[test]
fn numbers_that_make_no_sense_do_not_unsettle_the_scheduler() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 0);
    worker.send_text(r#"{"type":"ready","slots":4294967295,"jobIds":[],"backlogSeconds":-1e308}"#);
    let assign = worker.take_job();
    worker.send_text(&format!(
        r#"{{"type":"job.progress","jobId":"{id}","attempt":1,"phase":"restoring","fraction":1e300,"audioSeconds":-5,
        "segments":[{{"sequence":4294967295,"durationMs":18446744073709551615,"size":1}}]}}"#
    ));
    worker.expect_link_alive();
    let job = api.job(&id);
    assert!(job["progress"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)), "{job}");
    assert_eq!(
        job["publishedSeconds"].as_f64(),
        Some(0.0),
        "a segment with a gap before it is not listed: {job}"
    );
    worker.complete(&assign);
    assert_eq!(api.job(&id)["state"], "completed");
}

#[test]
fn a_worker_with_a_clock_days_off_is_a_worker_like_any_other() {
    // The scheduler's clock runs ahead by three days; nothing that a worker sends is compared with it.
    let edge = Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() });
    edge.set_wall_clock_ahead(Duration::from_secs(3 * 86_400));
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.complete(&assign);
    assert_eq!(api.job(&id)["state"], "completed");
}

#[test]
fn the_newest_connection_of_a_worker_wins() {
    let edge = Edge::start();
    let mut old = ScriptedWorker::ready(&edge, "mini-1", 1);
    let mut new = ScriptedWorker::ready(&edge, "mini-1", 1);
    old.expect_closed();
    let id = edge.api(Keys::ACME).queue_job();
    assert_eq!(new.take_job().job_id.as_str(), id);
    new.expect_link_alive();
    let status = edge.api(Keys::ACME).get("/v1/status").expect(200).json();
    assert_eq!(status["workers"].as_array().unwrap().len(), 1, "{status}");
}

#[test]
fn no_order_of_answers_and_reports_loses_or_repeats_a_job() {
    // GitHub's runner #4728: the next job was lost as a runner closed its poll at the end of the one before.
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    for frames in [
        &["accept", "full"][..],
        &["open", "accept"],
        &["open", "open", "accept", "full"],
        &["full", "accept"],
        &["accept full"],
        &["open accept"],
        &["accept", "accept", "full", "full"],
    ] {
        let id = api.queue_job();
        let assign = worker.expect_assign();
        for frame in frames {
            let say = |word| match word {
                "accept" => format!(r#"{{"type":"job.accept","jobId":"{id}","attempt":{}}}"#, assign.attempt),
                // Written before the offer came, and after it was taken.
                "open" => r#"{"type":"ready","slots":1,"jobIds":[]}"#.to_owned(),
                _ => format!(
                    r#"{{"type":"ready","slots":0,"jobIds":[{{"jobId":"{id}","attempt":{}}}]}}"#,
                    assign.attempt
                ),
            };
            let messages: Vec<String> = frame.split(' ').map(say).collect();
            worker.send_text(&format!("[{}]", messages.join(",")));
        }
        worker.expect_silence(Duration::from_millis(200));
        worker.complete(&assign);
        let job = api.job(&id);
        assert_eq!(
            (job["state"].as_str(), job["attempt"].as_u64()),
            (Some("completed"), Some(1)),
            "{frames:?}"
        );
        worker.offer_slots(1);
        worker.expect_link_alive();
    }
}

#[test]
fn no_damaged_frame_unsettles_the_object_for_the_good_ones_behind_it() {
    // workers-rs #166: a panic poisons the instance. So no input may panic.
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 0);
    let good = [
        r#"{"type":"ready","slots":1,"jobIds":[{"jobId":"job_1","attempt":1}],"backlogSeconds":1.5,"draining":false}"#,
        r#"{"type":"job.progress","jobId":"job_1","attempt":1,"phase":"restoring","fraction":0.5,"segments":[{"sequence":0,"durationMs":4000,"size":9}]}"#,
        r#"{"type":"job.failed","messageId":"m-1","jobId":"job_1","attempt":1,"failure":{"code":"no_audio","message":"none"}}"#,
        r#"[{"type":"ping","sequence":18446744073709551615,"backlogSeconds":1e308},{"type":"job.accept","jobId":"job_1","attempt":4294967295}]"#,
    ];
    // Xorshift (Marsaglia, 2003): the same damage in every run.
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut draw = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for round in 0..400 {
        let mut characters: Vec<char> = good[round % good.len()].chars().collect();
        for _ in 0..=draw(3) {
            let at = draw(characters.len());
            match draw(4) {
                0 => drop(characters.remove(at)),
                1 => characters.insert(at, ['"', '{', '9', '-', '\u{0}', 'ä'][draw(6)]),
                2 => characters.truncate(at.max(1)),
                _ => characters[at] = ['}', ',', 'e', '0', '\\', ']'][draw(6)],
            }
        }
        worker.send_text(&characters.into_iter().collect::<String>());
    }
    let id = api.queue_job();
    let mut fresh = ScriptedWorker::ready(&edge, "mini-2", 1);
    let assign = fresh.take_job();
    assert_eq!(assign.job_id.as_str(), id);
    fresh.complete(&assign);
    assert!(!edge.log().contains("panicked"), "{}", edge.log());
}
