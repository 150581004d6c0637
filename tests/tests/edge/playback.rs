//! A link plays one job for whoever has it, until it expires.

use conformance::harness::{Api, Edge, EdgeOptions, Keys, ScriptedWorker};
use serde_json::{Value, json};
use shared_protocol::WorkerMessage;
use std::time::Duration;

/// An edge with a job of one segment and one file, and its playback link.
fn playable() -> (Edge, Api, String, Value) {
    let edge = Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() });
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let segment = worker.put_segment(&assign, 0);
    let file = worker.put_wav(&assign, b"RIFF restored");
    let complete = ScriptedWorker::completion(&assign, &[segment], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let link = api.post(&format!("/v1/jobs/{id}/playback"), &json!({ "expiresInSeconds": 3600 }));
    assert!(link.status == 200 || link.status == 201, "{}", link.text());
    (edge, api, id, link.json())
}

/// The path below which everything of the link lies.
fn base(edge: &Edge, link: &Value) -> String {
    let url = link["url"].as_str().unwrap();
    let path = url.split_once("/v1/play/").unwrap_or_else(|| panic!("{url}")).1;
    format!("{}/v1/play/{}", edge.origin(), path.strip_suffix("/index.m3u8").unwrap())
}

#[test]
fn whoever_has_the_link_hears_and_saves_everything_of_the_job_without_a_key() {
    let (edge, _, _, link) = playable();
    let base = base(&edge, &link);
    let anyone = edge.api_without_key();
    let playlist = anyone.get(&format!("{base}/index.m3u8")).expect(200);
    assert_eq!(playlist.header("Access-Control-Allow-Origin"), "*");
    let text = playlist.text();
    let segment = text.lines().find(|line| !line.starts_with('#')).unwrap();
    let part = anyone.get_range(&format!("{base}/{segment}"), "bytes=0-6").expect(206);
    assert_eq!(part.body, b"segment");
    assert_eq!(part.header("Access-Control-Allow-Origin"), "*");
    assert_eq!(anyone.get(&format!("{base}/original")).expect(200).body, b"not really audio");
    assert_eq!(anyone.get(&format!("{base}/files/restored.wav")).expect(200).body, b"RIFF restored");
    let state = anyone.get(&format!("{base}/state")).expect(200).json();
    assert_eq!((&state["state"], &state["name"]), (&json!("completed"), &json!("talk.wav")));
    assert_eq!(state["publishedSeconds"], 4.0);
    assert!(
        state.get("uploadId").is_none() && state.get("metadata").is_none(),
        "no more than listeners need: {state}"
    );
}

#[test]
fn a_link_expires_and_cannot_be_forged() {
    let (edge, _, _, link) = playable();
    let base = base(&edge, &link);
    let anyone = edge.api_without_key();
    let ticket = base.rsplit('/').next().unwrap();
    for forged in ["x", "a.b", &format!("{ticket}x"), &ticket[1..]] {
        anyone.get(&format!("/v1/play/{forged}/index.m3u8")).expect_problem(403, "ticket_invalid");
    }
    edge.set_wall_clock_ahead(Duration::from_secs(3590));
    anyone.get(&format!("{base}/index.m3u8")).expect(200);
    edge.set_wall_clock_ahead(Duration::from_secs(3610));
    for path in ["index.m3u8", "state", "original", "files/restored.wav", "1/init.mp4", "1/seg-00000.m4s"] {
        anyone.get(&format!("{base}/{path}")).expect_problem(403, "ticket_expired");
    }
}

#[test]
fn a_link_cannot_do_what_a_key_can() {
    let (edge, api, id, link) = playable();
    let ticket = base(&edge, &link).rsplit('/').next().unwrap().to_owned();
    let anyone = edge.api_without_key();
    let header = [("Minifleet-Ticket", ticket.as_str())];
    anyone.call("GET", &format!("/v1/jobs/{id}"), &header, None).expect_problem(401, "key_missing");
    anyone.call("GET", "/v1/worker/upload", &header, None).expect_problem(403, "ticket_invalid");
    let path = format!("/v1/worker/objects/{id}/1/files/x.wav");
    let put =
        [header[0], ("X-Content-Sha256", "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9")];
    anyone.call("PUT", &path, &put, Some(b"bytes")).expect_problem(403, "ticket_invalid");
    for bad in [json!({ "expiresInSeconds": 0 }), json!({ "expiresInSeconds": 99_999_999 })] {
        api.post(&format!("/v1/jobs/{id}/playback"), &bad).expect_problem(400, "invalid_request");
    }
}
