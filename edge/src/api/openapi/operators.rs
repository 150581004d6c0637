//! What operators see and do, for all tenants.

use serde_json::json;

use super::operation::{Access, Content, Group, Operation, get, post};
use crate::api::ApiError;
use crate::api::admin::filter::StateFilter;
use crate::api::admin::request::{BenchBody, BulkBody, PauseBody, ReasonBody};
use crate::api::admin::view::{
    AdminJob, AuditList, BulkResult, JobSummaryList, QueueDetail, WorkerDetail, WorkerList,
};
use crate::api::view::UsageView;

pub(super) fn operations() -> Vec<Operation> {
    [queue(), workers(), jobs()].concat()
}

fn look(id: &'static str, path: &'static str) -> Operation {
    get(id, path, Group::Operating, Access::Operator).asks_scheduler()
}

fn act(id: &'static str, path: &'static str) -> Operation {
    post(id, path, Group::Operating, Access::Operator).acts()
}

fn queue() -> Vec<Operation> {
    vec![
        look("getQueue", "/v1/admin/queue")
            .says(
                "The queue, with a hint for autoscaling",
                "`workersWanted` workers like those that are there would bring `lateJobs` to zero.",
            )
            .query(
                "targetSeconds",
                "Within which time waiting jobs shall start.",
                json!({ "type": "integer", "minimum": 1, "maximum": 86400, "default": 60 }),
            )
            .gives::<QueueDetail>(200, "The queue now."),
        act("pauseQueue", "/v1/admin/queue/pause")
            .says(
                "Offer nothing more",
                "Of one tenant, or at all. What runs goes on, and jobs are still taken.",
            )
            .may_take::<PauseBody>()
            .gives::<QueueDetail>(200, "The queue now."),
        act("resumeQueue", "/v1/admin/queue/resume")
            .says("Offer again", "Resuming everything does not resume a tenant that was paused by itself.")
            .may_take::<PauseBody>()
            .gives::<QueueDetail>(200, "The queue now."),
        look("getSchedulerUsage", "/v1/admin/usage")
            .says(
                "What the scheduler's object has used",
                "Since it was last made, by what the platform bills and bounds.",
            )
            .gives::<UsageView>(200, "The figures."),
        look("getMetrics", "/v1/admin/metrics")
            .says(
                "The page for Prometheus",
                "Queue, workers, webhooks, and how long the phases of recent jobs took.",
            )
            .answers(200, "The figures now.", Content::Bytes(&["text/plain"])),
        look("getAuditLog", "/v1/admin/audit")
            .says("Who did what", "Every act of an operator, refused ones too, newest first.")
            .pages()
            .gives::<AuditList>(200, "A page of it."),
    ]
}

fn workers() -> Vec<Operation> {
    let act_on_worker = |id, path| act(id, path).gives::<WorkerDetail>(200, "The worker, known or not.");
    vec![
        look("listWorkers", "/v1/admin/workers")
            .says("All that is known of the workers", "")
            .gives::<WorkerList>(200, "By name."),
        act_on_worker("drainWorker", "/v1/admin/workers/{workerId}/drain")
            .says("Let a worker finish what it has", "It is offered nothing new until the drain is ended.")
            .may_take::<ReasonBody>(),
        act_on_worker("undrainWorker", "/v1/admin/workers/{workerId}/undrain")
            .says("End a drain", "")
            .may_take::<ReasonBody>(),
        act_on_worker("benchWorker", "/v1/admin/workers/{workerId}/bench")
            .says("Offer a worker nothing for a while", "An hour, unless said otherwise.")
            .may_take::<BenchBody>(),
        act_on_worker("unbenchWorker", "/v1/admin/workers/{workerId}/unbench")
            .says("End a bench", "Also one that followed on failures.")
            .may_take::<ReasonBody>(),
    ]
}

fn jobs() -> Vec<Operation> {
    let wrong_state =
        || ApiError::WrongState { state: String::new(), wanted: String::new(), verb: String::new() };
    let act_on_job = |id, path| act(id, path).may_take::<ReasonBody>().fails([ApiError::JobNotFound]);
    let id = json!({ "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$" });
    let states = StateFilter::ALL.map(StateFilter::name);
    vec![
        look("listAllJobs", "/v1/admin/jobs")
            .says(
                "Jobs of all tenants",
                "Newest first. A page may be short, even empty, and have a next one.",
            )
            .query("tenant", "Whose.", id.clone())
            .query(
                "state",
                "In which state, or group of states.",
                json!({ "type": "string", "enum": states }),
            )
            .query("worker", "Who has it, or had it last.", id)
            .pages()
            .gives::<JobSummaryList>(200, "A page of them."),
        look("getWholeJob", "/v1/admin/jobs/{jobId}")
            .says(
                "A job whole",
                "With its budgets, why it waits, why it went where it went, and every change of its state.",
            )
            .gives::<AdminJob>(200, "The job.")
            .fails([ApiError::JobNotFound]),
        act_on_job("cancelAnyJob", "/v1/admin/jobs/{jobId}/cancel")
            .says("End a job", "")
            .gives::<AdminJob>(200, "It has ended.")
            .gives::<AdminJob>(202, "Its worker was told and has to confirm.")
            .fails([ApiError::JobEnded { state: String::new() }]),
        act_on_job("retryJob", "/v1/admin/jobs/{jobId}/retry")
            .says("Put a failed or quarantined job back", "With fresh budgets.")
            .gives::<AdminJob>(200, "It waits again.")
            .fails([wrong_state(), ApiError::QueueFull { limit: 0 }]),
        act_on_job("discardJob", "/v1/admin/jobs/{jobId}/discard")
            .says("Give a quarantined job up", "")
            .gives::<AdminJob>(200, "It has failed.")
            .fails([wrong_state()]),
        act("cancelJobs", "/v1/admin/bulk/cancel")
            .says(
                "End many jobs",
                "At least one filter, or `\"all\": true`. Call again while something is `left`.",
            )
            .takes::<BulkBody>()
            .gives::<BulkResult>(200, "What was done."),
        act("retryJobs", "/v1/admin/bulk/retry")
            .says("Put many jobs back", "Failed and quarantined ones, the oldest first.")
            .takes::<BulkBody>()
            .gives::<BulkResult>(200, "What was done."),
    ]
}
