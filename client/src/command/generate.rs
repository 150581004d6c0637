//! `minifleet generate`: a project of one recording, followed until its audio and its transcript are there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use minifleet_client::projects::{Generation, NewGeneration, NewProject, Project, TranscriptMode};
use minifleet_client::source::Source;
use serde_json::json;
use shared_protocol::{ProjectId, Transcript};

use super::args::GenerateArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::inputs::result_name;
use super::pipeline::make_folder;
use super::progress::{Event, Reporter, Track};
use super::text;

/// Makes a project of a recording, or takes one up again, and waits for a generation of it.
pub async fn run(context: &Context, args: &GenerateArgs) -> Result<Exit, Failure> {
    let transcript = args.transcript_file.as_deref().map(read_transcript).transpose()?;
    if !args.no_download {
        make_folder(&args.output).await?;
    }
    let label = args.file.display().to_string();
    let mut track = Reporter::new(context.progress, [label.as_str()].into_iter()).track(&label);
    let project = uploaded(context, args, &mut track).await?;
    let id = &project.project_id;
    if let Some(transcript) = &transcript {
        context.client.put_transcript(id, transcript).await?;
    }
    let mode = match (args.transcript, &transcript) {
        (Some(mode), _) => mode,
        (None, Some(_)) => TranscriptMode::Given,
        (None, None) => TranscriptMode::None,
    };
    let new = NewGeneration {
        sampler: args.sampler,
        transcript: mode,
        outputs: args.outputs.clone(),
        priority: args.priority,
        ..NewGeneration::default()
    };
    let generation = context.client.generate(id, &new).await?;
    track.report(&Event::Note(&format!("generation {} of project {id}", generation.generation_id)));
    let generation = followed(context, id, generation, &mut track).await?;
    let paths = match args.no_download {
        true => Vec::new(),
        false => fetched(context, args, &generation, &mut track).await?,
    };
    track.report(&Event::Ended { outcome: &generation.state, message: None });
    let files = || paths.iter().map(|path| format!("{}\n", path.display())).collect::<String>();
    let document = json!({ "project": project, "generation": generation, "files": paths });
    context.answer(&document, || format!("{}{}", render(&generation), files()), files)?;
    match (&generation.failure, generation.state.as_str()) {
        (_, "completed") => Ok(Exit::Ok),
        (Some(failure), _) => {
            let advice = failure.advice.as_deref().unwrap_or_default();
            let message = format!("{} ({}). {advice}", failure.message.trim_end_matches('.'), failure.code);
            Err(Failure::Own { exit: Exit::JobFailed, code: "generation_failed", message })
        }
        (None, _) => Ok(Exit::JobFailed),
    }
}

/// The project, with its recording in the service.
async fn uploaded(context: &Context, args: &GenerateArgs, track: &mut Track) -> Result<Project, Failure> {
    track.report(&Event::Reading);
    let source = Source::read(&args.file).await.map_err(minifleet_client::Error::from)?;
    let id = match &args.project {
        Some(id) => id.clone(),
        None => {
            let new = NewProject { language: args.language.clone(), ..NewProject::of(&source) };
            context.client.create_project(&new).await?.project_id
        }
    };
    // Whoever is interrupted goes on with it: only what is missing is sent.
    track.report(&Event::Note(&format!("project {id}; if this is interrupted, go on with --project {id}")));
    let began = Instant::now();
    let project = context
        .client
        .put_recording(&id, &source, |progress| track.report(&Event::Uploading(progress)))
        .await?;
    let (upload_id, took) = (&project.upload.upload_id, began.elapsed());
    track.report(&Event::Uploaded { upload_id, bytes: source.size, took });
    Ok(project)
}

/// Follows a generation to its end.
async fn followed(
    context: &Context,
    project: &ProjectId,
    mut generation: Generation,
    track: &mut Track,
) -> Result<Generation, Failure> {
    let client = &context.client;
    let mut follower = client.follow(project, None);
    while !generation.has_ended() {
        let event = follower.next().await?;
        if event.name == "progress" {
            track.report(&Event::Job(&client.job(&generation.job_id).await?));
            continue;
        }
        if event.data["generation"]["generationId"] != generation.generation_id.as_str() {
            continue;
        }
        let state = event.data["generation"]["state"].as_str().unwrap_or_default().replace('_', " ");
        track.report(&Event::Note(&text::printable(&state)));
        // What an event says may be old; what counts is how it is now.
        generation = client.generation(project, &generation.generation_id).await?;
    }
    Ok(generation)
}

/// Fetches the files, and the transcript that the generation was joined with.
async fn fetched(
    context: &Context,
    args: &GenerateArgs,
    generation: &Generation,
    track: &mut Track,
) -> Result<Vec<PathBuf>, Failure> {
    let client = &context.client;
    let mut paths = Vec::new();
    if generation.audio.state != "ready" {
        return Ok(paths);
    }
    let stem = args.file.file_stem().unwrap_or(OsStr::new("recording"));
    for file in client.job_files(&generation.job_id).await? {
        let path = args.output.join(result_name(stem, &file.name));
        client
            .download(&file, &path, |progress| {
                track.report(&Event::Downloading { name: &file.name, progress });
            })
            .await?;
        track.report(&Event::Downloaded { name: &file.name, path: &path });
        paths.push(path);
    }
    if let Some(version) = generation.transcript.version {
        let transcript = client.transcript(&generation.project_id, Some(version)).await?;
        let path = args.output.join(result_name(stem, "transcript.json"));
        let text = serde_json::to_vec_pretty(&transcript).map_err(std::io::Error::from);
        let written = match text {
            Ok(text) => tokio::fs::write(&path, text).await,
            Err(error) => Err(error),
        };
        written.map_err(|error| Failure::local(&format!("write {}", path.display()), &error))?;
        paths.push(path);
    }
    Ok(paths)
}

/// A transcript of a file: JSON with `text` and `words`, or a plain text.
fn read_transcript(path: &Path) -> Result<Transcript, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::local(&format!("read {}", path.display()), &error))?;
    let transcript = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    } else {
        Ok(Transcript { text, ..Transcript::default() })
    };
    let checked =
        transcript.and_then(|transcript: Transcript| transcript.checked().map_err(|e| e.to_string()));
    checked.map_err(|reason| {
        let message = format!("{}: the transcript {reason}", path.display());
        Failure::usage("transcript_unusable", message)
    })
}

fn render(generation: &Generation) -> String {
    let seconds = generation.audio.audio_seconds.map_or(String::new(), |seconds| format!(", {seconds:.1} s"));
    let transcript = match generation.transcript.version {
        Some(version) => format!(", transcript version {version}"),
        None => String::new(),
    };
    format!(
        "{}: {}{seconds}{transcript}\n",
        generation.generation_id,
        text::printable(&generation.state.replace('_', " "))
    )
}
