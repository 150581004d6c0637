//! `minifleet projects` and `minifleet project`.

use minifleet_client::projects::{Generation, ProjectPage};
use serde_json::json;

use super::args::{ProjectArgs, ProjectsArgs};
use super::context::Context;
use super::exit::{Exit, Failure};
use super::table::{Align, Table};
use super::text;

/// Generations that are shown of one project.
const SHOWN: u32 = 50;

/// Lists projects.
pub async fn list(context: &Context, args: &ProjectsArgs) -> Result<Exit, Failure> {
    let page = context.client.projects(args.limit, None).await?;
    let ids = || page.projects.iter().map(|project| format!("{}\n", project.project_id)).collect();
    context.answer(&page, || render(&page), ids)?;
    Ok(Exit::Ok)
}

/// Shows a project and its generations.
pub async fn show(context: &Context, args: &ProjectArgs) -> Result<Exit, Failure> {
    let project = context.client.project(&args.project_id).await?;
    let page = context.client.generations(&args.project_id, SHOWN, None).await?;
    let ids = || page.generations.iter().map(|one| format!("{}\n", one.generation_id)).collect();
    let head = format!(
        "{}: {}, {}, upload {}{}\n",
        project.project_id,
        text::printable(&project.name),
        text::bytes(project.upload.size),
        text::printable(&project.upload.state),
        project
            .transcript
            .as_ref()
            .map_or(String::new(), |transcript| format!(", transcript version {}", transcript.version)),
    );
    let document = json!({ "project": project, "generations": page.generations });
    context.answer(&document, || format!("{head}{}", render_generations(&page.generations)), ids)?;
    Ok(Exit::Ok)
}

fn render(page: &ProjectPage) -> String {
    if page.projects.is_empty() {
        return "No projects yet: `minifleet generate FILE` makes one.\n".to_owned();
    }
    let mut table = Table::new(&[("project", Align::Left), ("recording", Align::Left)]);
    for project in &page.projects {
        table.row([project.project_id.to_string(), text::printable(&project.name)]);
    }
    table.render()
}

fn render_generations(generations: &[Generation]) -> String {
    if generations.is_empty() {
        return "No generations yet.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("generation", Align::Left),
        ("state", Align::Left),
        ("audio", Align::Left),
        ("transcript", Align::Left),
        ("job", Align::Left),
    ]);
    for one in generations {
        table.row([
            one.generation_id.to_string(),
            text::printable(&one.state.replace('_', " ")),
            text::printable(&one.audio.state.replace('_', " ")),
            text::printable(&one.transcript.state.replace('_', " ")),
            one.job_id.to_string(),
        ]);
    }
    table.render()
}
