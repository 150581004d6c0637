//! The operator's paths, below `/v1/admin`.

use shared_protocol::{JobId, WorkerId};

use super::super::route::Method;

/// What a request of an operator is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminRoute {
    /// The queue's statistics.
    Queue,
    /// Offer nothing more.
    Pause,
    /// Offer again.
    Resume,
    /// All that is known of the workers.
    Workers,
    /// Do something to a worker.
    Worker(WorkerId, WorkerVerb),
    /// Jobs of all tenants.
    Jobs,
    /// One job whole.
    Job(JobId),
    /// Do something to a job.
    ActOnJob(JobId, JobVerb),
    /// Do something to many jobs.
    Bulk(BulkVerb),
    /// Who did what.
    Audit,
    /// What the scheduler's object has used.
    Usage,
    /// The page for Prometheus.
    Metrics,
}

/// What can be done to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerVerb {
    /// Let it finish what it has.
    Drain,
    /// End a drain.
    Undrain,
    /// Offer it nothing for a while.
    Bench,
    /// End a bench.
    Unbench,
}

/// What can be done to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobVerb {
    /// End it.
    Cancel,
    /// Put it back.
    Retry,
    /// Give it up.
    Discard,
}

/// What can be done to many jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkVerb {
    /// End them.
    Cancel,
    /// Put them back.
    Retry,
}

/// Finds what a request is for; `segments` are those after `admin`.
pub fn lookup(method: Method, segments: &[&str]) -> Option<AdminRoute> {
    use Method::{Get, Post};
    Some(match (method, segments) {
        (Get, ["queue"]) => AdminRoute::Queue,
        (Post, ["queue", "pause"]) => AdminRoute::Pause,
        (Post, ["queue", "resume"]) => AdminRoute::Resume,

        (Get, ["usage"]) => AdminRoute::Usage,
        (Get, ["metrics"]) => AdminRoute::Metrics,

        (Get, ["workers"]) => AdminRoute::Workers,
        (Post, ["workers", id, verb]) => AdminRoute::Worker(WorkerId::new(*id).ok()?, worker_verb(verb)?),

        (Get, ["jobs"]) => AdminRoute::Jobs,
        (Get, ["jobs", id]) => AdminRoute::Job(JobId::new(*id).ok()?),
        (Post, ["jobs", id, verb]) => AdminRoute::ActOnJob(JobId::new(*id).ok()?, job_verb(verb)?),
        (Post, ["bulk", "cancel"]) => AdminRoute::Bulk(BulkVerb::Cancel),
        (Post, ["bulk", "retry"]) => AdminRoute::Bulk(BulkVerb::Retry),

        (Get, ["audit"]) => AdminRoute::Audit,
        _ => return None,
    })
}

fn worker_verb(verb: &str) -> Option<WorkerVerb> {
    Some(match verb {
        "drain" => WorkerVerb::Drain,
        "undrain" => WorkerVerb::Undrain,
        "bench" => WorkerVerb::Bench,
        "unbench" => WorkerVerb::Unbench,
        _ => return None,
    })
}

fn job_verb(verb: &str) -> Option<JobVerb> {
    Some(match verb {
        "cancel" => JobVerb::Cancel,
        "retry" => JobVerb::Retry,
        "discard" => JobVerb::Discard,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ApiError;
    use crate::api::route::{Route, find};

    #[test]
    fn acting_takes_a_post_and_looking_a_get() {
        let worker = WorkerId::new("mini-1").unwrap();
        assert_eq!(
            find(Some(Method::Post), "/v1/admin/workers/mini-1/drain"),
            Ok(Route::Admin(AdminRoute::Worker(worker, WorkerVerb::Drain)))
        );
        assert_eq!(find(Some(Method::Get), "/v1/admin/jobs"), Ok(Route::Admin(AdminRoute::Jobs)));
        for path in ["/v1/admin/queue/pause", "/v1/admin/jobs/job_1/retry", "/v1/admin/bulk/cancel"] {
            assert_eq!(
                find(Some(Method::Get), path),
                Err(ApiError::MethodNotAllowed { allow: "POST".into() }),
                "{path}"
            );
        }
        for path in ["/v1/admin", "/v1/admin/", "/v1/admin/workers/mini-1/explode", "/v1/admin/jobs/.x"] {
            assert_eq!(find(Some(Method::Post), path), Err(ApiError::RouteNotFound), "{path}");
        }
    }
}
