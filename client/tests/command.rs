//! The command as people and scripts meet it: a process with arguments, two outputs and an exit code.

mod service;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use service::api::{Api, running};
use service::{Reply, Request, Server, Service};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStderr, Command};

/// A folder to work in, with a home of its own, and a service.
struct Scene<S> {
    server: Server<S>,
    folder: tempfile::TempDir,
}

impl<S: Service> Scene<S> {
    async fn with(service: S) -> Self {
        Scene { server: Server::start(service).await, folder: tempfile::tempdir().expect("folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn recording(&self, name: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(path, service::content(150_000)).expect("recording");
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command_in(self.folder.path(), arguments);
        command.env("MINIFLEET_URL", self.server.url()).env("MINIFLEET_API_KEY", "client-key");
        command
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().await.expect("the command")
    }
}

fn command_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minifleet"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .kill_on_drop(true)
        .stdin(Stdio::null());
    command
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {}", stdout(output)))
}

#[tokio::test]
async fn a_recording_goes_up_and_its_results_come_down() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("talk.mp3");
    let output =
        scene.run(&["restore", "talk.mp3", "-o", "out", "--outputs", "wav,mp3", "--priority", "high"]).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    {
        let api = scene.server.service();
        assert!(api.uploads["upl_1"] == service::content(150_000));
        for (name, bytes) in &api.files {
            assert!(std::fs::read(scene.path(&format!("out/talk-{name}"))).expect("a result") == *bytes);
        }
    }
    let new_job = scene.server.requests_for("POST", "/v1/jobs")[0].json();
    assert_eq!(new_job, json!({ "uploadId": "upl_1", "outputs": ["hls", "wav", "mp3"], "priority": "high" }));
    let text = stdout(&output);
    for expected in
        ["out/talk-restored.wav", "/listen#t", "inference", "2.00 s", "first audio", "1.20 s", "33.3 times"]
    {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let progress = stderr(&output);
    let at = |line: &str| progress.find(line).unwrap_or_else(|| panic!("{line} is missing in\n{progress}"));
    assert!(at("uploaded in") < at("preparing audio on mini-1"));
    assert!(
        at("restoring on mini-1") < at("listen: http")
            && at("listen: http") < at("wrote out/talk-restored.wav")
    );
}

#[tokio::test]
async fn a_job_can_wait_for_its_time_and_ask_for_a_worker() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("talk.mp3");
    let wishes = ["--start-in", "10", "--label", "studio", "--expected-seconds", "61"];
    let output = scene.run(&[&["restore", "talk.mp3"], &wishes[..]].concat()).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let new_job = scene.server.requests_for("POST", "/v1/jobs")[0].json();
    assert_eq!((&new_job["labels"], &new_job["expectedSeconds"]), (&json!(["studio"]), &json!(61)));
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_millis();
    let start = u128::from(new_job["startAfter"].as_u64().expect("a time"));
    assert!((now + 300_000..=now + 600_000).contains(&start), "{start} is not ten minutes after the start");
}

#[tokio::test]
async fn programs_get_one_document_and_progress_line_by_line() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("talk.mp3");
    let output =
        scene.run(&["restore", "talk.mp3", "--json", "--progress", "json", "--metadata", "a=b"]).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let document = document(&output);
    let result = &document["results"][0];
    assert_eq!(
        (&document["exitCode"], &result["outcome"], &result["jobId"]),
        (&json!(0), &json!("restored"), &json!("job_1"))
    );
    assert_eq!(result["files"][1]["path"], "restored/talk-restored.wav");
    assert_eq!((&result["upload"]["bytes"], &result["firstAudioSeconds"]), (&json!(150_000), &json!(1.2)));
    assert_eq!(result["job"]["realTimeFactor"], 0.03);

    let events: Vec<Value> =
        stderr(&output).lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let first = |event: &str| events.iter().position(|line| line["event"] == event).expect("an event");
    let completed = events.iter().position(|line| line["job"]["state"] == "completed").expect("completion");
    assert!(
        first("uploaded") < first("queued")
            && first("playable") < completed
            && completed < first("downloaded")
    );
    let sent = events.iter().rfind(|line| line["event"] == "uploading").expect("an upload");
    assert_eq!((&sent["bytes"], &sent["total"]), (&json!(150_000), &json!(150_000)));
}

