//! `minifleet restore`: several recordings at once.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt;
use minifleet_client::watch::WaitOptions;
use tokio::sync::Semaphore;

use super::args::{ProgressMode, RestoreArgs};
use super::context::Context;
use super::exit::{Exit, Failure, complain};
use super::inputs::Input;
use super::interrupt;
use super::pipeline::{Pipeline, make_folder};
use super::progress::Reporter;
use super::report::{self, RestoreDocument, RestoreResult};

/// Recordings between upload and download at a time: enough to keep a fleet busy, few enough to poll.
const IN_FLIGHT: usize = 16;

/// Restores all recordings and reports on them in the order in which they were given.
pub async fn run(context: &Context, args: &RestoreArgs, inputs: Vec<Input>) -> Result<Exit, Failure> {
    if !args.no_download {
        // A folder that cannot be written to is found out now, not after the work.
        make_folder(&args.output).await?;
    }
    let interrupt = interrupt::watch();
    let originals: BTreeSet<_> = inputs.iter().filter_map(|input| input.path.canonicalize().ok()).collect();
    let reporter = Reporter::new(context.progress, inputs.iter().map(|input| input.label.as_str()));
    let pipeline = Pipeline {
        client: &context.client,
        args,
        reporter: &reporter,
        transfers: &Semaphore::new(usize::from(args.parallel)),
        interrupt: &interrupt,
        wait: wait_options(inputs.len()),
        originals: &originals,
    };
    let pipeline = &pipeline;
    let mut results: Vec<(usize, RestoreResult)> = futures_util::stream::iter(inputs.iter().enumerate())
        .map(|(index, input)| async move { (index, pipeline.run(input).await) })
        .buffer_unordered(IN_FLIGHT)
        .collect()
        .await;
    results.sort_by_key(|(index, _)| *index);
    let results: Vec<RestoreResult> = results.into_iter().map(|(_, result)| result).collect();

    let exit = Exit::of_all(results.iter().map(RestoreResult::exit));
    let document = RestoreDocument { results: &results, exit_code: exit.code() };
    context.answer(&document, || report::render(&results), || report::render_quiet(&results))?;
    if context.progress == ProgressMode::None {
        // Nothing has told it yet, and a failure is never silent.
        for result in &results {
            if let Some(message) = result.error_message() {
                complain(&format!("{}: {message}", result.file));
            }
        }
    }
    Ok(exit)
}

/// Many jobs are looked at less often each, so that a command never sends more than some 16 requests a second.
fn wait_options(recordings: usize) -> WaitOptions {
    let at_a_time = recordings.clamp(1, IN_FLIGHT) as u32;
    WaitOptions {
        first_interval: Duration::from_millis(250) * at_a_time.div_ceil(4),
        last_interval: Duration::from_secs(1) * at_a_time.div_ceil(8),
        ..WaitOptions::default()
    }
}
