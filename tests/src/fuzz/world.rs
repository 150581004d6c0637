//! What is there before the tries begin: a tenant that tries, and another one whose secrets must stay its own.

use std::collections::BTreeMap;

use edge::api::ticket::{Claims, JobClaims, PlayClaims, TicketKeys, UploadClaims};
use serde_json::{Value, json};
use shared_protocol::{Attempt, JobId, TenantId, TimestampMs, UploadId, WorkerMessage};

use crate::harness::{Api, Edge, Key, Keys, PATIENCE, ScriptedWorker, Upload, until};

/// Stands in every name, note, byte and address of the other tenant.
pub const SECRET: &str = "Kepler-186f-is-a-secret";

/// What tries know, and what they must not find out or change.
#[derive(Debug)]
pub struct World {
    /// Ids by the name that they have in paths: the own ones, the other tenant's, and some of nobody.
    pub ids: BTreeMap<&'static str, Vec<String>>,
    /// Tickets that the trying tenant has got.
    pub own_tickets: Vec<String>,
    /// The other tenant's, valid: they are never sent as they are.
    pub their_tickets: Vec<String>,
    /// A key of the other tenant that operators made: it is never sent as it is.
    pub their_key: String,
    /// The other tenant's, signed by the edge's own key, whose time is over.
    pub expired_tickets: Vec<String>,
    /// Texts that only the other tenant and operators may see.
    pub secrets: Vec<String>,
    watched: Vec<Watched>,
}

/// Something that must stay as it is.
#[derive(Debug)]
struct Watched {
    key: Key,
    path: String,
    /// What of its JSON counts; the bytes when there is no list.
    fields: Option<&'static [&'static str]>,
}

/// A tenant's things.
struct Owned {
    uploads: Vec<String>,
    completed: String,
    queued: String,
    tickets: Vec<String>,
}

impl World {
    /// Fills an edge.
    ///
    /// # Panics
    /// The edge refuses something.
    pub fn fill(edge: &Edge) -> Self {
        let operator = edge.api(Keys::ADMIN);
        for tenant in ["acme", "other"] {
            // A try that is refused for its haste shows nothing.
            let limits = json!({ "requestsPerMinute": 60_000 });
            operator.post(&format!("/v1/admin/tenants/{tenant}"), &limits).expect(200);
        }
        let made =
            operator.post("/v1/admin/tenants/other/keys", &json!({ "label": SECRET })).expect(201).json();
        let (key_id, their_key) = (text(&made["key"]["keyId"]), text(&made["secret"]));
        let mut worker = ScriptedWorker::ready(edge, "mini-1", 4);
        let mine = owned(edge, &mut worker, Keys::ACME, "acme", "mine");
        let theirs = owned(edge, &mut worker, Keys::OTHER, "other", SECRET);
        worker.close();
        // Their jobs wait for good: no worker is there.
        let my_project = project(edge, Keys::ACME, "mine");
        let their_project = project(edge, Keys::OTHER, SECRET);
        // Disabled, so that nothing is sent and its state stands still.
        let hook = json!({ "url": format!("https://hooks.example.com/{SECRET}"), "tenant": "other", "enabled": false });
        let hook = operator.post("/v1/admin/webhooks", &hook).expect(201).json();
        let webhook_id = text(&hook["webhook"]["webhookId"]);
        let secrets =
            [vec![SECRET.to_owned(), text(&hook["secret"]), their_key.clone()], theirs.tickets.clone()]
                .concat();
        let nobody = |prefix: &str| format!("{prefix}_0123456789abcdef");
        let ids = BTreeMap::from([
            (
                "jobId",
                vec![
                    mine.completed.clone(),
                    mine.queued.clone(),
                    theirs.completed.clone(),
                    theirs.queued.clone(),
                    nobody("job"),
                ],
            ),
            ("uploadId", [mine.uploads.clone(), theirs.uploads.clone(), vec![nobody("upl")]].concat()),
            ("projectId", vec![my_project.0.clone(), their_project.0.clone(), nobody("prj")]),
            ("generationId", vec![my_project.1.clone(), their_project.1.clone(), nobody("gen")]),
            ("webhookId", vec![webhook_id.clone(), nobody("wh")]),
            ("keyId", vec![key_id, nobody("key")]),
            ("workerId", vec!["mini-1".to_owned(), "mini-2".to_owned()]),
            ("tenant", vec!["acme".to_owned(), "other".to_owned(), "nobody".to_owned()]),
        ]);
        let mut watched = watched(&theirs, &webhook_id);
        watched.extend(watched_project(&their_project));
        let expired_tickets = expired_tickets(&theirs);
        Self {
            ids,
            own_tickets: mine.tickets,
            their_tickets: theirs.tickets,
            their_key,
            expired_tickets,
            secrets,
            watched,
        }
    }

