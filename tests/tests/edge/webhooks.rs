//! Webhooks over real HTTP: who is told what, in which order, and what happens when nobody answers.

use conformance::harness::{
    Answer, Edge, EdgeOptions, Keys, PATIENCE, ReceivedWebhook, ScriptedWorker, WebhookAnswer,
    WebhookReceiver, until,
};
use serde_json::{Value, json};
use shared_protocol::{Assign, Phase, Progress, WorkerMessage};
use std::time::Duration;

const PRIVATE_ALLOWED: &[(&str, &str)] = &[("WEBHOOK_ALLOW_PRIVATE", "true")];

/// An edge that may call this machine.
fn edge() -> Edge {
    Edge::start_with(EdgeOptions { vars: PRIVATE_ALLOWED, ..EdgeOptions::default() })
}

/// A webhook, as its making answered.
struct Webhook {
    id: String,
    secret: String,
}

fn act(edge: &Edge, path: &str, body: &Value) -> Answer {
    edge.api(Keys::ADMIN).post(&format!("/v1/admin/webhooks{path}"), body)
}

fn look(edge: &Edge, path: &str) -> Value {
    edge.api(Keys::ADMIN).get(&format!("/v1/admin/webhooks{path}")).expect(200).json()
}

/// Makes a webhook to this backend, with these fields beside `url`.
fn make(edge: &Edge, backend: &WebhookReceiver, fields: &Value) -> Webhook {
    let mut body = json!({ "url": backend.url() });
    for (name, value) in fields.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let made = act(edge, "", &body).expect(201).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Webhook { id: text(&made["webhook"]["webhookId"]), secret: text(&made["secret"]) }
}

/// Whether the specification's own library takes a request as signed by this secret.
fn is_signed(webhook: &ReceivedWebhook, secret: &str) -> bool {
    let verifier = standardwebhooks::Webhook::new(secret).unwrap();
    verifier.verify(&webhook.body, &webhook.headers).is_ok()
}

/// The kinds that came in for a job without repetitions of the same event.
fn told_once(backend: &WebhookReceiver, job: &str) -> Vec<String> {
    let mut seen = vec![];
    for webhook in backend.received().iter().filter(|webhook| webhook.job() == job) {
        if !seen.contains(&(webhook.id().to_owned(), webhook.kind())) {
            seen.push((webhook.id().to_owned(), webhook.kind()));
        }
    }
    seen.into_iter().map(|(_, kind)| kind).collect()
}

fn report(worker: &mut ScriptedWorker, assign: &Assign, phase: Phase) {
    worker.send(&WorkerMessage::Progress(Progress {
        job_id: assign.job_id.clone(),
        attempt: assign.attempt,
        phase,
        fraction: 0.1,
        audio_seconds: None,
        segments: vec![],
    }));
}

/// A job from its queue to its result, with a phase and a segment.
fn whole_job(edge: &Edge) -> String {
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(edge, "mini-1", 1);
    let assign = worker.take_job();
    report(&mut worker, &assign, Phase::Downloading);
    let segment = worker.put_segment(&assign, 0);
    worker.progress(&assign, 0.5, std::slice::from_ref(&segment));
    let file = worker.put_wav(&assign, b"RIFF restored");
    let complete = ScriptedWorker::completion(&assign, &[segment], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    id
}

#[test]
fn a_backend_is_told_a_jobs_whole_story_in_order_signed_and_with_its_files() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    let webhook = make(&edge, &backend, &json!({}));
    let id = whole_job(&edge);
    let completed = backend.expect(&id, "job.completed");

    let told = backend.told(&id);
    assert_eq!(told.first().unwrap(), "job.queued");
    assert_eq!(told.last().unwrap(), "job.completed");
    assert!(told.contains(&"job.playable".to_owned()), "{told:?}");
    for event in backend.received() {
        assert!(is_signed(&event, &webhook.secret));
        assert_eq!(event.header("Content-Type"), "application/json");
        assert!(event.header("User-Agent").starts_with("minifleet/"), "{}", event.header("User-Agent"));
        assert_eq!(event.json()["data"]["tenant"], "acme");
    }
    let data = &completed.json()["data"];
    assert_eq!((&data["job"]["state"], &data["job"]["progress"]), (&json!("completed"), &json!(1.0)));
    let url = data["files"][0]["url"].as_str().unwrap();
    assert_eq!(edge.api(Keys::ACME).get(url).expect(200).body, b"RIFF restored");
    let status = until("the last acknowledgement is booked", PATIENCE, || {
        let status = look(&edge, &format!("/{}", webhook.id));
        (status["waiting"] == 0).then_some(status)
    });
    // One that was on its way when the job ended was cut off: it may be told of, and is not acknowledged.
    let count = |name: &str| status["counters"][name].as_u64().unwrap() as usize;
    assert!(count("delivered") >= 4, "{status}");
    assert!(count("delivered") + count("overtaken") >= told.len(), "{status} {told:?}");
    assert_eq!(status["responsive"], true);
}

