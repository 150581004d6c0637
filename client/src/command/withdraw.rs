//! What Ctrl-C does to a recording on its way.

use minifleet_client::Client;
use minifleet_client::jobs::JobState;

use super::exit::{Exit, Failure};
use super::report::{Outcome, RestoreResult};

/// Cancels the job, if there is one, and says what became of it.
pub async fn withdraw(client: &Client, result: &RestoreResult) -> (Failure, Outcome) {
    let interrupted = |message| Failure::Own { exit: Exit::Interrupted, code: "interrupted", message };
    let Some(job_id) = &result.job_id else {
        let message = match result.upload {
            None => "interrupted before a job was made",
            Some(_) => "interrupted while its job was made; if there is one, minifleet jobs shows it",
        };
        return (interrupted(message.to_owned()), Outcome::Interrupted);
    };
    if result.job.as_ref().is_some_and(|job| job.state == JobState::Completed) {
        let message = format!("it is restored; fetch it with: minifleet files {job_id} --download");
        return (interrupted(message), Outcome::Interrupted);
    }
    match client.cancel_job(job_id).await {
        Ok(job) if job.state == JobState::Cancelled => {
            (interrupted("interrupted; the service has cancelled the job".to_owned()), Outcome::Cancelled)
        }
        Ok(_) => (interrupted("interrupted; its worker was told to stop".to_owned()), Outcome::Cancelled),
        Err(error) if error.is_problem("job_ended") => {
            let message = format!("job {job_id} had ended already: see minifleet job {job_id}");
            (interrupted(message), Outcome::Interrupted)
        }
        Err(error) => {
            let message = format!("job {job_id} may still run ({error}); try: minifleet cancel {job_id}");
            (interrupted(message), Outcome::Interrupted)
        }
    }
}
