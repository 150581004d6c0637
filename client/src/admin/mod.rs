//! The operator's side of the API: the queue, the workers, jobs of all tenants, tenants and their keys,
//! the audit log. It takes an operator's key
//! ([`crate::config::find_admin`]); a client's opens nothing here.
//!
//! Every act but those that make secrets can be repeated: one that holds already changes nothing and is no error.

mod jobs;
mod queue;
mod tenants;
mod webhooks;
mod workers;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_protocol::{JobId, TimestampMs};

use crate::config::Profile;
use crate::errors::Error;
use crate::http::{Call, Client};

pub use jobs::{
    AdminJob, Budgets, BulkAct, BulkRequest, BulkResult, Candidate, Decision, JobAct, JobFilter, JobSummary,
    JobSummaryPage, Transition, Waiting,
};
pub use queue::{Counts, Pause, Queue, TenantCounts};
pub use tenants::{
    NewKey, NewSecret, SettingsChange, Tenant, TenantKey, TenantKeys, TenantPage, TenantSettings,
    TenantSummary,
};
pub use workers::{HeldJob, Link, Worker, WorkerAct, WorkerList};

/// The operator's calls of one service.
#[derive(Debug, Clone)]
pub struct Admin {
    client: Client,
}

/// One act of an operator.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The request, as its answer and the service's logs name it.
    pub request_id: String,
    /// When.
    pub at_ms: TimestampMs,
    /// The name of the operator's key.
    pub key_id: String,
    /// What was done, such as `worker.drain`.
    pub action: String,
    /// To whom; nothing when it concerned all.
    pub target: Option<String>,
    /// Why, in the operator's words.
    #[serde(default)]
    pub reason: String,
    /// `done`, `unchanged` or `refused`.
    pub outcome: String,
    /// Why it was refused.
    pub refusal: Option<String>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// One page of the audit log, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

impl Admin {
    /// Prepares an operator's client; nothing is sent yet.
    pub fn new(profile: &Profile) -> Result<Self, Error> {
        Ok(Self { client: Client::new(profile)? })
    }

    /// The queue's statistics; the hint counts jobs that would start later than `target_seconds` (the service's own without).
    pub async fn queue(&self, target_seconds: Option<u64>) -> Result<Queue, Error> {
        let mut url = self.client.resource(&["admin", "queue"]);
        if let Some(target) = target_seconds {
            url.query_pairs_mut().append_pair("targetSeconds", &target.to_string());
        }
        self.client.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// Offers nothing more, of one tenant or at all, until it is resumed.
    pub async fn pause(&self, tenant: Option<&str>, reason: &str) -> Result<Queue, Error> {
        self.post(&["queue", "pause"], &json!({ "tenant": tenant, "reason": reason })).await
    }

    /// Offers again.
    pub async fn resume(&self, tenant: Option<&str>, reason: &str) -> Result<Queue, Error> {
        self.post(&["queue", "resume"], &json!({ "tenant": tenant, "reason": reason })).await
    }

    /// All that is known of the workers.
    pub async fn workers(&self) -> Result<WorkerList, Error> {
        self.get(&["workers"]).await
    }

    /// Does something to a worker, known or not.
    pub async fn act_on_worker(&self, worker: &str, act: WorkerAct, reason: &str) -> Result<Worker, Error> {
        let mut body = json!({ "reason": reason });
        if let WorkerAct::Bench { seconds: Some(seconds) } = act {
            body["seconds"] = seconds.into();
        }
        self.post(&["workers", worker, act.name()], &body).await
    }

    /// One page of at most `limit` jobs, newest first. It may hold fewer, or none, and still have a next one.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<JobSummaryPage, Error> {
        let mut url = self.client.resource(&["admin", "jobs"]);
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
        for (name, value) in filter.pairs() {
            url.query_pairs_mut().append_pair(name, value);
        }
        if let Some(cursor) = cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        self.client.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// One job of any tenant, whole.
    pub async fn job(&self, job_id: &JobId) -> Result<AdminJob, Error> {
        self.get(&["jobs", job_id.as_str()]).await
    }

    /// Does something to one job.
    pub async fn act_on_job(&self, job_id: &JobId, act: JobAct, reason: &str) -> Result<AdminJob, Error> {
        self.post(&["jobs", job_id.as_str(), act.name()], &json!({ "reason": reason })).await
    }

    /// Does something to a bounded number of the jobs that are meant; the answer says how many are left.
    pub async fn bulk(&self, act: BulkAct, request: &BulkRequest) -> Result<BulkResult, Error> {
        self.post(&["bulk", act.name()], request).await
    }

    /// One page of the audit log.
    pub async fn audit(&self, limit: u32, cursor: Option<&str>) -> Result<AuditPage, Error> {
        let mut url = self.client.resource(&["admin", "audit"]);
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
        if let Some(cursor) = cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        self.client.call(&Call::new(Method::GET, url)).await?.json()
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        self.client.call(&Call::new(Method::GET, self.url(path))).await?.json()
    }

    async fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        self.client.call(&Call::new(Method::POST, self.url(path)).json(body)).await?.json()
    }

    fn url(&self, path: &[&str]) -> url::Url {
        let mut segments = vec!["admin"];
        segments.extend(path);
        self.client.resource(&segments)
    }
}