#[tokio::test]
async fn quiet_prints_only_where_the_results_are() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("talk.mp3");
    let output = scene.run(&["--quiet", "restore", "talk.mp3"]).await;
    assert_eq!(stdout(&output), "restored/talk-restored.mp3\nrestored/talk-restored.wav\n");
    assert_eq!(stderr(&output), "");
    let output = scene.run(&["--quiet", "restore", "talk.mp3", "--no-download"]).await;
    assert_eq!(stdout(&output), format!("{}/listen#t\n", scene.server.url()));
}

#[tokio::test]
async fn several_recordings_are_reported_in_their_order_under_names_of_their_own() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("in/b/talk.wav").recording("in/a/talk.wav").recording("talk.mp3").recording("talk.ogg");
    let output = scene.run(&["restore", "talk.mp3", "talk.ogg", "in", "-r", "--json"]).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let document = document(&output);
    let paths: Vec<&str> = document["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| result["files"][1]["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(
        paths,
        ["talk-restored.wav", "talk-2-restored.wav", "a/talk-restored.wav", "b/talk-restored.wav"]
            .map(|name| format!("restored/{name}"))
    );
    assert!(paths.iter().all(|path| scene.path(path).is_file()));
}

#[tokio::test]
async fn a_failed_job_says_what_to_do_and_ends_with_1() {
    let failed = json!({ "state": "failed", "failure": { "code": "no_audio", "message": "The file has no audio track.",
                         "advice": "Check the export settings of the video.", "retryable": false } });
    let scene = Scene::with(Api { script: vec![failed], ..Api::default() }).await;
    scene.recording("film.mp4");
    let output = scene.run(&["restore", "film.mp4", "--json"]).await;
    assert_eq!(code(&output), Some(1));
    let document = document(&output);
    let result = &document["results"][0];
    assert_eq!((&document["exitCode"], &result["outcome"]), (&json!(1), &json!("failed")));
    assert_eq!(
        result["error"]["message"],
        "The file has no audio track (no_audio). Check the export settings of the video."
    );
    assert_eq!(result["job"]["failure"]["code"], "no_audio");
}

#[tokio::test]
async fn a_job_that_waits_for_an_operator_is_not_waited_for() {
    let quarantined = json!({ "state": "quarantined" });
    let scene = Scene::with(Api { script: vec![quarantined], ..Api::default() }).await;
    scene.recording("talk.mp3");
    let output = scene.run(&["restore", "talk.mp3"]).await;
    assert_eq!(code(&output), Some(1));
    assert!(stdout(&output).contains("an operator has to look at it"), "{}", stdout(&output));
}

#[tokio::test]
async fn unusable_recordings_end_with_2_before_anything_is_sent() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("good.wav");
    std::fs::write(scene.path("empty.wav"), "").expect("file");
    for (arguments, expected) in [
        (vec!["restore", "good.wav", "none.wav"], "none.wav: there is no such file"),
        (vec!["restore", "empty.wav"], "empty.wav is empty"),
        (vec!["restore", "."], "add --recursive"),
        (vec!["restore", "good.wav", "--sampler", "slow"], "slow"),
        (vec!["job", "../x"], "id"),
    ] {
        let output = scene.run(&arguments).await;
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
    assert!(scene.server.requests().is_empty());
}

#[tokio::test]
async fn a_result_never_overwrites_a_recording_of_the_same_run() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("talk.mp3").recording("talk-restored.wav");
    let output = scene.run(&["restore", "talk.mp3", "talk-restored.wav", "-o", "."]).await;
    assert_ne!(code(&output), Some(0));
    assert!(stderr(&output).contains("choose another folder"), "{}", stderr(&output));
    assert!(
        std::fs::read(scene.path("talk-restored.wav")).expect("the recording") == service::content(150_000)
    );
}

