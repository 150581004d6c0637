//! Projects as their clients see them: uploads that are taken up again, events that are not missed, files that are found.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use conformance::harness::{Api, Edge, EdgeOptions, Keys, PATIENCE, ScriptedWorker, until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared_protocol::WorkerMessage;
use shared_protocol::limits::PART_BYTES;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn create(api: &Api, fields: &Value) -> Value {
    let mut body = json!({ "name": "talk.wav", "contentType": "audio/wav" });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    api.post("/v1/projects", &body).expect(201).json()
}

fn path_of(created: &Value) -> String {
    format!("/v1/projects/{}", text(&created["project"]["projectId"]))
}

fn put_part(edge: &Edge, created: &Value, number: u16, content: &[u8]) -> u16 {
    let parts = &created["parts"];
    let url = text(&parts["url"]).replace("{part}", &number.to_string());
    let headers = [("Minifleet-Ticket", text(&parts["headers"]["Minifleet-Ticket"]))];
    edge.api_without_key().call("PUT", &url, &headers, Some(content)).status
}

fn recording() -> Vec<u8> {
    (0..PART_BYTES as usize + 1_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_upload_in_parts_goes_on_after_a_crash_with_what_is_missing() {
    let mut edge = Edge::start();
    let content = recording();
    let (first, last) = content.split_at(PART_BYTES as usize);
    let fields = json!({ "size": content.len(), "sha256": hash(&content), "inParts": true });
    let created = create(&edge.api(Keys::ACME), &fields);
    let path = path_of(&created);
    assert_eq!(created["parts"]["missing"], json!([1, 2]));
    assert_eq!(put_part(&edge, &created, 2, last), 200);
    assert_eq!(put_part(&edge, &created, 1, last), 422, "a part has its size");
    assert_eq!(put_part(&edge, &created, 3, last), 400, "there is no third part");
    edge.api(Keys::ACME)
        .post(&format!("{path}/upload/complete"), &json!({}))
        .expect_problem(409, "upload_incomplete");
    edge.kill();
    edge.boot();

    let api = edge.api(Keys::ACME);
    let again = api.get(&format!("{path}/upload")).expect(200).json();
    assert_eq!(again["parts"]["missing"], json!([1]));
    assert_eq!(put_part(&edge, &again, 1, first), 200);
    let project = api.post(&format!("{path}/upload/complete"), &json!({})).expect(200).json();
    assert_eq!(
        (&project["upload"]["state"], &project["upload"]["completedBy"]),
        (&json!("complete"), &json!("client"))
    );
    // A job's worker reads it as any other upload.
    let job = api.queue(&json!({ "uploadId": project["upload"]["uploadId"] }));
    let original = api.get(&format!("/v1/jobs/{}/original", text(&job["jobId"]))).expect(200);
    assert!(original.body == content, "the parts are the recording");
}

#[test]
fn parts_that_are_not_what_was_announced_are_thrown_away_and_the_project_says_so() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let content = recording();
    let (first, last) = content.split_at(PART_BYTES as usize);
    let created = create(&api, &json!({ "size": content.len(), "sha256": hash(b"other"), "inParts": true }));
    let path = path_of(&created);
    assert_eq!((put_part(&edge, &created, 1, first), put_part(&edge, &created, 2, last)), (200, 200));
    api.post(&format!("{path}/upload/complete"), &json!({})).expect_problem(422, "checksum_mismatch");
    assert_eq!(api.get(&path).expect(200).json()["upload"]["state"], "abandoned");
    api.post(&format!("{path}/generations"), &json!({})).expect_problem(409, "upload_abandoned");
}

#[test]
fn a_client_that_never_says_that_its_upload_is_complete_is_not_waited_for_longer_than_half_a_minute() {
    let edge = Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() });
    let api = edge.api(Keys::ACME);
    let created = create(&api, &json!({ "size": 4 }));
    let path = path_of(&created);
    let generation = api.post(&format!("{path}/generations"), &json!({})).expect(201).json();
    assert_eq!(generation["state"], "waiting_for_upload");
    let headers = [("Minifleet-Ticket", text(&created["put"]["headers"]["Minifleet-Ticket"]))];
    edge.api_without_key().call("PUT", text(&created["put"]["url"]), &headers, Some(b"RIFF")).expect(200);
    assert_eq!(api.get(&path).expect(200).json()["upload"]["state"], "arrived");
    edge.set_wall_clock_ahead(Duration::from_secs(31));
    // The alarm goes by the runtime's own clock; whoever looks has it done at once.
    until("the edge to look for itself", PATIENCE, || {
        let project = api.get(&path).expect(200).json();
        (project["upload"]["completedBy"] == "edge").then_some(())
    });
    until("the job to be queued", PATIENCE, || {
        let list = api.get(&format!("{path}/generations")).expect(200).json();
        (list["generations"][0]["state"] == "queued").then_some(())
    });
}

