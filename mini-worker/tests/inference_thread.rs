//! The inference thread around an engine that needs no model: who is served when, and what a failure costs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mini_worker::inference::engine::{Engine, EngineError};
use mini_worker::inference::{
    Inference, InferenceConfig, InferenceError, RestoreSession, RestoreSpec, Scheduling,
};
use shared_protocol::Sampler;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Passes audio through, one sample late, and notes the first sample of each window. Some samples are orders.
struct Scripted {
    served: Arc<Mutex<Vec<f32>>>,
    gate: Arc<Mutex<mpsc::Receiver<()>>>,
}

/// The engine waits until the test opens the gate.
const WAIT: f32 = 100.0;
const PANIC: f32 = 200.0;
const FAIL: f32 = 300.0;

impl Engine for Scripted {
    type Stream = f32;

    fn name(&self) -> &str {
        "scripted"
    }

    fn block(&self) -> usize {
        1
    }

    fn delay(&self) -> usize {
        1
    }

    fn open(&self) -> f32 {
        0.0
    }

    fn process(&mut self, last: &mut f32, input: &[f32]) -> Result<Vec<f32>, EngineError> {
        self.served.lock().unwrap().push(input[0]);
        match input[0] {
            WAIT => self.gate.lock().unwrap().recv().unwrap(),
            PANIC => panic!("as the test ordered"),
            FAIL => return Err(EngineError::Run("as the test ordered".to_owned())),
            _ => {}
        }
        Ok(input.iter().map(|&sample| std::mem::replace(last, sample)).collect())
    }
}

struct Fixture {
    inference: Inference,
    served: Arc<Mutex<Vec<f32>>>,
    open_gate: mpsc::Sender<()>,
    loads: Arc<AtomicUsize>,
}

async fn start() -> Fixture {
    start_with(Scheduling::Windows).await
}

async fn start_with(scheduling: Scheduling) -> Fixture {
    let served = Arc::new(Mutex::new(Vec::new()));
    let (open_gate, gate) = mpsc::channel();
    let gate = Arc::new(Mutex::new(gate));
    let loads = Arc::new(AtomicUsize::new(0));
    let load = {
        let (served, loads) = (Arc::clone(&served), Arc::clone(&loads));
        move || {
            loads.fetch_add(1, Ordering::SeqCst);
            Ok(Scripted { served: Arc::clone(&served), gate: Arc::clone(&gate) })
        }
    };
    let config = InferenceConfig { front_end: false, scheduling, ..InferenceConfig::default() };
    let (inference, readiness) = Inference::start_engine(config, load).await.unwrap();
    assert_eq!(readiness.engine, "scripted");
    assert!(readiness.real_time_factor > 0.0);
    served.lock().unwrap().clear();
    Fixture { inference, served, open_gate, loads }
}

impl Fixture {
    async fn open(&self, environment_rank: u8, expected_samples: u64) -> RestoreSession {
        let spec = RestoreSpec {
            environment_rank,
            sampler: Sampler::Flash,
            transcript: None,
            channels: 1,
            expected_samples: Some(expected_samples),
        };
        self.inference.open(spec).await.unwrap()
    }

    /// Keeps the thread at work until `open_gate`, so that the windows that follow meet in the queue.
    async fn occupy(&self) -> tokio::task::JoinHandle<RestoreSession> {
        let mut session = self.open(0, 1).await;
        let task = tokio::spawn(async move {
            session.restore(vec![vec![WAIT]]).await.unwrap();
            session
        });
        while self.served.lock().unwrap().last() != Some(&WAIT) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        task
    }
}

#[tokio::test]
async fn channels_are_kept_apart_and_come_back_whole() {
    let Fixture { inference, .. } = start().await;
    let spec = RestoreSpec {
        environment_rank: 0,
        sampler: Sampler::Flash,
        transcript: None,
        channels: 2,
        expected_samples: None,
    };
    let mut session = inference.open(spec).await.unwrap();
    let first = session.restore(vec![vec![1.0, 2.0, 3.0], vec![-1.0, -2.0, -3.0]]).await.unwrap();
    assert_eq!(first.audio, [[1.0, 2.0], [-1.0, -2.0]], "the engine is one sample late");
    let second = session.restore(vec![vec![4.0], vec![-4.0]]).await.unwrap();
    assert_eq!(second.audio, [[3.0], [-3.0]]);
    assert_eq!(session.finish().await.unwrap().audio, [[4.0], [-4.0]]);
    assert!(matches!(session.restore(vec![vec![1.0], vec![1.0]]).await, Err(InferenceError::Finished)));
}