#[tokio::test]
async fn each_kind_of_trouble_has_its_exit_code() {
    let scene = Scene::with(Api::default()).await;
    let output = scene.run(&["job", "job_none", "--json"]).await;
    assert_eq!(code(&output), Some(3));
    let error = &document(&output)["error"];
    assert_eq!(
        (&error["code"], &error["requestId"], &error["exitCode"]),
        (&json!("not_found"), &json!("req_test"), &json!(3))
    );

    let output = scene.command(&["status"]).env("MINIFLEET_API_KEY", "wrong").output().await.expect("run");
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));

    let refusing = Scene::with(|_: &Request| Reply::problem(409, "job_ended")).await;
    let output = refusing.run(&["cancel", "job_1", "job_2"]).await;
    assert_eq!(code(&output), Some(5));
    assert!(
        stdout(&output).contains("job_1: not cancelled: The detail of job_ended."),
        "{}",
        stdout(&output)
    );

    std::fs::write(scene.path("restored"), "a file where the folder should be").expect("file");
    scene.recording("talk.mp3");
    let output = scene.run(&["restore", "talk.mp3"]).await;
    assert_eq!(code(&output), Some(6), "{}", stderr(&output));

    let folder = tempfile::tempdir().expect("folder");
    let output = command_in(folder.path(), &["status"]).output().await.expect("run");
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("scripts/dev"), "{}", stderr(&output));
}

#[tokio::test]
async fn an_unreachable_service_ends_with_4_and_names_the_address() {
    let scene = Scene::with(Api::default()).await;
    let (url, folder) = (scene.server.url(), scene.folder);
    scene.server.go_away().await;
    let mut command = command_in(folder.path(), &["status", "--url", &url]);
    let output = command.env("MINIFLEET_API_KEY", "client-key").output().await.expect("run");
    assert_eq!(code(&output), Some(4));
    assert!(stderr(&output).contains(&url), "{}", stderr(&output));
}

#[tokio::test]
async fn a_profile_in_the_project_is_enough() {
    let scene = Scene::with(Api::default()).await;
    std::fs::create_dir_all(scene.path(".minifleet")).expect("folder");
    std::fs::create_dir_all(scene.path("deep/er")).expect("folder");
    let profile = format!("url = \"{}\"\napi_key = \"client-key\"\n", scene.server.url());
    std::fs::write(scene.path(".minifleet/client.toml"), profile).expect("profile");
    let output = command_in(&scene.path("deep/er"), &["status"]).output().await.expect("run");
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("2 queued") && text.contains("mini-1") && text.contains("0 of 1"), "{text}");
}

#[tokio::test]
async fn files_are_listed_chosen_and_fetched() {
    let scene = Scene::with(Api::default()).await;
    scene.recording("talk.mp3");
    assert_eq!(code(&scene.run(&["restore", "talk.mp3", "--no-download"]).await), Some(0));
    let output = scene.run(&["files", "job_1", "--quiet"]).await;
    assert_eq!(stdout(&output), "restored.mp3\nrestored.wav\n");
    let output = scene.run(&["files", "job_1", "restored.wav", "--download", "-o", "got"]).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(scene.path("got/talk-restored.wav").is_file() && !scene.path("got/talk-restored.mp3").exists());
    let output = scene.run(&["files", "job_1", "restored.aiff"]).await;
    assert_eq!(code(&output), Some(3));
    assert!(stderr(&output).contains("it has restored.mp3, restored.wav"), "{}", stderr(&output));
}

