//! `minifleet admin jobs`, `explain`, `history`.

use minifleet_client::admin::{AdminJob, Decision, JobSummary, JobSummaryPage, Waiting};
use shared_protocol::JobId;

use super::Surroundings;
use super::args::AdminJobsArgs;
use crate::command::exit::{Exit, Failure};
use crate::command::table::{Align, Table};
use crate::command::text;

/// Jobs asked for at a time.
const PAGE: u32 = 100;

pub async fn list(at: &Surroundings, args: &AdminJobsArgs) -> Result<Exit, Failure> {
    let filter = args.filter.filter();
    let mut all = JobSummaryPage { jobs: Vec::new(), next_cursor: None };
    loop {
        let missing = args.limit.saturating_sub(all.jobs.len() as u32);
        let page = at.admin.jobs(&filter, missing.clamp(1, PAGE), all.next_cursor.as_deref()).await?;
        // A page may be empty and have a next one: each looks at a bounded number of rows.
        let more = page.next_cursor.is_some() && page.next_cursor != all.next_cursor;
        all.jobs.extend(page.jobs);
        all.next_cursor = page.next_cursor;
        if !more || all.jobs.len() as u32 >= args.limit {
            break;
        }
    }
    let ids = || all.jobs.iter().map(|job| format!("{}\n", job.job_id)).collect();
    at.context.answer(&all, || render_list(&all.jobs), ids)?;
    Ok(Exit::Ok)
}

pub async fn explain(at: &Surroundings, job_id: &JobId) -> Result<Exit, Failure> {
    let job = at.admin.job(job_id).await?;
    at.context.answer(&job, || render_explanation(&job), || format!("{}\n", one_line(&job)))?;
    Ok(Exit::Ok)
}

pub async fn history(at: &Surroundings, job_id: &JobId) -> Result<Exit, Failure> {
    let job = at.admin.job(job_id).await?;
    at.context.answer(&job, || render_history(&job), || render_history(&job))?;
    Ok(Exit::Ok)
}

fn render_list(jobs: &[JobSummary]) -> String {
    if jobs.is_empty() {
        return "No such jobs.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("job", Align::Left),
        ("tenant", Align::Left),
        ("recording", Align::Left),
        ("state", Align::Left),
        ("attempt", Align::Right),
        ("worker", Align::Left),
        ("queued", Align::Right),
    ]);
    for job in jobs {
        let state = match (&job.failure, job.state.as_str()) {
            (_, "running") => format!("running, {:.0} %", job.progress * 100.0),
            (Some(failure), "failed" | "quarantined") => format!("{}: {failure}", job.state),
            _ => job.state.clone(),
        };
        table.row([
            job.job_id.to_string(),
            text::printable(&job.tenant),
            text::shorten(&text::printable(&job.name), 40),
            text::printable(&state),
            job.attempt.to_string(),
            text::printable(job.worker.as_deref().unwrap_or("-")),
            text::ago(job.created_at_ms),
        ]);
    }
    table.render()
}

fn headline(job: &AdminJob) -> String {
    format!(
        "{} ({}, tenant {}): {}\n",
        job.job.job_id,
        text::printable(&job.job.name),
        text::printable(&job.tenant),
        job.job.state.label()
    )
}

fn one_line(job: &AdminJob) -> String {
    match (&job.waiting, &job.decision) {
        (Some(waiting), _) => waiting.waits_for.clone(),
        (None, Some(decision)) => format!("{} {}", decision.chosen, decision.decided_by),
        (None, None) => "never_offered".to_owned(),
    }
}

fn render_explanation(job: &AdminJob) -> String {
    let mut output = headline(job);
    if let Some(waiting) = &job.waiting {
        output.push_str(&waiting_in_words(waiting));
    }
    match &job.decision {
        Some(decision) => output.push_str(&render_decision(decision, job.job.attempt)),
        None => output.push_str("It was never offered to a worker.\n"),
    }
    output
}

fn waiting_in_words(waiting: &Waiting) -> String {
    let (fitting, available) = (waiting.fitting_workers, waiting.available_workers);
    let reason = match waiting.waits_for.as_str() {
        "its_time" => format!("its time, in {}", text::from_now(waiting.not_before_ms)),
        "resume" => "the queue to be resumed: minifleet admin resume".to_owned(),
        "tenants_resume" => "its tenant to be resumed: minifleet admin resume --tenant TENANT".to_owned(),
        "any_worker" => "a worker: none is connected".to_owned(),
        "fitting_worker" => {
            "a worker with its sampler and labels: none of the connected ones has them".to_owned()
        }
        "held_back_workers" => {
            format!("a worker that takes jobs: all {fitting} fitting ones are drained, benched or leaving")
        }
        "open_slot" => format!("an open slot: {available} fitting workers are busy"),
        other => text::printable(other),
    };
    let ahead = match waiting.jobs_ahead {
        Some(0) => " It is the next one.".to_owned(),
        Some(jobs) => format!(" {} ahead of it.", text::counted(jobs, "job")),
        None => String::new(),
    };
    format!("It waits for {reason}.{ahead}\n")
}

fn render_decision(decision: &Decision, attempt: u32) -> String {
    let because = match decision.decided_by.as_str() {
        "only_candidate" => "it was the only one that could take it",
        "soonest" => "it was the soonest by more than a tie",
        "worker_priority" => "it tied with others and had the highest priority",
        "longest_idle" => "it tied with others and had been idle longest",
        other => other,
    };
    let mut output = format!(
        "Attempt {attempt} went to {}: {} ({}, {} considered).\n",
        text::printable(&decision.chosen),
        text::printable(because),
        text::printable(&decision.policy),
        decision.considered
    );
    let mut table = Table::new(&[
        ("", Align::Left),
        ("worker", Align::Left),
        ("starts in", Align::Right),
        ("finishes in", Align::Right),
        ("priority", Align::Right),
    ]);
    for candidate in &decision.candidates {
        let mark = if candidate.worker == decision.chosen { ">" } else { "" };
        table.row([
            mark.to_owned(),
            text::printable(&candidate.worker),
            text::seconds(candidate.start_seconds),
            text::seconds(candidate.finish_seconds),
            candidate.priority.to_string(),
        ]);
    }
    output.push_str(&table.render());
    output
}

fn render_history(job: &AdminJob) -> String {
    let mut output = headline(job);
    let mut table = Table::new(&[
        ("after", Align::Right),
        ("state", Align::Left),
        ("attempt", Align::Right),
        ("reason", Align::Left),
        ("worker", Align::Left),
    ]);
    let begin = job.history.first().map_or(0, |first| first.at_ms.0);
    for change in &job.history {
        table.row([
            text::seconds(change.at_ms.0.saturating_sub(begin) as f64 / 1000.0),
            text::printable(&change.to),
            change.attempt.to_string(),
            text::printable(&change.reason.replace('_', " ")),
            text::printable(change.worker.as_deref().unwrap_or("-")),
        ]);
    }
    output.push_str(&table.render());
    let budgets = &job.budgets;
    output.push_str(&format!(
        "Budgets used: {} of {} retries, {} of {} lost workers.\n",
        budgets.retries, budgets.max_retries, budgets.workers_lost, budgets.max_workers_lost
    ));
    if let Some(failure) = &job.job.failure {
        output.push_str(&format!("Last failure: {} ({})\n", text::printable(&failure.message), failure.code));
    }
    output
}
