//! The operator's commands as people and scripts meet them.

mod service;

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use service::{Reply, Request, Server, Service};
use tokio::process::Command;

/// Runs `minifleet admin …` with an operator's key in a folder of its own.
async fn run<S: Service>(server: &Server<S>, arguments: &[&str]) -> Output {
    run_with(server, "MINIFLEET_ADMIN_KEY", arguments).await
}

async fn run_with<S: Service>(server: &Server<S>, variable: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_minifleet"));
    command
        .arg("admin")
        .args(arguments)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("MINIFLEET_URL", server.url())
        .env(variable, "operator-key")
        .kill_on_drop(true)
        .stdin(Stdio::null());
    command.output().await.expect("the command")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn queue(paused: bool) -> Value {
    let pauses = if paused {
        json!([{ "atMs": 1_000, "keyId": "ops-1", "reason": "storage\u{1b}[2J moves" }])
    } else {
        json!([])
    };
    json!({ "environment": "dev", "limit": 10_000, "paused": paused, "pausedTenants": [], "pauses": pauses,
            "counts": { "queued": 7, "offered": 0, "running": 2 }, "scheduled": 0, "oldestWaitMs": 12_000,
            "secondsToDrain": 90.0, "targetSeconds": 60, "lateJobs": 3, "workersWanted": 2, "availableWorkers": 1,
            "tenants": [{ "tenant": "acme", "queued": 7, "withWorkers": 2 }], "newField": 1 })
}

fn job() -> Value {
    json!({
        "tenant": "acme", "idempotencyKey": null, "waiting": null, "followUp": null,
        "job": { "jobId": "job_1", "name": "talk.mp3", "state": "running", "attempt": 2, "createdAtMs": 1_000 },
        "budgets": { "retries": 1, "maxRetries": 3, "workersLost": 0, "maxWorkersLost": 2 },
        "decision": { "policy": "earliest_finish", "chosen": "mini-2", "decidedBy": "soonest", "considered": 2,
                      "candidates": [
                        { "worker": "mini-2", "startSeconds": 0.0, "finishSeconds": 12.5, "priority": 0 },
                        { "worker": "mini-1", "startSeconds": 30.0, "finishSeconds": 61.0, "priority": 0 }] },
        "history": [
            { "atMs": 1_000, "to": "queued", "attempt": 0, "reason": "submitted", "worker": null },
            { "atMs": 1_500, "to": "offered", "attempt": 1, "reason": "slot_open", "worker": "mini-1" }],
    })
}

#[tokio::test]
async fn a_paused_queue_says_who_paused_it_and_why() {
    let server = Server::start(|request: &Request| match request.line().as_str() {
        "GET /v1/admin/queue?targetSeconds=60" => Reply::json(200, &queue(true)),
        "POST /v1/admin/queue/pause" => Reply::json(200, &queue(true)),
        _ => Reply::problem(404, "route_not_found"),
    })
    .await;
    let output = run(&server, &["queue", "--target", "60"]).await;
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for expected in ["7 queued", "PAUSED", "by ops-1", "storage\u{fffd}[2J moves", "later than 60 s", "acme"]
    {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let output = run(&server, &["pause", "--tenant", "acme", "--reason", "a flood", "--json"]).await;
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!((&document["paused"], &document["newField"]), (&json!(true), &json!(1)));
    let sent = &server.requests_for("POST", "pause")[0];
    assert_eq!(sent.json(), json!({ "tenant": "acme", "reason": "a flood" }));
    assert_eq!(sent.header("authorization"), Some("Bearer operator-key"));
}

#[tokio::test]
async fn a_clients_key_is_not_sent_to_the_operators_side() {
    let server = Server::start(|_: &Request| Reply::json(200, &queue(false))).await;
    let output = run_with(&server, "MINIFLEET_API_KEY", &["queue"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("MINIFLEET_ADMIN_KEY"), "{}", stderr(&output));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn why_a_job_went_where_it_went_is_told_with_its_candidates() {
    let server = Server::start(|_: &Request| Reply::json(200, &job())).await;
    let text = stdout(&run(&server, &["explain", "job_1"]).await);
    for expected in
        ["Attempt 2 went to mini-2", "soonest by more than a tie", "mini-1", "12.5 s", "1 min 01 s"]
    {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let text = stdout(&run(&server, &["history", "job_1"]).await);
    for expected in ["slot open", "0.50 s", "1 of 3 retries"] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let mut waiting = job();
    waiting["waiting"] = json!({ "waitsFor": "fitting_worker", "notBeforeMs": 1_000, "jobsAhead": 4,
                                 "fittingWorkers": 0, "availableWorkers": 0 });
    let server = Server::start(move |_: &Request| Reply::json(200, &waiting)).await;
    let text = stdout(&run(&server, &["explain", "job_1"]).await);
    assert!(text.contains("none of the connected ones has them") && text.contains("4 jobs ahead"), "{text}");
}

#[tokio::test]
async fn many_jobs_are_changed_only_when_that_is_meant_and_then_all_of_them() {
    let mut live = 450_u64;
    let server = Server::start(move |request: &Request| {
        let step = live.min(200);
        let dry_run = request.json()["dryRun"] == true;
        if !dry_run {
            live -= step;
        }
        let left = if dry_run { live - step } else { live };
        Reply::json(
            200,
            &json!({ "dryRun": dry_run, "changed": step, "left": left, "stopped": null, "jobIds": [] }),
        )
    })
    .await;
    for (arguments, expected) in [
        (vec!["cancel"], "--all"),
        (vec!["cancel", "--tenant", "acme"], "450 jobs would be cancelled: add --yes"),
        (vec!["cancel", "job_1", "--tenant", "acme"], "cannot be used with"),
    ] {
        let output = run(&server, &arguments).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
    assert!(server.requests().iter().all(|request| request.json()["dryRun"] == true), "nothing was changed");
    let output = run(&server, &["cancel", "--tenant", "acme", "--yes", "--reason", "a flood"]).await;
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "450 jobs cancelled.\n"));
    let acts: Vec<Value> =
        server.requests().iter().map(Request::json).filter(|body| body["dryRun"] == false).collect();
    assert_eq!(acts.len(), 3);
    assert_eq!(acts[0], json!({ "tenant": "acme", "all": false, "dryRun": false, "reason": "a flood" }));
}

#[tokio::test]
async fn a_job_that_cannot_be_retried_does_not_keep_the_others() {
    let server = Server::start(|request: &Request| match request.target.as_str() {
        "/v1/admin/jobs/job_1/retry" => Reply::json(200, &job()),
        _ => Reply::problem(409, "wrong_state"),
    })
    .await;
    let output = run(&server, &["retry", "job_2", "job_1"]).await;
    assert_eq!(output.status.code(), Some(5));
    assert!(stdout(&output).contains("job_1: put back"), "{}", stdout(&output));
    assert!(
        stdout(&output).contains("job_2: not put back: The detail of wrong_state."),
        "{}",
        stdout(&output)
    );
}

fn key() -> Value {
    json!({ "keyId": "key_1", "tenant": "acme", "label": "backend", "role": "full", "valid": true, "createdAtMs": 1_000,
            "expiresAtMs": null, "revokedAtMs": null, "olderSecretUntilMs": null, "newField": 1 })
}

#[tokio::test]
async fn a_new_keys_secret_is_printed_and_the_key_is_never_made_twice() {
    let server = Server::start(|request: &Request| match request.line().as_str() {
        "POST /v1/admin/tenants/acme/keys" => {
            Reply::json(201, &json!({ "key": key(), "secret": "mfk.acme.key_1.SECRET" }))
        }
        "POST /v1/admin/tenants/busy/keys" => Reply::problem(503, "tenant_unavailable"),
        _ => Reply::problem(404, "route_not_found"),
    })
    .await;
    let create = ["keys", "create", "acme", "--label", "backend", "--read-only"];
    let output = run(&server, &create).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("mfk.acme.key_1.SECRET\n"), "{}", stdout(&output));
    let sent = server.requests_for("POST", "acme/keys")[0].json();
    assert_eq!(sent, json!({ "label": "backend", "role": "read", "reason": "" }));
    let quiet = run(&server, &["keys", "create", "acme", "--quiet"]).await;
    assert_eq!(stdout(&quiet), "mfk.acme.key_1.SECRET\n", "a script gets the secret alone");
    // Whether it was made is not known then: another one would be a key that nobody has.
    let failed = run(&server, &["keys", "create", "busy"]).await;
    assert_ne!(failed.status.code(), Some(0));
    assert_eq!(server.requests_for("POST", "busy/keys").len(), 1);
}

#[tokio::test]
async fn a_tenants_limits_are_changed_by_name_and_taken_back_to_what_is_usual() {
    let settings = json!({ "maxUploadBytes": 5_000_000, "mediaTypes": ["audio/"], "monthlyAudioSeconds": 60,
                           "requestsPerMinute": 600, "maxLiveJobs": null });
    let tenant = json!({ "tenant": "acme", "settings": settings, "month": "2026-11", "usedSeconds": 12.5 });
    let server = Server::start(move |_: &Request| Reply::json(200, &tenant)).await;
    let change = ["tenant", "acme", "--monthly-audio-seconds", "60", "--requests-per-minute", "default"];
    let output =
        run(&server, &[&change[..], &["--media-types", "audio/,video/", "--reason", "trial"]].concat()).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent = server.requests_for("POST", "tenants/acme")[0].json();
    assert_eq!(
        sent,
        json!({ "monthlyAudioSeconds": 60, "requestsPerMinute": null, "mediaTypes": ["audio/", "video/"],
                "reason": "trial" })
    );
    let shown = stdout(&run(&server, &["tenant", "acme"]).await);
    assert_eq!(server.requests_for("POST", "tenants/acme").len(), 1, "looking changes nothing");
    for expected in ["60", "audio/", "unlimited", "12 s in 2026-11"] {
        assert!(shown.contains(expected), "{expected} is missing in\n{shown}");
    }
}