/// Sends a window whose first sample is `mark`, in a task.
fn send(mut session: RestoreSession, mark: f32) -> tokio::task::JoinHandle<Result<(), InferenceError>> {
    tokio::spawn(async move { session.restore(vec![vec![mark]]).await.map(|_| ()) })
}

/// Long enough for a command to reach the thread.
async fn moment() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn production_goes_first_then_what_is_nearly_done() {
    let fixture = start().await;
    let mut sessions = Vec::new();
    for (mark, rank, expected) in [(1.0, 2, 10), (2.0, 0, 90_000), (3.0, 0, 500), (4.0, 1, 10)] {
        sessions.push((mark, fixture.open(rank, expected).await));
    }
    let occupied = fixture.occupy().await;
    let waiting: Vec<_> = sessions.into_iter().map(|(mark, session)| send(session, mark)).collect();
    moment().await;
    fixture.open_gate.send(()).unwrap();
    occupied.await.unwrap();
    for task in waiting {
        task.await.unwrap().unwrap();
    }
    assert_eq!(*fixture.served.lock().unwrap(), [WAIT, 3.0, 2.0, 4.0, 1.0]);
}

#[tokio::test]
async fn a_job_that_nobody_hears_yet_comes_between_the_windows_of_a_long_one_unless_recordings_go_whole() {
    for (scheduling, expected) in [
        (Scheduling::Windows, [WAIT, 4.0, 5.0, 3.0, 2.0]),
        (Scheduling::WholeRecordings, [WAIT, 2.0, 3.0, 4.0, 5.0]),
    ] {
        let fixture = start_with(scheduling).await;
        let mut long = fixture.open(0, 900_000).await;
        let (new, short) = (fixture.open(0, 800_000).await, fixture.open(0, 700_000).await);
        let mut nearly_done = fixture.open(0, 2).await;
        if scheduling == Scheduling::Windows {
            // Two samples: the engine is one late, so that one comes back.
            nearly_done.restore(vec![vec![0.1, 0.2]]).await.unwrap();
            long.restore(vec![vec![0.1, 0.2]]).await.unwrap();
        }
        fixture.served.lock().unwrap().clear();
        let occupying = tokio::spawn(async move {
            long.restore(vec![vec![WAIT, 0.0]]).await.unwrap();
            long.restore(vec![vec![2.0]]).await.unwrap();
            drop(long);
        });
        while fixture.served.lock().unwrap().last() != Some(&WAIT) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let waiting = [send(nearly_done, 3.0), send(new, 5.0), send(short, 4.0)];
        moment().await;
        fixture.open_gate.send(()).unwrap();
        occupying.await.unwrap();
        for task in waiting {
            task.await.unwrap().unwrap();
        }
        assert_eq!(*fixture.served.lock().unwrap(), expected, "{scheduling:?}");
    }
}

#[tokio::test]
async fn a_panic_or_an_error_in_the_model_costs_only_the_session_it_happened_in() {
    let fixture = start().await;
    let mut healthy = fixture.open(0, 10).await;
    healthy.restore(vec![vec![1.0, 2.0]]).await.unwrap();

    let mut crashing = fixture.open(0, 10).await;
    let error = crashing.restore(vec![vec![PANIC]]).await.unwrap_err();
    assert!(matches!(&error, InferenceError::Panicked(said) if said == "as the test ordered"), "{error}");
    assert!(matches!(crashing.restore(vec![vec![1.0]]).await, Err(InferenceError::Broken)));
    let mut failing = fixture.open(0, 10).await;
    assert!(matches!(failing.restore(vec![vec![FAIL]]).await, Err(InferenceError::Engine(_))));
    assert!(matches!(failing.finish().await, Err(InferenceError::Broken)));

    assert_eq!(
        healthy.restore(vec![vec![3.0]]).await.unwrap().audio,
        [[2.0]],
        "its state outlives the engine"
    );
    assert_eq!(fixture.loads.load(Ordering::SeqCst), 2, "loaded anew after the panic, not after the error");
}

