//! Tenants: keys that operators make, limits, and a ledger that charges once.

use conformance::harness::{Answer, Api, Edge, EdgeOptions, Key, Keys, until};
use edge::api::tenants::call::{TenantCall, TenantReply};
use edge::tenant::UsageRow;
use serde_json::{Value, json};
use shared_protocol::{GenerationId, JobId, ProjectId, Sampler, TenantId, TimestampMs};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// An edge whose clock can be moved.
fn edge_with_a_clock() -> Edge {
    Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() })
}

fn order(edge: &Edge, path: &str, body: &Value) -> Answer {
    edge.api(Keys::ADMIN).post(&format!("/v1/admin/tenants/{path}"), body)
}

fn look(edge: &Edge, path: &str) -> Value {
    edge.api(Keys::ADMIN).get(&format!("/v1/admin/{path}")).expect(200).json()
}

/// A key that an operator has made, as its holder has it.
struct Made {
    id: String,
    secret: &'static str,
}

impl Made {
    fn of(answer: &Answer) -> Self {
        let body = answer.json();
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
        // A test's key lives as long as its test.
        Self { id: text(&body["key"]["keyId"]), secret: text(&body["secret"]).leak() }
    }

    fn make(edge: &Edge, tenant: &str, body: &Value) -> Self {
        Self::of(&order(edge, &format!("{tenant}/keys"), body).expect(201))
    }

    fn api(&self, edge: &Edge) -> Api {
        edge.api(Key(self.secret))
    }
}

fn row(generation: &str, seconds: f64) -> UsageRow {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    UsageRow {
        tenant: TenantId::new("acme").unwrap(),
        generation_id: GenerationId::new(generation).unwrap(),
        project_id: ProjectId::new("prj_1").unwrap(),
        job_id: JobId::new("job_1").unwrap(),
        sampler: Sampler::Flash,
        audio_seconds: seconds,
        at: TimestampMs(u64::try_from(now.as_millis()).unwrap()),
    }
}

fn charge(edge: &Edge, rows: &[UsageRow]) {
    let calls: Vec<TenantCall> =
        rows.iter().map(|row| TenantCall::RecordUsage { row: row.clone() }).collect();
    let replies = edge.call_tenant("acme", &calls);
    assert!(replies.iter().all(|reply| *reply == TenantReply::Done), "{replies:?}");
}

#[test]
fn a_key_that_an_operator_makes_opens_its_tenants_side_and_no_other_ones() {
    let edge = Edge::start();
    let acme = Made::make(&edge, "acme", &json!({ "label": "backend" }));
    let other = Made::make(&edge, "other.example", &json!({}));
    assert!(acme.secret.starts_with(&format!("mfk.acme.{}.", acme.id)), "{}", acme.secret);
    let job = acme.api(&edge).queue(&json!({}));
    let (id, upload) = (job["jobId"].as_str().unwrap(), job["uploadId"].as_str().unwrap());
    assert_eq!(edge.api(Keys::ACME).job(id)["jobId"], json!(id), "it is the tenant of the listed key");
    let stranger = other.api(&edge);
    stranger.get(&format!("/v1/jobs/{id}")).expect_problem(404, "job_not_found");
    stranger.get(&format!("/v1/uploads/{upload}")).expect_problem(404, "upload_not_found");
    stranger.post("/v1/jobs", &json!({ "uploadId": upload })).expect_problem(404, "upload_not_found");
    stranger.cancel(id).expect_problem(404, "job_not_found");
    assert_eq!(stranger.get("/v1/jobs").expect(200).json()["jobs"], json!([]));
    charge(&edge, &[row("gen_1", 5.0)]);
    assert_eq!(stranger.get("/v1/usage").expect(200).json()["rows"], json!([]));
    // With a tenant's name exchanged it is a key of nobody.
    let forged = acme.secret.replace("mfk.acme.", "mfk.other.example.").leak();
    edge.api(Key(forged)).get("/v1/jobs").expect_problem(401, "key_invalid");
    edge.api(Key(acme.secret)).get("/v1/admin/queue").expect_problem(401, "key_invalid");
}

