//! The worker as a process, with a scheduler that breaks off, is busy, or wants something else.

use std::path::PathBuf;
use std::time::Duration;

use shared_protocol::{Complete, FailureCode, WorkerMessage};
use tokio::process::{Child, Command};

use crate::played_edge::{Fault, PlayedEdge, cancel};
use crate::results::talk;
use crate::studio::Studio;

/// A running `mini-worker run`; killed when dropped. Its log is shown when the test fails.
pub struct Worker {
    /// Its process.
    pub child: Child,
    log: PathBuf,
}

impl Drop for Worker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

impl Worker {
    /// With one slot.
    pub fn start(studio: &Studio, edge: &PlayedEdge) -> Self {
        Self::start_with(studio, edge, "work_folder = \"work\"")
    }

    /// With one slot and these lines of configuration.
    pub fn start_with(studio: &Studio, edge: &PlayedEdge, settings: &str) -> Self {
        let config = format!(
            "worker_id = \"mini-1\"\nslots = 1\nstate_folder = \"state\"\n{settings}\n[scorer]\nenabled = false\n\
             [[environment]]\nname = \"test\"\nurl = \"http://{}\"\n",
            edge.address
        );
        let config = studio.write("worker.toml", config.as_bytes());
        let log = studio.path("worker.log");
        let child = Command::new(env!("CARGO_BIN_EXE_mini-worker"))
            .args(["run", "--config"])
            .arg(config)
            .env("MINIFLEET_WORKER_KEY", "mfw_test")
            .stderr(std::fs::File::create(&log).unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// Sends a signal by its name, such as `-TERM`.
    pub async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &id]).status().await.unwrap().success());
    }

    /// Waits for its end.
    pub async fn exit_code(&mut self) -> Option<i32> {
        let waiting = tokio::time::timeout(Duration::from_secs(30), self.child.wait());
        waiting.await.expect("the worker ends").unwrap().code()
    }
}

/// A recording of speech-like sound as WAV.
pub fn recording(studio: &Studio, seconds: u32) -> Vec<u8> {
    std::fs::read(studio.make("talk.wav", &talk(seconds))).unwrap()
}

/// Whether it ends an attempt.
pub fn is_end(message: &WorkerMessage) -> bool {
    message.message_id().is_some()
}

/// The folders of the jobs.
pub fn jobs(studio: &Studio) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(studio.path("work/jobs")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn a_completion_in_flight_when_the_socket_dropped_arrives_even_after_a_kill() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 4), Fault::None).await;
    let mut worker = Worker::start(&studio, &edge);
    let (mut link, _) = edge.next_link().await;
    link.send(&edge.offer(1)).await;
    assert!(matches!(link.next().await, WorkerMessage::Accept(_)));
    let first = link.find(is_end).await;
    let WorkerMessage::Complete(Complete { segments, outcome, .. }) = &first else { panic!("{first:?}") };
    assert_eq!(segments.len() as u32, outcome.hls_segments);
    drop(link);

    let (link, replayed) = edge.next_link().await;
    assert!(replayed.iter().eq([&first]), "before ready: {replayed:?}");
    drop(link);
    worker.child.kill().await.unwrap();

    let mut worker = Worker::start(&studio, &edge);
    let (mut link, replayed) = edge.next_link().await;
    assert!(replayed.iter().eq([&first]), "the journal outlives the process: {replayed:?}");
    link.acknowledge(first.message_id().unwrap()).await;
    worker.signal("-TERM").await;
    assert_eq!(worker.exit_code().await, Some(0));

    let _worker = Worker::start(&studio, &edge);
    let (_link, replayed) = edge.next_link().await;
    assert_eq!(replayed, [], "acknowledged");
}

#[tokio::test]
async fn segments_are_announced_in_order_and_only_when_they_are_stored_whatever_the_storage_does() {
    for fault in [Fault::None, Fault::Busy, Fault::HangUp] {
        let studio = Studio::new();
        let mut edge = PlayedEdge::start(recording(&studio, 20), fault).await;
        let _worker = Worker::start(&studio, &edge);
        let (mut link, _) = edge.next_link().await;
        link.send(&edge.offer(3)).await;
        let mut announced = Vec::new();
        let end = loop {
            match link.next().await {
                WorkerMessage::Progress(progress) => {
                    let stored = edge.stored();
                    for segment in progress.segments {
                        let name = format!("/v1/worker/objects/job_1/3/hls/seg-{:05}.m4s", segment.sequence);
                        assert!(stored.contains(&name), "{fault:?}: {name} is announced and not there");
                        announced.push(segment);
                    }
                }
                message if is_end(&message) => break message,
                _ => {}
            }
        };
        let WorkerMessage::Complete(complete) = end else { panic!("{fault:?}: {end:?}") };
        assert!(announced.iter().map(|segment| segment.sequence).eq(0..announced.len() as u32));
        assert_eq!(complete.segments[..announced.len()], announced, "the completion lists the same ones");
        assert!(edge.stored().contains(&"/v1/worker/objects/job_1/3/files/restored.flac".to_owned()));
        assert!(edge.stored().contains(&"/v1/worker/objects/job_1/3/hls/init.mp4".to_owned()));
    }
}

#[tokio::test]
async fn a_cancel_stops_a_running_job_and_leaves_nothing_of_it() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 900), Fault::None).await;
    let _worker = Worker::start(&studio, &edge);
    let (mut link, _) = edge.next_link().await;
    link.send(&edge.offer(1)).await;
    let segments =
        |message: &WorkerMessage| matches!(message, WorkerMessage::Progress(p) if !p.segments.is_empty());
    link.find(segments).await;
    assert_eq!(jobs(&studio).len(), 1);
    link.send(&cancel(1)).await;
    let end = link.find(is_end).await;
    assert!(matches!(end, WorkerMessage::Cancelled(_)), "{end:?}");
    link.find(|message| matches!(message, WorkerMessage::Ready(ready) if ready.slots == 1)).await;
    assert_eq!(jobs(&studio), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn the_first_signal_drains_and_the_second_one_hands_jobs_back() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio, 900), Fault::None).await;
    let mut worker = Worker::start(&studio, &edge);
    let (mut link, _) = edge.next_link().await;
    link.send(&edge.offer(1)).await;
    link.find(|message| matches!(message, WorkerMessage::Progress(_))).await;
    worker.signal("-TERM").await;
    link.find(|message| matches!(message, WorkerMessage::Ready(ready) if ready.draining && ready.job_ids.len() == 1))
        .await;
    worker.signal("-TERM").await;
    let end = link.find(is_end).await;
    let WorkerMessage::Failed(failed) = &end else { panic!("{end:?}") };
    assert_eq!(failed.failure.code, FailureCode::WorkerStopping);
    link.acknowledge(&failed.message_id).await;
    assert_eq!(worker.exit_code().await, Some(0));
}
