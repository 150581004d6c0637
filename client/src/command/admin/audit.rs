//! `minifleet admin audit`.

use minifleet_client::admin::{AuditEntry, AuditPage};

use super::Surroundings;
use super::args::AuditArgs;
use crate::command::exit::{Exit, Failure};
use crate::command::table::{Align, Table};
use crate::command::text;

/// Entries asked for at a time.
const PAGE: u32 = 100;

pub async fn show(at: &Surroundings, args: &AuditArgs) -> Result<Exit, Failure> {
    let mut all = AuditPage { entries: Vec::new(), next_cursor: None };
    loop {
        let missing = args.limit.saturating_sub(all.entries.len() as u32);
        let page = at.admin.audit(missing.clamp(1, PAGE), all.next_cursor.as_deref()).await?;
        let more = page.next_cursor.is_some() && page.next_cursor != all.next_cursor;
        all.entries.extend(page.entries);
        all.next_cursor = page.next_cursor;
        if !more || all.entries.len() as u32 >= args.limit {
            break;
        }
    }
    let ids = || all.entries.iter().map(|entry| format!("{}\n", entry.request_id)).collect();
    at.context.answer(&all, || render(&all.entries), ids)?;
    Ok(Exit::Ok)
}

fn render(entries: &[AuditEntry]) -> String {
    if entries.is_empty() {
        return "Nobody has done anything yet.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("when", Align::Right),
        ("who", Align::Left),
        ("what", Align::Left),
        ("whom", Align::Left),
        ("outcome", Align::Left),
        ("reason", Align::Left),
        ("request", Align::Left),
    ]);
    for entry in entries {
        let outcome = match &entry.refusal {
            Some(refusal) => format!("{}: {refusal}", entry.outcome),
            None => entry.outcome.clone(),
        };
        let count = |name: &str| entry.other.get(name).and_then(serde_json::Value::as_u64);
        let outcome = match (count("changed"), count("left")) {
            (Some(changed), Some(left)) if left > 0 => {
                format!("{outcome}, {}, {left} left", text::counted(changed, "job"))
            }
            (Some(changed), _) => format!("{outcome}, {}", text::counted(changed, "job")),
            _ => outcome,
        };
        table.row([
            text::ago(entry.at_ms),
            text::printable(&entry.key_id),
            text::printable(&entry.action),
            text::printable(entry.target.as_deref().unwrap_or("-")),
            text::printable(&outcome),
            text::shorten(&text::printable(&entry.reason), 40),
            text::printable(&entry.request_id),
        ]);
    }
    table.render()
}
