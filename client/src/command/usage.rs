//! `minifleet usage`.

use minifleet_client::Error;
use minifleet_client::usage::Usage;

use super::args::UsageArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::table::{Align, Table};
use super::text;

/// Generations asked for at a time.
const PAGE: u32 = 100;

pub async fn run(context: &Context, args: &UsageArgs) -> Result<Exit, Failure> {
    let usage = collect(args.limit, async |limit, cursor| {
        context.client.usage(args.month.as_deref(), limit, cursor.as_deref()).await
    })
    .await?;
    answer(context, &usage)
}

/// A month's usage with at most `most` generations, page by page.
pub async fn collect(
    most: u32,
    page: impl AsyncFn(u32, Option<String>) -> Result<Usage, Error>,
) -> Result<Usage, Failure> {
    let mut all = page(most.clamp(1, PAGE), None).await?;
    while let Some(cursor) = all.next_cursor.clone().filter(|_| (all.rows.len() as u32) < most) {
        let missing = most - all.rows.len() as u32;
        let next = page(missing.min(PAGE), Some(cursor.clone())).await?;
        all.rows.extend(next.rows);
        all.next_cursor = next.next_cursor.filter(|next| *next != cursor);
    }
    Ok(all)
}

/// Prints it.
pub fn answer(context: &Context, usage: &Usage) -> Result<Exit, Failure> {
    context.answer(usage, || render(usage), || format!("{}\n", usage.audio_seconds))?;
    Ok(Exit::Ok)
}

fn render(usage: &Usage) -> String {
    let quota = usage.quota_seconds.map_or(String::new(), |quota| format!(" of {quota}"));
    let mut output = format!(
        "{} in {}: {:.0}{quota} seconds of audio, {}\n",
        text::printable(&usage.tenant),
        text::printable(&usage.month),
        usage.audio_seconds,
        text::counted(usage.generations, "generation")
    );
    for total in &usage.samplers {
        output.push_str(&format!(
            "  {}: {:.0} seconds, {}\n",
            text::printable(&total.sampler),
            total.audio_seconds,
            text::counted(total.generations, "generation")
        ));
    }
    if usage.rows.is_empty() {
        return output;
    }
    let mut table = Table::new(&[
        ("generation", Align::Left),
        ("project", Align::Left),
        ("job", Align::Left),
        ("sampler", Align::Left),
        ("seconds", Align::Right),
        ("when", Align::Right),
    ]);
    for row in &usage.rows {
        table.row([
            text::printable(&row.generation_id),
            text::printable(&row.project_id),
            text::printable(&row.job_id),
            text::printable(&row.sampler),
            format!("{:.1}", row.audio_seconds),
            text::ago(row.at_ms),
        ]);
    }
    output.push_str(&table.render());
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::cell::RefCell;

    fn page(ids: &[&str], next: Option<&str>) -> Usage {
        let row = |id: &&str| {
            json!({ "generationId": id, "projectId": "prj_1", "jobId": "job_1", "sampler": "flash",
                "audioSeconds": 2.5, "atMs": 1 })
        };
        let rows: Vec<_> = ids.iter().map(row).collect();
        serde_json::from_value(json!({
            "tenant": "acme", "month": "2026-11", "quotaSeconds": 60, "audioSeconds": 7.5, "generations": 3,
            "samplers": [{ "sampler": "flash", "generations": 3, "audioSeconds": 7.5 }],
            "rows": rows, "nextCursor": next
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn pages_are_put_together_until_there_is_enough() {
        let asked = RefCell::new(Vec::new());
        let pages = async |limit: u32, cursor: Option<String>| {
            asked.borrow_mut().push((limit, cursor.clone()));
            Ok(match cursor.as_deref() {
                None => page(&["gen_3", "gen_2"], Some("2")),
                _ => page(&["gen_1"], None),
            })
        };
        let all = collect(150, pages).await.unwrap_or_else(|failure| panic!("{failure}"));
        let ids: Vec<&str> = all.rows.iter().map(|row| row.generation_id.as_str()).collect();
        assert_eq!(ids, ["gen_3", "gen_2", "gen_1"]);
        assert_eq!(*asked.borrow(), [(100, None), (100, Some("2".to_owned()))]);
    }

    #[test]
    fn usage_is_told_with_its_quota_and_by_sampler() {
        let text = render(&page(&["gen_3"], None));
        assert!(text.starts_with("acme in 2026-11: 8 of 60 seconds of audio, 3 generations\n"), "{text}");
        assert!(text.contains("flash: 8 seconds") && text.contains("gen_3"), "{text}");
    }
}