#[test]
fn a_revoked_key_is_dead_within_ten_seconds_everywhere() {
    let edge = edge_with_a_clock();
    let key = Made::make(&edge, "acme", &json!({}));
    key.api(&edge).get("/v1/jobs").expect(200);
    let revoked = order(&edge, &format!("acme/keys/{}/revoke", key.id), &json!({ "reason": "leaked" }));
    assert_eq!(revoked.expect(200).json()["valid"], false);
    // This isolate may still remember it, and must not for longer.
    edge.set_wall_clock_ahead(Duration::from_secs(10));
    key.api(&edge).get("/v1/jobs").expect_problem(401, "key_invalid");
    order(&edge, &format!("acme/keys/{}/rotate", key.id), &json!({})).expect_problem(404, "key_not_found");
    let audit = look(&edge, "audit");
    let seen: Vec<(&Value, &Value, &Value)> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["action"], &entry["target"], &entry["outcome"]))
        .collect();
    let target = json!(format!("acme/{}", key.id));
    let (create, revoke, rotate) = (json!("key.create"), json!("key.revoke"), json!("key.rotate"));
    let (done, refused) = (json!("done"), json!("refused"));
    assert_eq!(
        seen,
        [(&rotate, &target, &refused), (&revoke, &target, &done), (&create, &target, &done)],
        "every act is in the log, the refused one too"
    );
    assert_eq!(audit["entries"][1]["reason"], "leaked");
}

#[test]
fn a_key_that_ends_by_itself_ends_on_time() {
    let edge = edge_with_a_clock();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
    let key = Made::make(&edge, "acme", &json!({ "expiresAtMs": now + 3_600_000 }));
    key.api(&edge).get("/v1/jobs").expect(200);
    edge.set_wall_clock_ahead(Duration::from_secs(3600));
    key.api(&edge).get("/v1/jobs").expect_problem(401, "key_invalid");
    order(&edge, "acme/keys", &json!({ "expiresAtMs": now })).expect_problem(400, "invalid_request");
}

#[test]
fn during_a_rotations_grace_both_secrets_open_and_after_it_only_the_newer_one() {
    let edge = edge_with_a_clock();
    let old = Made::make(&edge, "acme", &json!({}));
    old.api(&edge).get("/v1/jobs").expect(200);
    let rotate = |grace: u64| {
        let path = format!("acme/keys/{}/rotate", old.id);
        Made::of(&order(&edge, &path, &json!({ "graceSeconds": grace })).expect(200))
    };
    let new = rotate(60);
    assert_eq!(new.id, old.id);
    assert_ne!(new.secret, old.secret);
    for key in [&old, &new] {
        key.api(&edge).get("/v1/jobs").expect(200);
    }
    // Past the grace, and past what an isolate may remember.
    edge.set_wall_clock_ahead(Duration::from_secs(71));
    old.api(&edge).get("/v1/jobs").expect_problem(401, "key_invalid");
    new.api(&edge).get("/v1/jobs").expect(200);
    let newest = rotate(0);
    edge.set_wall_clock_ahead(Duration::from_secs(82));
    new.api(&edge).get("/v1/jobs").expect_problem(401, "key_invalid");
    newest.api(&edge).get("/v1/jobs").expect(200);
}