#[test]
fn events_of_a_job_stay_in_order_under_retries_and_keep_their_ids() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    make(
        &edge,
        &backend,
        &json!({ "events": ["job.queued", "job.started", "job.playable", "job.completed"] }),
    );
    backend.answer_next([500, 204, 503].map(WebhookAnswer::status));
    let id = whole_job(&edge);
    backend.expect(&id, "job.completed");
    assert_eq!(told_once(&backend, &id), ["job.queued", "job.started", "job.playable", "job.completed"]);
    let requests = backend.received();
    assert_eq!(requests.len(), 6, "{:?}", backend.told(&id));
    assert_eq!((requests[0].id(), &requests[0].body), (requests[1].id(), &requests[1].body));
    assert_eq!(requests[2].id(), requests[3].id());
}

#[test]
fn backends_that_hang_delay_no_other() {
    let edge = edge();
    let hanging: Vec<WebhookReceiver> = (0..5)
        .map(|_| {
            let backend = WebhookReceiver::start();
            backend.answer(WebhookAnswer::Hang);
            make(&edge, &backend, &json!({}));
            backend
        })
        .collect();
    let backend = WebhookReceiver::start();
    make(&edge, &backend, &json!({}));
    let id = whole_job(&edge);
    backend.expect(&id, "job.completed");
    assert!(hanging.iter().any(|hanging| !hanging.received().is_empty()));
    let beyond_the_first =
        hanging.iter().any(|hanging| hanging.told(&id).contains(&"job.started".to_owned()));
    assert!(!beyond_the_first, "none of them is told more before it has answered");
}

#[test]
fn the_end_of_a_job_drops_what_was_not_told_of_its_way_there() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    make(&edge, &backend, &json!({ "events": ["job.phase", "job.progress", "job.completed"] }));
    let pause = vec![("Retry-After".to_owned(), "3".to_owned())];
    backend.answer_next([WebhookAnswer::Status(503, pause)]);
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    report(&mut worker, &assign, Phase::Downloading);
    let first = backend.expect(&id, "job.phase");
    for phase in [Phase::PreparingAudio, Phase::Restoring, Phase::Publishing] {
        report(&mut worker, &assign, phase);
    }
    worker.complete(&assign);
    let completed = backend.expect(&id, "job.completed");
    assert_eq!(backend.told(&id), ["job.phase", "job.completed"]);
    assert!(completed.at - first.at >= Duration::from_secs(2), "the pause that it asked for is kept");
}

