//! A tenant's own webhooks: set up, looked at and tried out by its clients, and out of everybody else's reach. What was sent to a
//! webhook can be looked up.

use conformance::harness::{
    Answer, Edge, EdgeOptions, Key, Keys, PATIENCE, WebhookAnswer, WebhookReceiver, until,
};
use serde_json::{Value, json};
use std::time::Duration;

const PRIVATE_ALLOWED: &[(&str, &str)] = &[("WEBHOOK_ALLOW_PRIVATE", "true")];

/// An edge that may call this machine.
fn edge() -> Edge {
    Edge::start_with(EdgeOptions { vars: PRIVATE_ALLOWED, ..EdgeOptions::default() })
}

fn act(edge: &Edge, key: Key, path: &str, body: &Value) -> Answer {
    edge.api(key).post(&format!("/v1/webhooks{path}"), body)
}

fn look(edge: &Edge, key: Key, path: &str) -> Answer {
    edge.api(key).get(&format!("/v1/webhooks{path}"))
}

/// Makes a webhook to this backend; gives its path below `/v1/webhooks` and its secret.
fn make(edge: &Edge, key: Key, backend: &WebhookReceiver, events: &[&str]) -> (String, String) {
    let made = act(edge, key, "", &json!({ "url": backend.url(), "events": events })).expect(201).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (format!("/{}", text(&made["webhook"]["webhookId"])), text(&made["secret"]))
}

/// A webhook's deliveries once there are so many, newest first.
fn deliveries(edge: &Edge, path: &str, count: usize) -> Vec<Value> {
    until(&format!("{count} deliveries are listed"), PATIENCE, || {
        let listed = look(edge, Keys::ACME, &format!("{path}/deliveries")).expect(200).json();
        let listed = listed["deliveries"].as_array()?.clone();
        (listed.len() >= count).then_some(listed)
    })
}

#[test]
fn a_client_sets_up_a_webhook_of_its_own_and_is_told_of_its_jobs_only() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    let (path, secret) = make(&edge, Keys::ACME, &backend, &["job.queued"]);
    edge.api(Keys::OTHER).queue_job();
    let id = edge.api(Keys::ACME).queue_job();
    let event = backend.expect(&id, "job.queued");
    let verifier = standardwebhooks::Webhook::new(&secret).unwrap();
    verifier.verify(&event.body, &event.headers).unwrap();
    assert!(backend.received().iter().all(|event| event.json()["data"]["tenant"] == "acme"));

    // The tenant's second key is as good as its first.
    let shown = look(&edge, Keys::ACME_NEXT, &path).expect(200).json();
    assert_eq!((&shown["tenant"], &shown["enabled"]), (&json!("acme"), &json!(true)));
    let changed = act(&edge, Keys::ACME_NEXT, &path, &json!({ "enabled": false })).expect(200).json();
    assert_eq!(changed["enabled"], false);
    let rotated = act(&edge, Keys::ACME, &format!("{path}/rotate-secret"), &json!({})).expect(200).json();
    assert_eq!(rotated["webhook"]["secrets"], 2);
    let rotated = rotated["secret"].as_str().unwrap().to_owned();
    act(&edge, Keys::ACME, &format!("{path}/end-rotation"), &json!({})).expect(200);
    let answers = [
        look(&edge, Keys::ACME, "").expect(200),
        look(&edge, Keys::ACME, &path).expect(200),
        look(&edge, Keys::ACME, &format!("{path}/deliveries")).expect(200),
        edge.api(Keys::ADMIN).get("/v1/admin/webhooks").expect(200),
        edge.api(Keys::ADMIN).get("/v1/admin/audit").expect(200),
    ];
    for answer in answers {
        let text = answer.text();
        assert!(!text.contains("whsec_") && !text.contains(&secret) && !text.contains(&rotated), "{text}");
    }
    act(&edge, Keys::ACME, &format!("{path}/delete"), &json!({})).expect(200);
    look(&edge, Keys::ACME, &path).expect_problem(404, "webhook_not_found");
}