    /// All that must not change, as its owner and an operator see it.
    ///
    /// # Panics
    /// The edge does not answer.
    pub fn snapshot(&self, edge: &Edge) -> Vec<(String, Vec<u8>)> {
        self.watched.iter().map(|watched| (watched.path.clone(), watched.read(edge))).collect()
    }
}

/// What differs between two snapshots.
pub fn difference(before: &[(String, Vec<u8>)], after: &[(String, Vec<u8>)]) -> Option<String> {
    let (old, new) = before.iter().zip(after).find(|(old, new)| old != new)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(format!("{} was {} and is {}", old.0, text(&old.1), text(&new.1)))
}

impl Watched {
    fn read(&self, edge: &Edge) -> Vec<u8> {
        let answer = edge.api(self.key).get(&self.path);
        let status = answer.status.to_string().into_bytes();
        let Some(fields) = self.fields else {
            // A refusal's text has the name of its request.
            let body = if answer.status < 400 { answer.body } else { Vec::new() };
            return [status, body].concat();
        };
        let json = answer.json();
        let kept: Vec<Value> =
            match json.as_object().and_then(|object| object.values().find_map(Value::as_array)) {
                // A list: these fields of each of its entries.
                Some(list) if json.get(fields[0]).is_none() => {
                    list.iter().flat_map(|entry| fields.iter().map(|field| entry[field].clone())).collect()
                }
                _ => fields.iter().map(|field| json[field].clone()).collect(),
            };
        Value::from(kept).to_string().into_bytes()
    }
}

fn watched(theirs: &Owned, webhook_id: &str) -> Vec<Watched> {
    let theirs_alone = |path: String| Watched { key: Keys::OTHER, path, fields: None };
    let operators = |path: String, fields| Watched { key: Keys::ADMIN, path, fields: Some(fields) };
    let done = &theirs.completed;
    let mut all = vec![
        theirs_alone("/v1/jobs?limit=200".to_owned()),
        theirs_alone(format!("/v1/jobs/{}", theirs.queued)),
        theirs_alone(format!("/v1/jobs/{done}")),
        theirs_alone(format!("/v1/jobs/{done}/files")),
        theirs_alone(format!("/v1/jobs/{done}/files/restored.wav")),
        theirs_alone(format!("/v1/jobs/{done}/hls/index.m3u8")),
        theirs_alone(format!("/v1/jobs/{done}/hls/1/init.mp4")),
        theirs_alone(format!("/v1/jobs/{done}/hls/1/seg-00000.m4s")),
        theirs_alone(format!("/v1/jobs/{done}/hls/1/seg-00001.m4s")),
        theirs_alone(format!("/v1/jobs/{done}/original")),
        operators(format!("/v1/admin/jobs/{done}"), &["tenant", "job", "history", "idempotencyKey"]),
        operators(
            format!("/v1/admin/jobs/{}", theirs.queued),
            &["tenant", "job", "history", "idempotencyKey"],
        ),
        operators(
            format!("/v1/admin/webhooks/{webhook_id}"),
            &["url", "tenant", "enabled", "events", "secrets"],
        ),
        // Tenant A may have webhooks of its own made: B's list has to stay as it is.
        theirs_alone("/v1/webhooks".to_owned()),
        operators(
            "/v1/admin/tenants/other/keys".to_owned(),
            &["keyId", "label", "role", "expiresAtMs", "revokedAtMs", "olderSecretUntilMs"],
        ),
        operators("/v1/admin/tenants/other".to_owned(), &["tenant", "settings"]),
        operators("/v1/admin/queue".to_owned(), &["paused", "pausedTenants", "pauses"]),
        operators("/v1/admin/workers".to_owned(), &["workerId", "drained", "benchedUntilMs", "reason"]),
    ];
    all.extend(theirs.uploads.iter().map(|id| theirs_alone(format!("/v1/uploads/{id}"))));
    all
}

fn watched_project((project, generation): &(String, String)) -> Vec<Watched> {
    [
        "/v1/projects?limit=200".to_owned(),
        format!("/v1/projects/{project}"),
        format!("/v1/projects/{project}/events"),
        format!("/v1/projects/{project}/transcript"),
        format!("/v1/projects/{project}/generations"),
        format!("/v1/projects/{project}/generations/{generation}"),
    ]
    .map(|path| Watched { key: Keys::OTHER, path, fields: None })
    .into()
}

