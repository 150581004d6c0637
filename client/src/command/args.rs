//! The command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use minifleet_client::jobs::JobFilter;
use minifleet_client::projects::TranscriptMode;
use shared_protocol::{JobId, OutputKind, Priority, ProjectId, Sampler};

use super::admin::args::AdminCommand;
use super::exit;
use super::webhooks::WebhooksCommand;

/// Restore recordings of speech on a fleet of workers.
#[derive(Debug, Parser)]
#[command(name = "minifleet", version, after_help = exit::help(), max_term_width = 110)]
pub struct Args {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Valid with every command.
#[derive(Debug, ClapArgs)]
pub struct GlobalArgs {
    /// Address of the service [default: $MINIFLEET_URL, else a profile; the key is $MINIFLEET_API_KEY or the profile's]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// Print one JSON document on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no progress and no tables, only the paths of written files or the bare answer
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// How progress is shown on standard error
    #[arg(long, global = true, value_enum, default_value_t, value_name = "HOW")]
    pub progress: ProgressMode,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProgressMode {
    /// Bars on a terminal, else lines
    #[default]
    Auto,
    /// Bars
    Bars,
    /// One line for each change of state
    Plain,
    /// One JSON object a line
    Json,
    /// Nothing
    None,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Upload recordings, wait for them, download the results
    Restore(RestoreArgs),
    /// Make a project of one recording: restored audio and, if wanted, a transcript
    Generate(GenerateArgs),
    /// List projects, newest first
    Projects(ProjectsArgs),
    /// Show one project and its generations
    Project(ProjectArgs),
    /// Show the queue and the workers
    Status,
    /// Show one job
    Job(OneJobArgs),
    /// List jobs, newest first
    Jobs(JobsArgs),
    /// Cancel jobs
    Cancel(CancelArgs),
    /// List or download the files of a job
    Files(FilesArgs),
    /// Print a link for listening to a job
    Listen(ListenArgs),
    /// Show what was charged in a month
    Usage(UsageArgs),
    /// Be told what happens to your jobs, by HTTP: your tenant's webhooks
    Webhooks {
        #[command(subcommand)]
        command: WebhooksCommand,
    },
    /// Operate the service: queue, workers, tenants, jobs of all tenants [key: $MINIFLEET_ADMIN_KEY, else the profile's admin_key]
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
}

#[derive(Debug, ClapArgs)]
pub struct RestoreArgs {
    /// Recordings: audio or video
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the results go
    #[arg(long, short = 'o', value_name = "DIR", default_value = "restored")]
    pub output: PathBuf,
    /// Take the recordings inside folders, and inside theirs
    #[arg(long, short)]
    pub recursive: bool,
    /// How to restore: flash or pro [default: the service's]
    #[arg(long, value_parser = vocabulary::<Sampler>)]
    pub sampler: Option<Sampler>,
    /// What to make: wav, flac, mp3 [default: these], stems. The stream for listening is always made
    #[arg(long, value_delimiter = ',', value_parser = vocabulary::<OutputKind>, value_name = "KINDS")]
    pub outputs: Vec<OutputKind>,
    /// Class in the queue: high, normal or low
    #[arg(long, value_parser = vocabulary::<Priority>)]
    pub priority: Option<Priority>,
    /// A text of your own that stays with the job; may be repeated
    #[arg(long, value_parser = key_and_value, value_name = "KEY=VALUE")]
    pub metadata: Vec<(String, String)>,
    /// Not to be started before so many minutes from now
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=43_200), value_name = "MINUTES")]
    pub start_in: Option<u64>,
    /// A label that the worker has to have; may be repeated
    #[arg(long = "label", value_name = "LABEL")]
    pub labels: Vec<String>,
    /// Length of each recording in seconds, as far as you know it; otherwise it is guessed from the size
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=86_400), value_name = "SECONDS")]
    pub expected_seconds: Option<u32>,
    /// Leave the results on the service
    #[arg(long)]
    pub no_download: bool,
    /// Open the listening page as soon as there is something to hear
    #[arg(long)]
    pub open: bool,
    /// How many files are transferred at a time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=32), value_name = "N")]
    pub parallel: u16,
}

