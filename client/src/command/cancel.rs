//! `minifleet cancel`.

use minifleet_client::jobs::JobState;
use serde_json::{Value, json};
use shared_protocol::JobId;

use super::context::Context;
use super::exit::{Exit, Failure};

/// Cancels each job; one that cannot be cancelled does not keep the others.
pub async fn run(context: &Context, job_ids: &[JobId]) -> Result<Exit, Failure> {
    let mut lines = String::new();
    let mut documents: Vec<Value> = Vec::new();
    let mut exits = Vec::new();
    for job_id in job_ids {
        match context.client.cancel_job(job_id).await {
            Ok(job) => {
                let words = match job.state {
                    JobState::Cancelled => "cancelled",
                    _ => "its worker was told to stop",
                };
                lines.push_str(&format!("{job_id}: {words}\n"));
                documents.push(json!({ "jobId": job_id, "state": job.state, "error": null }));
            }
            Err(error) => {
                let failure = Failure::from(error);
                lines.push_str(&format!("{job_id}: not cancelled: {failure}\n"));
                documents.push(json!({ "jobId": job_id, "state": null, "error": failure.document() }));
                exits.push(failure.exit());
            }
        }
    }
    let exit = Exit::of_all(exits);
    let document = json!({ "jobs": documents, "exitCode": exit.code() });
    context.answer(&document, || lines.clone(), || lines.clone())?;
    Ok(exit)
}
