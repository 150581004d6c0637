//! What a server costs that takes a request and never answers; and what becomes of a result that was lost with its socket.

use super::{
    overlap::{Site, speech},
    report::{Options, Report, median},
};
use conformance::harness::{PATIENCE, UplinkConditions, until, uplink::Stall};
use serde_json::json;
use std::time::{Duration, SystemTime};

/// A read is waited for so long; then the request is made again.
const READ_TIMEOUT_SECONDS: f64 = 10.0;

/// What one more try may take on this line, with the round trips and the fixed cost of a PUT.
const RETRY_SECONDS: f64 = 1.5;

/// Measures.
pub fn run(options: &Options) -> Report {
    let rounds = if options.quick { 1 } else { 3 };
    let recording = speech(20, 0);
    let mut rows = vec![];
    let mut runs = vec![];
    let mut worst: f64 = 0.0;
    let usual: Vec<f64> = (0..rounds).map(|_| with_one_unanswered(None, &recording)).collect();
    for (what, path) in
        [("the download", "/v1/worker/upload"), ("a segment", "/hls/seg-00002"), ("a final file", "/files/")]
    {
        let seconds: Vec<f64> = (0..rounds).map(|_| with_one_unanswered(Some(path), &recording)).collect();
        let cost = median(&seconds) - median(&usual);
        worst = worst.max(cost);
        rows.push(vec![
            format!("{what} is not answered once"),
            format!("{:.2} s", median(&usual)),
            format!("{:.2} s", median(&seconds)),
            format!("{cost:.2} s"),
        ]);
        runs.push(json!({ "unanswered": path, "usual": usual, "seconds": seconds }));
    }
    let mut deliveries = vec![];
    let mut once = true;
    for _ in 0..rounds {
        let (seconds, ran_once) = lost_with_its_socket(&recording);
        deliveries.push(seconds);
        once &= ran_once;
    }
    let delivered = median(&deliveries);
    let round_trip = UplinkConditions::home().round_trip.as_secs_f64();
    rows.push(vec![
        "a completion is lost with its socket".to_owned(),
        "-".to_owned(),
        format!("{delivered:.3} s after reconnecting"),
        if once { "nothing ran twice" } else { "something ran twice" }.to_owned(),
    ]);
    runs.push(json!({ "deliveredAfterReconnecting": deliveries, "ranOnce": once }));
    Report {
        columns: vec!["what happens", "usually", "then", "cost"],
        rows,
        figure: format!(
            "an unanswered request costs at most {worst:.2} s; a lost completion arrives {delivered:.3} s after reconnecting"
        ),
        runs,
        goal: "at most the read timeout (10 s) and one retry (1.5 s here); within one round trip (0.03 s, and 0.05 s for this machine)",
        met: worst <= READ_TIMEOUT_SECONDS + RETRY_SECONDS && delivered <= round_trip + 0.05 && once,
    }
}

/// Seconds to completion.
fn with_one_unanswered(path: Option<&str>, recording: &[u8]) -> f64 {
    let site = Site::start(UplinkConditions::home(), 1, "windows");
    if let Some(path) = path {
        site.uplink.swallow(path, 1);
    }
    let (seen, seconds) = site.burst(&[recording.to_vec()], &["hls", "mp3"]);
    assert_eq!(site.uplink.counts().unanswered, u64::from(path.is_some()), "as ordered");
    assert_eq!(seen[0].document["attempt"], 1);
    eprintln!("{path:?}: {seconds:.2} s");
    seconds
}

/// Seconds from the worker's new connection to the job's end, and whether it ran once.
fn lost_with_its_socket(recording: &[u8]) -> (f64, bool) {
    let site = Site::start(UplinkConditions::home(), 1, "windows");
    let job = site.submit(&site.upload(recording), &["hls", "mp3"]);
    until("the job to be heard", PATIENCE, || {
        let api = site.edge.api(conformance::harness::Keys::ACME);
        api.job(&job)["firstAudioAtMs"].is_u64().then_some(())
    });
    // Whatever is said from now on goes nowhere.
    site.uplink.stall(Stall::Links);
    until("the attempt to be complete", PATIENCE, || {
        (!site.worker.log_lines("the attempt is complete").is_empty()).then_some(())
    });
    std::thread::sleep(Duration::from_millis(200));
    let connections = site.worker.log_lines(" connected ").len();
    site.uplink.cut();
    site.uplink.stall(Stall::Nothing);
    let seen = site.wait(&job);
    let lines = site.worker.log_lines(" connected ");
    let line = lines.get(connections).unwrap_or_else(|| panic!("no new connection:\n{}", site.worker.log()));
    let connected_ms = unix_ms(line);
    let once = seen.document["attempt"] == 1 && site.worker.log_lines("the attempt starts").len() == 1;
    let seconds = (seen.span_ms.1 as f64 - connected_ms) / 1_000.0;
    eprintln!("delivered {seconds:.3} s after reconnecting");
    (seconds.max(0.0), once)
}

/// The time at a log line's begin (`2026-01-01T00:00:00.000000Z`), of today or yesterday.
fn unix_ms(line: &str) -> f64 {
    let time: Vec<f64> = line
        .split_once('T')
        .and_then(|(_, rest)| rest.split_once('Z'))
        .map(|(time, _)| time.split(':').filter_map(|part| part.parse().ok()).collect())
        .unwrap_or_default();
    let [hours, minutes, seconds] = time[..] else { panic!("no time in {line}") };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
    let of_day = hours * 3_600.0 + minutes * 60.0 + seconds;
    let day = (now - of_day) / 86_400.0;
    (day.floor() * 86_400.0 + of_day) * 1_000.0
}
