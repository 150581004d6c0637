//! `minifleet admin workers`, `drain`, `undrain`, `bench`, `unbench`.

use minifleet_client::admin::{Worker, WorkerAct};
use serde_json::{Value, json};

use super::Surroundings;
use super::args::WorkersArgs;
use crate::command::exit::{Exit, Failure, complain};
use crate::command::table::{Align, Table};
use crate::command::text;

pub async fn list(at: &Surroundings) -> Result<Exit, Failure> {
    let list = at.admin.workers().await?;
    let names =
        || list.workers.iter().map(|worker| format!("{}\n", text::printable(&worker.worker_id))).collect();
    at.context.answer(&list, || render(&list.workers), names)?;
    Ok(Exit::Ok)
}

/// Acts on each worker; one that cannot be acted on does not keep the others.
pub async fn act(at: &Surroundings, args: &WorkersArgs, act: WorkerAct) -> Result<Exit, Failure> {
    let (mut workers, mut failures) = (Vec::new(), Vec::new());
    for worker in &args.workers {
        match at.admin.act_on_worker(worker.as_str(), act, &args.reason).await {
            Ok(worker) => workers.push(worker),
            Err(error) => {
                let failure = Failure::from(error);
                complain(&format!("{worker}: {failure}"));
                failures.push((worker, failure));
            }
        }
    }
    let exit = Exit::of_all(failures.iter().map(|(_, failure)| failure.exit()));
    let errors: Vec<Value> = failures
        .iter()
        .map(|(worker, failure)| json!({ "workerId": worker, "error": failure.document() }))
        .collect();
    let document = json!({ "workers": workers, "errors": errors, "exitCode": exit.code() });
    at.context.answer(&document, || render(&workers), String::new)?;
    Ok(exit)
}

fn render(workers: &[Worker]) -> String {
    if workers.is_empty() {
        return "No worker has ever connected: start one with `mini-worker run`.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("worker", Align::Left),
        ("state", Align::Left),
        ("slots open", Align::Right),
        ("backlog", Align::Right),
        ("up", Align::Right),
        ("down", Align::Right),
        ("failures", Align::Right),
        ("last seen", Align::Right),
        ("version", Align::Left),
        ("labels", Align::Left),
        ("jobs", Align::Left),
    ]);
    for worker in workers {
        let figure = |figure: Option<u32>| figure.map_or_else(|| "?".to_owned(), |figure| figure.to_string());
        let rate = |rate: Option<f64>| {
            rate.map_or_else(|| "-".to_owned(), |rate| format!("{}/s", text::bytes(rate.max(0.0) as u64)))
        };
        let jobs = worker.jobs.iter().map(|job| {
            let phase = job.phase.as_deref().unwrap_or(&job.state);
            format!("{} ({phase}, {:.0} %)", job.job_id, job.progress * 100.0)
        });
        table.row([
            text::printable(&worker.worker_id),
            state_in_words(worker),
            format!("{} of {}", figure(worker.open_slots), figure(worker.slots)),
            worker.backlog_seconds.map_or_else(|| "-".to_owned(), text::seconds),
            rate(worker.link.as_ref().map(|link| link.upload_bytes_per_second)),
            rate(worker.link.as_ref().map(|link| link.download_bytes_per_second)),
            figure(worker.failures_in_a_row),
            worker.last_seen_at_ms.map_or_else(|| "-".to_owned(), text::ago),
            text::printable(worker.version.as_deref().unwrap_or("-")),
            text::printable(&worker.labels.join(" ")),
            text::printable(&jobs.collect::<Vec<_>>().join(" ")),
        ]);
    }
    table.render()
}

/// "drained (new disk)", "benched for 12 min (3 failures in a row)", "away", "connected".
fn state_in_words(worker: &Worker) -> String {
    let mut words = Vec::new();
    if !worker.connected {
        words.push("away".to_owned());
    }
    if worker.drained {
        words.push("drained".to_owned());
    }
    if let Some(until) = worker.benched_until_ms {
        words.push(format!("benched for {}", text::from_now(until)));
    }
    if worker.draining {
        words.push("leaving".to_owned());
    }
    if words.is_empty() {
        words.push("connected".to_owned());
    }
    let reason = if worker.reason.is_empty() {
        String::new()
    } else {
        format!(" ({})", text::shorten(&text::printable(&worker.reason), 40))
    };
    format!("{}{reason}", words.join(", "))
}