#[derive(Debug, ClapArgs)]
pub struct GenerateArgs {
    /// Recording: audio or video
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Go on with this project: send what is missing of its recording, or ask for one more generation
    #[arg(long, value_name = "ID")]
    pub project: Option<ProjectId>,
    /// Where the results go
    #[arg(long, short = 'o', value_name = "DIR", default_value = "restored")]
    pub output: PathBuf,
    /// How to restore: flash or pro [default: the service's]
    #[arg(long, value_parser = vocabulary::<Sampler>)]
    pub sampler: Option<Sampler>,
    /// What to make: wav, flac, mp3 [default: these], stems
    #[arg(long, value_delimiter = ',', value_parser = vocabulary::<OutputKind>, value_name = "KINDS")]
    pub outputs: Vec<OutputKind>,
    /// Class in the queue: high, normal or low
    #[arg(long, value_parser = vocabulary::<Priority>)]
    pub priority: Option<Priority>,
    /// Whether a transcript belongs to it: none, given (by you) or required (made by the service's recogniser) [default: none,
    /// or given with --transcript-file]
    #[arg(long, value_parser = vocabulary::<TranscriptMode>, value_name = "MODE")]
    pub transcript: Option<TranscriptMode>,
    /// Your transcript: JSON with "text" and "words" (each "word", "start", "end" in seconds), or a plain text
    #[arg(long, value_name = "FILE")]
    pub transcript_file: Option<PathBuf>,
    /// Language of the recording, such as en: a hint for the recogniser
    #[arg(long, value_name = "TAG")]
    pub language: Option<String>,
    /// Leave the results on the service
    #[arg(long)]
    pub no_download: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ProjectsArgs {
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200), value_name = "N")]
    pub limit: u32,
}

#[derive(Debug, ClapArgs)]
pub struct ProjectArgs {
    /// Id of the project
    #[arg(value_name = "ID")]
    pub project_id: ProjectId,
}

#[derive(Debug, ClapArgs)]
pub struct OneJobArgs {
    /// Id of the job
    #[arg(value_name = "ID")]
    pub job_id: JobId,
}

#[derive(Debug, ClapArgs)]
pub struct JobsArgs {
    /// Which jobs
    #[arg(long, value_enum, default_value_t)]
    pub state: StateFilter,
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    pub limit: u32,
}

/// Which jobs to list.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum StateFilter {
    /// Every job
    #[default]
    All,
    /// Jobs that have not ended
    Live,
    /// Jobs that have ended
    Ended,
}

impl From<StateFilter> for JobFilter {
    fn from(filter: StateFilter) -> Self {
        match filter {
            StateFilter::All => JobFilter::All,
            StateFilter::Live => JobFilter::Live,
            StateFilter::Ended => JobFilter::Ended,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct CancelArgs {
    /// Ids of the jobs
    #[arg(required = true, value_name = "ID")]
    pub job_ids: Vec<JobId>,
}

#[derive(Debug, ClapArgs)]
pub struct FilesArgs {
    /// Id of the job
    #[arg(value_name = "ID")]
    pub job_id: JobId,
    /// Only these files, such as restored.wav
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Download them
    #[arg(long, short)]
    pub download: bool,
    /// Where they go
    #[arg(long, short = 'o', value_name = "DIR", default_value = "restored", requires = "download")]
    pub output: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct ListenArgs {
    /// Id of the job
    #[arg(value_name = "ID")]
    pub job_id: JobId,
    /// For how many hours the link works, up to 168, a week [default: the service's]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=168))]
    pub hours: Option<u64>,
    /// Open it in the browser
    #[arg(long)]
    pub open: bool,
}

#[derive(Debug, ClapArgs)]
pub struct UsageArgs {
    /// Which month in UTC, such as 2026-11 [default: this one]
    #[arg(long, value_name = "MONTH")]
    pub month: Option<String>,
    /// How many generations to list at most, the latest charged first
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    pub limit: u32,
}

/// Reads a word of the shared vocabulary; its own complaint lists the words that there are.
fn vocabulary<T: serde::de::DeserializeOwned>(word: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).map_err(|error| error.to_string())
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn words_of_the_vocabulary_are_read_and_others_are_explained() {
        assert_eq!(vocabulary::<Sampler>("pro"), Ok(Sampler::Pro));
        let error = vocabulary::<OutputKind>("ogg").expect_err("not an output");
        assert!(error.contains("ogg") && error.contains("flac"), "{error}");
    }
}
