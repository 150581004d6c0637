//! `mini-worker bench`: how fast this machine restores, with each engine that this program has for it.
//!
//! Each engine is measured in a process of its own, because a peak of memory belongs to a process, and because one engine's
//! threads would disturb the next one.

use std::fmt::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use shared_protocol::Sampler;

use crate::exit;
use crate::inference::{
    EngineKind, Inference, InferenceConfig, Precision, Provider, RestoreSpec, SAMPLE_RATE, Selection,
};
use crate::metrics::peak_memory_bytes;
use crate::storage::{Bundle, Home};

/// Samples of one window, as jobs send them: 2 s.
const WINDOW: usize = 2 * SAMPLE_RATE as usize;

/// Arguments of `mini-worker bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --engine every engine of this program is measured, one after the other. Stop the worker first:
what else runs on the machine slows the measurement down.

Examples:
  mini-worker bench
  mini-worker bench --engine mlx --precision float16 --json"
)]
pub struct BenchArgs {
    /// Measure this engine only.
    #[arg(long, value_enum)]
    engine: Option<EngineKind>,
    /// What it runs on.
    #[arg(long, value_enum, requires = "engine")]
    provider: Option<Provider>,
    /// How it holds the model's numbers.
    #[arg(long, value_enum, default_value_t = Precision::Float32, requires = "engine")]
    precision: Precision,
    /// Threads that compute one window, as in the configuration.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
    /// Seconds of audio for each sampler.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(4..=3600))]
    seconds: u16,
    /// Print JSON, a line for each engine.
    #[arg(long)]
    json: bool,
}

/// What was measured of one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    engine: String,
    /// Seconds from nothing to ready.
    load_seconds: f64,
    warm_up_seconds: f64,
    /// Seconds of the first window of the first job, and of a later one.
    first_window_seconds: f64,
    later_window_seconds: f64,
    /// Seconds of work per second of audio of one channel.
    flash_real_time_factor: f64,
    pro_real_time_factor: f64,
    peak_memory_bytes: Option<u64>,
}

/// Runs the command.
pub async fn run(arguments: BenchArgs) -> ExitCode {
    let result = match arguments.engine {
        Some(engine) => {
            let BenchArgs { provider, precision, .. } = arguments;
            one(&arguments, Selection { engine, provider, precision }).await
        }
        None => all(&arguments),
    };
    match result {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(error) => exit::with(exit::NOT_READY, &format_args!("{error:#}")),
    }
}

/// Every engine that this program has on this system, in processes of their own. One that does not run is told and
/// passed over.
fn all(arguments: &BenchArgs) -> Result<()> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut rows = Vec::new();
    for selection in Selection::of_this_build() {
        let mut command = Command::new(&own);
        command.args(["bench", "--json", "--engine", &selection.engine.to_string()]);
        command.args(["--precision", &selection.precision.to_string()]);
        command.args([
            "--threads",
            &arguments.threads.to_string(),
            "--seconds",
            &arguments.seconds.to_string(),
        ]);
        if let Some(provider) = selection.provider {
            command.args(["--provider", &provider.to_string()]);
        }
        // What it says of a failure goes on to standard error.
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("cannot start this program once more")?;
        if !output.status.success() {
            continue;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        if arguments.json {
            print!("{text}");
        }
        rows.push(serde_json::from_str(&text).context("the measurement is not what it should be")?);
    }
    if rows.is_empty() {
        bail!("no engine could be measured; the lines above say why");
    }
    if !arguments.json {
        print!("{}", table(&rows));
    }
    Ok(())
}

