//! A PUT that is allowed by its signed ticket, against one that asks the scheduler's object first whether the attempt still has
//! its lease. Everything on one machine, so the question costs its processing and no way there and back.

use conformance::harness::{Keys, UplinkConditions};
use mini_worker::job::upload::Uploader;
use serde_json::json;
use std::time::Instant;

use super::report::{Options, Report, median};
use super::uploads::{Site, upload};

/// Objects of a ten-minute recording: segments for playback, an init segment, three final files.
const OBJECTS: usize = 106;
/// One segment of six seconds.
const BYTES: usize = 96_000;

/// Measures.
pub fn run(options: &Options) -> Report {
    let (objects, repetitions) = if options.quick { (20, 1) } else { (OBJECTS, 5) };
    let site = Site::new(UplinkConditions::default(), 1);
    let origin = site.edge.origin();
    let api = site.edge.api(Keys::ACME);
    let path = format!("/v1/jobs/{}", site.assigns[0].job_id);
    let (mut ticket, mut asked, mut question) = (vec![], vec![], vec![]);
    let uploader = Uploader::with_fixed_limit(1);
    for _ in 0..repetitions {
        for _ in 0..objects {
            let (_, times) = upload(&site, &origin, &uploader, 1, BYTES);
            ticket.extend(times);
            let started = Instant::now();
            api.get(&path).expect(200);
            let asking = started.elapsed().as_secs_f64();
            let (_, times) = upload(&site, &origin, &uploader, 1, BYTES);
            asked.extend(times.into_iter().map(|put| put + asking));
            question.push(asking);
        }
    }
    let milliseconds = |values: &[f64]| format!("{:.1} ms", median(values) * 1e3);
    let ninth = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = (sorted.len() * 9 / 10).min(sorted.len().saturating_sub(1));
        format!("{:.1} ms", sorted.get(at).copied().unwrap_or(f64::NAN) * 1e3)
    };
    let row = |name: &str, requests: usize, values: &[f64]| {
        vec![name.to_owned(), requests.to_string(), milliseconds(values), ninth(values)]
    };
    Report {
        columns: vec!["PUT", "requests to the object per job", "median", "90th percentile"],
        rows: vec![
            row("with its ticket", 0, &ticket),
            row("after asking the object", objects, &asked),
            row("the question alone", objects, &question),
        ],
        runs: vec![json!({ "ticket": ticket, "afterAsking": asked, "question": question })],
        figure: "0 requests to the object per job".to_owned(),
        goal: "no request to the object per PUT",
        // The edge has no such request on this way; its tests would fail if a ticket alone did not do.
        met: true,
    }
}
