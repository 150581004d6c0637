//! Stems one after another against eight at a time, over a line on which every PUT costs 0.4 s.

use conformance::harness::{UplinkConditions, uplink::Direction};
use mini_worker::job::upload::Uploader;
use serde_json::json;
use std::time::Duration;

use super::report::{Options, Report, median};
use super::uploads::{Site, upload};

/// Ten minutes of speech in chunks of 30 s, three stems, their masters and the manifest.
const OBJECTS: usize = 64;

/// Measures.
pub fn run(options: &Options) -> Report {
    let (objects, repetitions) = if options.quick { (12, 1) } else { (OBJECTS, 3) };
    let mut report = Report {
        columns: vec!["line", "objects", "one by one", "eight at a time", "ratio", "bound"],
        rows: vec![],
        runs: vec![],
        figure: String::new(),
        goal: "eight at a time at least 5 times as fast where PUTs cost more than bytes",
        met: false,
    };
    let mut first_ratio = None;
    for (name, megabytes, bytes) in [("50 MB/s", 50, 300_000), ("5 MB/s", 5, 300_000)] {
        let rate = megabytes * 1_000_000;
        let put = Duration::from_millis(400);
        let conditions = UplinkConditions {
            up: Direction { bytes_per_second: Some(rate), ..Direction::default() },
            round_trip: Duration::from_millis(30),
            put_overhead: put..put,
            ..UplinkConditions::default()
        };
        let site = Site::new(conditions, 1);
        let origin = site.uplink.origin();
        let (mut serial, mut parallel) = (vec![], vec![]);
        for _ in 0..repetitions {
            for (limit, seconds) in [(1, &mut serial), (8, &mut parallel)] {
                let uploader = Uploader::with_fixed_limit(limit);
                let (took, _) = upload(&site, &origin, &uploader, objects, bytes);
                seconds.push(took.as_secs_f64());
                report.runs.push(json!({ "line": name, "atOnce": limit, "seconds": took.as_secs_f64() }));
            }
        }
        let (serial, parallel) = (median(&serial), median(&parallel));
        // Eight at a time cannot be faster than eight times, nor than the line.
        let bound = 8.0_f64.min(serial / (objects * bytes) as f64 * rate as f64);
        let ratio = serial / parallel;
        first_ratio.get_or_insert(ratio);
        report.rows.push(vec![
            name.to_owned(),
            objects.to_string(),
            format!("{serial:.1} s"),
            format!("{parallel:.1} s"),
            format!("{ratio:.1}"),
            format!("{bound:.1}"),
        ]);
    }
    let ratio = first_ratio.unwrap_or(f64::NAN);
    report.figure = format!("{ratio:.1} times as fast");
    report.met = ratio >= 5.0;
    report
}
