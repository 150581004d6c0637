//! Many jobs one after the other: memory, descriptors, threads, programs and disk have to be as before.

use super::{
    overlap::{Site, speech},
    report::{Options, Report, megabytes},
};
use conformance::harness::{Holdings, UplinkConditions, WorkerProcess};
use serde_json::json;
use std::{
    collections::VecDeque,
    path::Path,
    time::{Duration, Instant},
};

/// Jobs that are under way at once.
const SLOTS: u32 = 6;

/// The runtime's threads for files end when they had nothing to do for 10 s, idle connections after 20 s.
const STEADY_FOR: Duration = Duration::from_secs(22);

/// Longest wait for that, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the allocator and the model's runtime may keep for the next jobs: about 8 MB for each of the slots.
const KEPT_BYTES: u64 = 50_000_000;

/// What may be left of each job.
const GROWTH_BYTES: f64 = 20_000.0;

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
    let look = || holdings(&site.worker);
    let work = site.worker.folder().join("work");
    let idle = steady(&site.worker);
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
    let after = steady(&site.worker);
    // What the allocator keeps for the next job it has taken by then.
    let warm = &after_each[after_each.len() / 2..];
    let slope = slope(&warm.iter().map(|holdings| holdings.memory_bytes as f64).collect::<Vec<f64>>());
    let row = |name: &str, value: fn(&Holdings) -> String| {
        vec![name.to_owned(), value(&idle), value(&peak.0), value(&after)]
    };
    let disk_after = disk_bytes(&work);
    let kept = after.memory_bytes.saturating_sub(idle.memory_bytes);
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
            "{short_jobs} jobs of 5 s and one of {} min: memory grows by {:.1} kB a job in the second half and ends {} above \
             where it began, descriptors {} to {}, threads {} to {}, disk left {}",
            long_seconds / 60,
            slope / 1_000.0,
            megabytes(kept),
            idle.descriptors,
            after.descriptors,
            idle.threads,
            after.threads,
            megabytes(disk_after.saturating_sub(disk_before))
        ),
        runs: after_each
            .iter()
            .map(|holdings| json!([holdings.memory_bytes, holdings.descriptors, holdings.threads]))
            .collect(),
        goal: "nothing is left of the jobs; memory: less than 20 kB a job, and at most 50 MB kept for the next ones",
        met: slope < GROWTH_BYTES
            && kept <= KEPT_BYTES
            && after.descriptors <= idle.descriptors
            && after.threads <= idle.threads
            && after.children == 0
            && disk_after <= disk_before,
    }
}

fn holdings(worker: &WorkerProcess) -> Holdings {
    worker.holdings().unwrap_or_else(|| panic!("this bench needs Linux's /proc"))
}

/// What an idle worker holds when that no longer changes, but for a little memory.
fn steady(worker: &WorkerProcess) -> Holdings {
    let (begun, mut seen, mut since) = (Instant::now(), holdings(worker), Instant::now());
    while since.elapsed() < STEADY_FOR && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(500));
        let now = holdings(worker);
        if (now.descriptors, now.threads, now.children) != (seen.descriptors, seen.threads, seen.children) {
            since = Instant::now();
        }
        seen = now;
    }
    seen
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
