//! From nothing to ready, step by step, and whether the first job is slower than later ones: each engine in a process of its
//! own, so that nothing is loaded yet. The files are in the system's cache, as they are when a worker starts again.

use std::process::{Command, ExitCode};
use std::time::Instant;

use conformance::{harness::media, recordings::RecordingSet};
use mini_worker::inference::{EngineKind, Inference, InferenceConfig, RestoreSpec, Scheduling, Selection};
use mini_worker::storage::Bundle;
use serde_json::{Value, json};
use shared_protocol::Sampler;

use super::one_engine::{ALL, Restorer, WINDOW, home};
use super::report::{Options, Report, median};

/// The argument with which this program starts once.
pub const CHILD: &str = "--measure-cold-start";

/// The steps, as the child names them.
const STEPS: [&str; 3] = ["verify", "load", "warmUp"];

/// Jobs of ten seconds, one after another.
const JOBS: usize = 6;

/// Measures.
pub fn run(options: &Options) -> Report {
    let repetitions = if options.quick { 1 } else { 5 };
    let kinds: Vec<EngineKind> =
        [EngineKind::Onnx, EngineKind::Mlx].into_iter().filter(|&k| is_there(k)).collect();
    let mut runs: Vec<Value> = vec![];
    for _ in 0..repetitions {
        runs.extend(kinds.iter().map(|&kind| start_once(kind)));
    }
    let of = |kind: EngineKind, value: &dyn Fn(&Value) -> Option<f64>| -> f64 {
        let own = runs.iter().filter(|run| run["engine"] == kind.to_string());
        median(&own.filter_map(value).collect::<Vec<_>>())
    };
    let first_against_later = |run: &Value| -> Option<f64> {
        let jobs: Vec<f64> = run["jobs"].as_array()?.iter().filter_map(Value::as_f64).collect();
        Some(jobs.first()? / median(&jobs[1..]))
    };
    let row = |kind: &EngineKind| {
        let total: f64 = STEPS.iter().map(|step| of(*kind, &|run| run[*step].as_f64())).sum();
        let mut cells = vec![kind.to_string()];
        for step in STEPS {
            let seconds = of(*kind, &|run| run[step].as_f64());
            cells.push(format!("{:.0} ms ({:.0} %)", seconds * 1e3, 100.0 * seconds / total));
        }
        cells.push(format!("{:.0} ms", total * 1e3));
        cells.push(format!("{:.2}", of(*kind, &first_against_later)));
        cells
    };
    let rows = kinds.iter().map(row).collect();
    let worst = kinds.iter().map(|&kind| of(kind, &first_against_later)).fold(0.0, f64::max);
    Report {
        columns: vec!["engine", "verify files", "load", "warm up", "ready after", "first job / later ones"],
        rows,
        figure: format!("the first job takes {worst:.2} times as long as later ones"),
        runs,
        goal: "at most 1.10 times",
        met: worst <= 1.1,
    }
}

fn is_there(kind: EngineKind) -> bool {
    ALL.into_iter().any(|one| one.is_there() && matches!(one, Restorer::Ours(other, _) if other == kind))
}

fn start_once(kind: EngineKind) -> Value {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(own);
    command.args([CHILD, &kind.to_string()]).env("OPENBLAS_NUM_THREADS", "1");
    let run = command.output().expect("this program can be run");
    let words = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{kind}: {words}");
    serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{kind}: {error}: {words}"))
}

/// Starts one engine as the worker does, runs the jobs and prints a JSON object.
pub fn child(arguments: &mut impl Iterator<Item = String>) -> ExitCode {
    let Some(name) = arguments.next() else { return ExitCode::from(2) };
    let engine = if name == "mlx" { EngineKind::Mlx } else { EngineKind::Onnx };
    let runtime = tokio::runtime::Runtime::new().expect("the system has threads");
    println!("{}", runtime.block_on(start_and_work(engine)));
    ExitCode::SUCCESS
}

async fn start_and_work(engine: EngineKind) -> Value {
    let begin = Instant::now();
    let bundle = Bundle::open(&home()).unwrap_or_else(|error| panic!("{error}"));
    let verify = begin.elapsed();
    let selection = Selection { engine, ..Selection::default() };
    let config =
        InferenceConfig { selection, scheduling: Scheduling::default(), ..InferenceConfig::default() };
    let (inference, readiness) =
        Inference::start(bundle, config).await.unwrap_or_else(|error| panic!("{error}"));

    let path = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}")).long("10s");
    let audio = media::decode(&path, 48_000);
    let mut jobs = vec![];
    for _ in 0..JOBS {
        let begin = Instant::now();
        let spec = RestoreSpec {
            environment_rank: 0,
            sampler: Sampler::Flash,
            transcript: None,
            channels: 1,
            expected_samples: Some(audio.len() as u64),
        };
        let mut session = inference.open(spec).await.unwrap_or_else(|error| panic!("{error}"));
        for window in audio.chunks(WINDOW) {
            session.restore(vec![window.to_vec()]).await.unwrap_or_else(|error| panic!("{error}"));
        }
        session.finish().await.unwrap_or_else(|error| panic!("{error}"));
        jobs.push(begin.elapsed().as_secs_f64());
    }
    inference.stop().await;
    json!({
        "engine": engine.to_string(),
        "name": readiness.engine,
        "verify": verify.as_secs_f64(),
        "load": readiness.load.as_secs_f64(),
        "warmUp": readiness.warm_up.as_secs_f64(),
        "jobs": jobs,
    })
}
