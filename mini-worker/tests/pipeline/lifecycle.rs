//! What the worker leaves on its machine: descriptors, programs, disk; and what it tells of itself.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use shared_protocol::{Complete, FailureCode, Phase, WorkerMessage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fleet::{Worker, is_end, recording};
use crate::played_edge::{Fault, PlayedEdge, PlayedLink, cancel};
use crate::studio::Studio;

const PATIENCE: Duration = Duration::from_secs(60);

async fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Runs an attempt to its end and acknowledges it.
async fn end_of(link: &mut PlayedLink, edge: &PlayedEdge, attempt: u32) -> WorkerMessage {
    link.send(&edge.offer(attempt)).await;
    let end = link.find(is_end).await;
    link.acknowledge(end.message_id().unwrap()).await;
    end
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn after_jobs_the_worker_has_as_many_descriptors_threads_and_folders_as_before() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 4), Fault::None).await;
    let worker = Worker::start_with(&studio, &edge, "work_folder = \"work\"");
    let (mut link, _) = edge.next_link().await;
    let process = format!("/proc/{}", worker.child.id().unwrap());
    let descriptors = || std::fs::read_dir(format!("{process}/fd")).unwrap().count();

    let limits = std::fs::read_to_string(format!("{process}/limits")).unwrap();
    let open_files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<u64> = open_files.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] >= numbers[1].min(10_240), "the soft limit is raised: {open_files}");

    let files = || -> Vec<_> {
        let folders = ["work/jobs", "work/tmp"].map(|folder| std::fs::read_dir(studio.path(folder)).unwrap());
        folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let (idle, kept) = (descriptors(), files());
    for attempt in 1..=3 {
        let end = end_of(&mut link, &edge, attempt).await;
        assert!(matches!(end, WorkerMessage::Complete(_)), "{end:?}");
    }
    until("descriptors to be as many as before", || (descriptors() <= idle).then_some(())).await;
    assert_eq!(files(), kept, "what the model's runtime keeps, and nothing of the jobs");
}

/// The ids of the programs that a process has started.
#[cfg(target_os = "linux")]
fn children(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parent == Some(of)
    })
    .collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_program_outlives_a_worker_that_is_killed() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 900), Fault::None).await;
    let mut worker = Worker::start_with(&studio, &edge, "work_folder = \"work\"");
    let (mut link, _) = edge.next_link().await;
    link.send(&edge.offer(1)).await;
    let id = worker.child.id().unwrap();
    let programs = until("the encoders to run", || Some(children(id)).filter(|ids| ids.len() >= 2)).await;
    worker.child.kill().await.unwrap();
    let alive = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // A zombie waits for whoever inherited it, and does nothing any more.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    until("the programs to end", || (!programs.iter().any(alive)).then_some(())).await;
}

/// Nobody tells them elsewhere.
#[cfg(not(target_os = "linux"))]
fn children(_of: u32) -> Vec<u32> {
    Vec::new()
}

#[tokio::test]
async fn a_cancel_takes_effect_in_every_stage_and_leaves_nothing_of_the_job() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 20), Fault::None).await;
    let worker = Worker::start_with(&studio, &edge, "work_folder = \"work\"");
    let id = worker.child.id().unwrap();
    let (mut link, _) = edge.next_link().await;
    let stages = [Phase::Downloading, Phase::PreparingAudio, Phase::Restoring, Phase::Publishing];
    for (attempt, stage) in (1..).zip(stages) {
        link.send(&edge.offer(attempt)).await;
        link.find(|message| matches!(message, WorkerMessage::Progress(p) if p.phase >= stage)).await;
        link.send(&cancel(attempt)).await;
        let end = link.find(is_end).await;
        let in_time = matches!(end, WorkerMessage::Cancelled(_));
        // At the very end a completion may be quicker.
        assert!(
            in_time || (stage == Phase::Publishing && matches!(end, WorkerMessage::Complete(_))),
            "{end:?}"
        );
        link.acknowledge(end.message_id().unwrap()).await;
        link.find(|message| matches!(message, WorkerMessage::Ready(ready) if ready.slots == 1)).await;
        assert_eq!(std::fs::read_dir(studio.path("work/jobs")).unwrap().count(), 0, "{stage:?}");
        until("the programs to end", || children(id).is_empty().then_some(())).await;
    }
}

/// A small file system of its own, unmounted with this value; none where this user may not mount.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let options = format!("size={size}");
        let mounting = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).output();
        match mounting {
            Ok(output) if output.status.success() => Some(Self(at)),
            Ok(output) => {
                eprintln!("skipped: no tmpfs: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: no tmpfs: {error}");
                None
            }
        }
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "unmount {} yourself", self.0.display());
    }
}

#[tokio::test]
async fn a_full_disk_fails_that_job_clearly_and_the_next_one_succeeds() {
    let studio = Studio::new();
    let folder = studio.path("small");
    let Some(disk) = SmallDisk::mount(&folder, "24m") else { return };
    // 20 s: about 8 MB of work. The ballast leaves room for a part of it.
    let mut edge = PlayedEdge::start(recording(&studio, 20), Fault::None).await;
    let worker = Worker::start_with(&studio, &edge, "work_folder = \"small\"");
    let (mut link, _) = edge.next_link().await;
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![1; 21 << 20]).unwrap();
    let WorkerMessage::Failed(failed) = end_of(&mut link, &edge, 1).await else { panic!("it fits?") };
    assert_eq!(failed.failure.code, FailureCode::DiskFull, "{failed:?}");
    assert_eq!(std::fs::read_dir(folder.join("jobs")).unwrap().count(), 0, "what it wrote is gone");
    std::fs::remove_file(&ballast).unwrap();
    let end = end_of(&mut link, &edge, 2).await;
    assert!(matches!(end, WorkerMessage::Complete(_)), "{end:?}");
    drop(worker);
    drop(disk);
}

/// A port that nobody listens on.
pub async fn free_port() -> u16 {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    free.local_addr().unwrap().port()
}

/// What is answered to a request.
pub async fn get(port: u16, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A metric's value on the page.
pub fn value_of(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} is not in\n{page}")).trim().parse().unwrap()
}

#[tokio::test]
async fn metrics_are_served_when_asked_for_and_count_what_happened() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 4), Fault::None).await;
    let port = free_port().await;
    let settings = format!("work_folder = \"work\"\nmetrics_listen = \"127.0.0.1:{port}\"");
    let _worker = Worker::start_with(&studio, &edge, &settings);
    let (mut link, _) = edge.next_link().await;
    let end = end_of(&mut link, &edge, 1).await;
    let WorkerMessage::Complete(Complete { outcome, .. }) = end else { panic!("{end:?}") };
    let page = get(port, "/metrics").await;
    let value = |name: &str| value_of(&page, name);
    assert_eq!(value("minifleet_worker_jobs_ended_total{environment=\"test\",result=\"completed\"}"), 1.0);
    assert_eq!(value("minifleet_worker_audio_seconds_total"), outcome.audio_seconds);
    assert_eq!(value("minifleet_worker_connected{environment=\"test\"}"), 1.0);
    assert!(value("minifleet_worker_inference_windows_total") >= 2.0);
    assert!(value("minifleet_worker_phase_seconds_sum{phase=\"inference\"}") > 0.0);
    for name in ["slots", "uploads_limit", "inference_backlog_seconds", "descriptors_open"] {
        assert!(value(&format!("minifleet_worker_{name} ")) >= 0.0);
    }
    assert!(get(port, "/").await.starts_with("HTTP/1.1 404"));
}