#[tokio::test]
async fn dropping_a_session_takes_its_window_out_of_the_queue_and_its_work_out_of_the_backlog() {
    let fixture = start().await;
    assert_eq!(fixture.inference.backlog_seconds(), 0.0);
    let (kept, dropped) = (fixture.open(0, 48_000).await, fixture.open(0, 96_000).await);
    let factor = fixture.inference.real_time_factor(Sampler::Flash);
    assert!((fixture.inference.backlog_seconds() / factor - 3.0).abs() < 1e-6, "three seconds of audio");

    let occupied = fixture.occupy().await;
    let (kept, dropped) = (send(kept, 1.0), send(dropped, 2.0));
    moment().await;
    dropped.abort();
    moment().await;
    fixture.open_gate.send(()).unwrap();
    kept.await.unwrap().unwrap();
    drop(occupied.await.unwrap());
    assert_eq!(*fixture.served.lock().unwrap(), [WAIT, 1.0]);
    // The thread hears of the last drop when it gets to run.
    let since = std::time::Instant::now();
    while fixture.inference.backlog_seconds() != 0.0 {
        assert!(since.elapsed() < Duration::from_secs(20), "work of dropped sessions stays in the backlog");
        moment().await;
    }
}

#[tokio::test]
async fn the_backlog_shrinks_by_what_is_done_and_ends_with_the_recording() {
    let fixture = start().await;
    let mut session = fixture.open(0, 96_000).await;
    let audio_left =
        || fixture.inference.backlog_seconds() / fixture.inference.real_time_factor(Sampler::Flash);
    session.restore(vec![vec![0.5; 24_000]]).await.unwrap();
    moment().await;
    assert!((audio_left() - 1.5).abs() < 1e-6);
    session.finish().await.unwrap();
    moment().await;
    assert_eq!(audio_left(), 0.0, "though fewer samples came than were announced");
}

#[tokio::test]
async fn a_call_that_was_dropped_leaves_a_gap_and_the_next_one_says_so() {
    let fixture = start().await;
    let mut session = fixture.open(0, 10).await;
    let occupied = fixture.occupy().await;
    let timed_out = tokio::time::timeout(Duration::from_millis(20), session.restore(vec![vec![5.0]])).await;
    assert!(timed_out.is_err());
    fixture.open_gate.send(()).unwrap();
    occupied.await.unwrap();
    assert!(matches!(session.restore(vec![vec![6.0]]).await, Err(InferenceError::Broken)));
    assert_eq!(*fixture.served.lock().unwrap(), [WAIT], "nobody waited for it: it was not restored");
}

#[tokio::test]
async fn windows_that_do_not_fit_are_refused_and_do_no_harm() {
    let fixture = start().await;
    let spec = RestoreSpec {
        environment_rank: 0,
        sampler: Sampler::Flash,
        transcript: None,
        channels: 0,
        expected_samples: None,
    };
    assert!(matches!(fixture.inference.open(spec).await, Err(InferenceError::NoChannels)));
    let spec = RestoreSpec {
        environment_rank: 0,
        sampler: Sampler::Flash,
        transcript: None,
        channels: 2,
        expected_samples: None,
    };
    let mut session = fixture.inference.open(spec).await.unwrap();
    for window in [vec![], vec![vec![1.0]], vec![vec![], vec![]], vec![vec![1.0], vec![1.0, 2.0]]] {
        assert!(matches!(session.restore(window).await, Err(InferenceError::Window { channels: 2, .. })));
    }
    session.restore(vec![vec![1.0], vec![2.0]]).await.unwrap();
}

#[tokio::test]
async fn stopping_ends_the_thread_and_open_sessions_learn_of_it() {
    let fixture = start().await;
    let mut session = fixture.open(0, 10).await;
    let another = fixture.inference.clone();
    fixture.inference.stop().await;
    assert!(matches!(session.restore(vec![vec![1.0]]).await, Err(InferenceError::Stopped)));
    let spec = RestoreSpec {
        environment_rank: 0,
        sampler: Sampler::Flash,
        transcript: None,
        channels: 1,
        expected_samples: None,
    };
    assert!(matches!(another.open(spec).await, Err(InferenceError::Stopped)));
    another.stop().await;
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_is_reported_at_the_start() {
    let load =
        || Err::<Scripted, _>(EngineError::Load { what: "enc.onnx".to_owned(), reason: "gone".to_owned() });
    let config = InferenceConfig::default();
    let error = Inference::start_engine(config.clone(), load).await.err().expect("it cannot start");
    assert_eq!(error.to_string(), "enc.onnx could not be loaded: gone");
    let error = Inference::start_engine(config, || -> Result<Scripted, _> { panic!("at load") }).await.err();
    assert!(matches!(error, Some(InferenceError::Panicked(_))));
}