#[test]
fn the_same_key_makes_the_same_project_and_another_request_under_it_is_refused() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let headers = [("Idempotency-Key", "talk-17")];
    let body = json!({ "name": "talk.wav", "size": 4 });
    let first = api.post_with("/v1/projects", &headers, &body).expect(201).json();
    let second = api.post_with("/v1/projects", &headers, &body).expect(200).json();
    assert_eq!(first["project"]["projectId"], second["project"]["projectId"]);
    let other = json!({ "name": "talk.wav", "size": 5 });
    api.post_with("/v1/projects", &headers, &other).expect_problem(409, "idempotency_mismatch");
    let path = path_of(&first);
    for method_path in [path.clone(), format!("{path}/upload"), format!("{path}/events")] {
        edge.api(Keys::OTHER).get(&method_path).expect_problem(404, "project_not_found");
    }
    let list = until("the project to be in the list", PATIENCE, || {
        let list = api.get("/v1/projects").expect(200).json();
        (!list["projects"].as_array().unwrap().is_empty()).then_some(list)
    });
    assert_eq!(list["projects"][0]["projectId"], first["project"]["projectId"]);
}

/// Reads a stream of events until one has this name; gives the numbers and names so far.
fn listen(edge: &Edge, path: &str, last: Option<u64>, until_name: &str) -> Vec<(u64, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", edge.port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
    write!(
        stream,
        "GET {path}/events HTTP/1.1\r\nHost: edge\r\nAuthorization: {}\r\nAccept: text/event-stream\r\n{last}\r\n",
        Keys::ACME.bearer()
    )
    .unwrap();
    let (mut seen, mut number) = (Vec::new(), 0);
    for line in BufReader::new(stream.take(1 << 20)).lines() {
        let line = line.unwrap();
        if let Some(id) = line.strip_prefix("id: ") {
            number = id.trim().parse().unwrap();
        }
        if let Some(name) = line.strip_prefix("event: ").map(str::trim)
            && name != "progress"
        {
            seen.push((number, name.to_owned()));
            if name == until_name {
                return seen;
            }
        }
    }
    panic!("the stream ended before {until_name}: {seen:?}");
}

#[test]
fn a_listener_that_was_away_misses_nothing_also_over_a_crash() {
    let mut edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let path = api.project("talk.wav", "audio/wav", b"RIFF");
    api.post(&format!("{path}/generations"), &json!({ "outputs": ["wav"] })).expect(201);
    let first = listen(&edge, &path, None, "generation.queued");
    let last = first.last().unwrap().0;
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let file = worker.put_wav(&assign, b"RIFF restored");
    let complete = ScriptedWorker::completion(&assign, &[], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    edge.kill();
    edge.boot();
    let second = listen(&edge, &path, Some(last), "generation.completed");
    let all: Vec<(u64, String)> = first.into_iter().chain(second).collect();
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<u64>>(), "no gap, nothing twice: {all:?}");
    // Whoever cannot stream asks for a list, and is told when there is nothing new.
    let api = edge.api(Keys::ACME);
    let list = api.get(&format!("{path}/events?after={last}")).expect(200);
    assert_eq!(list.json()["events"].as_array().unwrap().len() as u64, numbers.last().unwrap() - last);
    let known = list.header("ETag").to_owned();
    let again = api.call("GET", &format!("{path}/events?after={last}"), &[("If-None-Match", &known)], None);
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn a_generations_files_playback_and_timeline_are_found_through_it() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let path = api.project("talk.wav", "audio/wav", b"RIFF");
    let made = api.post(&format!("{path}/generations"), &json!({ "outputs": ["wav"] })).expect(201).json();
    let generation = format!("{path}/generations/{}", text(&made["generationId"]));
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.complete(&assign);
    until("the generation to be complete", PATIENCE, || {
        (api.get(&generation).expect(200).json()["state"] == "completed").then_some(())
    });
    api.get(&format!("{generation}/files")).expect(200);
    let link = api.post(&format!("{generation}/playback"), &json!({})).expect(201).json();
    assert!(text(&link["page"]).contains("/listen#"));
    let timeline = api.get(&format!("{generation}/timeline")).expect(200).json();
    let phases: Vec<&str> =
        timeline["totals"].as_array().unwrap().iter().map(|total| text(&total["phase"])).collect();
    for phase in ["client_upload", "dispatch", "queue"] {
        assert!(phases.contains(&phase), "{timeline}");
    }
    api.post(&format!("{generation}/cancel"), &json!({})).expect_problem(409, "generation_ended");
    api.get(&format!("{path}/generations/gen_none")).expect_problem(404, "generation_not_found");
    api.post(&format!("{path}/generations"), &json!({ "transcript": "required" }))
        .expect_problem(422, "transcription_not_configured");
}

#[test]
fn prometheus_finds_queue_workers_and_recent_phases() {
    let edge = Edge::start();
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.complete(&assign);
    edge.api(Keys::ACME).wait_for(&id, "completed");
    let page = edge.api(Keys::ADMIN).get("/v1/admin/metrics").expect(200);
    assert!(page.header("Content-Type").starts_with("text/plain; version=0.0.4"));
    let page = page.text();
    for line in [
        "minifleet_jobs{state=\"queued\"} 0",
        "minifleet_worker_connected{worker=\"mini-1\"} 1",
        "minifleet_recent_jobs 1",
        "minifleet_recent_phase_seconds{phase=\"whole\",quantile=\"0.5\"} ",
    ] {
        assert!(page.lines().any(|found| found.starts_with(line)), "{line} is missing in\n{page}");
    }
    edge.api(Keys::ACME).get("/v1/admin/metrics").expect_problem(401, "key_invalid");
}
