//! `mini-worker run`: works for the schedulers of the configuration until it is told to stop.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::config::{Config, ScorerConfig};
use crate::inference::{Inference, InferenceConfig};
use crate::job::Tools;
use crate::job::held_folders::HeldFolders;
use crate::job::program::MediaPrograms;
use crate::job::upload::Uploader;
use crate::job::workspace::Workspace;
use crate::scorer::{Desk, Scorer, ScorerModel};
use crate::session::Worker;
use crate::shutdown::Signals;
use crate::storage::{Bundle, Home, bundle};
use crate::{disk, exit, metrics};

/// Arguments of `mini-worker run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Signals: the first SIGTERM or SIGINT drains (running jobs are finished, no new ones taken), a
second one hands the jobs back to the scheduler, a third one ends at once.

Examples:
  MINIFLEET_WORKER_KEY=... mini-worker run --config /etc/minifleet/worker.toml
  mini-worker --log json run"
)]
pub struct RunArgs {
    /// The configuration; default: worker.toml in $MINIFLEET_HOME.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What is known before anything is started.
#[derive(Debug)]
pub struct Prepared {
    config: Config,
    home: Home,
}

/// Reads the configuration, and points `TMPDIR` into the work folder, where what is left behind is swept.
///
/// # Errors
/// The exit code; what is wrong was told.
///
/// # Safety
/// No other thread runs yet.
pub unsafe fn prepare(arguments: RunArgs) -> Result<Prepared, ExitCode> {
    let home = Home::locate().map_err(|error| exit::with(exit::NOT_READY, &error))?;
    let path = arguments.config.unwrap_or_else(|| home.root().join("worker.toml"));
    let config = Config::load(&path, home.root()).map_err(|error| exit::with(exit::CONFIGURATION, &error))?;
    let temporary = Workspace::temporary_folder(&config.work_folder)
        .map_err(|error| exit::with(exit::NOT_READY, &format_args!("cannot use the work folder: {error}")))?;
    // SAFETY: the caller says that no other thread runs, so none reads the environment meanwhile.
    unsafe { std::env::set_var("TMPDIR", temporary) };
    Ok(Prepared { config, home })
}

/// Runs the command.
pub async fn run(prepared: Prepared) -> ExitCode {
    let Prepared { config, home } = prepared;
    match Box::pin(work(&config, home)).await {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(error) => exit::with(exit::NOT_READY, &format_args!("{error:#}")),
    }
}

/// Connects only when the model is loaded and warm: whoever is connected can work.
async fn work(config: &Config, home: Home) -> Result<()> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let (worker, inference) = tokio::select! {
        made = Box::pin(make_ready(config, home)) => made?,
        () = signals.next() => return Ok(()),
    };
    let watching = AbortOnDropHandle::new(tokio::spawn(disk::watch(config.work_folder.clone())));
    let uploader = worker.uploader();
    let serving = match config.metrics_listen {
        Some(address) => {
            let listener = TcpListener::bind(address).await;
            let listener = listener.with_context(|| format!("cannot serve metrics on {address}"))?;
            tracing::info!(%address, "metrics are served under /metrics");
            let (metrics, inference) = (worker.metrics(), inference.clone());
            let page = move || metrics.render(&inference, &uploader);
            Some(AbortOnDropHandle::new(tokio::spawn(metrics::serve(listener, page))))
        }
        None => None,
    };
    worker.run(signals).await;
    drop((watching, serving));
    inference.stop().await;
    tracing::info!("stopped");
    Ok(())
}

async fn make_ready(config: &Config, home: Home) -> Result<(Worker, Inference)> {
    let workspace = Workspace::open(&config.work_folder)?;
    let programs = MediaPrograms::find(&config.media).await?;
    if !programs.mp3 {
        tracing::warn!("this ffmpeg cannot write MP3: jobs that ask for it fail");
    }
    let home = config.model_home.as_ref().map_or(home, Home::at);
    let mut bundle = Bundle::open(&home)?;
    if let Some(library) = &config.onnxruntime {
        bundle = bundle.with_runtime(library.clone());
    }
    let runtime = bundle.runtime().clone();
    let inference_config = InferenceConfig {
        threads: config.inference_threads,
        scheduling: config.scheduling,
        selection: config.selection,
        ..InferenceConfig::default()
    };
    let (inference, readiness) = Inference::start(bundle, inference_config).await?;
    tracing::info!(
        worker = %config.worker_id,
        slots = config.slots,
        engine = readiness.engine,
        real_time_factor = readiness.real_time_factor,
        pro_real_time_factor = readiness.pro_real_time_factor,
        engine_memory_bytes = readiness.memory_bytes,
        load = ?readiness.load,
        warm_up = ?readiness.warm_up,
        ffmpeg = programs.version,
        "ready"
    );
    let desk = start_desk(config, &home, runtime).await?;
    let tools = Tools {
        desk,
        programs,
        inference: inference.clone(),
        uploader: Uploader::with_sizes(config.upload_sizes),
        held_folders: HeldFolders::new(&config.work_folder),
        max_audio_minutes: config.media.max_audio_minutes,
    };
    let worker = Worker::new(config, &readiness.engine, tools, workspace)
        .with_context(|| format!("cannot use the state folder {}", config.state_folder.display()))?;
    Ok((worker, inference))
}

/// The scorer, when there is to be one. It has its own copy of nothing but its network: the runtime is the model's.
async fn start_desk(config: &Config, home: &Home, runtime: PathBuf) -> Result<Option<Desk>> {
    let model = match &config.scorer {
        ScorerConfig::Off => return Ok(None),
        ScorerConfig::BuiltIn => ScorerModel::dnsmos(bundle::scorer(home)?),
        ScorerConfig::Own(model) => model.clone(),
    };
    let started = Desk::start(move || Scorer::load(model, &runtime)).await;
    let (desk, readiness) =
        started.context("cannot start the scorer; `[scorer] enabled = false` goes without")?;
    tracing::info!(scorer = readiness.name, load = ?readiness.load, warm_up = ?readiness.warm_up, "completed jobs are scored");
    Ok(Some(desk))
}
