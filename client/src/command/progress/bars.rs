//! Progress for people at a terminal. One recording gets a line for each stage, which stays with the time that it took;
//! several get one line each.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use minifleet_client::Progress;
use minifleet_client::jobs::{Job, JobPhase, JobState};
use shared_protocol::Phase;

use super::{Event, plain};
use crate::command::text;

/// Positions of a bar that shows a fraction.
const FRACTION_STEPS: u64 = 1_000;
const TICK: Duration = Duration::from_millis(120);

/// The bar of one recording.
pub struct Bars {
    screen: MultiProgress,
    label: String,
    many: bool,
    /// The stage that is shown, and its bar.
    current: Option<(String, ProgressBar)>,
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
            Look::Bytes => {
                "{spinner} {prefix} {bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec} {msg}"
            }
            Look::Fraction => "{spinner} {prefix} {bar:30} {percent} % {msg}",
            Look::Spinner => "{spinner} {prefix} {msg}",
        };
        ProgressStyle::with_template(template)
            .expect("a constant template that was seen working")
            .progress_chars("━╸ ")
    }
}

impl Bars {
    /// `label_width`: of the longest label on the screen, when there are several.
    pub fn new(screen: MultiProgress, label: &str, label_width: Option<usize>) -> Self {
        let label = match label_width {
            Some(width) => format!("{:<width$}", text::shorten(label, width)),
            None => label.to_owned(),
        };
        Bars { screen, label, many: label_width.is_some(), current: None }
    }

    pub fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Reading => {
                self.enter("reading", Look::Spinner);
            }
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
            (JobState::Queued | JobState::Offered, _) => {
                self.enter("waiting", Look::Spinner);
            }
            (JobState::Running, Some(phase)) => {
                let restoring = *phase == JobPhase::Known(Phase::Restoring);
                let bar = self.enter(&phase.label(), if restoring { Look::Fraction } else { Look::Spinner });
                bar.set_message(where_and_how_far(job));
                if restoring {
                    let fraction = job.progress.unwrap_or_default().clamp(0.0, 1.0);
                    bar.set_position((fraction * FRACTION_STEPS as f64) as u64);
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
    fn enter(&mut self, stage: &str, look: Look) -> &ProgressBar {
        let bar = match self.current.take() {
            Some((current, bar)) if current == stage => bar,
            Some((_, bar)) if self.many => {
                bar.set_style(look.style());
                bar.set_prefix(self.prefix(stage));
                bar.set_message("");
                bar.set_length(FRACTION_STEPS);
                bar.set_position(0);
                bar.reset_eta();
                bar
            }
            before => {
                if let Some((stage, bar)) = before {
                    self.leave(&stage, &bar);
                }
                // Not drawn before it is dressed.
                let bar = ProgressBar::with_draw_target(Some(FRACTION_STEPS), ProgressDrawTarget::hidden())
                    .with_style(look.style())
                    .with_prefix(self.prefix(stage));
                let bar = self.screen.add(bar);
                bar.enable_steady_tick(TICK);
                bar
            }
        };
        &self.current.insert((stage.to_owned(), bar)).1
    }

    fn prefix(&self, stage: &str) -> String {
        match self.many {
            true => format!("{}  {stage:<15}", self.label),
            false => format!("{stage:<24}"),
        }
    }

    /// Turns a stage's bar into a line with the time that it took.
    fn leave(&self, stage: &str, bar: &ProgressBar) {
        let took = text::duration(bar.elapsed());
        bar.finish_and_clear();
        self.screen.remove(bar);
        self.say(&format!("✓ {stage:<24} {took}"));
    }

    fn end(&mut self, outcome: &str, message: Option<&str>) {
        let text = match message {
            Some(message) => format!("{outcome}: {message}"),
            None => outcome.to_owned(),
        };
        match self.current.take() {
            Some((stage, bar)) if message.is_none() && !self.many => self.leave(&stage, &bar),
            Some((_, bar)) => {
                bar.finish_and_clear();
                self.screen.remove(&bar);
                self.say(&text);
            }
            None => self.say(&text),
        }
    }

    /// A line above the bars.
    fn say(&self, text: &str) {
        let text = if self.many { format!("{}  {text}", self.label) } else { text.to_owned() };
        // Progress is for whoever looks; if the terminal is gone the work goes on.
        self.screen.println(text).ok();
    }
}

/// "on mini-1, 12.0 of 61.3 s audible"
fn where_and_how_far(job: &Job) -> String {
    let mut words: Vec<String> =
        job.worker.as_deref().map(|worker| format!("on {worker}")).into_iter().collect();
    if job.attempt > 1 {
        words.push(format!("attempt {}", job.attempt));
    }
    if let (Some(JobPhase::Known(Phase::Restoring | Phase::Publishing)), Some(audio)) =
        (&job.phase, job.audio_seconds)
    {
        words.push(format!("{:.1} of {audio:.1} s audible", job.published_seconds.unwrap_or_default()));
    }
    words.join(", ")
}
