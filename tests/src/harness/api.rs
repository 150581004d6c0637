//! Calls of the HTTP API, as a test writes them.

use serde_json::{Value, json};
use std::time::Duration;
use ureq::http::{HeaderMap, Method, Request};

use super::{Key, PATIENCE, until};

/// The API of one edge, called with one key or none.
#[derive(Debug, Clone)]
pub struct Api {
    origin: String,
    key: Option<Key>,
    agent: ureq::Agent,
}

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
}

/// An upload that was announced, and what is needed to put its content.
#[derive(Debug, Clone)]
pub struct Upload {
    /// Its id.
    pub id: String,
    /// Where to put the content.
    pub url: String,
    /// The ticket that allows it.
    pub ticket: String,
}

impl Api {
    /// An API at this address.
    pub fn new(origin: String, key: Option<Key>) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .max_redirects(0)
            .build()
            .into();
        Self { origin, key, agent }
    }

    /// One request. `path` may be a whole address.
    ///
    /// # Panics
    /// There is no answer.
    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Answer {
        self.try_call(method, path, headers, body)
            .unwrap_or_else(|error| panic!("{method} {path} got no answer: {error}"))
    }

    /// One request that may get no answer, because the edge is being killed.
    ///
    /// # Errors
    /// There is no whole answer.
    pub fn try_call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer, ureq::Error> {
        let address =
            if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.origin) };
        let method: Method = method.parse().expect("a test writes valid methods");
        let mut request = Request::builder().method(method).uri(address);
        if let Some(key) = self.key {
            request = request.header("Authorization", key.bearer());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = match body {
            Some(body) => self.agent.run(request.body(body).map_err(ureq::Error::Http)?)?,
            None => self.agent.run(request.body(()).map_err(ureq::Error::Http)?)?,
        };
        Ok(Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.body_mut().with_config().limit(512 * 1024 * 1024).read_to_vec()?,
        })
    }

    /// `GET`.
    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], None)
    }

    /// `GET` of some bytes: `range` is the header's value.
    pub fn get_range(&self, path: &str, range: &str) -> Answer {
        self.call("GET", path, &[("Range", range)], None)
    }

    /// `POST` of JSON.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, &[], body)
    }

    /// `POST` of JSON with more headers.
    pub fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        self.call("POST", path, &all, Some(body.to_string().as_bytes()))
    }

    /// Announces an upload.
    ///
    /// # Panics
    /// It is refused.
    pub fn announce(&self, body: &Value) -> Upload {
        let answer = self.post("/v1/uploads", body).expect(201).json();
        let text = |value: &Value| value.as_str().expect("an upload has texts").to_owned();
        Upload {
            id: text(&answer["uploadId"]),
            url: text(&answer["put"]["url"]),
            ticket: text(&answer["put"]["headers"]["Minifleet-Ticket"]),
        }
    }

    /// Puts the content of an announced upload, with the ticket and without the key.
    pub fn put_content(&self, upload: &Upload, content: &[u8]) -> Answer {
        let api = Self { key: None, ..self.clone() };
        api.call("PUT", &upload.url, &[("Minifleet-Ticket", &upload.ticket)], Some(content))
    }

    /// Uploads a recording; returns its id.
    ///
    /// # Panics
    /// It is refused.
    pub fn upload(&self, name: &str, content: &[u8]) -> String {
        let upload = self.announce(&json!({ "name": name, "size": content.len() }));
        self.put_content(&upload, content).expect(200);
        upload.id
    }

    /// Makes a project of a recording that is there; returns its path.
    ///
    /// # Panics
    /// It is refused.
    pub fn project(&self, name: &str, content_type: &str, content: &[u8]) -> String {
        let body = json!({ "name": name, "size": content.len(), "contentType": content_type });
        let made = self.post("/v1/projects", &body).expect(201).json();
        let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
        let put = Upload {
            id: text(&made["project"]["upload"]["uploadId"]),
            url: text(&made["put"]["url"]),
            ticket: text(&made["put"]["headers"]["Minifleet-Ticket"]),
        };
        self.put_content(&put, content).expect(200);
        let path = format!("/v1/projects/{}", text(&made["project"]["projectId"]));
        self.post(&format!("{path}/upload/complete"), &json!({})).expect(200);
        path
    }

    /// Queues a job for a small upload with these fields beside `uploadId`; returns the job.
    ///
    /// # Panics
    /// It is refused.
    pub fn queue(&self, fields: &Value) -> Value {
        let mut body = json!({ "uploadId": self.upload("talk.wav", b"not really audio") });
        for (name, value) in fields.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        self.post("/v1/jobs", &body).expect(201).json()
    }

    /// Queues a job for a small upload; returns its id.
    ///
    /// # Panics
    /// It is refused.
    pub fn queue_job(&self) -> String {
        job_id(&self.queue(&json!({})))
    }

    /// The job as it is now.
    ///
    /// # Panics
    /// It is not there.
    pub fn job(&self, id: &str) -> Value {
        self.get(&format!("/v1/jobs/{id}")).expect(200).json()
    }

    /// Waits until the job is in this state; returns it.
    ///
    /// # Panics
    /// It does not get there in time, or ends in another state.
    pub fn wait_for(&self, id: &str, state: &str) -> Value {
        self.wait_for_within(id, state, PATIENCE)
    }

    /// As [`Self::wait_for`], with another patience.
    ///
    /// # Panics
    /// As [`Self::wait_for`].
    pub fn wait_for_within(&self, id: &str, state: &str, patience: Duration) -> Value {
        until(&format!("{id} to be {state}"), patience, || {
            let job = self.job(id);
            let now = job["state"].as_str().unwrap_or_default();
            let ended = matches!(now, "completed" | "failed" | "cancelled");
            assert!(now == state || !ended, "{id} was to be {state} and is {job}");
            (now == state).then_some(job)
        })
    }

    /// Asks for the job to be cancelled.
    pub fn cancel(&self, id: &str) -> Answer {
        self.call("POST", &format!("/v1/jobs/{id}/cancel"), &[], Some(b""))
    }

    /// The job's playlist.
    pub fn playlist(&self, id: &str) -> Answer {
        self.get(&format!("/v1/jobs/{id}/hls/index.m3u8"))
    }
}

impl Answer {
    /// Expects this status.
    ///
    /// # Panics
    /// It has another one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert!(self.status == status, "{status} was expected, not {}: {}", self.status, self.text());
        self
    }

    /// The body as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// It is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{} with a body that is not JSON ({error}): {}", self.status, self.text())
        })
    }

    /// A header's text; empty without it.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Expects an error with this status and code, in the one shape that all errors have; returns it.
    ///
    /// # Panics
    /// It is anything else.
    #[track_caller]
    pub fn expect_problem(&self, status: u16, code: &str) -> Value {
        let text = self.text();
        assert!(self.status == status, "{status} {code} was expected, not {}: {text}", self.status);
        assert_eq!(self.header("Content-Type"), "application/problem+json", "{text}");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{text}");
        assert_eq!(problem["status"], status, "{text}");
        for member in ["type", "title", "detail", "requestId"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "no {member}: {text}");
        }
        assert_eq!(problem["requestId"], self.header("X-Request-Id"), "{text}");
        problem
    }
}

/// The id in a job's JSON.
///
/// # Panics
/// It has none.
pub(super) fn job_id(job: &Value) -> String {
    job["jobId"].as_str().expect("a job has an id").to_owned()
}
