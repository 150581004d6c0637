//! Six uploads at once: how much faster six slots drain them than one, how near that comes to what is possible, and when
//! each is heard first, under both ways to share the model.
//!
//! What is possible follows from the run with one slot: whatever is used by one job at a time cannot be used more than all
//! of the time. That is the model and the line (its bytes, and 16 PUTs at once at their fixed cost); and the slots. Of an
//! endless row of jobs that is all. Of six, the first finds everything idle and the last leaves it idle: if a job alone takes
//! `T` and needs what is scarcest for `R` of it, six cannot end before `T - R + 6 R` (the bound of a flow shop). The processors
//! of this machine bound it too, because they also run the edge and the line.
//!
//! The worker has done a burst before: how many uploads at once the line takes is found by then.

use super::{
    overlap::{Seen, Site, speech},
    report::{Options, Report, median},
};
use conformance::harness::{UplinkConditions, processor_time};
use serde_json::json;
use std::time::Duration;

/// Uploads at once.
const BURST: u32 = 6;

/// What the jobs leave behind.
const OUTPUTS: [&str; 4] = ["hls", "wav", "flac", "mp3"];

/// Slots, and who is next at the model.
const WAYS: [(u32, &str); 3] = [(1, "windows"), (6, "windows"), (6, "whole_recordings")];

struct Drain {
    way: (u32, &'static str),
    seconds: f64,
    first_audio: Vec<f64>,
    /// Seconds that each kind of thing was used that only one job can use at a time.
    model: f64,
    line: f64,
    processors: f64,
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let (length, rounds) = if options.quick { (10, 1) } else { (10, 3) };
    let recordings: Vec<Vec<u8>> = (0..BURST).map(|part| speech(length, part)).collect();
    let mut drains: Vec<Drain> = vec![];
    for round in 0..rounds {
        let mut ways = WAYS.to_vec();
        if round % 2 == 1 {
            ways.reverse();
        }
        drains.extend(ways.into_iter().map(|way| drain(way, &recordings)));
    }
    let of = |way: (u32, &str), value: fn(&Drain) -> f64| {
        median(&drains.iter().filter(|drain| drain.way == way).map(value).collect::<Vec<f64>>())
    };
    let seconds = |way| of(way, |drain| drain.seconds);
    let serial = seconds(WAYS[0]);
    let needed = |value: fn(&Drain) -> f64| of(WAYS[0], value);
    let (model, line, processors) =
        (needed(|drain| drain.model), needed(|drain| drain.line), needed(|drain| drain.processors));
    let endless = f64::from(BURST).min(serial / model.max(line));
    let of_six = possible_of_a_burst(serial, model.max(line));
    let on_this_machine = possible_of_a_burst(serial, model.max(line).max(processors));
    let speed_up = serial / seconds(WAYS[1]);
    let rows = WAYS.iter().map(|&way| {
        let heard: Vec<String> = (0..BURST as usize)
            .map(|place| {
                let own = drains.iter().filter(|drain| drain.way == way);
                let of_place = own.filter_map(|drain| drain.first_audio.get(place).copied());
                format!("{:.1}", median(&of_place.collect::<Vec<f64>>()))
            })
            .collect();
        vec![
            format!("{} slots, {}", way.0, way.1),
            format!("{:.2} s", seconds(way)),
            format!("{:.2}x", serial / seconds(way)),
            heard.join(" "),
        ]
    });
    let rows = rows.collect();
    Report {
        columns: vec!["worker", "all six", "against one slot", "first audio of each, s"],
        rows,
        figure: format!(
            "{speed_up:.2} times; possible: {endless:.2} in an endless row = min(slots {BURST}, model {:.1}, line {:.1}), \
             {of_six:.2} of six, {on_this_machine:.2} of six with this machine's processors; {:.0} %, {:.0} % and {:.0} % of that",
            serial / model,
            serial / line,
            100.0 * speed_up / endless,
            100.0 * speed_up / of_six,
            100.0 * speed_up / on_this_machine,
        ),
        runs: drains
            .iter()
            .map(|drain| {
                json!({ "slots": drain.way.0, "scheduling": drain.way.1, "seconds": drain.seconds,
                    "firstAudio": drain.first_audio, "modelSeconds": drain.model, "lineSeconds": drain.line,
                    "processorSeconds": drain.processors })
            })
            .collect(),
        goal: "at least 3.3 times and 90 % of the bound",
        met: speed_up >= 3.3 && speed_up >= 0.9 * endless,
    }
}

/// How much faster a burst can be than one job after another, which takes `serial` and needs `scarcest` of that for what only
/// one job at a time can use.
fn possible_of_a_burst(serial: f64, scarcest: f64) -> f64 {
    let jobs = f64::from(BURST);
    serial / ((serial - scarcest) / jobs + scarcest)
}

fn drain(way: (u32, &'static str), recordings: &[Vec<u8>]) -> Drain {
    let mut conditions = UplinkConditions::home();
    conditions.up.bytes_per_second = Some(UP_BYTES_PER_SECOND);
    let overhead = conditions.put_overhead.clone();
    let site = Site::start(conditions, way.0, way.1);
    for _ in 0..WARM_UP_BURSTS {
        site.burst(recordings, &OUTPUTS);
    }
    let uploads_before = site.uplink.counts();
    let processor = || {
        let all = [site.worker.processor_time(), site.edge.processor_time(), processor_time("self")];
        all.into_iter().flatten().sum::<Duration>()
    };
    let processor_before = processor();
    let (seen, seconds) = site.burst(recordings, &OUTPUTS);
    let counts = site.uplink.counts();
    let bytes = (counts.bytes_up - uploads_before.bytes_up) as f64 / UP_BYTES_PER_SECOND as f64;
    let puts = (counts.sent - uploads_before.sent) as f64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let mut first_audio: Vec<f64> = seen.iter().map(|job: &Seen| job.first_audio).collect();
    first_audio.sort_by(f64::total_cmp);
    eprintln!("{} slots, {}: {seconds:.2} s; first audio {first_audio:.2?}", way.0, way.1);
    Drain {
        way,
        seconds,
        first_audio,
        model: seen.iter().map(|job| job.computed).sum(),
        line: bytes.max(puts * (overhead.start + overhead.end).as_secs_f64() / 2.0 / 16.0),
        processors: (processor() - processor_before).as_secs_f64() / cores,
    }
}

/// Bursts before the one that counts.
const WARM_UP_BURSTS: usize = 2;

/// The faster of two lines that minis were measured at.
const UP_BYTES_PER_SECOND: u64 = 50_000_000;
