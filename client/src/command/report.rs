//! What is told when the work is done: a document for programs, text for people.

use std::path::PathBuf;
use std::time::Duration;

use minifleet_client::files::JobFile;
use minifleet_client::jobs::{Job, JobState};
use minifleet_client::playback::PlaybackLink;
use serde::Serialize;
use serde_json::Value;
use shared_protocol::JobId;

use super::exit::{Exit, Failure};
use super::table::{Align, Table};
use super::text;

/// How one recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Restored,
    /// The job failed.
    Failed,
    /// The job was cancelled, by Ctrl-C or by somebody else.
    Cancelled,
    /// Stopped by Ctrl-C while there was no job to cancel.
    Interrupted,
    /// The way to the job or from it failed.
    Error,
}

impl Outcome {
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Restored => "restored",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
            Outcome::Interrupted => "interrupted",
            Outcome::Error => "error",
        }
    }
}

/// Bytes that went over the line, and how long it took.
#[derive(Debug, Clone, Serialize)]
pub struct Transfer {
    pub bytes: u64,
    pub seconds: f64,
}

/// A result that lies on this machine.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WrittenFile {
    pub name: String,
    pub path: PathBuf,
    pub size: u64,
    pub sha256: Option<String>,
}

impl WrittenFile {
    pub fn of(file: &JobFile, path: PathBuf) -> Self {
        WrittenFile { name: file.name.clone(), path, size: file.size, sha256: file.sha256.clone() }
    }
}

/// What became of one recording.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreResult {
    pub file: String,
    pub outcome: Outcome,
    pub job_id: Option<JobId>,
    pub files: Vec<WrittenFile>,
    pub listen: Option<PlaybackLink>,
    pub upload: Option<Transfer>,
    /// From queueing to the start of the attempt.
    pub queue_seconds: Option<f64>,
    /// From queueing to the first audio that could be played, by the service's clock.
    pub first_audio_seconds: Option<f64>,
    pub download: Option<Transfer>,
    /// From the command's turn to this recording's end, waiting for its turn included.
    pub total_seconds: f64,
    /// The job as it was last seen, with its timings and its real-time factor.
    pub job: Option<Job>,
    pub error: Option<Value>,
    #[serde(skip)]
    exit: Exit,
}

impl RestoreResult {
    pub fn new(file: &str) -> Self {
        RestoreResult {
            file: file.to_owned(),
            outcome: Outcome::Error,
            job_id: None,
            files: Vec::new(),
            listen: None,
            upload: None,
            queue_seconds: None,
            first_audio_seconds: None,
            download: None,
            total_seconds: 0.0,
            job: None,
            error: None,
            exit: Exit::Ok,
        }
    }

    /// How it ended if it did not end well: by its job, or around it.
    pub fn outcome_of_failure(&self) -> Outcome {
        match self.job.as_ref().map(|job| job.state) {
            Some(JobState::Failed | JobState::Quarantined) => Outcome::Failed,
            Some(JobState::Cancelled) => Outcome::Cancelled,
            _ => Outcome::Error,
        }
    }

    pub fn fail(&mut self, failure: &Failure) {
        self.exit = failure.exit();
        self.error = Some(failure.document());
    }

    pub fn finish(&mut self, outcome: Outcome, total: Duration) {
        self.outcome = outcome;
        self.total_seconds = total.as_secs_f64();
        let in_seconds =
            |of: fn(&Job) -> Option<Duration>| self.job.as_ref().and_then(of).map(|d| d.as_secs_f64());
        self.queue_seconds = in_seconds(Job::queue_wait);
        self.first_audio_seconds = in_seconds(Job::time_to_first_audio);
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    pub fn error_message(&self) -> Option<&str> {
        self.error.as_ref()?.get("message")?.as_str()
    }
}

/// The document of `minifleet restore --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreDocument<'a> {
    pub results: &'a [RestoreResult],
    pub exit_code: u8,
}

/// For people: one recording in detail, several as a table.
pub fn render(results: &[RestoreResult]) -> String {
    match results {
        [one] => render_one(one),
        many => render_many(many),
    }
}

/// The bare answer: paths, or links where nothing was downloaded.
pub fn render_quiet(results: &[RestoreResult]) -> String {
    let mut lines = String::new();
    for result in results {
        match (&result.files[..], &result.listen) {
            ([], Some(link)) => lines.extend([link.page.as_str(), "\n"]),
            (files, _) => {
                for file in files {
                    lines.push_str(&format!("{}\n", file.path.display()));
                }
            }
        }
    }
    lines
}