#[test]
fn a_key_for_reading_looks_and_listens_and_changes_nothing() {
    let edge = Edge::start();
    let writer = edge.api(Keys::ACME);
    let job = writer.queue(&json!({}));
    let (id, upload) = (job["jobId"].as_str().unwrap(), job["uploadId"].as_str().unwrap());
    let reader = Made::make(&edge, "acme", &json!({ "role": "read" })).api(&edge);
    for path in [
        "/v1/jobs".to_owned(),
        format!("/v1/jobs/{id}"),
        format!("/v1/jobs/{id}/files"),
        format!("/v1/jobs/{id}/original"),
        format!("/v1/uploads/{upload}"),
        "/v1/status".to_owned(),
        "/v1/usage".to_owned(),
    ] {
        reader.get(&path).expect(200);
    }
    reader.post(&format!("/v1/jobs/{id}/playback"), &json!({})).expect(201);
    for (path, body) in [
        ("/v1/uploads".to_owned(), json!({ "name": "a.wav", "size": 3 })),
        ("/v1/jobs".to_owned(), json!({ "uploadId": upload })),
        (format!("/v1/jobs/{id}/cancel"), json!({})),
    ] {
        reader.post(&path, &body).expect_problem(403, "key_read_only");
    }
    assert_eq!(writer.get("/v1/jobs").expect(200).json()["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(writer.job(id)["state"], "queued");
}

#[test]
fn a_secret_is_shown_once_and_stored_nowhere() {
    let edge = Edge::start();
    let key = Made::make(&edge, "acme", &json!({ "label": "once" }));
    let path = format!("acme/keys/{}/rotate", key.id);
    let rotated = Made::of(&order(&edge, &path, &json!({})).expect(200));
    rotated.api(&edge).get("/v1/jobs").expect(200);
    let listed = edge.api(Keys::ADMIN).get("/v1/admin/tenants/acme/keys").expect(200);
    assert_eq!(listed.json()["keys"][0]["label"], "once");
    let audit = edge.api(Keys::ADMIN).get("/v1/admin/audit").expect(200).text();
    let stored = files_below(&edge.folder().join("state"));
    assert!(!stored.is_empty(), "there are rows to look into");
    for key in [&key, &rotated] {
        let secret = key.secret.rsplit('.').next().unwrap();
        assert!(!listed.text().contains(secret) && !audit.contains(secret));
        assert!(!edge.log().contains(secret), "the log has it");
        let contains = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!stored.iter().any(|bytes| contains(bytes)), "a stored row has it");
    }
    // The same look finds what is stored: it can fail.
    let contains_id = |bytes: &Vec<u8>| bytes.windows(key.id.len()).any(|window| window == key.id.as_bytes());
    assert!(stored.iter().any(contains_id), "the key's row is not where it was looked for");
}

fn files_below(folder: &Path) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files_below(&path));
        } else {
            all.push(std::fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn a_flood_of_made_up_keys_is_turned_away_and_a_valid_key_still_opens() {
    let edge = Edge::start();
    let key = Made::make(&edge, "acme", &json!({}));
    key.api(&edge).get("/v1/jobs").expect(200);
    let made_up = |number: u32| {
        // Its last character has to leave the bits free that 32 bytes do not fill, or it has not even the form of a key.
        let secret: String = format!("{number:042}A");
        edge.api(Key(format!("mfk.nobody-{number}.key_1.{secret}").leak())).get("/v1/jobs")
    };
    // Six seconds bring one more back, so a slow machine needs a few more.
    let answers: Vec<Answer> = (0..100).map(made_up).collect();
    assert!(answers.iter().take(30).all(|answer| answer.status == 401), "not one of 30 may be a mistake");
    let refused = answers.iter().find(|answer| answer.status == 429).expect("the flood is turned away");
    refused.expect_problem(429, "rate_limited");
    assert!(refused.header("Retry-After").parse::<u32>().is_ok_and(|seconds| (1..=6).contains(&seconds)));
    key.api(&edge).get("/v1/jobs").expect(200);
    edge.api(Keys::ACME).get("/v1/jobs").expect(200);
    let known = look(&edge, "tenants");
    assert_eq!(known["tenants"].as_array().map(Vec::len), Some(1), "nobody's keys made no tenant: {known}");
}

#[test]
fn a_generation_that_is_told_five_times_with_a_crash_in_between_is_charged_once() {
    let mut edge = Edge::start();
    let rows = [row("gen_1", 12.5), row("gen_2", 7.5)];
    charge(&edge, &rows);
    charge(&edge, &rows);
    edge.kill();
    edge.boot();
    charge(&edge, &rows);
    charge(&edge, &[rows.clone(), rows.clone()].concat());
    let usage = edge.api(Keys::ACME).get("/v1/usage").expect(200).json();
    assert_eq!((&usage["audioSeconds"], &usage["generations"]), (&json!(20.0), &json!(2)), "{usage}");
    assert_eq!(usage["samplers"], json!([{ "sampler": "flash", "generations": 2, "audioSeconds": 20.0 }]));
    assert_eq!(usage["rows"].as_array().map(Vec::len), Some(2));
    // A page each; the latest charged comes first.
    let first = edge.api(Keys::ACME).get("/v1/usage?limit=1").expect(200).json();
    assert_eq!(first["rows"][0]["generationId"], "gen_2");
    let path = format!("/v1/usage?limit=1&cursor={}", first["nextCursor"].as_str().unwrap());
    let second = edge.api(Keys::ACME).get(&path).expect(200).json();
    assert_eq!((&second["rows"][0]["generationId"], &second["nextCursor"]), (&json!("gen_1"), &Value::Null));
    assert_eq!(look(&edge, "tenants/acme/usage")["rows"], usage["rows"], "the operator sees the same");
    let earlier = edge.api(Keys::ACME).get("/v1/usage?month=2020-01").expect(200).json();
    assert_eq!((&earlier["audioSeconds"], &earlier["rows"]), (&json!(0.0), &json!([])));
    edge.api(Keys::ACME).get("/v1/usage?month=2020-13").expect_problem(400, "invalid_request");
}

#[test]
fn a_quota_that_is_used_up_refuses_until_the_month_ends_and_says_so() {
    let edge = Edge::start();
    order(&edge, "acme", &json!({ "monthlyAudioSeconds": 60 })).expect(200);
    let admit = |row: &UsageRow| edge.call_tenant("acme", &[TenantCall::Admit { at_ms: row.at }]).remove(0);
    let charged = row("gen_1", 60.0);
    assert_eq!(admit(&charged), TenantReply::Done);
    charge(&edge, std::slice::from_ref(&charged));
    let TenantReply::Refused { refusal } = admit(&charged) else { panic!("it was admitted") };
    let error = edge::api::ApiError::from(refusal);
    assert_eq!(error.row().code, "quota_exhausted");
    let detail = error.to_string();
    assert!(detail.contains("60 of 60 seconds") && detail.contains("-01 00:00 UTC"), "{detail}");
    let mut next_month = charged;
    next_month.at.0 += 31 * 24 * 3600 * 1000;
    assert_eq!(admit(&next_month), TenantReply::Done, "a new month has a new quota");
    order(&edge, "acme", &json!({ "monthlyAudioSeconds": null })).expect(200);
    assert_eq!(admit(&row("gen_2", 1.0)), TenantReply::Done);
}

#[test]
fn a_tenant_with_a_quota_cannot_get_round_it_with_plain_jobs() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let job = json!({ "uploadId": api.upload("talk.wav", b"RIFF") });
    api.post("/v1/jobs", &job).expect(201);
    order(&edge, "acme", &json!({ "monthlyAudioSeconds": 60 })).expect(200);
    let refused = api.post("/v1/jobs", &job).expect_problem(403, "jobs_not_counted");
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("/v1/projects")), "{refused}");
    let project = api.project("talk.wav", "audio/wav", b"RIFF");
    api.post(&format!("{project}/generations"), &json!({})).expect(201);
    edge.api(Keys::OTHER).queue_job();
}

