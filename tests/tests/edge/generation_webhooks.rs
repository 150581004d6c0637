//! What a generation and its tenant's webhooks have to do with each other: which one it may name, and when it was told.

use conformance::harness::{
    Api, Edge, EdgeOptions, Keys, PATIENCE, ScriptedWorker, WebhookAnswer, WebhookReceiver, until,
};
use serde_json::{Value, json};
use shared_protocol::WorkerMessage;

const PRIVATE_ALLOWED: &[(&str, &str)] = &[("WEBHOOK_ALLOW_PRIVATE", "true")];

fn edge() -> Edge {
    Edge::start_with(EdgeOptions { vars: PRIVATE_ALLOWED, ..EdgeOptions::default() })
}

fn webhook(api: &Api, backend: &WebhookReceiver) -> String {
    let made = api.post("/v1/webhooks", &json!({ "url": backend.url() })).expect(201).json();
    made["webhook"]["webhookId"].as_str().unwrap().to_owned()
}

/// A project whose recording is there; gives the path of its generations.
fn project(api: &Api) -> String {
    format!("{}/generations", api.project("talk.wav", "audio/wav", b"RIFF recorded"))
}

#[test]
fn a_generation_that_names_a_webhook_of_somebody_else_is_not_made() {
    let edge = edge();
    let (acme, other) = (edge.api(Keys::ACME), edge.api(Keys::OTHER));
    let backend = WebhookReceiver::start();
    let of_other = webhook(&other, &backend);
    let generations = project(&acme);
    for id in [of_other.as_str(), "wh_none", "projects"] {
        let refused = acme.post(&generations, &json!({ "webhookId": id, "outputs": ["wav"] }));
        refused.expect_problem(404, "webhook_not_found");
    }
    let made = acme.get(&generations).expect(200).json();
    assert_eq!(made["generations"], json!([]));

    let own = webhook(&acme, &backend);
    let body = json!({ "webhookId": own, "outputs": ["wav"] });
    let key = [("Idempotency-Key", "the-one")];
    let made = acme.post_with(&generations, &key, &body).expect(201).json();
    // Whoever asks again is answered, though the webhook is gone.
    acme.post(&format!("/v1/webhooks/{own}/delete"), &json!({})).expect(200);
    let again = acme.post_with(&generations, &key, &body).expect(200).json();
    assert_eq!(again["generationId"], made["generationId"]);
}

#[test]
fn a_generations_timeline_shows_when_its_callbacks_were_delivered() {
    let edge = edge();
    let api = edge.api(Keys::ACME);
    let [named, unnamed] = std::array::from_fn(|_| WebhookReceiver::start());
    let (id, _) = (webhook(&api, &named), webhook(&api, &unnamed));
    let generations = project(&api);
    let made = api.post(&generations, &json!({ "webhookId": id, "outputs": ["wav"] })).expect(201).json();
    let [generation, job] = ["generationId", "jobId"].map(|field| made[field].as_str().unwrap().to_owned());
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let file = worker.put_wav(&assign, b"RIFF restored");
    let complete = ScriptedWorker::completion(&assign, &[], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    named.expect(&job, "generation.completed");

    let timeline = || api.get(&format!("{generations}/{generation}/timeline")).expect(200).json();
    let phase = |timeline: &Value, name: &str| {
        let intervals = timeline["intervals"].as_array().unwrap().iter();
        intervals.filter(|interval| interval["phase"] == name).cloned().collect::<Vec<_>>()
    };
    let timeline = until("the acknowledgement is booked", PATIENCE, || {
        let timeline = timeline();
        // Of the audio, and of the whole.
        (phase(&timeline, "callbacks").len() == 2).then_some(timeline)
    });
    let callbacks = phase(&timeline, "callbacks");
    assert!(callbacks.iter().all(|interval| interval["owner"] == "client"), "{timeline}");
    let dispatch = phase(&timeline, "callback_dispatch");
    assert_eq!((dispatch.len(), &dispatch[0]["owner"]), (1, &json!("fleet")), "{timeline}");
    assert!(callbacks.iter().any(|interval| interval["startMs"] == dispatch[0]["endMs"]), "{timeline}");
    assert_eq!(unnamed.told(&job), Vec::<String>::new(), "the generation named the other one");

    let listed = api.get(&format!("/v1/webhooks/{id}/deliveries")).expect(200).json();
    let entries = listed["deliveries"].as_array().unwrap();
    assert!(entries.len() >= 4 && entries.iter().all(|entry| entry["generationId"] == generation.as_str()));
}

#[test]
fn a_callback_that_was_not_taken_at_once_lasts_until_it_was() {
    let edge = edge();
    let api = edge.api(Keys::ACME);
    let backend = WebhookReceiver::start();
    let made = api.post("/v1/webhooks", &json!({ "url": backend.url(), "events": ["generation.cancelled"] }));
    made.expect(201);
    backend.answer_next([WebhookAnswer::status(500)]);
    let generations = project(&api);
    let made = api.post(&generations, &json!({ "outputs": ["wav"] })).expect(201).json();
    let generation = made["generationId"].as_str().unwrap();
    api.post(&format!("{generations}/{generation}/cancel"), &json!({}));
    let requests = backend.expect_count(2);
    until("the acknowledgement is booked", PATIENCE, || {
        let timeline = api.get(&format!("{generations}/{generation}/timeline")).expect(200).json();
        let totals = timeline["totals"].as_array().unwrap();
        let total = totals.iter().find(|total| total["phase"] == "callbacks")?;
        let busy = u128::from(total["busyMs"].as_u64().unwrap());
        // Its clock counts whole milliseconds.
        (busy + 50 >= (requests[1].at - requests[0].at).as_millis()).then_some(())
    });
}
