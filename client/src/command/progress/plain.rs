//! One line for each change of state, for logs and pipes.

use std::time::Duration;

use minifleet_client::jobs::{Job, JobState};

use super::{Event, line};
use crate::command::text;

/// The lines of one recording.
pub struct PlainLines {
    label: String,
    /// What the last line said, so that progress within a state is not repeated.
    said: String,
    away: bool,
}

impl PlainLines {
    pub fn new(label: &str) -> Self {
        PlainLines { label: label.to_owned(), said: String::new(), away: false }
    }

    pub fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Reading => {}
            Event::Uploading(progress) => {
                self.say_once(format!("uploading {}", text::bytes(progress.total)));
            }
            Event::Uploaded { took, .. } => self.say(&format!("uploaded in {}", text::duration(*took))),
            Event::Queued { job_id } => self.say_once(format!("queued as {job_id}")),
            Event::Job(job) => {
                if let Some(state) = describe(job) {
                    self.say_once(state);
                }
            }
            Event::Playable(link) => self.say(&format!("listen: {}", link.page)),
            Event::Away { since, reason } => {
                if !std::mem::replace(&mut self.away, true) {
                    self.say(&away(*since, reason));
                }
            }
            Event::Back { after } => {
                self.away = false;
                self.say(&back(*after));
            }
            Event::Downloading { name, progress } => {
                self.say_once(format!("fetching {name}, {}", text::bytes(progress.total)));
            }
            Event::Downloaded { path, .. } => self.say(&format!("wrote {}", path.display())),
            Event::Note(note) => self.say(note),
            Event::Ended { outcome, message } => match message {
                Some(message) => self.say(&format!("{outcome}: {message}")),
                None => self.say(outcome),
            },
        }
    }

    fn say_once(&mut self, text: String) {
        if self.said != text {
            self.say(&text);
            self.said = text;
        }
    }

    fn say(&self, text: &str) {
        line(&format!("{}: {text}", self.label));
    }
}

/// A live job in words; nothing for an ended one, whose end is told otherwise.
fn describe(job: &Job) -> Option<String> {
    match (job.state, &job.phase) {
        (JobState::Running, Some(phase)) => {
            let worker = job.worker.as_deref().map(|worker| format!(" on {worker}")).unwrap_or_default();
            let again = if job.attempt > 1 { format!(", attempt {}", job.attempt) } else { String::new() };
            Some(format!("{}{worker}{again}", phase.label()))
        }
        _ => None,
    }
}

/// What is said when the service is gone.
pub fn away(since: Duration, reason: &str) -> String {
    let since = match since.as_secs() {
        0 => String::new(),
        seconds => format!(" for {seconds} s"),
    };
    format!("the service does not answer{since} ({reason}); nothing is lost, still waiting")
}

/// What is said when it is there again.
pub fn back(after: Duration) -> String {
    format!("the service is back after {}", text::duration(after))
}