#[test]
fn beyond_a_tenants_live_jobs_a_plain_job_is_refused_and_a_generation_waits_its_turn() {
    let edge = Edge::start();
    order(&edge, "acme", &json!({ "maxLiveJobs": 1 })).expect(200);
    let api = edge.api(Keys::ACME);
    let first = api.queue_job();
    let upload = api.upload("talk.wav", b"RIFF");
    api.post("/v1/jobs", &json!({ "uploadId": upload })).expect_problem(429, "tenant_full");
    edge.api(Keys::OTHER).queue_job();
    let generations = format!("{}/generations", api.project("talk.wav", "audio/wav", b"RIFF"));
    let made = api.post(&generations, &json!({})).expect(201).json();
    let id = made["generationId"].as_str().unwrap();
    let state = || api.get(&format!("{generations}/{id}")).expect(200).json()["state"].clone();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(state(), "dispatching");
    api.post(&format!("/v1/jobs/{first}/cancel"), &json!({})).expect(200);
    until("the generation to have its turn", Duration::from_secs(30), || (state() == "queued").then_some(()));
}

#[test]
fn a_tenants_limits_hold_for_its_uploads_and_outlive_a_crash() {
    let mut edge = Edge::start();
    let change = json!({ "maxUploadBytes": 10, "mediaTypes": ["audio/"], "reason": "trial" });
    let view = order(&edge, "acme", &change).expect(200).json();
    assert_eq!(view["settings"]["maxUploadBytes"], 10);
    assert_eq!(view["settings"]["requestsPerMinute"], 600, "what is not named stays as it was");
    order(&edge, "acme", &json!({ "maxUploadByte": 5 })).expect_problem(400, "invalid_request");
    edge.kill();
    edge.boot();
    let announce = |key: Key, size: u64, kind: &str| {
        let body = json!({ "name": "a", "size": size, "contentType": kind });
        edge.api(key).post("/v1/uploads", &body)
    };
    announce(Keys::ACME, 10, "audio/wav").expect(201);
    announce(Keys::ACME, 11, "audio/wav").expect_problem(413, "upload_too_large");
    let refused = announce(Keys::ACME, 5, "application/zip").expect_problem(415, "media_type_not_allowed");
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("audio/")), "{refused}");
    announce(Keys::OTHER, 11, "application/zip").expect(201);
    assert_eq!(look(&edge, "tenants")["tenants"][0]["tenant"], "acme");
}

