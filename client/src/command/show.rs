//! `minifleet status`, `minifleet job`, `minifleet jobs`.

use minifleet_client::fleet::FleetStatus;
use minifleet_client::jobs::{Job, JobPage};
use shared_protocol::JobId;

use super::args::JobsArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::report;
use super::table::{Align, Table};
use super::text;

/// Jobs asked for at a time.
const PAGE: u32 = 100;

pub async fn status(context: &Context) -> Result<Exit, Failure> {
    let status = context.client.status().await?;
    context.answer(&status, || render_status(&status), || render_status(&status))?;
    Ok(Exit::Ok)
}

pub async fn job(context: &Context, job_id: &JobId) -> Result<Exit, Failure> {
    let job = context.client.job(job_id).await?;
    context.answer(&job, || render_job(&job), || format!("{}\n", job.state.label()))?;
    Ok(Exit::Ok)
}

pub async fn jobs(context: &Context, args: &JobsArgs) -> Result<Exit, Failure> {
    let mut all = JobPage { jobs: Vec::new(), next_cursor: None };
    loop {
        let missing = args.limit - all.jobs.len() as u32;
        let page =
            context.client.jobs(args.state.into(), missing.min(PAGE), all.next_cursor.as_deref()).await?;
        // A cursor that leads nowhere new would be followed for ever.
        let more = page.next_cursor.is_some() && page.next_cursor != all.next_cursor && !page.jobs.is_empty();
        all.jobs.extend(page.jobs);
        all.jobs.truncate(args.limit as usize);
        all.next_cursor = page.next_cursor;
        if !more || all.jobs.len() as u32 >= args.limit {
            break;
        }
    }
    let ids = || all.jobs.iter().map(|job| format!("{}\n", job.job_id)).collect();
    context.answer(&all, || render_jobs(&all), ids)?;
    Ok(Exit::Ok)
}

fn render_status(status: &FleetStatus) -> String {
    let queue = &status.queue;
    let mut output = format!(
        "{}: {} queued, {} offered, {} running, room for {}\n",
        text::printable(&status.environment),
        queue.queued,
        queue.offered,
        queue.running,
        queue.limit
    );
    if status.workers.is_empty() {
        output.push_str("No worker has ever connected: start one with `mini-worker run`.\n");
        return output;
    }
    let mut table = Table::new(&[
        ("worker", Align::Left),
        ("state", Align::Left),
        ("slots open", Align::Right),
        ("backlog", Align::Right),
        ("last seen", Align::Right),
        ("engine", Align::Left),
        ("samplers", Align::Left),
        ("version", Align::Left),
        ("running", Align::Left),
    ]);
    for worker in &status.workers {
        let state = match (worker.connected, worker.draining) {
            (false, _) => "away",
            (true, true) => "draining",
            (true, false) => "connected",
        };
        let figure = |figure: Option<u32>| figure.map_or_else(|| "?".to_owned(), |figure| figure.to_string());
        table.row([
            text::printable(&worker.worker_id),
            state.to_owned(),
            format!("{} of {}", figure(worker.open_slots), figure(worker.slots)),
            worker.backlog_seconds.map_or_else(|| "-".to_owned(), text::seconds),
            worker.last_seen_at_ms.map_or_else(|| "-".to_owned(), text::ago),
            text::printable(worker.engine.as_deref().unwrap_or("-")),
            worker.samplers.join(", "),
            text::printable(worker.version.as_deref().unwrap_or("-")),
            worker.running.join(" "),
        ]);
    }
    output.push_str(&table.render());
    output
}

fn render_job(job: &Job) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), text::printable(&value)]);
    row("job", job.job_id.to_string());
    row("recording", job.name.clone());
    row("state", state_in_words(job));
    if let Some(failure) = &job.failure {
        row("failure", format!("{} ({})", failure.message, failure.code));
        if let Some(advice) = &failure.advice {
            row("advice", advice.clone());
        }
    }
    row("queued", text::ago(job.created_at_ms));
    if let Some(worker) = &job.worker {
        row("worker", format!("{worker}, attempt {}", job.attempt));
    }
    if let Some(sampler) = &job.sampler {
        row("sampler", sampler.clone());
    }
    row("outputs", job.outputs.join(", "));
    if let (Some(published), Some(audio)) = (job.published_seconds, job.audio_seconds) {
        row("audible", format!("{published:.1} of {audio:.1} s"));
    }
    let mut output = table.render();
    let phases = report::render_job_phases(job);
    if !job.timings.is_empty() {
        output.push('\n');
        output.push_str(&phases);
    }
    output
}

fn state_in_words(job: &Job) -> String {
    let mut words = job.state.label().to_owned();
    if job.state.has_ended() {
        if let Some(ended) = job.ended_at_ms {
            words.push_str(&format!(" {}", text::ago(ended)));
        }
    } else if let Some(phase) = &job.phase {
        words.push_str(&format!(", {}", phase.label()));
        if let Some(progress) = job.progress {
            words.push_str(&format!(", {:.0} %", progress * 100.0));
        }
        if job.cancel_requested {
            words.push_str(", told to stop");
        }
    }
    words
}

fn render_jobs(page: &JobPage) -> String {
    if page.jobs.is_empty() {
        return "No jobs.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("job", Align::Left),
        ("recording", Align::Left),
        ("state", Align::Left),
        ("worker", Align::Left),
        ("queued", Align::Right),
    ]);
    for job in &page.jobs {
        table.row([
            job.job_id.to_string(),
            text::printable(&job.name),
            state_in_words(job),
            text::printable(job.worker.as_deref().unwrap_or("-")),
            text::ago(job.created_at_ms),
        ]);
    }
    table.render()
}
