//! Progress for people at a terminal. One recording gets a line for each stage, which stays with the time that it took;
//! several get one line each.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressFinish, ProgressStyle};
use minifleet_client::jobs::{Job, JobPhase, JobState};
use minifleet_client::uploads::Progress;
use shared_protocol::Phase;

use super::{Event, plain};
use crate::command::text;

/// Positions of a bar that shows a fraction.
const FRACTION_STEPS: u64 = 1_000;
const TICK: Duration = Duration::from_millis(120);

/// The bars of one recording.
pub struct Bars {
    screen: MultiProgress,
    label: String,
    many: bool,
    /// The stage that is shown, and its bar.
    current: Option<(String, ProgressBar)>,
    ended: bool,
}

/// How a stage is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Bytes,
    Fraction,
    Spinner,
}

impl Look {
    fn style(self) -> ProgressStyle {
        let template = match self {
            Look::Bytes => "{spinner} {prefix} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec} {msg}",
            Look::Fraction => "{spinner} {prefix} {bar:30} {percent} % {msg}",
            Look::Spinner => "{spinner} {prefix} {msg}",
        };
        ProgressStyle::with_template(template)
            .expect("a constant template that was seen working")
            .progress_chars("━╸ ")
    }
}

impl Bars {
    pub fn new(screen: MultiProgress, label: &str, many: bool) -> Self {
        Bars { screen, label: label.to_owned(), many, current: None, ended: false }
    }

    pub fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Reading => drop(self.enter("reading", Look::Spinner)),
            Event::Uploading(progress) => self.transfer("uploading", progress),
            Event::Uploaded { .. } => {}
            Event::Queued { job_id } => self.enter("waiting", Look::Spinner).set_message(job_id.to_string()),
            Event::Job(job) => self.job(job),
            Event::Playable(link) => self.say(&format!("listen now: {}", link.page)),
            Event::Away { since, reason } => {
                if let Some((_, bar)) = &self.current {
                    bar.set_message(plain::away(*since, reason));
                }
            }
            Event::Back { after } => self.say(&plain::back(*after)),
            Event::Downloading { name, progress } => self.transfer(&format!("fetching {name}"), progress),
            Event::Downloaded { .. } => {}
            Event::Note(note) => self.say(note),
            Event::Ended { outcome, message } => self.end(outcome, *message),
        }
    }

    fn job(&mut self, job: &Job) {
        match (job.state, &job.phase) {
            (JobState::Queued | JobState::Offered, _) => drop(self.enter("waiting", Look::Spinner)),
            (JobState::Running, Some(phase)) => {
                let mut message =
                    job.worker.as_deref().map(|worker| format!("on {worker}")).unwrap_or_default();
                if let (JobPhase::Known(Phase::Restoring | Phase::Publishing), Some(audio)) =
                    (phase, job.audio_seconds)
                {
                    let published = job.published_seconds.unwrap_or_default();
                    message.push_str(&format!(", {published:.1} of {audio:.1} s of audio can be heard"));
                }
                let look =
                    if *phase == JobPhase::Known(Phase::Restoring) { Look::Fraction } else { Look::Spinner };
                let bar = self.enter(&phase.label(), look);
                bar.set_message(message);
                if look == Look::Fraction {
                    bar.set_position(
                        (job.progress.unwrap_or_default().clamp(0.0, 1.0) * FRACTION_STEPS as f64) as u64,
                    );
                }
            }
            _ => {}
        }
    }

    fn transfer(&mut self, stage: &str, progress: &Progress) {
        let bar = self.enter(stage, Look::Bytes);
        bar.set_length(progress.total);
        bar.set_position(progress.bytes);
    }

    /// The bar of a stage; a new stage ends the one before.
    fn enter(&mut self, stage: &str, look: Look) -> ProgressBar {
        if let Some((current, bar)) = &self.current {
            if current == stage {
                return bar.clone();
            }
            if !self.many {
                finish(bar);
            }
        }
        let bar = match self.current.take() {
            Some((_, bar)) if self.many => bar,
            _ => self.screen.add(ProgressBar::no_length().with_finish(ProgressFinish::Abandon)),
        };
        bar.set_message("");
        bar.set_length(FRACTION_STEPS);
        bar.set_position(0);
        bar.reset_eta();
        bar.set_style(look.style());
        bar.set_prefix(match self.many {
            true => format!("{}  {stage:<16}", self.label),
            false => format!("{stage:<16}"),
        });
        bar.enable_steady_tick(TICK);
        self.current = Some((stage.to_owned(), bar.clone()));
        bar
    }

    fn end(&mut self, outcome: &str, message: Option<&str>) {
        self.ended = true;
        let text = match message {
            Some(message) => format!("{outcome}: {message}"),
            None => outcome.to_owned(),
        };
        match self.current.take() {
            Some((_, bar)) if self.many => {
                bar.set_style(plain_style());
                bar.abandon_with_message(format!("{}  {text}", self.label));
            }
            Some((_, bar)) if message.is_none() => finish(&bar),
            Some((_, bar)) => {
                bar.set_style(plain_style());
                bar.abandon_with_message(text);
            }
            None => self.say(&text),
        }
    }

    /// A line above the bars.
    fn say(&self, text: &str) {
        let text = if self.many { format!("{}: {text}", self.label) } else { text.to_owned() };
        // Progress is for whoever looks; if the terminal is gone the work goes on.
        self.screen.println(text).ok();
    }
}

/// Leaves a stage's line with the time that it took.
fn finish(bar: &ProgressBar) {
    let took = text::duration(bar.elapsed());
    bar.set_style(
        ProgressStyle::with_template("✓ {prefix} {msg}").expect("a constant template that was seen working"),
    );
    bar.abandon_with_message(took);
}

fn plain_style() -> ProgressStyle {
    ProgressStyle::with_template("  {msg}").expect("a constant template that was seen working")
}