#[test]
fn an_operators_reading_key_sees_tenants_and_makes_no_keys() {
    let edge = Edge::start();
    Made::make(&edge, "acme", &json!({}));
    let reader = edge.api(Keys::ADMIN_READER);
    for path in ["", "/acme", "/acme/keys", "/acme/usage"] {
        reader.get(&format!("/v1/admin/tenants{path}")).expect(200);
    }
    for path in ["acme/keys", "acme", "acme/keys/key_1/revoke", "acme/keys/key_1/rotate"] {
        let answer = reader.post(&format!("/v1/admin/tenants/{path}"), &json!({}));
        answer.expect_problem(403, "key_read_only");
        assert!(!answer.text().contains("mfk."), "{}", answer.text());
    }
    assert_eq!(look(&edge, "tenants/acme/keys")["keys"].as_array().map(Vec::len), Some(1));
    for key in [Keys::ACME, Keys::WORKER, Keys::WRONG] {
        edge.api(key).get("/v1/admin/tenants").expect_problem(401, "key_invalid");
    }
}

#[test]
fn a_key_beyond_its_rate_waits_and_hears_no_less() {
    let edge = Edge::start();
    order(&edge, "acme", &json!({ "requestsPerMinute": 5 })).expect(200);
    let key = Made::make(&edge, "acme", &json!({}));
    let api = key.api(&edge);
    let answers: Vec<Answer> = (0..6).map(|_| api.get("/v1/jobs")).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert_eq!((answers[0].header("RateLimit-Limit"), answers[0].header("RateLimit-Remaining")), ("5", "4"));
    let refused = answers[5].expect_problem(429, "rate_limited");
    let wait = answers[5].header("Retry-After").parse::<u64>().unwrap();
    assert!((1..=12).contains(&wait) && refused["retryAfterSeconds"] == wait, "{refused}");
    // What a player asks for with the same key is under no rate, and another key has its own.
    api.get("/v1/jobs/job_1/hls/1/init.mp4").expect_problem(404, "file_not_found");
    Made::make(&edge, "acme", &json!({})).api(&edge).get("/v1/jobs").expect(200);
}

#[test]
fn web_pages_use_the_api_from_listed_origins_and_tickets_from_any() {
    const APP: &str = "https://app.example.com";
    let vars = &[("CORS_ORIGINS", "https://app.example.com")];
    let edge = Edge::start_with(EdgeOptions { vars, ..EdgeOptions::default() });
    let ask = |path: &str, origin: &str| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        edge.api_without_key().call("OPTIONS", path, &headers, None)
    };
    let preflight = ask("/v1/jobs", APP).expect(204);
    assert_eq!(preflight.header("Access-Control-Allow-Origin"), APP);
    assert_eq!(preflight.header("Access-Control-Allow-Methods"), "GET, HEAD, POST, OPTIONS");
    assert!(preflight.header("Access-Control-Allow-Headers").contains("Authorization"));
    let from_page = |path: &str| edge.api(Keys::ACME).call("GET", path, &[("Origin", APP)], None);
    let answer = from_page("/v1/jobs").expect(200);
    assert_eq!((answer.header("Access-Control-Allow-Origin"), answer.header("Vary")), (APP, "Origin"));
    let missing = from_page("/v1/jobs/job_1");
    missing.expect_problem(404, "job_not_found");
    assert_eq!(missing.header("Access-Control-Allow-Origin"), APP, "a page reads why it was refused");
    let other = ask("/v1/jobs", "https://evil.example");
    assert_eq!((other.status, other.header("Access-Control-Allow-Origin")), (204, ""));
    let admin = ask("/v1/admin/tenants", APP);
    assert_eq!(admin.header("Access-Control-Allow-Origin"), "");

    // Without the variable only tickets are open.
    let edge = Edge::start();
    let ask = |path: &str| edge.api_without_key().call("OPTIONS", path, &[("Origin", APP)], None);
    let upload = ask("/v1/uploads/upl_1/content").expect(204);
    assert_eq!(upload.header("Access-Control-Allow-Origin"), "*");
    assert!(upload.header("Access-Control-Allow-Headers").contains("Minifleet-Ticket"));
    assert_eq!(ask("/v1/play/t.s/index.m3u8").expect(204).header("Access-Control-Allow-Origin"), "*");
    assert_eq!(ask("/v1/jobs").header("Access-Control-Allow-Origin"), "");
}