#[test]
fn a_redirect_is_a_failure_and_is_not_followed() {
    let edge = edge();
    let (backend, elsewhere) = (WebhookReceiver::start(), WebhookReceiver::start());
    let webhook = make(&edge, &backend, &json!({ "events": ["job.queued"] }));
    for status in [301, 307] {
        let location = vec![("Location".to_owned(), elsewhere.url())];
        backend.answer_next([WebhookAnswer::Status(status, location)]);
    }
    let id = edge.api(Keys::ACME).queue_job();
    let requests = backend.expect_count(3);
    assert!(requests.iter().all(|request| request.job() == id));
    let status = until("the acknowledgement is booked", PATIENCE, || {
        let status = look(&edge, &format!("/{}", webhook.id));
        (status["waiting"] == 0).then_some(status)
    });
    assert_eq!(status["counters"]["failedAttempts"], 2, "{status}");
    assert_eq!(elsewhere.received().len(), 0);
}

#[test]
fn an_edge_that_is_killed_between_event_and_delivery_loses_nothing() {
    let mut edge = edge();
    let backend = WebhookReceiver::start();
    backend.answer(WebhookAnswer::Hang);
    let webhook = make(&edge, &backend, &json!({ "events": ["job.queued", "job.completed"] }));
    let id = whole_job(&edge);
    backend.expect(&id, "job.queued");
    edge.kill();
    backend.answer(WebhookAnswer::status(200));
    edge.boot();
    // Nobody asks for anything: the alarm that was set for the delivery wakes the object.
    until("the alarm goes off", PATIENCE * 3, || (backend.received().len() > 1).then_some(()));
    let completed = backend.expect(&id, "job.completed");
    assert!(is_signed(&completed, &webhook.secret));
    assert_eq!(told_once(&backend, &id), ["job.queued", "job.completed"]);
    until("all is booked", PATIENCE, || {
        (look(&edge, &format!("/{}", webhook.id))["waiting"] == 0).then_some(())
    });
}

#[test]
fn an_eviction_while_a_backend_hangs_loses_nothing() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    backend.answer(WebhookAnswer::Hang);
    make(&edge, &backend, &json!({ "events": ["job.queued", "job.completed"] }));
    let id = whole_job(&edge);
    let first = backend.expect(&id, "job.queued");
    edge.evict();
    backend.answer(WebhookAnswer::status(204));
    assert_eq!(edge.api(Keys::ACME).job(&id)["state"], "completed");
    backend.expect(&id, "job.completed");
    let requests = backend.received();
    assert_eq!(requests[1].id(), first.id(), "nobody knew whether it had arrived");
    assert_eq!(told_once(&backend, &id), ["job.queued", "job.completed"]);
}

#[test]
fn an_event_that_is_acknowledged_at_once_costs_three_rows_and_one_that_nobody_wants_none() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    let cost = || {
        let before = edge.usage().rows_written;
        let id = whole_job(&edge);
        until("every row is booked", PATIENCE, || {
            let webhooks = look(&edge, "")["webhooks"].as_array().unwrap().clone();
            webhooks.iter().all(|webhook| webhook["waiting"] == 0).then_some(())
        });
        (edge.usage().rows_written - before, id)
    };
    cost();
    let (plain, _) = cost();
    make(&edge, &backend, &json!({ "events": ["job.stems"] }));
    assert_eq!(cost().0, plain, "nobody wants to hear of it");
    make(&edge, &backend, &json!({ "events": ["job.queued", "job.completed"] }));
    let (told, id) = cost();
    assert_eq!(backend.told(&id), ["job.queued", "job.completed"]);
    assert_eq!(told - plain, 6, "written, deleted, and what came of it");
}

