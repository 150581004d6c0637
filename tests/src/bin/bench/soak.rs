//! Many jobs one after the other: memory, descriptors, threads, programs and disk have to be flat.

use super::{
    overlap::{Site, speech},
    report::{Options, Report, megabytes},
};
use conformance::harness::{Holdings, UplinkConditions};
use serde_json::json;
use std::{collections::VecDeque, path::Path};

/// Jobs that are under way at once.
const SLOTS: u32 = 6;

/// Measures.
pub fn run(options: &Options) -> Report {
    let (short_jobs, long_seconds) = match (options.quick, options.full) {
        (true, _) => (18, 60),
        (false, false) => (100, 600),
        (false, true) => (500, 3_600),
    };
    let site = Site::start(UplinkConditions::default(), SLOTS, "windows");
    let short: Vec<String> = (0..SLOTS).map(|part| site.upload(&speech(5, part))).collect();
    let long = site.upload(&speech(long_seconds, 0));
    let look = || site.worker.holdings().unwrap_or_else(|| panic!("this bench needs Linux's /proc"));
    let work = site.worker.folder().join("work");
    let idle = look();
    let disk_before = disk_bytes(&work);
    let mut peak = (idle, disk_bytes(&work));
    let mut after_each: Vec<Holdings> = vec![];
    let mut under_way: VecDeque<String> = VecDeque::new();
    let long_job = site.submit(&long, &["hls", "mp3"]);
    for number in 0..short_jobs {
        let upload = &short[number % short.len()];
        under_way.push_back(site.submit(upload, &["hls", "wav", "flac", "mp3"]));
        if under_way.len() >= SLOTS as usize {
            let job = under_way.pop_front().expect("there are some");
            site.wait(&job);
            let now = look();
            after_each.push(now);
            peak = (most(peak.0, now), peak.1.max(disk_bytes(&work)));
        }
        if number % 50 == 49 {
            eprintln!("{} jobs: {:?}", number + 1, look());
        }
    }
    under_way.iter().for_each(|job| _ = site.wait(job));
    site.wait(&long_job);
    // Idle connections go after a while.
    let after = conformance::harness::until(
        "the worker to be idle again",
        conformance::harness::PATIENCE * 4,
        || {
            let now = look();
            (now.children == 0 && now.descriptors <= idle.descriptors).then_some(now)
        },
    );
    // What the allocator keeps for the next job it has taken by then.
    let warm = &after_each[after_each.len() / 2..];
    let slope = slope(&warm.iter().map(|holdings| holdings.memory_bytes as f64).collect::<Vec<f64>>());
    let row = |name: &str, value: fn(&Holdings) -> String| {
        vec![name.to_owned(), value(&idle), value(&peak.0), value(&after)]
    };
    let disk_after = disk_bytes(&work);
    let flat = slope.abs() < 20_000.0;
    Report {
        columns: vec!["the worker's", "before", "at the peak", "after"],
        rows: vec![
            row("memory", |holdings| megabytes(holdings.memory_bytes)),
            row("descriptors", |holdings| holdings.descriptors.to_string()),
            row("threads", |holdings| holdings.threads.to_string()),
            row("programs", |holdings| holdings.children.to_string()),
            vec!["disk".to_owned(), megabytes(disk_before), megabytes(peak.1), megabytes(disk_after)],
        ],
        figure: format!(
            "{short_jobs} jobs of 5 s and one of {} min: memory grows by {:.1} kB a job in the second half, descriptors {} to {}, disk left {}",
            long_seconds / 60,
            slope / 1_000.0,
            idle.descriptors,
            after.descriptors,
            megabytes(disk_after.saturating_sub(disk_before))
        ),
        runs: after_each
            .iter()
            .map(|holdings| json!([holdings.memory_bytes, holdings.descriptors, holdings.threads]))
            .collect(),
        goal: "nothing grows with the jobs (memory: less than 20 kB a job)",
        met: flat
            && after.descriptors <= idle.descriptors
            && after.children == 0
            && disk_after <= disk_before,
    }
}

fn most(one: Holdings, other: Holdings) -> Holdings {
    Holdings {
        memory_bytes: one.memory_bytes.max(other.memory_bytes),
        descriptors: one.descriptors.max(other.descriptors),
        threads: one.threads.max(other.threads),
        children: one.children.max(other.children),
    }
}

/// Bytes of all files below a folder. Files that vanish meanwhile count as none.
fn disk_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// By how much a value grows from one to the next: least squares.
fn slope(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (mean_x, mean_y) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in values.iter().enumerate() {
        above += (x as f64 - mean_x) * (y - mean_y);
        below += (x as f64 - mean_x).powi(2);
    }
    if below > 0.0 { above / below } else { 0.0 }
}
