//! The API of `docs/api.md`, as far as the command needs it: uploads, jobs that move on by one step at each look, files.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Reply, Request, Service, content, ranged, sha256};

/// What a job's look shows, one after the other; the last one stays.
pub type Script = Vec<Value>;

/// A small service.
pub struct Api {
    pub uploads: BTreeMap<String, Vec<u8>>,
    /// Name of the upload, looks so far, whether it is cancelled.
    pub jobs: BTreeMap<String, (String, usize, bool)>,
    pub script: Script,
    pub files: BTreeMap<String, Vec<u8>>,
    /// What the list of files says of stems, one look after the other; the last one stays.
    pub stems: Vec<Value>,
    /// How long an answer to a cancel takes.
    pub cancel_delay: Duration,
    pub names: Vec<String>,
}

impl Default for Api {
    fn default() -> Self {
        Api {
            uploads: BTreeMap::new(),
            jobs: BTreeMap::new(),
            script: complete(),
            files: [
                ("restored.wav".to_owned(), content(200_000)),
                ("restored.mp3".to_owned(), content(30_000)),
            ]
            .into(),
            stems: Vec::new(),
            cancel_delay: Duration::ZERO,
            names: Vec::new(),
        }
    }
}

/// A job that goes well; it can be heard before it is complete.
pub fn complete() -> Script {
    let mut script = running();
    script.push(json!({
        "state": "completed", "worker": "mini-1", "progress": 1.0, "audioSeconds": 61.3, "publishedSeconds": 61.3,
        "startedAtMs": 1_050, "firstAudioAtMs": 2_200, "endedAtMs": 5_000, "realTimeFactor": 0.03,
        "timings": [{"phase": "downloading", "startMs": 0, "endMs": 100}, {"phase": "inference", "startMs": 400, "endMs": 2_400}],
    }));
    script
}

/// A job that never ends.
pub fn running() -> Script {
    vec![
        json!({ "state": "queued" }),
        json!({ "state": "running", "worker": "mini-1", "phase": "downloading", "progress": 0.0, "startedAtMs": 1_050 }),
        json!({ "state": "running", "worker": "mini-1", "phase": "preparing_audio", "progress": 0.1, "startedAtMs": 1_050 }),
        json!({ "state": "running", "worker": "mini-1", "phase": "restoring", "progress": 0.4, "audioSeconds": 61.3,
                "publishedSeconds": 12.0, "startedAtMs": 1_050, "firstAudioAtMs": 2_200 }),
    ]
}

impl Api {
    fn job(&self, job_id: &str) -> Value {
        let (name, looks, cancelled) = &self.jobs[job_id];
        let mut job = json!({
            "jobId": job_id, "uploadId": "upl_x", "name": name, "attempt": 1, "sampler": "flash",
            "outputs": ["hls", "wav", "mp3"], "createdAtMs": 1_000, "failure": null, "metadata": {},
        });
        let step = &self.script[(*looks).min(self.script.len() - 1)];
        for (key, value) in step.as_object().expect("an object") {
            job[key] = value.clone();
        }
        if *cancelled {
            job["state"] = json!("cancelled");
        }
        job
    }
}

impl Service for Api {
    fn answer(&mut self, request: &Request) -> Reply {
        let put = request.header("minifleet-ticket").is_some();
        if !put && request.header("authorization") != Some("Bearer client-key") {
            return Reply::problem(401, "unauthorized");
        }
        let path: Vec<&str> = request.target.split(['/', '?']).skip(2).collect();
        match (request.method.as_str(), &path[..]) {
            ("POST", ["uploads"]) => {
                self.names.push(request.json()["name"].as_str().expect("a name").to_owned());
                let id = format!("upl_{}", self.names.len());
                let url = format!("/v1/uploads/{id}/content");
                Reply::json(
                    201,
                    &json!({ "uploadId": id, "expiresAtMs": 0,
                             "put": { "method": "PUT", "url": url, "headers": { "Minifleet-Ticket": "ticket" } } }),
                )
            }
            ("PUT", ["uploads", id, "content"]) => {
                self.uploads.insert((*id).to_owned(), request.body.clone());
                Reply::json(200, &json!({ "uploadId": id, "size": request.body.len(), "etag": "e" }))
            }
            ("POST", ["jobs"]) => {
                let upload = request.json()["uploadId"].as_str().expect("an upload").to_owned();
                let number: usize = upload.trim_start_matches("upl_").parse().expect("a number");
                let job_id = format!("job_{number}");
                self.jobs.insert(job_id.clone(), (self.names[number - 1].clone(), 0, false));
                Reply::json(201, &self.job(&job_id))
            }
            ("GET", ["jobs", id]) if self.jobs.contains_key(*id) => {
                let job = self.job(id);
                if let Some((_, looks, _)) = self.jobs.get_mut(*id) {
                    *looks += 1;
                }
                Reply::json(200, &job)
            }
            ("POST", ["jobs", id, "cancel"]) if self.jobs.contains_key(*id) => {
                if let Some((_, _, cancelled)) = self.jobs.get_mut(*id) {
                    *cancelled = true;
                }
                Reply::json(202, &self.job(id)).delayed(self.cancel_delay)
            }
            ("POST", ["jobs", _, "playback"]) => Reply::json(
                200,
                &json!({ "url": "/v1/play/t/index.m3u8", "page": "/listen#t", "expiresAtMs": 4_102_444_800_000_u64 }),
            ),
            ("GET", ["jobs", id, "files"]) => {
                let files: Vec<Value> = self
                    .files
                    .iter()
                    .map(|(name, bytes)| {
                        json!({ "name": name, "size": bytes.len(), "contentType": "audio/x", "sha256": sha256(bytes),
                                "url": format!("/v1/jobs/{id}/files/{name}") })
                    })
                    .collect();
                let stems = self.stems.first().cloned();
                if self.stems.len() > 1 {
                    self.stems.remove(0);
                }
                Reply::json(200, &json!({ "files": files, "stems": stems }))
            }
            ("GET", ["jobs", _, "files", name]) => ranged(request, &self.files[*name]),
            ("GET", ["jobs", _, "stems", name]) => ranged(request, name.as_bytes()),
            ("GET", ["jobs", query]) if query.contains('=') => {
                Reply::json(200, &json!({ "jobs": [], "nextCursor": null }))
            }
            ("GET", ["status"]) => Reply::json(
                200,
                &json!({ "environment": "dev", "queue": { "queued": 2, "offered": 0, "running": 1, "limit": 10_000 },
                         "workers": [{ "workerId": "mini-1", "connected": true, "version": "0.1.0", "slots": 1,
                                       "openSlots": 0, "running": ["job_1"], "backlogSeconds": 1.5,
                                       "lastSeenAtMs": 0, "draining": false, "samplers": ["flash"], "engine": "onnx-cpu" }] }),
            ),
            _ => Reply::problem(404, "not_found"),
        }
    }
}
