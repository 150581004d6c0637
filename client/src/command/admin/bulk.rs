//! `minifleet admin cancel`, `retry`, `discard`: named jobs one by one, or whatever a filter finds.

use std::io::{IsTerminal, Write};

use minifleet_client::admin::{AdminJob, BulkAct, BulkRequest, BulkResult, JobAct};
use serde_json::{Value, json};
use shared_protocol::JobId;

use super::Surroundings;
use super::args::{DiscardArgs, SelectionArgs};
use crate::command::exit::{Exit, Failure};
use crate::command::text;

/// The words for an act.
struct Words {
    verb: &'static str,
    done: &'static str,
}

const CANCEL: Words = Words { verb: "cancel", done: "cancelled" };
const RETRY: Words = Words { verb: "retry", done: "put back" };
const DISCARD: Words = Words { verb: "discard", done: "discarded" };

pub async fn cancel(at: &Surroundings, args: &SelectionArgs) -> Result<Exit, Failure> {
    if args.job_ids.is_empty() {
        return by_filter(at, args, BulkAct::Cancel, &CANCEL).await;
    }
    by_id(at, args, JobAct::Cancel, &CANCEL).await
}

pub async fn retry(at: &Surroundings, args: &SelectionArgs) -> Result<Exit, Failure> {
    if args.job_ids.is_empty() {
        return by_filter(at, args, BulkAct::Retry, &RETRY).await;
    }
    by_id(at, args, JobAct::Retry, &RETRY).await
}

pub async fn discard(at: &Surroundings, args: &DiscardArgs) -> Result<Exit, Failure> {
    one_by_one(at, &args.job_ids, JobAct::Discard, &args.reason, &DISCARD).await
}

async fn by_id(at: &Surroundings, args: &SelectionArgs, act: JobAct, words: &Words) -> Result<Exit, Failure> {
    if args.dry_run {
        let message = "--dry-run goes with a filter: jobs named by their ids are known already".to_owned();
        return Err(Failure::usage("dry_run_of_named_jobs", message));
    }
    one_by_one(at, &args.job_ids, act, &args.reason, words).await
}

/// Acts on each job; one that cannot be acted on does not keep the others.
async fn one_by_one(
    at: &Surroundings,
    job_ids: &[JobId],
    act: JobAct,
    reason: &str,
    words: &Words,
) -> Result<Exit, Failure> {
    let (mut lines, mut documents, mut exits) = (String::new(), Vec::<Value>::new(), Vec::new());
    for job_id in job_ids {
        match at.admin.act_on_job(job_id, act, reason).await {
            Ok(AdminJob { job, .. }) => {
                let now = match act {
                    JobAct::Cancel if !job.state.is_settled() => "its worker was told to stop",
                    _ => words.done,
                };
                lines.push_str(&format!("{job_id}: {now}\n"));
                documents.push(json!({ "jobId": job_id, "state": job.state, "error": null }));
            }
            Err(error) => {
                let failure = Failure::from(error);
                lines.push_str(&format!("{job_id}: not {}: {failure}\n", words.done));
                documents.push(json!({ "jobId": job_id, "state": null, "error": failure.document() }));
                exits.push(failure.exit());
            }
        }
    }
    let exit = Exit::of_all(exits);
    let document = json!({ "jobs": documents, "exitCode": exit.code() });
    at.context.answer(&document, || lines.clone(), || lines.clone())?;
    Ok(exit)
}

async fn by_filter(
    at: &Surroundings,
    args: &SelectionArgs,
    act: BulkAct,
    words: &Words,
) -> Result<Exit, Failure> {
    let filter = args.filter.filter();
    if filter == Default::default() && !args.all {
        let message = format!("name the jobs to {}, or give a filter, or --all", words.verb);
        return Err(Failure::usage("no_jobs_named", message));
    }
    let mut request = BulkRequest { filter, all: args.all, dry_run: true, reason: args.reason.clone() };
    let found = at.admin.bulk(act, &request).await?;
    let total = found.changed + found.left;
    if args.dry_run {
        return answer(at, &found, || format!("{} would be {}.\n", text::counted(total, "job"), words.done));
    }
    if total > 0 && !args.yes {
        confirm(total, words)?;
    }
    request.dry_run = false;
    let mut sum = BulkResult { dry_run: false, changed: 0, left: total, stopped: None, job_ids: Vec::new() };
    // New jobs that fit may arrive as fast as these go: no more than were asked about, and a call's worth.
    while sum.left > 0 && sum.changed < total && sum.stopped.is_none() {
        let step = at.admin.bulk(act, &request).await?;
        sum.changed += step.changed;
        sum.left = step.left;
        sum.stopped = step.stopped;
        sum.job_ids.extend(step.job_ids);
        if step.changed == 0 {
            break;
        }
    }
    let rest = match (&sum.stopped, sum.left) {
        (_, 0) => String::new(),
        (Some(code), left) => format!(" {left} are left: {code}. Try again later."),
        (None, left) => format!(" {left} more have come in between."),
    };
    let exit = if sum.stopped.is_some() { Exit::Unavailable } else { Exit::Ok };
    answer(at, &sum, || format!("{} {}.{rest}\n", text::counted(sum.changed, "job"), words.done))?;
    Ok(exit)
}

fn answer(at: &Surroundings, result: &BulkResult, words: impl FnOnce() -> String) -> Result<Exit, Failure> {
    let ids = || result.job_ids.iter().map(|id| format!("{id}\n")).collect();
    at.context.answer(result, words, ids)?;
    Ok(Exit::Ok)
}

/// Asks whoever sits at the terminal; without one, --yes is the only way.
fn confirm(total: u64, words: &Words) -> Result<(), Failure> {
    let unconfirmed = || {
        let message = format!("{} would be {}: add --yes to do it", text::counted(total, "job"), words.done);
        Failure::usage("not_confirmed", message)
    };
    if !std::io::stdin().is_terminal() {
        return Err(unconfirmed());
    }
    let asked =
        write!(std::io::stderr(), "{} will be {}. Go on? [y/N] ", text::counted(total, "job"), words.done);
    asked.map_err(|error| Failure::local("write to standard error", &error))?;
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| Failure::local("read from the terminal", &error))?;
    if matches!(line.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(unconfirmed()) }
}
