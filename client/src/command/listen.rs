//! `minifleet listen`: a link that needs no key.

use std::process::Stdio;
use std::time::Duration;

use super::args::ListenArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::text;

pub async fn run(context: &Context, args: &ListenArgs) -> Result<Exit, Failure> {
    let lifetime = args.hours.map(|hours| Duration::from_secs(3600 * hours));
    let link = context.client.playback_link(&args.job_id, lifetime).await?;
    let words =
        || format!("{}\n  for players: {}\n  {}\n", link.page, link.url, text::until(link.expires_at_ms));
    context.answer(&link, words, || format!("{}\n", link.page))?;
    if args.open {
        open_in_browser(&link.page).map_err(|error| Failure::local("open the page", &error))?;
    }
    Ok(Exit::Ok)
}

/// Starts the system's opener and does not wait for it.
pub fn open_in_browser(page: &str) -> std::io::Result<()> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = Stdio::null;
    std::process::Command::new(opener)
        .arg(page)
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn()
        .map(drop)
        .map_err(|error| std::io::Error::new(error.kind(), format!("{opener}: {error}")))
}