#[tokio::test]
async fn stems_are_waited_for_and_their_masters_come_down() {
    let file = |name: &str| {
        json!({ "name": name, "size": name.len(), "contentType": "audio/flac", "sha256": service::sha256(name.as_bytes()),
                "url": format!("/v1/jobs/job_1/stems/{name}") })
    };
    let files = ["speech-00000.flac", "speech.flac", "background.flac", "manifest.json"].map(file);
    let waiting = json!({ "state": "waiting", "files": [] });
    let ready = json!({ "state": "ready", "files": files });
    let scene = Scene::with(Api { stems: vec![waiting.clone(), waiting, ready], ..Api::default() }).await;
    scene.recording("talk.mp3");
    let output = scene.run(&["restore", "talk.mp3", "-o", "out", "--outputs", "wav,stems"]).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    for name in ["restored.wav", "speech.flac", "background.flac", "manifest.json"] {
        assert!(scene.path(&format!("out/talk-{name}")).is_file(), "{name}");
    }
    assert!(!scene.path("out/talk-speech-00000.flac").exists(), "chunks are for players");
    let output = scene.run(&["files", "job_1", "--quiet"]).await;
    assert!(stdout(&output).contains("background.flac") && !stdout(&output).contains("speech-0"));

    let failed =
        json!({ "state": "failed", "files": [], "failure": { "code": "disk_full", "message": "No space." } });
    let scene = Scene::with(Api { stems: vec![failed], ..Api::default() }).await;
    scene.recording("talk.mp3");
    let output = scene.run(&["restore", "talk.mp3", "-o", "out", "--outputs", "wav,stems"]).await;
    assert_eq!(code(&output), Some(1));
    assert!(stderr(&output).contains("No space. The restored files are there."), "{}", stderr(&output));
    assert!(scene.path("out/talk-restored.wav").is_file());
}

#[tokio::test]
async fn an_outage_after_the_upload_is_waited_for_at_every_step() {
    let mut api = Api::default();
    let mut asked = std::collections::BTreeMap::new();
    // Making the job and listing its files are refused more often than the library repeats by itself.
    let scene = Scene::with(move |request: &Request| {
        let later = request.method != "PUT" && !request.target.starts_with("/v1/uploads");
        let times: &mut u32 = asked.entry(request.line()).or_default();
        *times += 1;
        let limit =
            if request.line() == "POST /v1/jobs" || request.target.ends_with("/files") { 7 } else { 2 };
        if later && *times <= limit {
            return Reply::problem(503, "unavailable");
        }
        api.answer(request)
    })
    .await;
    scene.recording("talk.mp3");
    let output = scene.run(&["restore", "talk.mp3"]).await;
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(scene.path("restored/talk-restored.wav").is_file());
    let progress = stderr(&output);
    assert!(progress.contains("does not answer") && progress.contains("is back after"), "{progress}");
}

/// Starts a restore and returns when its job is being restored.
async fn restoring(scene: &Scene<Api>) -> (tokio::process::Child, Lines<BufReader<ChildStderr>>) {
    scene.recording("talk.mp3");
    let mut child = scene
        .command(&["restore", "talk.mp3", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
    while let Some(line) = lines.next_line().await.expect("a line") {
        if line.contains("restoring on") {
            return (child, lines);
        }
    }
    panic!("it ended before it was restoring");
}

async fn interrupt(child: &tokio::process::Child) {
    let process = child.id().expect("it runs").to_string();
    let status = Command::new("kill").args(["-INT", &process]).status().await.expect("kill");
    assert!(status.success());
}

#[tokio::test]
async fn ctrl_c_cancels_the_job_that_it_started_and_says_so() {
    let scene = Scene::with(Api { script: running(), ..Api::default() }).await;
    let (child, _lines) = restoring(&scene).await;
    interrupt(&child).await;
    let output = child.wait_with_output().await.expect("its end");
    assert_eq!(code(&output), Some(130));
    assert_eq!(scene.server.requests_for("POST", "/v1/jobs/job_1/cancel").len(), 1);
    let result = &document(&output)["results"][0];
    assert_eq!(
        (&result["outcome"], &result["error"]["message"]),
        (&json!("cancelled"), &json!("interrupted; the service has cancelled the job"))
    );
}

#[tokio::test]
async fn a_second_ctrl_c_quits_at_once_though_the_service_hangs() {
    let slow = Duration::from_secs(60);
    let scene = Scene::with(Api { script: running(), cancel_delay: slow, ..Api::default() }).await;
    let (mut child, _lines) = restoring(&scene).await;
    interrupt(&child).await;
    while scene.server.requests_for("POST", "cancel").is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    interrupt(&child).await;
    let status =
        tokio::time::timeout(Duration::from_secs(5), child.wait()).await.expect("at once").expect("its end");
    assert_eq!(status.code(), Some(130));
}