#[test]
fn another_tenants_webhook_and_an_operators_are_not_there() {
    let edge = edge();
    let [acme, all] = std::array::from_fn(|_| WebhookReceiver::start());
    let (own, _) = make(&edge, Keys::ACME, &acme, &["job.queued"]);
    let made = edge.api(Keys::ADMIN).post("/v1/admin/webhooks", &json!({ "url": all.url() })).expect(201);
    let of_all = format!("/{}", made.json()["webhook"]["webhookId"].as_str().unwrap());
    let of_acme = look(&edge, Keys::ACME, &own).expect(200).json();

    for path in [own.as_str(), of_all.as_str(), "/wh_none"] {
        for question in ["", "/dead-letters", "/deliveries"] {
            let answer = look(&edge, Keys::OTHER, &format!("{path}{question}"));
            answer.expect_problem(404, "webhook_not_found");
        }
        for order in ["", "/delete", "/rotate-secret", "/end-rotation", "/test", "/replay"] {
            let answer = act(&edge, Keys::OTHER, &format!("{path}{order}"), &json!({}));
            answer.expect_problem(404, "webhook_not_found");
        }
        let one = act(&edge, Keys::OTHER, &format!("{path}/replay"), &json!({ "deadLetterId": 1 }));
        one.expect_problem(404, "webhook_not_found");
    }
    let into_acme = json!({ "url": all.url(), "tenant": "acme" });
    let problem = act(&edge, Keys::OTHER, "", &into_acme).expect_problem(400, "invalid_request");
    assert_eq!(problem["field"], "tenant");
    assert_eq!(look(&edge, Keys::OTHER, "").expect(200).json(), json!({ "webhooks": [] }));
    let listed = look(&edge, Keys::ACME, "").expect(200).json();
    assert_eq!(listed["webhooks"], json!([of_acme]), "nothing has changed, and the operator's is not in it");
    assert_eq!(acme.received().len() + all.received().len(), 0, "no test was sent");
    edge.api_without_key().get("/v1/webhooks").expect_problem(401, "key_missing");
    edge.api(Keys::ADMIN).get("/v1/webhooks").expect_problem(401, "key_invalid");
}

#[test]
fn one_tenant_has_ten_webhooks_and_leaves_room_for_others() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    for _ in 0..10 {
        make(&edge, Keys::ACME, &backend, &["job.queued"]);
    }
    let one_more = json!({ "url": backend.url() });
    act(&edge, Keys::ACME, "", &one_more).expect_problem(409, "too_many_webhooks");
    act(&edge, Keys::OTHER, "", &one_more).expect(201);
}

#[test]
fn the_audit_log_names_the_clients_key() {
    let edge = edge();
    let backend = WebhookReceiver::start();
    let (path, _) = make(&edge, Keys::ACME, &backend, &["job.queued"]);
    act(&edge, Keys::ACME_NEXT, &format!("{path}/test"), &json!({ "reason": "does it work" })).expect(202);
    act(&edge, Keys::OTHER, &format!("{path}/delete"), &json!({})).expect_problem(404, "webhook_not_found");
    let audit = edge.api(Keys::ADMIN).get("/v1/admin/audit").expect(200).json();
    let who: Vec<[&str; 3]> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| ["action", "keyId", "outcome"].map(|field| entry[field].as_str().unwrap()))
        .collect();
    assert_eq!(
        who,
        [
            ["webhook.delete", "other/other-1", "refused"],
            ["webhook.test", "acme/acme-2", "done"],
            ["webhook.create", "acme/acme-1", "done"],
        ]
    );
}

#[test]
fn what_was_sent_and_what_came_of_it_is_listed_also_after_the_edge_was_killed() {
    let mut edge = edge();
    let backend = WebhookReceiver::start();
    let (path, _) = make(&edge, Keys::ACME, &backend, &["job.queued"]);
    backend.answer_next([WebhookAnswer::status(503)]);
    let id = edge.api(Keys::ACME).queue_job();
    let first = backend.expect(&id, "job.queued");
    let listed = deliveries(&edge, &path, 2);
    let fields =
        |entry: &Value| ["attempt", "outcome", "status", "failure"].map(|field| entry[field].clone());
    assert_eq!(fields(&listed[0]), [json!(2), json!("acknowledged"), json!(204), Value::Null]);
    let failure = json!("the endpoint answered 503");
    assert_eq!(fields(&listed[1]), [json!(1), json!("refused"), json!(503), failure]);
    for entry in &listed {
        assert_eq!((&entry["eventId"], &entry["jobId"]), (&json!(first.id()), &json!(id)));
        assert_eq!((&entry["type"], &entry["generationId"]), (&json!("job.queued"), &Value::Null));
        assert!(entry["durationMs"].is_u64() && entry["publishedAtMs"].as_u64() <= entry["atMs"].as_u64());
    }

    edge.kill();
    edge.boot();
    assert_eq!(deliveries(&edge, &path, 2), listed, "no attempt that was booked is lost");
    act(&edge, Keys::ACME, &format!("{path}/test"), &json!({})).expect(202);
    let longer = deliveries(&edge, &path, 3);
    assert_eq!(
        (&longer[0]["type"], &longer[1..]),
        (&json!("webhook.test"), &listed[..]),
        "none is written over"
    );

    let page = |query: &str| look(&edge, Keys::ACME, &format!("{path}/deliveries{query}")).expect(200).json();
    let newest = page("?limit=1");
    assert_eq!(newest["deliveries"], json!([longer[0]]));
    let next = page(&format!("?limit=2&cursor={}", newest["nextCursor"].as_str().unwrap()));
    assert_eq!((&next["deliveries"], &next["nextCursor"]), (&json!(listed), &Value::Null));
    let of_operator = edge.api(Keys::ADMIN).get(&format!("/v1/admin/webhooks{path}/deliveries"));
    assert_eq!(of_operator.expect(200).json()["deliveries"], json!(longer));
}

