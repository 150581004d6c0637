//! Somebody listens while the job still runs.

use conformance::harness::{Browser, Edge, Keys, PATIENCE, ScriptedWorker, WorkerProcess, media};
use serde_json::json;
use shared_protocol::{HlsSegment, WorkerMessage};
use std::time::{Duration, Instant};

use crate::long;

#[test]
fn a_browser_plays_what_is_there_while_later_parts_are_still_to_come() {
    let stream = media::hls_tone(12);
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let link = api.post(&format!("/v1/jobs/{id}/playback"), &json!({})).json();
    // The page is open before there is anything to hear.
    let mut browser = Browser::listen(link["page"].as_str().unwrap());
    browser.wait_for("the page to open", PATIENCE, |_| true);

    let mut segments: Vec<HlsSegment> = Vec::new();
    for sequence in 0..3 {
        segments.push(worker.put_real_segment(&assign, &stream, sequence));
        worker.progress(&assign, 0.2, &segments[sequence as usize..]);
    }
    worker.expect_link_alive();
    let heard = browser.wait_for("audio to advance", PATIENCE, |state| {
        assert_eq!(state.media_error, None);
        worker.ping();
        state.current_time > 2.5
    });
    assert_eq!(api.job(&id)["state"], "running", "it was heard while the job ran");
    assert!(heard.current_time < 6.5 && heard.buffered < 6.5, "no more than there is: {heard:?}");

    // The rest comes slowly; the player waits for it and goes on.
    let count = u32::try_from(stream.segments.len()).unwrap();
    for sequence in 3..count {
        segments.push(worker.put_real_segment(&assign, &stream, sequence));
        worker.progress(&assign, 0.6, &segments[sequence as usize..]);
        let pause = Instant::now() + Duration::from_secs(1);
        browser.wait_for("a second to pass", PATIENCE, |_| Instant::now() > pause);
    }
    let complete = ScriptedWorker::completion(&assign, &segments, &[]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let end = browser.wait_for("the end", PATIENCE, |state| state.ended);
    assert!((end.current_time - 12.0).abs() < 0.3, "{end:?}");
    assert_eq!(end.media_error, None);
    assert_eq!(end.problems, Vec::<String>::new());

    // A second opinion on the finished stream.
    let url = link["url"].as_str().unwrap();
    let duration: f64 = media::ffprobe(url, "format=duration").parse().unwrap();
    assert!((duration - 12.0).abs() < 0.1, "{duration}");
    // Listed once for the stream and once for the program that it belongs to.
    assert!(media::ffprobe(url, "stream=codec_name").lines().all(|codec| codec == "aac"));
}

#[test]
fn a_browser_hears_restored_speech_before_the_job_is_complete() {
    let edge = Edge::start();
    let worker = WorkerProcess::start(&edge, "mini-1");
    let api = edge.api(Keys::ACME);
    let upload = api.upload("talk.flac", &media::to_flac(&long("10min")));
    let job = api.post("/v1/jobs", &json!({ "uploadId": upload })).expect(201).json();
    let id = job["jobId"].as_str().unwrap();
    let link = api.post(&format!("/v1/jobs/{id}/playback"), &json!({})).json();
    let mut browser = Browser::listen(link["page"].as_str().unwrap());
    let heard = browser.wait_for("restored audio to advance", PATIENCE * 2, |state| {
        assert_eq!(state.media_error, None);
        state.current_time > 1.0
    });
    let job = api.job(id);
    assert_eq!(job["state"], "running", "heard {heard:?} only when the job was {job}\n{}", worker.log());
    // Not waited for: the job is cancelled, and the worker hears of it.
    api.cancel(id).expect(202);
    api.wait_for(id, "cancelled");
}