fn render_one(result: &RestoreResult) -> String {
    let mut output = headline(result);
    output.push_str(&places(result));
    if let Some(job) = &result.job {
        let timings = phase_table(result, job);
        if !timings.is_empty() {
            output.push('\n');
            output.push_str(&timings);
        }
    }
    output
}

fn headline(result: &RestoreResult) -> String {
    let job = result.job_id.as_ref().map(|job_id| format!(" ({job_id})")).unwrap_or_default();
    match result.error_message() {
        None => format!("{}: {}{job}\n", result.file, result.outcome.label()),
        Some(message) => format!("{}: {}{job}: {message}\n", result.file, result.outcome.label()),
    }
}

/// Where the results are and where to listen.
fn places(result: &RestoreResult) -> String {
    let mut output = String::new();
    if !result.files.is_empty() {
        let mut files = Table::new(&[("", Align::Left), ("", Align::Right)]);
        for file in &result.files {
            files.row([file.path.display().to_string(), text::bytes(file.size)]);
        }
        output.push_str(&files.render());
    }
    // Of a job that did not end well there is not everything to hear; `minifleet listen` still gives the link.
    if let Some(link) = result.listen.as_ref().filter(|_| result.outcome == Outcome::Restored) {
        output.push_str(&format!("  listen: {} ({})\n", link.page, text::until(link.expires_at_ms)));
    }
    output
}

/// How long each phase took, and the figures that follow from it.
fn phase_table(result: &RestoreResult, job: &Job) -> String {
    let here = "this machine";
    let worker = job.worker.as_deref().unwrap_or("worker");
    let mut table = Table::new(&[("phase", Align::Left), ("where", Align::Left), ("took", Align::Right)]);
    let mut row = |phase: &str, place: &str, took: f64| {
        table.row([phase.to_owned(), place.to_owned(), text::seconds(took)]);
    };
    if let Some(upload) = &result.upload {
        row("upload", here, upload.seconds);
    }
    if let Some(queue) = result.queue_seconds {
        row("queue", "service", queue);
    }
    // The first segment is a moment within the phases, and shown as the first audio below.
    for (phase, took) in job.time_by_phase().into_iter().filter(|(phase, _)| phase != "first_segment") {
        row(&phase.replace('_', " "), worker, took.as_secs_f64());
    }
    if let Some(download) = &result.download {
        row("download", here, download.seconds);
    }
    let mut output = table.render();

    let mut figures = Table::new(&[("", Align::Left), ("", Align::Left)]);
    let mut figure = |name: &str, value: String| figures.row([name.to_owned(), value]);
    if let Some(audio) = job.audio_seconds {
        figure("audio", text::seconds(audio));
    }
    if let Some(first) = result.first_audio_seconds {
        figure("first audio", format!("{} after the upload", text::seconds(first)));
    }
    if result.total_seconds > 0.0 {
        figure("total", text::seconds(result.total_seconds));
    }
    if let Some(factor) = job.real_time_factor {
        figure("real-time factor", text::real_time_factor(factor));
    }
    let figures = figures.render();
    if !figures.is_empty() {
        let overlap = if job.timings.len() > 1 { "  (phases of a worker overlap)\n" } else { "" };
        output.push_str(&format!("{overlap}\n{figures}"));
    }
    output
}

/// The phases of a job that this command has not restored itself.
pub fn render_job_phases(job: &Job) -> String {
    let mut result = RestoreResult::new(&job.name);
    result.finish(Outcome::Restored, Duration::ZERO);
    result.queue_seconds = job.queue_wait().map(|wait| wait.as_secs_f64());
    result.first_audio_seconds = job.time_to_first_audio().map(|time| time.as_secs_f64());
    phase_table(&result, job)
}

fn render_many(results: &[RestoreResult]) -> String {
    let mut table = Table::new(&[
        ("file", Align::Left),
        ("result", Align::Left),
        ("upload", Align::Right),
        ("queue", Align::Right),
        ("first audio", Align::Right),
        ("download", Align::Right),
        ("total", Align::Right),
        ("real-time factor", Align::Right),
    ]);
    let seconds = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), text::seconds);
    for result in results {
        table.row([
            result.file.clone(),
            result.outcome.label().to_owned(),
            seconds(result.upload.as_ref().map(|transfer| transfer.seconds)),
            seconds(result.queue_seconds),
            seconds(result.first_audio_seconds),
            seconds(result.download.as_ref().map(|transfer| transfer.seconds)),
            text::seconds(result.total_seconds),
            result
                .job
                .as_ref()
                .and_then(|job| job.real_time_factor)
                .map_or("-".to_owned(), |f| format!("{f:.3}")),
        ]);
    }
    let details: String = results.iter().map(|result| headline(result) + &places(result)).collect();
    format!("{details}\n{}", table.render())
}