#[test]
fn what_could_not_be_delivered_is_kept_and_can_be_sent_again() {
    let options = EdgeOptions { movable_wall_clock: true, vars: PRIVATE_ALLOWED, ..EdgeOptions::default() };
    let edge = Edge::start_with(options);
    let backend = WebhookReceiver::start();
    backend.answer(WebhookAnswer::status(500));
    let webhook = make(&edge, &backend, &json!({ "events": ["job.queued"] }));
    let id = edge.api(Keys::ACME).queue_job();
    let first = backend.expect(&id, "job.queued");
    edge.set_wall_clock_ahead(Duration::from_secs(4 * 86_400));
    let letters = format!("/{}/dead-letters", webhook.id);
    let dead = until("the event is given up", PATIENCE, || {
        edge.api(Keys::ACME).job(&id);
        let dead = look(&edge, &letters);
        (dead["deadLetters"].as_array()?.len() == 1).then_some(dead)
    });
    let letter = &dead["deadLetters"][0];
    assert_eq!((&letter["type"], &letter["jobId"]), (&json!("job.queued"), &json!(id)));
    assert_eq!((&letter["eventId"], &letter["reason"]), (&json!(first.id()), &json!("undeliverable")));
    assert_eq!(letter["failure"], "the endpoint answered 500");
    assert_eq!(look(&edge, &format!("/{}", webhook.id))["deadLetters"], 1);

    backend.answer(WebhookAnswer::status(200));
    let before = backend.received().len();
    let replay = format!("/{}/replay", webhook.id);
    act(&edge, &replay, &json!({ "deadLetterId": 4711 })).expect_problem(404, "dead_letter_not_found");
    let replayed = act(&edge, &replay, &json!({ "reason": "it is back" })).expect(200).json();
    assert_eq!(replayed, json!({ "replayed": 1, "left": 0 }));
    let again = backend.expect_count(before + 1).pop().unwrap();
    assert_eq!((again.id(), &again.body), (first.id(), &first.body), "the same event");
    until("it is kept no longer", PATIENCE, || {
        let dead = look(&edge, &letters)["deadLetters"].as_array()?.len();
        (dead == 0 && look(&edge, &format!("/{}", webhook.id))["waiting"] == 0).then_some(())
    });
}

#[test]
fn while_a_secret_is_rotated_receivers_can_check_with_either() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    let old = make(&edge, &backend, &json!({}));
    let test = |count| {
        let sent = act(&edge, &format!("/{}/test", old.id), &json!({})).expect(202).json();
        let event = backend.expect_count(count).pop().unwrap();
        assert_eq!(
            (event.kind(), event.id()),
            ("webhook.test".to_owned(), sent["eventId"].as_str().unwrap())
        );
        event
    };
    let before = test(1);
    let rotated = act(&edge, &format!("/{}/rotate-secret", old.id), &json!({})).expect(200).json();
    assert_eq!(rotated["webhook"]["secrets"], 2);
    let new = rotated["secret"].as_str().unwrap();
    let during = test(2);
    act(&edge, &format!("/{}/end-rotation", old.id), &json!({})).expect(200);
    let after = test(3);
    let signed = |event: &ReceivedWebhook| (is_signed(event, &old.secret), is_signed(event, new));
    assert_eq!(
        [signed(&before), signed(&during), signed(&after)],
        [(true, false), (true, true), (false, true)]
    );
    for shown in [look(&edge, ""), look(&edge, &format!("/{}", old.id))] {
        assert!(!shown.to_string().contains("whsec_"), "{shown}");
    }
}

#[test]
fn a_tenants_webhook_hears_of_no_other_tenant_and_a_deleted_or_disabled_one_of_nobody() {
    let edge = edge();
    let [acme, other, all, disabled] = std::array::from_fn(|_| WebhookReceiver::start());
    make(&edge, &acme, &json!({ "tenant": "acme" }));
    make(&edge, &other, &json!({ "tenant": "other" }));
    make(&edge, &all, &json!({}));
    let off = make(&edge, &disabled, &json!({ "enabled": false }));
    let id = edge.api(Keys::ACME).queue_job();
    acme.expect(&id, "job.queued");
    all.expect(&id, "job.queued");
    act(&edge, &format!("/{}", off.id), &json!({ "enabled": true })).expect(200);
    let second = edge.api(Keys::OTHER).queue_job();
    assert_eq!(other.expect(&second, "job.queued").json()["data"]["tenant"], "other");
    disabled.expect(&second, "job.queued");
    assert_eq!((acme.told(&second).len(), other.told(&id).len(), disabled.told(&id).len()), (0, 0, 0));
    act(&edge, &format!("/{}/delete", off.id), &json!({})).expect(200);
    edge.api(Keys::ADMIN)
        .get(&format!("/v1/admin/webhooks/{}", off.id))
        .expect_problem(404, "webhook_not_found");
    let third = edge.api(Keys::OTHER).queue_job();
    other.expect(&third, "job.queued");
    assert_eq!(disabled.told(&third).len(), 0);
}

