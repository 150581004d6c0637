//! `minifleet files`: what a job has left, and fetching it.

use std::ffi::OsStr;
use std::path::Path;

use minifleet_client::files::{JobFile, Stems};
use serde_json::json;

use super::args::FilesArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::inputs::result_name;
use super::pipeline::make_folder;
use super::progress::{Event, Reporter};
use super::report::WrittenFile;
use super::table::{Align, Table};
use super::text;

pub async fn run(context: &Context, args: &FilesArgs) -> Result<Exit, Failure> {
    let outputs = context.client.job_outputs(&args.job_id).await?;
    let stems = outputs.stems.iter().flat_map(Stems::masters).cloned();
    let all = outputs.files.into_iter().chain(stems).collect();
    let files = select(all, &args.names)?;
    if args.download {
        return download(context, args, &files).await;
    }
    let names = || files.iter().map(|file| format!("{}\n", text::printable(&file.name))).collect();
    context.answer(&json!({ "jobId": args.job_id, "files": files }), || render(&files), names)?;
    Ok(Exit::Ok)
}

/// The files of these names, or all; a name that is not there is said with those that are.
fn select(files: Vec<JobFile>, names: &[String]) -> Result<Vec<JobFile>, Failure> {
    let missing: Vec<&str> = names
        .iter()
        .filter(|name| files.iter().all(|file| file.name != **name))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let there: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let there = if there.is_empty() {
            "it has no files yet".to_owned()
        } else {
            format!("it has {}", there.join(", "))
        };
        return Err(nothing(format!("the job has no file {}: {there}", missing.join(", "))));
    }
    Ok(files.into_iter().filter(|file| names.is_empty() || names.contains(&file.name)).collect())
}

fn nothing(message: String) -> Failure {
    Failure::Own {
        exit: Exit::NotFoundOrNotAllowed,
        code: "file_not_found",
        message: text::printable(&message),
    }
}

async fn download(context: &Context, args: &FilesArgs, files: &[JobFile]) -> Result<Exit, Failure> {
    let job = context.client.job(&args.job_id).await?;
    if files.is_empty() {
        return Err(nothing(format!("job {} is {}: it has no files", job.job_id, job.state.label())));
    }
    make_folder(&args.output).await?;
    let stem = Path::new(&job.name).file_stem().unwrap_or(OsStr::new(job.job_id.as_str()));
    let mut track =
        Reporter::new(context.progress, [job.job_id.as_str()].into_iter()).track(job.job_id.as_str());
    let mut written = Vec::new();
    for file in files {
        let path = args.output.join(result_name(stem, &file.name));
        let fetching = context.client.download(file, &path, |progress| {
            track.report(&Event::Downloading { name: &file.name, progress });
        });
        fetching.await?;
        track.report(&Event::Downloaded { name: &file.name, path: &path });
        written.push(WrittenFile::of(file, path));
    }
    track.report(&Event::Ended { outcome: "fetched", message: None });
    let paths = || written.iter().map(|file| format!("{}\n", file.path.display())).collect();
    context.answer(&json!({ "jobId": args.job_id, "files": written }), paths, paths)?;
    Ok(Exit::Ok)
}

fn render(files: &[JobFile]) -> String {
    if files.is_empty() {
        return "No files yet: they appear when the job is completed.\n".to_owned();
    }
    let mut table = Table::new(&[("file", Align::Left), ("size", Align::Right), ("type", Align::Left)]);
    for file in files {
        table.row([text::printable(&file.name), text::bytes(file.size), text::printable(&file.content_type)]);
    }
    table.render()
}
