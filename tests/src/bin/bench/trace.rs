//! Where the time of one generation goes: a recording of 60 s, restored by `pro` and transcribed by a real recogniser, through the
//! whole system, as its own timeline tells it; on this machine, and behind the two lines of the fleet that the project began with.

use std::path::PathBuf;
use std::time::Duration;

use conformance::harness::uplink::Direction;
use conformance::harness::{
    Edge, EdgeOptions, Keys, Transcriber, Uplink, UplinkConditions, WorkerSetup, media, until,
};
use conformance::recordings::RecordingSet;
use edge::api::projects::timeline::{Interval, Owner, TimelineView, covered};
use serde_json::json;

use super::report::{Options, Report};
use super::trace_picture;

const PATIENCE: Duration = Duration::from_secs(300);

/// A line between a mini and the edge.
struct Line {
    name: &'static str,
    conditions: Option<UplinkConditions>,
}

fn lines() -> [Line; 3] {
    let at = |up: u64, overhead: std::ops::Range<u64>| UplinkConditions {
        up: Direction { bytes_per_second: Some(up), ..Direction::default() },
        down: Direction { bytes_per_second: Some(50_000_000), ..Direction::default() },
        round_trip: Duration::from_millis(20),
        put_overhead: Duration::from_millis(overhead.start)..Duration::from_millis(overhead.end),
        seed: 1,
    };
    [
        Line { name: "no line between", conditions: None },
        // The two uplinks of the fleet: 50 MB/s, and 4.5 to 6.7 MB/s with 0.3 to 0.5 s for each PUT.
        Line { name: "50 MB/s", conditions: Some(at(50_000_000, 0..1)) },
        Line { name: "5.6 MB/s, 0.3-0.5 s a PUT", conditions: Some(at(5_600_000, 300..500)) },
    ]
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let set = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}"));
    let recording = media::to_flac(&set.long(if options.quick { "10s" } else { "60s" }));
    let repetitions = if options.quick { 1 } else { 3 };
    let recogniser = Transcriber::start("");
    let mut columns = vec!["phase", "whose time"];
    let mut timelines: Vec<TimelineView> = Vec::new();
    let mut runs = Vec::new();
    for line in lines() {
        columns.push(line.name);
        let mut all: Vec<TimelineView> = Vec::new();
        for _ in 0..repetitions {
            let timeline = one_generation(&recogniser, line.conditions.clone(), &recording);
            runs.push(json!({ "line": line.name, "timeline": timeline }));
            all.push(timeline);
        }
        all.sort_by_key(|timeline| timeline.end_ms.0 - timeline.start_ms.0);
        timelines.push(all.swap_remove(all.len() / 2));
    }
    let picture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/trace.svg");
    if let Some(first) = timelines.first() {
        std::fs::write(&picture, trace_picture::render(first))
            .expect("the folder of the build can be written");
        eprintln!("picture: {}", picture.display());
    }
    let shares: Vec<f64> = timelines.iter().map(our_share).collect();
    Report {
        columns,
        rows: rows(&timelines),
        runs,
        figure: format!(
            "ours is {:.0} % here, {:.0} % at 50 MB/s, {:.0} % at 5.6 MB/s",
            shares.first().copied().unwrap_or(f64::NAN) * 100.0,
            shares.get(1).copied().unwrap_or(f64::NAN) * 100.0,
            shares.get(2).copied().unwrap_or(f64::NAN) * 100.0
        ),
        goal: "every second has an owner: no time of the generation outside of its intervals",
        met: timelines.iter().all(|timeline| {
            let whole = timeline.end_ms.0 - timeline.start_ms.0;
            timeline.covered_ms.0 * 100 >= whole * 98
        }),
    }
}

