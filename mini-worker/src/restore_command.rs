//! `mini-worker restore`: the worker's pipeline without any scheduler.

mod compare;
mod inputs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use shared_protocol::{OutputKind, Phase, Sampler, StemFile};
use tokio::sync::mpsc;

use compare::{Comparer, Comparison};
use inputs::Input;

use crate::config::MediaConfig;
use crate::exit;
use crate::inference::{Inference, InferenceConfig};
use crate::job::error::JobError;
use crate::job::held_folders::HeldFolders;
use crate::job::program::MediaPrograms;
use crate::job::publish::{Destination, FolderDestination};
use crate::job::upload::Uploader;
use crate::job::workspace::Workspace;
use crate::job::{Fact, Finished, Job, JobSource, JobTranscript, ProgressModel, Tools, reporter};
use crate::storage::{Bundle, Home};
use crate::transcript::Transcript;

/// Arguments of `mini-worker restore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mini-worker restore talk.mp3 -o cleaned            cleaned/talk/restored.wav, ... and cleaned/talk/hls/index.m3u8
  mini-worker restore *.wav -o cleaned --outputs flac --json
  mini-worker restore interviews -o cleaned --sampler pro --compare
  mini-worker restore talk.wav -o cleaned --transcript talk.vtt --stems")]
pub struct RestoreArgs {
    /// Recordings: anything that ffmpeg reads. Of folders, the recordings in them and below.
    #[arg(required = true, value_name = "FILE_OR_FOLDER")]
    files: Vec<PathBuf>,
    /// Folder for the results: each recording gets a folder of its name in it.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// What to make of each recording.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "wav,flac,mp3,hls")]
    outputs: Vec<Output>,
    /// Also make stems: speech, background and original, as one file each and in parts.
    #[arg(long)]
    stems: bool,
    /// Score each recording before and after, and make a page with both and their spectrograms.
    #[arg(long)]
    compare: bool,
    /// How to restore.
    #[arg(long, value_enum, default_value = "flash")]
    sampler: SamplerChoice,
    /// When words are spoken: JSON of a recogniser, WebVTT or SRT. For one recording.
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Print one JSON object for each recording.
    #[arg(long)]
    json: bool,
    /// Replace results of an earlier run.
    #[arg(long)]
    force: bool,
    /// The program ffmpeg.
    #[arg(long, default_value = "ffmpeg")]
    ffmpeg: PathBuf,
    /// The program ffprobe.
    #[arg(long, default_value = "ffprobe")]
    ffprobe: PathBuf,
    /// Threads that compute one window of the model.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
}

/// How to restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SamplerChoice {
    /// The model hears the recording once.
    Flash,
    /// It hears it three times at different speeds: nearer to the voice, a third of the speed.
    Pro,
}