/// A project with a transcript, and a generation of it whose job waits: their ids.
fn project(edge: &Edge, key: Key, mark: &str) -> (String, String) {
    let api = edge.api(key);
    let bytes = format!("not really audio: {mark}");
    let body = json!({ "name": format!("{mark}.wav"), "size": bytes.len(), "metadata": { "note": mark } });
    let created = api.post("/v1/projects", &body).expect(201).json();
    let id = text(&created["project"]["projectId"]);
    let upload = Upload {
        id: text(&created["project"]["upload"]["uploadId"]),
        url: text(&created["put"]["url"]),
        ticket: text(&created["put"]["headers"]["Minifleet-Ticket"]),
    };
    api.put_content(&upload, bytes.as_bytes()).expect(200);
    api.post(&format!("/v1/projects/{id}/upload/complete"), &json!({})).expect(200);
    let transcript = json!({ "text": format!("they say {mark}") }).to_string();
    let json_type = [("Content-Type", "application/json")];
    api.call("PUT", &format!("/v1/projects/{id}/transcript"), &json_type, Some(transcript.as_bytes()))
        .expect(200);
    let asked = api.post(&format!("/v1/projects/{id}/generations"), &json!({ "metadata": { "note": mark } }));
    let generation = text(&asked.expect(201).json()["generationId"]);
    until("the generation's job to wait", PATIENCE, || {
        let now = api.get(&format!("/v1/projects/{id}/generations/{generation}")).json();
        (now["state"] == "queued").then_some(())
    });
    (id, generation)
}

/// A completed job with everything that can be read, a queued one, a link, and an upload that was only announced.
fn owned(edge: &Edge, worker: &mut ScriptedWorker, key: Key, tenant: &str, mark: &str) -> Owned {
    let api = edge.api(key);
    let (first, completed) = queued(&api, mark);
    let assign = worker.take_job();
    assert_eq!(assign.job_id.as_str(), completed, "nothing else waits");
    let segment = worker.put_segment(&assign, 0);
    let file = worker.put_wav(&assign, format!("RIFF {mark}").as_bytes());
    let complete = ScriptedWorker::completion(&assign, &[segment], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let link = api.post(&format!("/v1/jobs/{completed}/playback"), &json!({})).expect(201).json();
    let link = text(&link["url"]);
    let playback = link.split('/').rev().nth(1).expect("a link has a ticket").to_owned();
    let announced = api.announce(&json!({ "name": format!("{mark}.wav"), "size": 4 }));
    let job_ticket = sign(
        Claims::Job(JobClaims {
            tenant: id(tenant, TenantId::new),
            job_id: assign.job_id.clone(),
            attempt: assign.attempt,
            upload_id: id(&first, UploadId::new),
            transcript: None,
        }),
        TimestampMs(u64::MAX / 2),
    );
    // It waits for good: no worker has its label.
    let (second, queued) = queued_with(&api, mark, &json!({ "labels": ["of nobody".replace(' ', "-")] }));
    Owned {
        uploads: vec![first, second],
        completed,
        queued,
        tickets: vec![playback, announced.ticket, job_ticket],
    }
}

fn queued(api: &Api, mark: &str) -> (String, String) {
    queued_with(api, mark, &json!({}))
}

fn queued_with(api: &Api, mark: &str, more: &Value) -> (String, String) {
    let upload = api.upload(&format!("{mark}.wav"), format!("not really audio: {mark}").as_bytes());
    let mut body = json!({ "uploadId": upload, "metadata": { "note": mark } });
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let job = api.post_with("/v1/jobs", &[("Idempotency-Key", mark)], &body);
    let job = if job.status == 409 { api.post("/v1/jobs", &body) } else { job };
    (upload, text(&job.expect(201).json()["jobId"]))
}

fn expired_tickets(theirs: &Owned) -> Vec<String> {
    let tenant = id("other", TenantId::new);
    let job_id = id(&theirs.completed, JobId::new);
    let upload_id = id(&theirs.uploads[0], UploadId::new);
    let long_ago = TimestampMs(1_000_000_000_000);
    [
        Claims::Play(PlayClaims {
            tenant: tenant.clone(),
            job_id: job_id.clone(),
            upload_id: upload_id.clone(),
        }),
        Claims::Job(JobClaims {
            tenant: tenant.clone(),
            job_id,
            attempt: Attempt(1),
            upload_id: upload_id.clone(),
            transcript: None,
        }),
        Claims::Upload(UploadClaims {
            tenant,
            upload_id,
            size: 4,
            name: "late.wav".to_owned(),
            content_type: "audio/wav".to_owned(),
            sha256: None,
            project_id: None,
            parts: None,
        }),
    ]
    .map(|claims| sign(claims, long_ago))
    .to_vec()
}

/// Signs as the edge would.
fn sign(claims: Claims, expires_at: TimestampMs) -> String {
    let secrets = Keys::secrets();
    let (_, keys) =
        secrets.iter().find(|(name, _)| *name == "TICKET_KEYS").expect("the edge has ticket keys");
    TicketKeys::parse(keys).expect("the edge reads them too").sign(claims, expires_at)
}

fn id<T, E: std::fmt::Debug>(text: &str, new: impl Fn(String) -> Result<T, E>) -> T {
    new(text.to_owned()).expect("the edge gave it out")
}

fn text(value: &Value) -> String {
    value.as_str().expect("the edge answers with texts here").to_owned()
}
