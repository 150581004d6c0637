//! What the adaptive limit of uploads does to throughput, against limits that never change, on lines that fail by chance and
//! on one that fails because of too many uploads. Failures are 503, resets and requests without an answer, a third each, drawn
//! from the same seed for all.

use conformance::harness::{UplinkConditions, uplink::Direction};
use mini_worker::job::upload::Uploader;
use serde_json::json;
use std::time::Duration;

use super::report::{Options, Report, median};
use super::uploads::{Site, upload};

/// Two jobs, so that sixteen can be on their way at once.
const JOBS: u32 = 2;
const BYTES: usize = 150_000;
/// An adaptive limit is worth its name when it is nowhere far behind the best fixed one.
const GOAL_SHARE: f64 = 0.85;
/// What the congested line carries at once.
const CARRIES: u32 = 6;

/// Failures by chance, percent, and what the line carries.
const LINES: [(&str, u32, Option<u32>); 4] =
    [("0 %", 0, None), ("4 %", 4, None), ("15 %", 15, None), ("above 6 at once", 0, Some(CARRIES))];

/// Measures.
pub fn run(options: &Options) -> Report {
    let (objects, repetitions) = if options.quick { (24, 1) } else { (60, 2) };
    let mut report = Report {
        columns: vec!["failures", "adaptive", "limit at the end", "fixed 2", "fixed 8", "fixed 16"],
        rows: vec![],
        runs: vec![],
        figure: String::new(),
        goal: "at every rate of random failures at least 85 % of the best fixed limit; more than fixed 16 when congested",
        met: false,
    };
    let (mut worst, mut congested) = (f64::INFINITY, 0.0);
    for (line, percent, carries) in LINES {
        let share = f64::from(percent) / 300.0;
        let mut rates: [Vec<f64>; 4] = Default::default();
        let mut last_limit = 0;
        for seed in 1..=repetitions {
            let conditions = UplinkConditions {
                up: Direction {
                    bytes_per_second: Some(5_000_000),
                    busy: share,
                    reset: share,
                    unanswered: share,
                    carries,
                },
                round_trip: Duration::from_millis(30),
                put_overhead: Duration::from_millis(300)..Duration::from_millis(500),
                seed,
                ..UplinkConditions::default()
            };
            for (limit, rates) in [None, Some(2), Some(8), Some(16)].into_iter().zip(&mut rates) {
                // A line of its own for each: all meet the same fates.
                let site = Site::new(conditions.clone(), JOBS);
                let uploader = limit.map_or_else(Uploader::default, Uploader::with_fixed_limit);
                let (took, times) = upload(&site, &site.uplink.origin(), &uploader, objects, BYTES);
                let stored = objects * JOBS as usize * BYTES;
                let rate = stored as f64 / took.as_secs_f64() / 1e6;
                rates.push(rate);
                if limit.is_none() {
                    last_limit = uploader.gauges().limit;
                }
                let name = limit.map_or_else(|| "adaptive".to_owned(), |limit| limit.to_string());
                eprintln!("failures {line}, limit {name}: {rate:.2} MB/s");
                report.runs.push(json!({
                    "failures": line,
                    "limit": name,
                    "seed": seed,
                    "megabytesPerSecond": rate,
                    "medianPutSeconds": median(&times),
                    "limitAtTheEnd": uploader.gauges().limit,
                }));
            }
        }
        let [adaptive, two, eight, sixteen] = rates.map(|rates| median(&rates));
        if carries.is_none() {
            worst = worst.min(adaptive / two.max(eight).max(sixteen));
        } else {
            congested = adaptive / sixteen;
        }
        let shown = |rate: f64| format!("{rate:.2} MB/s");
        report.rows.push(vec![
            line.to_owned(),
            shown(adaptive),
            last_limit.to_string(),
            shown(two),
            shown(eight),
            shown(sixteen),
        ]);
    }
    report.figure = format!(
        "{:.0} % of the best fixed limit where it is worst, {congested:.1} times fixed 16 when congested",
        worst * 100.0
    );
    report.met = worst >= GOAL_SHARE && congested > 1.0;
    report
}
