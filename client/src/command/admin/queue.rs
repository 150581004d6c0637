//! `minifleet admin queue`, `pause`, `resume`.

use minifleet_client::admin::Queue;

use super::Surroundings;
use super::args::{PauseArgs, QueueArgs};
use crate::command::exit::{Exit, Failure};
use crate::command::table::{Align, Table};
use crate::command::text;

pub async fn show(at: &Surroundings, args: &QueueArgs) -> Result<Exit, Failure> {
    answer(at, &at.admin.queue(args.target).await?)
}

pub async fn pause(at: &Surroundings, args: &PauseArgs) -> Result<Exit, Failure> {
    answer(at, &at.admin.pause(args.tenant.as_ref().map(|tenant| tenant.as_str()), &args.reason).await?)
}

pub async fn resume(at: &Surroundings, args: &PauseArgs) -> Result<Exit, Failure> {
    answer(at, &at.admin.resume(args.tenant.as_ref().map(|tenant| tenant.as_str()), &args.reason).await?)
}

fn answer(at: &Surroundings, queue: &Queue) -> Result<Exit, Failure> {
    at.context.answer(queue, || render(queue), || format!("{}\n", queue.counts.queued))?;
    Ok(Exit::Ok)
}

fn render(queue: &Queue) -> String {
    let counts = &queue.counts;
    let mut output = format!(
        "{}: {} queued, {} offered, {} running, room for {}\n",
        text::printable(&queue.environment),
        counts.queued,
        counts.offered,
        counts.running,
        queue.limit
    );
    if queue.paused {
        output.push_str(&pause_line(queue, None));
    }
    for tenant in &queue.paused_tenants {
        output.push_str(&pause_line(queue, Some(tenant)));
    }
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("longest wait", text::seconds(queue.oldest_wait_ms as f64 / 1000.0));
    if queue.scheduled > 0 {
        row("waiting for their time", queue.scheduled.to_string());
    }
    row("workers that take jobs", queue.available_workers.to_string());
    row(
        "work ahead of each",
        queue.seconds_to_drain.map_or_else(|| "nobody works".to_owned(), text::seconds),
    );
    if let Some(target) = queue.target_seconds {
        row(&format!("would start later than {target} s"), queue.late_jobs.to_string());
        row("workers that it would take", queue.workers_wanted.to_string());
    }
    output.push_str(&table.render());
    if !queue.tenants.is_empty() {
        let mut table =
            Table::new(&[("tenant", Align::Left), ("queued", Align::Right), ("with workers", Align::Right)]);
        for tenant in &queue.tenants {
            table.row([
                text::printable(&tenant.tenant),
                tenant.queued.to_string(),
                tenant.with_workers.to_string(),
            ]);
        }
        output.push('\n');
        output.push_str(&table.render());
    }
    output
}

fn pause_line(queue: &Queue, tenant: Option<&String>) -> String {
    let whom = tenant.map_or_else(|| "Everything".to_owned(), |tenant| format!("Tenant {tenant}"));
    let note = queue.pauses.iter().find(|pause| pause.tenant.as_ref() == tenant);
    let by = note.map_or_else(String::new, |pause| {
        let reason = if pause.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", text::printable(&pause.reason))
        };
        format!(" since {} by {}{reason}", text::ago(pause.at_ms), text::printable(&pause.key_id))
    });
    format!("{whom} is PAUSED{by}\n")
}
