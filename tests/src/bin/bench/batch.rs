//! Windows of several jobs in one run of the network against one after the other, with a straight line through the times: what
//! a run costs by itself is what a batch can save.

use super::report::{Options, Report};

/// Without MLX there is nothing to measure: the published graphs, as ONNX Runtime runs them, take one channel at a time.
#[cfg(not(any(target_os = "macos", feature = "mlx")))]
pub fn run(_: &Options) -> Report {
    Report {
        columns: vec!["jobs"],
        rows: vec![],
        runs: vec![],
        figure: "not measured: this build has no MLX (`scripts/bench batch` builds it on Linux x86-64)"
            .to_owned(),
        goal: "none; the bound is what is to be known",
        met: true,
    }
}

/// Measures.
#[cfg(any(target_os = "macos", feature = "mlx"))]
pub fn run(options: &Options) -> Report {
    with_mlx::run(options)
}

#[cfg(any(target_os = "macos", feature = "mlx"))]
mod with_mlx {
    use super::super::one_engine::home;
    use super::super::report::{Options, Report, median};
    use conformance::{harness::media, recordings::RecordingSet};
    use mini_worker::inference::engine::Engine;
    use mini_worker::inference::mlx::MlxEngine;
    use mini_worker::inference::{EngineKind, Precision, Selection};
    use mini_worker::storage::Bundle;
    use serde_json::json;
    use std::time::Instant;

    /// Jobs in one run.
    const JOBS: [usize; 5] = [1, 2, 4, 8, 16];

    pub fn run(options: &Options) -> Report {
        let repetitions = if options.quick { 3 } else { 15 };
        let bundle = Bundle::open(&home()).unwrap_or_else(|error| panic!("{error}"));
        let provider = Selection { engine: EngineKind::Mlx, ..Selection::default() }.provider();
        let provider = provider.unwrap_or_else(|error| panic!("{error}"));
        let engine = MlxEngine::load(&bundle, provider, Precision::Float32);
        let mut engine = engine.unwrap_or_else(|error| panic!("{error}"));
        let path = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}")).long("60s");
        let audio = media::decode(&path, 48_000);
        let block = engine.block();
        let mut times: Vec<Vec<f64>> = vec![vec![]; JOBS.len()];
        // The sizes take turns, so that a busy machine hurts all alike. The first round warms up and is not counted.
        for round in 0..=repetitions {
            for (&jobs, times) in JOBS.iter().zip(&mut times) {
                let mut streams: Vec<_> = (0..jobs).map(|_| engine.open()).collect();
                let inputs: Vec<&[f32]> =
                    audio.chunks_exact(block).cycle().skip(round * 7).step_by(3).take(jobs).collect();
                let begin = Instant::now();
                let done = engine.process_together(&mut streams.iter_mut().collect::<Vec<_>>(), &inputs);
                done.unwrap_or_else(|error| panic!("{error}"));
                if round > 0 {
                    times.push(begin.elapsed().as_secs_f64());
                }
            }
        }
        let medians: Vec<f64> = times.iter().map(|times| median(times)).collect();
        let (each_run, each_job) = line(&JOBS.map(|jobs| jobs as f64), &medians);
        let alone = medians[0];
        let row = |(&jobs, &seconds): (&usize, &f64)| {
            let fitted = each_run + each_job * jobs as f64;
            vec![
                jobs.to_string(),
                format!("{:.1} ms", seconds * 1e3),
                format!("{:.1} ms", fitted * 1e3),
                format!("{:.2}", alone * jobs as f64 / seconds),
            ]
        };
        let rows = JOBS.iter().zip(&medians).map(row).collect();
        Report {
            columns: vec!["jobs in one run", "time", "on the line", "times as fast as one by one"],
            rows,
            figure: format!(
                "{:.1} ms for each run and {:.1} ms for each job in it ({}): at most {:.2} times as fast as one by one",
                each_run * 1e3,
                each_job * 1e3,
                engine.name(),
                (each_run + each_job) / each_job,
            ),
            runs: JOBS
                .iter()
                .zip(&times)
                .map(|(jobs, times)| json!({ "jobs": jobs, "seconds": times }))
                .collect(),
            goal: "none; the bound is what is to be known",
            met: true,
        }
    }

    /// Intercept and slope of the line with the least squares.
    fn line(x: &[f64], y: &[f64]) -> (f64, f64) {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (mean_x, mean_y) = (mean(x), mean(y));
        let both: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = both / x.iter().map(|x| (x - mean_x) * (x - mean_x)).sum::<f64>();
        (mean_y - slope * mean_x, slope)
    }
}
