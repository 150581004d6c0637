//! What the system knows of another process. Linux only; elsewhere everything is nothing.

use std::fs;

/// Processor seconds of all threads of a process so far.
pub fn cpu_seconds(process: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nanoseconds: u64 = threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    nanoseconds as f64 / 1e9
}

/// Memory that a process has resident, in bytes.
pub fn memory_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}