fn one_generation(
    recogniser: &Transcriber,
    conditions: Option<UplinkConditions>,
    recording: &[u8],
) -> TimelineView {
    let url: &'static str = Box::leak(recogniser.url().to_owned().into_boxed_str());
    let vars: &'static [(&str, &str)] = Box::leak(Box::new([("TRANSCRIPTION_URL", url)]));
    let edge = Edge::start_with(EdgeOptions { vars, ..EdgeOptions::default() });
    let uplink = conditions.map(|conditions| Uplink::start(edge.port(), conditions));
    let origin = uplink.as_ref().map_or_else(|| edge.origin(), Uplink::origin);
    let _worker = WorkerSetup::new("bench").environment("bench", &origin).start_connected(&edge);
    let api = edge.api(Keys::ACME);
    let body = json!({ "name": "talk.flac", "size": recording.len(), "contentType": "audio/flac" });
    let created = api.post("/v1/projects", &body).expect(201).json();
    let text = |value: &serde_json::Value| value.as_str().expect("it is a text").to_owned();
    let project = text(&created["project"]["projectId"]);
    let wanted = json!({ "sampler": "pro", "transcript": "required" });
    let made = api.post(&format!("/v1/projects/{project}/generations"), &wanted).expect(201).json();
    let ticket = text(&created["put"]["headers"]["Minifleet-Ticket"]);
    let put = text(&created["put"]["url"]);
    edge.api_without_key().call("PUT", &put, &[("Minifleet-Ticket", &ticket)], Some(recording)).expect(200);
    api.post(&format!("/v1/projects/{project}/upload/complete"), &json!({})).expect(200);
    let path = format!("/v1/projects/{project}/generations/{}", text(&made["generationId"]));
    until("the generation to be complete", PATIENCE, || {
        let generation = api.get(&path).expect(200).json();
        assert_ne!(generation["state"], "failed", "{generation}");
        (generation["state"] == "completed").then_some(())
    });
    let timeline = api.get(&format!("{path}/timeline")).expect(200).json();
    serde_json::from_value(timeline).expect("a timeline is what the edge says it is")
}

/// The part of a generation in which neither the recogniser nor the model worked.
fn our_share(timeline: &TimelineView) -> f64 {
    let others = |interval: &&Interval| matches!(interval.owner, Owner::Recognizer | Owner::Inference);
    let theirs = covered(timeline.intervals.iter().filter(others));
    1.0 - theirs.as_secs_f64() / timeline.covered_ms.as_secs_f64()
}

fn rows(timelines: &[TimelineView]) -> Vec<Vec<String>> {
    let seconds = |milliseconds: u64| format!("{:.2} s", milliseconds as f64 / 1e3);
    let mut phases: Vec<(String, Owner)> = Vec::new();
    for total in timelines.iter().flat_map(|timeline| &timeline.totals) {
        if !phases.iter().any(|(phase, _)| *phase == total.phase) {
            phases.push((total.phase.clone(), total.owner));
        }
    }
    let mut rows: Vec<Vec<String>> = phases
        .into_iter()
        .map(|(phase, owner)| {
            let of = |timeline: &TimelineView| {
                let total = timeline.totals.iter().find(|total| total.phase == phase);
                total.map_or_else(String::new, |total| seconds(total.busy_ms.0))
            };
            let owner = format!("{owner:?}").to_lowercase();
            [phase.clone(), owner].into_iter().chain(timelines.iter().map(of)).collect()
        })
        .collect();
    let mut whole = |name: &str, of: &dyn Fn(&TimelineView) -> String| {
        let cells = timelines.iter().map(of);
        rows.push([name.to_owned(), String::new()].into_iter().chain(cells).collect());
    };
    whole("from request to completion", &|t| seconds(t.end_ms.0 - t.start_ms.0));
    whole("of it covered by intervals", &|t| seconds(t.covered_ms.0));
    whole("nobody but the fleet worked", &|t| seconds(t.fleet_only_ms.0));
    whole("neither recogniser nor model worked", &|t| format!("{:.0} %", our_share(t) * 100.0));
    rows
}