async fn one(arguments: &BenchArgs, selection: Selection) -> Result<()> {
    let bundle = Bundle::open(&Home::locate()?)?;
    let config =
        InferenceConfig { threads: arguments.threads.into(), selection, ..InferenceConfig::default() };
    let started = Instant::now();
    let (inference, readiness) = Inference::start(bundle, config).await?;
    let ready = started.elapsed();
    let windows = usize::from(arguments.seconds) / 2;
    let flash = restore(&inference, Sampler::Flash, windows).await?;
    let pro = restore(&inference, Sampler::Pro, windows).await?;
    inference.stop().await;
    let factor = |works: &[Duration]| {
        let seconds: f64 = works.iter().map(Duration::as_secs_f64).sum();
        seconds / (works.len() * WINDOW) as f64 * f64::from(SAMPLE_RATE)
    };
    let mut later = flash[1..].to_vec();
    later.sort();
    let measured = Measured {
        engine: readiness.engine,
        load_seconds: ready.saturating_sub(readiness.warm_up).as_secs_f64(),
        warm_up_seconds: readiness.warm_up.as_secs_f64(),
        first_window_seconds: flash[0].as_secs_f64(),
        later_window_seconds: later[later.len() / 2].as_secs_f64(),
        flash_real_time_factor: factor(&flash),
        pro_real_time_factor: factor(&pro),
        peak_memory_bytes: peak_memory_bytes(),
    };
    if arguments.json {
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print!("{}", table(&[measured]));
    }
    Ok(())
}

/// Restores so many windows, and gives the model's time for each: at least two.
async fn restore(inference: &Inference, sampler: Sampler, windows: usize) -> Result<Vec<Duration>> {
    let spec = RestoreSpec {
        environment_rank: 0,
        sampler,
        transcript: None,
        channels: 1,
        expected_samples: Some((windows * WINDOW) as u64),
    };
    let mut session = inference.open(spec).await?;
    let mut works = Vec::with_capacity(windows);
    for number in 0..windows {
        works.push(session.restore(vec![sound(number)]).await?.computed);
    }
    // What the samplers hold back to look ahead is part of their work.
    let rest = session.finish().await?.computed;
    if let Some(last) = works.last_mut() {
        *last += rest;
    }
    Ok(works)
}

/// One window of a tone in noise that comes and goes. What it is makes no difference to the time, as long as it is no silence.
fn sound(number: usize) -> Vec<f32> {
    let mut noise = 0x9e37_79b9_u32 ^ (number as u32);
    (0..WINDOW)
        .map(|index| {
            // xorshift32 (Marsaglia, 2003).
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            let time = (number * WINDOW + index) as f32 / SAMPLE_RATE as f32;
            let syllables = (time * 3.0 * std::f32::consts::TAU).sin().max(0.0);
            let tone = (time * 180.0 * std::f32::consts::TAU).sin() * syllables;
            0.2 * tone + 0.02 * (noise as f32 / u32::MAX as f32 - 0.5)
        })
        .collect()
}

fn table(rows: &[Measured]) -> String {
    let mut text = String::new();
    for row in rows {
        let memory =
            row.peak_memory_bytes.map_or("unknown".to_owned(), |bytes| format!("{} MB", bytes / 1_000_000));
        // Writing to a string does not fail.
        writeln!(
            text,
            "{}\n  flash                {:>6.1} times real time\n  pro                  {:>6.1} times real time\n  \
             loaded               {:>6.2} s, warm after {:.2} s more\n  first window of 2 s  {:>6.1} ms, later ones {:.1} ms\n  \
             peak memory          {memory:>9}",
            row.engine,
            1.0 / row.flash_real_time_factor,
            1.0 / row.pro_real_time_factor,
            row.load_seconds,
            row.warm_up_seconds,
            1_000.0 * row.first_window_seconds,
            1_000.0 * row.later_window_seconds,
        )
        .unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_told_in_times_real_time_and_read_back_from_json() {
        let row = Measured {
            engine: "DeepFilterNet3 on X".to_owned(),
            load_seconds: 0.1,
            warm_up_seconds: 0.2,
            first_window_seconds: 0.05,
            later_window_seconds: 0.04,
            flash_real_time_factor: 0.02,
            pro_real_time_factor: 0.08,
            peak_memory_bytes: Some(105_000_000),
        };
        let text = table(std::slice::from_ref(&row));
        for part in
            ["DeepFilterNet3 on X\n", "50.0 times", "12.5 times", "105 MB", "50.0 ms, later ones 40.0 ms"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<Measured>(&json).unwrap(), row);
    }

    #[test]
    fn the_sound_goes_on_from_window_to_window_and_is_never_silence() {
        let (first, second) = (sound(0), sound(1));
        assert!(first.iter().chain(&second).all(|sample| sample.abs() < 0.25));
        assert!((first[WINDOW - 1] - second[0]).abs() < 0.05);
        assert!(second.iter().map(|sample| sample * sample).sum::<f32>() > 100.0);
    }
}
