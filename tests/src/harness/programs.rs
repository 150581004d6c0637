//! The project's own programs, as they were built beside the test.

use std::{path::PathBuf, time::Duration};

/// The path of a built program of this workspace, such as `mini-worker`: of the same profile as the test or bench that asks.
///
/// # Panics
/// It was not built; the message says how to.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut folder = own.parent().expect("a program lies in a folder");
    if folder.ends_with("deps") {
        folder = folder.parent().expect("deps lies in the profile's folder");
    }
    let path = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let release = if folder.ends_with("release") { " --release" } else { "" };
    assert!(
        path.exists(),
        "{} is missing: run `cargo build{release} -p mini-worker -p client`",
        path.display()
    );
    path
}

/// Where the model and the recordings lie: `MINIFLEET_HOME`, else `.minifleet` in the repository.
pub fn home() -> PathBuf {
    std::env::var_os("MINIFLEET_HOME")
        .filter(|home| !home.is_empty())
        .map_or_else(|| super::repository().join(".minifleet"), PathBuf::from)
}

/// How much processor time a process has used, its ended programs included; `self` is this one. Linux only.
pub fn processor_time(process: &str) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Fields 14 to 17 of the whole; the name in field 2 may hold anything, so count behind it.
    let fields: Vec<u64> =
        stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4).filter_map(|f| f.parse().ok()).collect();
    let ticks: u64 = fields.iter().sum();
    // The kernel reports 100 ticks a second on every platform that it runs on today.
    Some(Duration::from_millis(ticks * 10))
}
