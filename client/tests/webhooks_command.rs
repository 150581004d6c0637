//! `minifleet webhooks` and `minifleet admin webhooks`: the same commands with another key at another path.

mod service;

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use service::{Reply, Request, Server, Service};
use tokio::process::Command;

async fn run<S: Service>(server: &Server<S>, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_minifleet"));
    command
        .args(arguments)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("MINIFLEET_URL", server.url())
        .env("MINIFLEET_API_KEY", "client-key")
        .env("MINIFLEET_ADMIN_KEY", "operator-key")
        .kill_on_drop(true)
        .stdin(Stdio::null());
    command.output().await.expect("the command")
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn webhook(tenant: Option<&str>) -> Value {
    json!({ "webhookId": "wh_1", "tenant": tenant, "url": "https://hooks.example.com/", "events": null,
            "enabled": true, "goneAtMs": null, "waiting": 3, "responsive": true, "deadLetters": 12, "newField": 1 })
}

fn answer(request: &Request) -> Reply {
    let path = request.target.replace("/v1/admin/", "/v1/");
    match (request.method.as_str(), path.as_str()) {
        ("GET", "/v1/webhooks") => Reply::json(200, &json!({ "webhooks": [webhook(Some("acme"))] })),
        ("POST", "/v1/webhooks") => {
            Reply::json(201, &json!({ "webhook": webhook(None), "secret": "whsec_once" }))
        }
        ("POST", "/v1/webhooks/wh_1/rotate-secret") => {
            Reply::json(200, &json!({ "webhook": webhook(None), "secret": "whsec_other" }))
        }
        ("POST", "/v1/webhooks/wh_1/test") => Reply::json(202, &json!({ "eventId": "msg_1" })),
        ("POST", "/v1/webhooks/wh_1/replay") => Reply::json(200, &json!({ "replayed": 500, "left": 12 })),
        ("POST", "/v1/webhooks/wh_1/delete") => Reply::json(200, &json!({ "webhookId": "wh_1" })),
        ("POST", "/v1/webhooks/wh_1" | "/v1/webhooks/wh_1/end-rotation") => {
            Reply::json(200, &webhook(Some("acme")))
        }
        ("GET", "/v1/webhooks/wh_1/deliveries?limit=5") => Reply::json(
            200,
            &json!({ "nextCursor": null, "deliveries": [{ "eventId": "msg_1", "type": "job.failed", "jobId": "job_1",
                "generationId": null, "attempt": 3, "publishedAtMs": 1, "atMs": 1, "durationMs": 15_000,
                "outcome": "timed_out", "status": null, "failure": "the endpoint did not answer within 15 s" }] }),
        ),
        _ => Reply::problem(404, "webhook_not_found"),
    }
}

#[tokio::test]
async fn clients_and_operators_say_the_same_and_reach_their_own() {
    let server = Server::start(answer).await;
    for (words, path, key) in [
        (vec!["webhooks"], "/v1/webhooks", "Bearer client-key"),
        (vec!["admin", "webhooks"], "/v1/admin/webhooks", "Bearer operator-key"),
    ] {
        let run = async |arguments: &[&str]| stdout(&run(&server, &[&words[..], arguments].concat()).await);
        let list = run(&["list"]).await;
        assert!(list.contains("wh_1") && list.contains("acme") && list.contains("12"), "{list}");
        let log = run(&["log", "wh_1", "--limit", "5"]).await;
        assert!(log.contains("job.failed") && log.contains("did not answer within 15 s"), "{log}");
        assert!(run(&["test", "wh_1"]).await.contains("msg_1"));
        let replay = run(&["replay", "wh_1", "--dead-letter", "7", "--reason", "it is back"]).await;
        assert!(replay.contains("500 are sent again, 12 are left"), "{replay}");
        run(&["rotate", "wh_1", "--end"]).await;
        run(&["disable", "wh_1"]).await;
        run(&["delete", "wh_1"]).await;
        let asked: Vec<Request> =
            server.requests().into_iter().filter(|one| one.target.starts_with(path)).collect();
        assert_eq!(asked.len(), 7, "{asked:?}");
        assert!(asked.iter().all(|one| one.header("authorization") == Some(key)), "{asked:?}");
        let replay = asked.iter().find(|one| one.target.ends_with("/replay")).expect("it was asked for");
        assert_eq!(replay.json(), json!({ "deadLetterId": 7, "reason": "it is back" }));
        let change = asked.iter().find(|one| one.target.ends_with("/wh_1")).expect("it was asked for");
        assert_eq!(change.json()["enabled"], false);
    }
}

#[tokio::test]
async fn a_secret_is_printed_alone_for_scripts_and_asked_for_once_only() {
    let server = Server::start(answer).await;
    let create = ["webhooks", "create", "https://hooks.example.com/", "--event", "job.completed", "--quiet"];
    assert_eq!(stdout(&run(&server, &create).await), "whsec_once\n");
    let sent = server.requests();
    let expected = json!({ "url": "https://hooks.example.com/", "events": ["job.completed"], "reason": "" });
    assert_eq!(sent[0].json(), expected);
    let rotated = stdout(&run(&server, &["webhooks", "rotate", "wh_1"]).await);
    assert!(rotated.starts_with("whsec_other\n") && rotated.contains("wh_1"), "{rotated}");

    // A lost answer would leave a webhook whose secret nobody has, and a second one beside it.
    let deaf = Server::start(|_: &Request| Reply::no_answer()).await;
    let output = run(&deaf, &create).await;
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(deaf.requests().len(), 1);
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_said_to_be_not_there() {
    let server = Server::start(answer).await;
    let output = run(&server, &["webhooks", "test", "wh_2"]).await;
    assert_ne!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("webhook_not_found"));
}
