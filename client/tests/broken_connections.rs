//! The library against a service that breaks off, is busy, is away, or lies.

mod service;

use std::time::{Duration, Instant};

use minifleet_client::files::JobFile;
use minifleet_client::jobs::{JobFilter, JobState, NewJob};
use minifleet_client::source::Source;
use minifleet_client::watch::{WaitOptions, WatchEvent};
use minifleet_client::{Error, ErrorKind, Progress, Timeouts};
use serde_json::json;
use service::{Reply, Request, Server, Service, content, ranged, sha256};
use shared_protocol::{JobId, UploadId};

fn file_of(bytes: &[u8]) -> JobFile {
    JobFile {
        name: "restored.wav".to_owned(),
        size: bytes.len() as u64,
        content_type: "audio/wav".to_owned(),
        sha256: Some(sha256(bytes)),
        url: "/v1/jobs/job_1/files/restored.wav".to_owned(),
    }
}

fn job(state: &str) -> Reply {
    Reply::json(200, &json!({ "jobId": "job_1", "name": "talk.mp3", "state": state, "createdAtMs": 1 }))
}

fn job_id() -> JobId {
    JobId::new("job_1").expect("an id")
}

fn names_in(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn a_download_that_breaks_off_continues_where_it_was() {
    let bytes = content(1_000_000);
    let served = bytes.clone();
    let mut tries = 0;
    let server = Server::start(move |request: &Request| {
        tries += 1;
        let reply = ranged(request, &served);
        if tries < 3 { reply.break_after(300_000) } else { reply }
    })
    .await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("talk-restored.wav");
    let mut seen = Vec::new();
    server
        .client()
        .download(&file_of(&bytes), &destination, |progress| seen.push(progress.bytes))
        .await
        .expect("download");

    assert!(std::fs::read(&destination).expect("the file") == bytes);
    assert_eq!(names_in(folder.path()), ["talk-restored.wav"]);
    assert!(seen.is_sorted() && seen.last() == Some(&1_000_000), "no byte is counted twice");
    let ranges: Vec<String> =
        server.requests().iter().map(|request| request.header("range").unwrap_or("all").to_owned()).collect();
    assert_eq!(ranges.len(), 3);
    assert_eq!(ranges[0], "all");
    let starts: Vec<usize> = ranges[1..]
        .iter()
        .map(|range| range.trim_start_matches("bytes=").trim_end_matches('-').parse().expect("a start"))
        .collect();
    assert!(
        0 < starts[0] && starts[0] <= 300_000 && starts[0] < starts[1] && starts[1] <= 600_000,
        "{ranges:?}"
    );
    assert_eq!(server.requests()[1].header("if-range"), Some("\"tag\""));
}

#[tokio::test]
async fn what_an_interrupted_download_left_is_continued_by_the_next() {
    let bytes = content(500_000);
    let served = bytes.clone();
    let server = Server::start(move |request: &Request| ranged(request, &served)).await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("talk-restored.wav");
    let file = file_of(&bytes);
    let part = format!(".talk-restored.wav.{}.part", &sha256(&bytes)[..12]);
    std::fs::write(folder.path().join(part), &bytes[..200_000]).expect("left-over");
    server.client().download(&file, &destination, |_| {}).await.expect("download");
    assert!(std::fs::read(&destination).expect("the file") == bytes);
    assert_eq!(server.requests()[0].header("range"), Some("bytes=200000-"));
}

#[tokio::test]
async fn a_left_over_with_wrong_bytes_costs_one_more_download_and_does_no_harm() {
    let bytes = content(500_000);
    let served = bytes.clone();
    let server = Server::start(move |request: &Request| ranged(request, &served)).await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("talk-restored.wav");
    let part = format!(".talk-restored.wav.{}.part", &sha256(&bytes)[..12]);
    std::fs::write(folder.path().join(part), vec![7; 200_000]).expect("left-over");
    server.client().download(&file_of(&bytes), &destination, |_| {}).await.expect("download");
    assert!(std::fs::read(&destination).expect("the file") == bytes);
}

#[tokio::test]
async fn a_service_without_ranges_is_asked_for_the_whole_file_again() {
    let bytes = content(400_000);
    let served = bytes.clone();
    let mut tries = 0;
    let server = Server::start(move |_: &Request| {
        tries += 1;
        let reply = Reply::bytes(200, served.clone());
        if tries == 1 { reply.break_after(100_000) } else { reply }
    })
    .await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("out.wav");
    server.client().download(&file_of(&bytes), &destination, |_| {}).await.expect("download");
    assert!(std::fs::read(&destination).expect("the file") == bytes);
}

#[tokio::test]
async fn damaged_bytes_never_get_the_files_name() {
    let good = content(100_000);
    let bad = vec![0; 100_000];
    let server = Server::start(move |request: &Request| ranged(request, &bad)).await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("out.wav");
    let error = server.client().download(&file_of(&good), &destination, |_| {}).await.expect_err("damaged");
    assert!(matches!(error, Error::ChecksumMismatch { .. }), "{error}");
    assert!(!destination.exists());
    assert_eq!(server.requests().len(), 2, "it is tried once more");
}

#[tokio::test]
async fn a_busy_service_is_given_the_pause_that_it_asks_for_and_the_job_is_made_once() {
    let mut tries = 0;
    let server = Server::start(move |_: &Request| {
        tries += 1;
        if tries == 1 { Reply::problem(429, "queue_full").header("Retry-After", 1) } else { job("queued") }
    })
    .await;
    let began = Instant::now();
    let new_job = NewJob::of_upload(&UploadId::new("upl_1").expect("an id"));
    server.client().create_job(&new_job).await.expect("a job");
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    let keys: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("idempotency-key").map(str::to_owned))
        .collect();
    assert_eq!(keys.len(), 2);
    assert!(keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
}

#[tokio::test]
async fn a_connection_that_closes_without_an_answer_costs_one_repetition() {
    let mut tries = 0;
    let server = Server::start(move |_: &Request| {
        tries += 1;
        if tries == 2 { Reply::no_answer() } else { job("running") }
    })
    .await;
    let client = server.client();
    client.job(&job_id()).await.expect("the first, on a new connection");
    client.job(&job_id()).await.expect("the second, on the pooled one, which closes");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_refusal_is_a_typed_error_and_is_not_repeated() {
    let server = Server::start(|request: &Request| match request.target.as_str() {
        "/v1/jobs/job_1" => Reply::problem(404, "job_not_found"),
        "/v1/jobs/job_1/cancel" => Reply::problem(409, "job_ended"),
        _ => Reply::bytes(403, "<html>who are you</html>").header("X-Request-Id", "req_header"),
    })
    .await;
    let client = server.client();
    let error = client.job(&job_id()).await.expect_err("404");
    assert_eq!(
        (error.kind(), error.code(), error.request_id()),
        (ErrorKind::NotFound, "job_not_found", Some("req_test"))
    );
    let error = client.cancel_job(&job_id()).await.expect_err("409");
    assert_eq!((error.kind(), error.is_problem("job_ended")), (ErrorKind::Refused, true));
    let cancel = &server.requests_for("POST", "cancel")[0];
    assert_eq!(cancel.header("content-length"), Some("0"), "the service wants a length with every body");
    let error = client.status().await.expect_err("403");
    assert_eq!(
        (error.kind(), error.code(), error.request_id()),
        (ErrorKind::NotAuthorized, "http_403", Some("req_header"))
    );
    assert_eq!(server.requests().len(), 3);
}

/// A service whose first puts break off after so many bytes.
struct Uploads {
    breaks: usize,
    after: usize,
}

impl Service for Uploads {
    fn answer(&mut self, request: &Request) -> Reply {
        match request.method.as_str() {
            "POST" => Reply::json(
                201,
                &json!({ "uploadId": "upl_1", "expiresAtMs": 0, "put": { "method": "PUT",
                         "url": "/v1/uploads/upl_1/content", "headers": { "Minifleet-Ticket": "ticket" } } }),
            ),
            _ => Reply::json(200, &json!({ "uploadId": "upl_1", "size": request.body.len(), "etag": "e" })),
        }
    }

    fn break_body_after(&mut self, head: &Request) -> Option<usize> {
        (head.method == "PUT" && self.breaks > 0).then(|| {
            self.breaks -= 1;
            self.after
        })
    }
}

#[tokio::test]
async fn an_upload_is_sent_with_its_length_and_its_progress_ends_at_its_size() {
    let bytes = content(3_000_000);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("talk.mp3");
    std::fs::write(&path, &bytes).expect("file");
    let server = Server::start(Uploads { breaks: 0, after: 0 }).await;
    let source = Source::read(&path).await.expect("source");
    let mut seen: Vec<Progress> = Vec::new();
    server.client().upload(&source, |progress| seen.push(progress)).await.expect("upload");

    let total = bytes.len() as u64;
    let steps: u64 = seen.windows(2).map(|pair| pair[1].bytes - pair[0].bytes).sum();
    assert_eq!((seen[0].bytes, steps), (0, total));
    assert!(seen.iter().all(|progress| progress.total == total));
    let [create, put] = &server.requests()[..] else { panic!("two requests") };
    assert_eq!(
        create.json(),
        json!({ "name": "talk.mp3", "size": total, "contentType": "audio/mpeg", "sha256": sha256(&bytes) })
    );
    assert_eq!(put.header("content-length"), Some("3000000"));
    assert_eq!(put.header("transfer-encoding"), None);
    assert_eq!(put.header("minifleet-ticket"), Some("ticket"));
    assert!(put.body == bytes);
}

#[tokio::test]
async fn an_upload_that_breaks_off_is_sent_again_from_its_beginning() {
    let bytes = content(3_000_000);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("talk.mp3");
    std::fs::write(&path, &bytes).expect("file");
    let server = Server::start(Uploads { breaks: 2, after: 200_000 }).await;
    let source = Source::read(&path).await.expect("source");
    let mut last = 0;
    server.client().upload(&source, |progress| last = progress.bytes).await.expect("upload");
    let puts = server.requests_for("PUT", "content");
    assert_eq!(puts.len(), 3);
    assert!(puts[2].body == bytes);
    assert_eq!(last, 3_000_000);
}

/// Short enough for a test, long enough for a slow machine.
fn impatient() -> Timeouts {
    let short = Duration::from_millis(400);
    Timeouts { read: short, upload_idle: short, ..Timeouts::default() }
}

#[tokio::test]
async fn an_upload_that_stands_still_is_given_up_and_sent_again() {
    // More than the buffers of both sides can take.
    let bytes = content(30_000_000);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("talk.mp3");
    std::fs::write(&path, &bytes).expect("file");
    let server = Server::start(Uploads { breaks: 1, after: 0 }).await;
    let source = Source::read(&path).await.expect("source");
    server.client_with(impatient()).upload(&source, |_| {}).await.expect("upload");
    let puts = server.requests_for("PUT", "content");
    assert_eq!(puts.len(), 2);
    assert!(puts[1].body == bytes);
}

#[tokio::test]
async fn a_download_that_falls_silent_continues_where_it_was() {
    let bytes = content(1_000_000);
    let served = bytes.clone();
    let mut tries = 0;
    let server = Server::start(move |request: &Request| {
        tries += 1;
        let reply = ranged(request, &served);
        if tries == 1 { reply.break_after(300_000).stalling() } else { reply }
    })
    .await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("out.wav");
    server.client_with(impatient()).download(&file_of(&bytes), &destination, |_| {}).await.expect("download");
    assert!(std::fs::read(&destination).expect("the file") == bytes);
    assert_eq!(server.requests()[1].header("range"), Some("bytes=300000-"));
}

#[tokio::test]
async fn a_slow_download_is_not_limited_in_total() {
    let bytes = content(300_000);
    let served = bytes.clone();
    let server = Server::start(move |_: &Request| {
        Reply::bytes(200, served.clone()).trickling(100_000, Duration::from_millis(250))
    })
    .await;
    let folder = tempfile::tempdir().expect("folder");
    let destination = folder.path().join("out.wav");
    let began = Instant::now();
    server.client_with(impatient()).download(&file_of(&bytes), &destination, |_| {}).await.expect("download");
    assert!(began.elapsed() > impatient().read, "longer than any single silence may last");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_recording_that_changes_before_it_is_sent_is_not_sent() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("talk.mp3");
    std::fs::write(&path, "first").expect("file");
    let server = Server::start(Uploads { breaks: 0, after: 0 }).await;
    let source = Source::read(&path).await.expect("source");
    std::fs::write(&path, "second, longer").expect("file");
    let error = server.client().upload(&source, |_| {}).await.expect_err("changed");
    assert_eq!(error.code(), "input_changed");
    assert!(server.requests_for("PUT", "").is_empty());
}

#[tokio::test]
async fn the_key_is_not_sent_to_where_the_service_points() {
    let bytes = content(1_000);
    let served = bytes.clone();
    let elsewhere = Server::start(move |request: &Request| ranged(request, &served)).await;
    let server = Server::start(|_: &Request| job("running")).await;
    let folder = tempfile::tempdir().expect("folder");
    let file = JobFile { url: format!("{}/bucket/restored.wav", elsewhere.url()), ..file_of(&bytes) };
    server.client().download(&file, &folder.path().join("out.wav"), |_| {}).await.expect("download");
    assert_eq!(elsewhere.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn waiting_outlives_a_service_that_is_away_and_says_so() {
    let quick = WaitOptions {
        first_interval: Duration::from_millis(20),
        last_interval: Duration::from_millis(50),
        patience: Duration::from_secs(30),
    };
    let server = Server::start(|_: &Request| job("running")).await;
    let client = server.client();
    let mut watch = client.watch(&job_id(), quick);
    let first = watch.next().await.expect("a look");
    assert!(matches!(&first, WatchEvent::Changed(job) if job.state == JobState::Running), "{first:?}");

    let address = server.go_away().await;
    let away = watch.next().await.expect("an event");
    assert!(matches!(away, WatchEvent::Away { .. }), "{away:?}");
    let _again = Server::start_at(&address.to_string(), |_: &Request| job("completed")).await;
    let mut events = Vec::new();
    let completed = loop {
        match watch.next().await.expect("an event") {
            WatchEvent::Changed(job) => break job,
            WatchEvent::Away { .. } => {}
            WatchEvent::Back { .. } => events.push("back"),
        }
    };
    assert_eq!((completed.state, events), (JobState::Completed, vec!["back"]));
}

#[tokio::test]
async fn waiting_does_not_outlive_its_patience_or_a_missing_job() {
    let impatient = WaitOptions { patience: Duration::from_millis(100), ..WaitOptions::default() };
    let server = Server::start(|request: &Request| match request.target.as_str() {
        "/v1/jobs/job_1" => Reply::problem(503, "unavailable"),
        _ => Reply::problem(404, "job_not_found"),
    })
    .await;
    let client = server.client();
    let error = client.wait(&job_id(), impatient).await.expect_err("away for too long");
    assert_eq!(error.code(), "unavailable");
    let error = client.wait(&JobId::new("job_2").expect("an id"), impatient).await.expect_err("no such job");
    assert_eq!(error.code(), "job_not_found");
}

#[tokio::test]
async fn an_unchanged_job_is_not_told_again() {
    let mut looks = 0;
    let server = Server::start(move |request: &Request| {
        looks += 1;
        match looks {
            1 => job("running").header("ETag", "\"one\""),
            2..=4 if request.header("if-none-match") == Some("\"one\"") => Reply::bytes(304, ""),
            5 => job("running"),
            _ => job("completed"),
        }
    })
    .await;
    let quick = WaitOptions { first_interval: Duration::from_millis(5), ..WaitOptions::default() };
    let mut watch = server.client().watch(&job_id(), quick);
    let mut states = Vec::new();
    while states.last() != Some(&JobState::Completed) {
        if let WatchEvent::Changed(job) = watch.next().await.expect("an event") {
            states.push(job.state);
        }
    }
    assert_eq!(states, [JobState::Running, JobState::Completed]);
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn something_that_is_no_minifleet_is_named_as_such() {
    let server = Server::start(|request: &Request| match request.target.starts_with("/v1/jobs") {
        true => Reply::bytes(302, "").header("Location", "https://elsewhere.example/"),
        false => Reply::bytes(200, "<html>hello</html>"),
    })
    .await;
    let client = server.client();
    let text = client.status().await.expect_err("HTML").to_string();
    assert!(text.contains("is it the address of a minifleet edge"), "{text}");
    let text = client.jobs(JobFilter::All, 10, None).await.expect_err("a redirect").to_string();
    assert!(text.contains("https://elsewhere.example/"), "{text}");
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_named_in_the_error() {
    let server = Server::start(|_: &Request| job("running")).await;
    let client = server.client();
    let address = server.go_away().await;
    let error = client.health().await.expect_err("nobody listens");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