#[test]
fn a_backend_that_does_not_listen_is_listed_as_that_and_its_log_goes_with_it() {
    let edge = edge();
    let nobody = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        format!("http://{}/hook", listener.local_addr().unwrap())
    };
    let made = act(&edge, Keys::ACME, "", &json!({ "url": nobody, "events": ["job.queued"] })).expect(201);
    let path = format!("/{}", made.json()["webhook"]["webhookId"].as_str().unwrap());
    edge.api(Keys::ACME).queue_job();
    let listed = deliveries(&edge, &path, 1);
    let oldest = listed.last().unwrap();
    assert_eq!((&oldest["outcome"], &oldest["status"]), (&json!("not_connected"), &Value::Null));
    assert!(oldest["failure"].as_str().unwrap().starts_with("no connection"), "{oldest}");
    act(&edge, Keys::ACME, &format!("{path}/delete"), &json!({})).expect(200);
    look(&edge, Keys::ACME, &format!("{path}/deliveries")).expect_problem(404, "webhook_not_found");
}

#[test]
fn an_operator_who_keeps_no_log_pays_for_none() {
    let cost = |vars| {
        let edge = Edge::start_with(EdgeOptions { vars, ..EdgeOptions::default() });
        let backend = WebhookReceiver::start();
        let (path, _) = make(&edge, Keys::ACME, &backend, &["job.queued"]);
        let test = |count| {
            act(&edge, Keys::ACME, &format!("{path}/test"), &json!({})).expect(202);
            backend.expect_count(count);
            until("it is booked", PATIENCE, || {
                (look(&edge, Keys::ACME, &path).expect(200).json()["waiting"] == 0).then_some(())
            });
        };
        test(1);
        let before = edge.usage().rows_written;
        test(2);
        let listed = look(&edge, Keys::ACME, &format!("{path}/deliveries")).expect(200).json();
        (edge.usage().rows_written - before, listed["deliveries"].as_array().unwrap().len())
    };
    let (kept, listed) = cost(PRIVATE_ALLOWED);
    let (not_kept, none) = cost(&[("WEBHOOK_ALLOW_PRIVATE", "true"), ("WEBHOOK_LOG", "false")]);
    assert_eq!((kept - not_kept, listed, none), (1, 2, 0));
}

#[test]
fn a_client_sends_its_dead_letters_once_more() {
    let options = EdgeOptions { movable_wall_clock: true, vars: PRIVATE_ALLOWED, ..EdgeOptions::default() };
    let edge = Edge::start_with(options);
    let backend = WebhookReceiver::start();
    backend.answer(WebhookAnswer::status(500));
    let (path, _) = make(&edge, Keys::ACME, &backend, &["job.queued"]);
    let id = edge.api(Keys::ACME).queue_job();
    let first = backend.expect(&id, "job.queued");
    edge.set_wall_clock_ahead(Duration::from_secs(4 * 86_400));
    let letters = format!("{path}/dead-letters");
    let dead = until("the event is given up", PATIENCE, || {
        edge.api(Keys::ACME).job(&id);
        let dead = look(&edge, Keys::ACME, &letters).expect(200).json();
        (dead["deadLetters"].as_array()?.len() == 1).then_some(dead)
    });
    let letter = json!({ "deadLetterId": dead["deadLetters"][0]["deadLetterId"] });
    let replay = format!("{path}/replay");
    act(&edge, Keys::OTHER, &replay, &letter).expect_problem(404, "webhook_not_found");
    backend.answer(WebhookAnswer::status(200));
    let before = backend.received().len();
    let replayed = act(&edge, Keys::ACME, &replay, &letter).expect(200).json();
    assert_eq!(replayed, json!({ "replayed": 1, "left": 0 }));
    assert_eq!(backend.expect_count(before + 1).pop().unwrap().id(), first.id());
}
