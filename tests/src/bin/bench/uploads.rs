//! What the benches of uploads have in common: the worker's own uploader and its calls, against an edge under `workerd`
//! behind an emulated line.

use conformance::harness::{Api, Edge, Keys, ScriptedWorker, Uplink, UplinkConditions};
use mini_worker::config::Secret;
use mini_worker::job::edge::{EdgeAccess, NewObject};
use mini_worker::job::publish::{Content, MOST_IN_LINE};
use mini_worker::job::upload::{Class, Uploader};
use sha2::{Digest, Sha256};
use shared_protocol::Assign;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// An edge with jobs that a scripted worker has taken, behind a line.
pub struct Site {
    /// The edge itself.
    pub edge: Edge,
    /// The line in front of it.
    pub uplink: Uplink,
    /// The jobs.
    pub assigns: Vec<Assign>,
    _worker: ScriptedWorker,
}

impl Site {
    /// With so many jobs.
    pub fn new(conditions: UplinkConditions, jobs: u32) -> Self {
        let edge = Edge::start();
        let uplink = Uplink::start(edge.port(), conditions);
        let api: Api = edge.api(Keys::ACME);
        let mut worker = ScriptedWorker::ready(&edge, "bench", jobs);
        let assigns = (0..jobs)
            .map(|_| {
                api.queue_job();
                worker.take_job()
            })
            .collect();
        Self { edge, uplink, assigns, _worker: worker }
    }
}

/// Uploads so many objects of each job, as the worker does. Gives the time, and that of each object with its waiting.
pub fn upload(
    site: &Site,
    origin: &str,
    uploader: &Uploader,
    objects: usize,
    bytes: usize,
) -> (Duration, Vec<f64>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime can be had");
    let run = fresh_run();
    let started = Instant::now();
    let times = runtime.block_on(async {
        let mut puts = JoinSet::new();
        for assign in &site.assigns {
            let edge = access(assign, origin, uploader);
            // As many stand in the line as the worker lets stand there.
            let line = Arc::new(Semaphore::new(MOST_IN_LINE));
            for number in 0..objects {
                let (edge, line) = (edge.clone(), Arc::clone(&line));
                puts.spawn(async move {
                    let _place = line.acquire().await;
                    put(&edge, run, number, bytes).await
                });
            }
        }
        puts.join_all().await
    });
    (started.elapsed(), times)
}

fn access(assign: &Assign, origin: &str, uploader: &Uploader) -> EdgeAccess {
    let base = origin.parse().expect("an origin is an address");
    let ticket = Secret::new(assign.ticket.clone());
    let edge = EdgeAccess::new(base, assign.job_id.clone(), assign.attempt, ticket, uploader.open_job(0));
    edge.expect("there is a client for HTTP")
}

async fn put(edge: &EdgeAccess, run: usize, number: usize, bytes: usize) -> f64 {
    let path = format!("stems/run{run}-{number}.flac");
    let content: Vec<u8> = (0..bytes).map(|at| (at * 7 + number + run) as u8).collect();
    let sha256: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    let content = Content::Memory(content.into());
    let object = NewObject {
        path: &path,
        content_type: "audio/flac",
        class: Class::Stem,
        content: &content,
        size: bytes as u64,
        sha256: &sha256,
    };
    let started = Instant::now();
    edge.put(object).await.unwrap_or_else(|error| panic!("{error}"));
    started.elapsed().as_secs_f64()
}

/// Objects are written once: every run has names of its own.
fn fresh_run() -> usize {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