impl From<SamplerChoice> for Sampler {
    fn from(choice: SamplerChoice) -> Self {
        match choice {
            SamplerChoice::Flash => Self::Flash,
            SamplerChoice::Pro => Self::Pro,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    Wav,
    Flac,
    Mp3,
    Hls,
    Stems,
}

impl From<Output> for OutputKind {
    fn from(output: Output) -> Self {
        match output {
            Output::Wav => Self::Wav,
            Output::Flac => Self::Flac,
            Output::Mp3 => Self::Mp3,
            Output::Hls => Self::Hls,
            Output::Stems => Self::Stems,
        }
    }
}

impl RestoreArgs {
    fn outputs(&self) -> Vec<OutputKind> {
        let mut outputs: Vec<OutputKind> = self.outputs.iter().copied().map(OutputKind::from).collect();
        if self.stems && !outputs.contains(&OutputKind::Stems) {
            outputs.push(OutputKind::Stems);
        }
        outputs
    }
}

/// Runs the command.
pub async fn run(arguments: RestoreArgs) -> ExitCode {
    tokio::select! {
        result = Box::pin(restore_all(&arguments)) => match result {
            Ok(true) => ExitCode::from(exit::DONE),
            Ok(false) => ExitCode::from(exit::FAILED),
            Err(error) => exit::with(exit::NOT_READY, &format_args!("{error:#}")),
        },
        _ = tokio::signal::ctrl_c() => exit::with(exit::INTERRUPTED, &"interrupted; recordings finished before are kept"),
    }
}

/// True when every recording was restored.
async fn restore_all(arguments: &RestoreArgs) -> Result<bool> {
    let inputs = inputs::collect(&arguments.files, &arguments.output)?;
    if arguments.transcript.is_some() && inputs.len() > 1 {
        bail!("a transcript belongs to one recording; restore them one by one");
    }
    let work = WorkFolder::create(&arguments.output)?;
    let workspace = Workspace::open(&work.0)?;
    let tools = prepare(arguments).await?;
    let mut comparer = match arguments.compare {
        true => Some(Comparer::open(&arguments.ffmpeg, &Home::locate()?)?),
        false => None,
    };
    let mut all_restored = true;
    for (index, Input { file, target }) in inputs.iter().enumerate() {
        let mut result = match refuse_to_overwrite(target, arguments.force) {
            Ok(()) => restore_one(arguments, file, target, index, &tools, &workspace).await,
            Err(refusal) => Err(Problem::Refused(refusal)),
        };
        if let (Some(comparer), Ok(restored)) = (&mut comparer, &mut result) {
            let seconds = restored.finished.outcome.audio_seconds;
            match comparer.compare(file, target, seconds).await {
                Ok(comparison) => restored.comparison = Some(comparison),
                Err(error) => {
                    eprintln!("{}: restored, but not compared: {error:#}", file.display());
                    all_restored = false;
                }
            }
        }
        all_restored &= result.is_ok();
        print_result(arguments.json, file, target, &result);
    }
    tools.inference.stop().await;
    Ok(all_restored)
}

async fn prepare(arguments: &RestoreArgs) -> Result<Tools> {
    let media = MediaConfig {
        ffmpeg: arguments.ffmpeg.clone(),
        ffprobe: arguments.ffprobe.clone(),
        ..MediaConfig::default()
    };
    let programs = MediaPrograms::find(&media).await?;
    let bundle = Bundle::open(&Home::locate()?)?;
    let config = InferenceConfig { threads: arguments.threads.into(), ..InferenceConfig::default() };
    let (inference, _) = Inference::start(bundle, config).await?;
    Ok(Tools {
        programs,
        inference,
        uploader: Uploader::default(),
        held_folders: HeldFolders::new(&arguments.output),
        desk: None,
        max_audio_minutes: media.max_audio_minutes,
    })
}

enum Problem {
    Refused(String),
    Job(JobError),
}

async fn restore_one(
    arguments: &RestoreArgs,
    file: &Path,
    target: &Path,
    index: usize,
    tools: &Tools,
    workspace: &Workspace,
) -> Result<Restored, Problem> {
    let transcript = match arguments.transcript.as_deref() {
        Some(path) => {
            let transcript = Transcript::read(path).map_err(|error| Problem::Refused(error.to_string()))?;
            JobTranscript::Known(Arc::new(transcript))
        }
        None => JobTranscript::Unknown,
    };
    let job = Job {
        folder_name: format!("file-{index}"),
        environment_rank: 0,
        sampler: arguments.sampler.into(),
        transcript,
        source: JobSource::File(file.to_path_buf()),
        outputs: arguments.outputs(),
        destination: Destination::Folder(FolderDestination::new(target)),
    };
    let (reporter, facts) = reporter();
    let bar = progress_bar(arguments.json, file);
    let watching = watch(facts, &bar);
    let working = async {
        let result = crate::job::run(&job, tools, workspace, &reporter).await;
        // The watcher ends when the last reporter is gone.
        drop(reporter);
        result
    };
    let (result, ()) = tokio::join!(working, watching);
    bar.finish_and_clear();
    let mut finished = result.map_err(Problem::Job)?;
    let stems = match finished.left.stems.take() {
        Some(stems) => stems.publish().await.map_err(Problem::Job)?,
        None => Vec::new(),
    };
    Ok(Restored { finished, stems, comparison: None })
}

/// What was made of a recording.
struct Restored {
    finished: Finished,
    stems: Vec<StemFile>,
    comparison: Option<Comparison>,
}

/// Shows facts until the job has no more.
async fn watch(mut facts: mpsc::Receiver<Fact>, bar: &ProgressBar) {
    let started = Instant::now();
    let mut model = ProgressModel::default();
    while let Some(fact) = facts.recv().await {
        let update = model.take(fact);
        bar.set_position((update.fraction * 1000.0) as u64);
        let words = match (update.phase, update.audio_seconds) {
            (Phase::Downloading | Phase::PreparingAudio, _) => "preparing".to_owned(),
            (Phase::Restoring, Some(seconds)) => {
                let speed = seconds * update.fraction / started.elapsed().as_secs_f64().max(0.001);
                format!("restoring, {speed:.0} times faster than real time")
            }
            (Phase::Restoring, None) => "restoring".to_owned(),
            (Phase::Publishing, _) => "writing files".to_owned(),
        };
        bar.set_message(words);
    }
}

fn progress_bar(json: bool, file: &Path) -> ProgressBar {
    if json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{prefix}  [{bar:30}] {percent:>3} %  {msg}")
        .expect("the template has only known keys")
        .progress_chars("=> ");
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    ProgressBar::new(1000).with_style(style).with_prefix(name)
}

/// Results of an earlier run are replaced only when that was asked for.
fn refuse_to_overwrite(target: &Path, force: bool) -> Result<(), String> {
    let there = ["restored.wav", "restored.flac", "restored.mp3", "hls", "stems", "compare"]
        .map(|name| target.join(name))
        .into_iter()
        .find(|path| path.exists());
    match there {
        Some(path) if !force => {
            Err(format!("{} is there already: choose another folder, or use --force", path.display()))
        }
        Some(_) => {
            remove_results(target).map_err(|error| format!("cannot replace the earlier results: {error}"))
        }
        None => Ok(()),
    }
}

/// Removes what an earlier run made, and nothing else: a segment left over would be one of another recording.
fn remove_results(target: &Path) -> std::io::Result<()> {
    for name in ["restored.wav", "restored.flac", "restored.mp3", "hls/index.m3u8", "hls/init.mp4"] {
        match std::fs::remove_file(target.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for name in compare::FILES {
        match std::fs::remove_file(target.join("compare").join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let Ok(entries) = std::fs::read_dir(target.join("hls")) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("seg-") && name.ends_with(".m4s") {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn print_result(json: bool, file: &Path, target: &Path, result: &Result<Restored, Problem>) {
    if json {
        println!("{}", as_json(file, target, result));
        return;
    }
    match result {
        Ok(Restored { finished, comparison, .. }) => {
            let outcome = &finished.outcome;
            let end = outcome.timings.iter().map(|timing| timing.end_ms.0).max().unwrap_or(0) as f64 / 1000.0;
            println!(
                "{}: restored {:.1} s of audio in {end:.1} s (the model alone is {:.0} times faster than real time)",
                file.display(),
                outcome.audio_seconds,
                1.0 / outcome.real_time_factor.max(1e-6),
            );
            println!("    {}", target.display());
            if let Some(Comparison { before, after, page }) = comparison {
                println!(
                    "    estimated opinion (1 to 5): whole {:.2} -> {:.2}, speech {:.2} -> {:.2}, background {:.2} -> {:.2}",
                    before.overall,
                    after.overall,
                    before.signal,
                    after.signal,
                    before.background,
                    after.background
                );
                println!("    {}", page.display());
            }
        }
        Err(Problem::Refused(reason)) => eprintln!("{}: {reason}", file.display()),
        Err(Problem::Job(error)) => {
            eprintln!("{}: {error}\n    {}", file.display(), error.code().advice());
        }
    }
}

fn as_json(file: &Path, target: &Path, result: &Result<Restored, Problem>) -> serde_json::Value {
    let file = file.display().to_string();
    match result {
        Ok(Restored { finished, stems, comparison }) => serde_json::json!({
            "file": file,
            "ok": true,
            "folder": target.display().to_string(),
            "outcome": finished.outcome,
            "segments": finished.segments,
            "stems": stems,
            "comparison": comparison,
        }),
        Err(Problem::Refused(reason)) => serde_json::json!({ "file": file, "ok": false, "error": reason }),
        Err(Problem::Job(error)) => serde_json::json!({
            "file": file,
            "ok": false,
            "failure": error.to_failure(),
            "advice": error.code().advice(),
        }),
    }
}

/// Beside the results, so that finished files are moved and not copied. Removed at the end.
struct WorkFolder(PathBuf);

impl WorkFolder {
    fn create(output: &Path) -> Result<Self> {
        let path = output.join(format!(".minifleet-work-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the folder {}", output.display()))?;
        Ok(Self(path))
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "the work folder could not be removed");
        }
    }
}