#[test]
fn one_that_says_gone_is_disabled_until_an_operator_enables_it() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    backend.answer_next([WebhookAnswer::status(410)]);
    let webhook = make(&edge, &backend, &json!({ "events": ["job.queued"] }));
    let id = edge.api(Keys::ACME).queue_job();
    let path = format!("/{}", webhook.id);
    let gone = until("it is disabled", PATIENCE, || {
        let status = look(&edge, &path);
        (status["enabled"] == false).then_some(status)
    });
    assert!(gone["goneAtMs"].is_u64() && gone["waiting"] == 1, "{gone}");
    let back = act(&edge, &path, &json!({ "enabled": true })).expect(200).json();
    assert_eq!((&back["enabled"], &back["goneAtMs"]), (&json!(true), &Value::Null));
    assert_eq!(backend.expect_count(2)[1].job(), id);
}

#[test]
fn only_public_https_addresses_are_taken_unless_the_environment_says_otherwise() {
    let edge = Edge::start();
    for url in ["http://example.com/", "https://127.0.0.1/", "https://10.1.2.3/", "https://localhost/", "no"]
    {
        let problem = act(&edge, "", &json!({ "url": url })).expect_problem(400, "invalid_request");
        assert_eq!(problem["field"], "url", "{problem}");
    }
    let made = act(&edge, "", &json!({ "url": "https://hooks.example.com/minifleet", "enabled": false }));
    let id = made.expect(201).json()["webhook"]["webhookId"].as_str().unwrap().to_owned();
    let problem = act(&edge, &format!("/{id}"), &json!({ "url": "https://[::1]/" }));
    problem.expect_problem(400, "invalid_request");
    act(&edge, &format!("/{id}"), &json!({ "events": [] })).expect_problem(400, "invalid_request");
    act(&edge, &format!("/{id}"), &json!({ "evnts": [] })).expect_problem(400, "invalid_request");
    assert_eq!(look(&edge, "")["webhooks"].as_array().unwrap().len(), 1);
}

#[test]
fn every_act_on_a_webhook_is_in_the_audit_log_and_a_reading_key_does_none() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    let webhook = make(&edge, &backend, &json!({ "reason": "the shop's backend" }));
    let path = format!("/v1/admin/webhooks/{}", webhook.id);
    let reader = edge.api(Keys::ADMIN_READER);
    reader.get(&path).expect(200);
    reader.post(&format!("{path}/rotate-secret"), &json!({})).expect_problem(403, "key_read_only");
    edge.api(Keys::ACME).get(&path).expect_problem(401, "key_invalid");
    act(&edge, &format!("/{}/test", webhook.id), &json!({})).expect(202);
    act(&edge, "/wh_nobody/delete", &json!({})).expect_problem(404, "webhook_not_found");
    let audit = edge.api(Keys::ADMIN).get("/v1/admin/audit").expect(200).json();
    let entries: Vec<(String, String)> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap().into(), entry["outcome"].as_str().unwrap().into()))
        .collect();
    let expected = [
        ("webhook.delete", "refused"),
        ("webhook.test", "done"),
        ("webhook.rotate_secret", "refused"),
        ("webhook.create", "done"),
    ];
    assert_eq!(entries, expected.map(|(action, outcome)| (action.to_owned(), outcome.to_owned())));
    assert!(!audit.to_string().contains("whsec_"));
}
