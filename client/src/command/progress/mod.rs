//! What is told while a command works: one stream of events per recording, shown in one of four ways.

mod bars;
mod json;
mod plain;

use std::time::Duration;

use indicatif::MultiProgress;
use minifleet_client::Progress;
use minifleet_client::jobs::Job;
use minifleet_client::playback::PlaybackLink;
use shared_protocol::{JobId, UploadId};

use super::args::ProgressMode;
use bars::Bars;
use json::JsonLines;
use plain::PlainLines;

/// Longer names are shortened beside bars, so that a bar fits into a line.
const LABEL_WIDTH: usize = 26;

/// Something that happened to one recording.
#[derive(Debug)]
pub enum Event<'a> {
    /// Its checksum is computed.
    Reading,
    /// Bytes are on their way to the service.
    Uploading(Progress),
    /// All are there.
    Uploaded { upload_id: &'a UploadId, bytes: u64, took: Duration },
    /// A job was made for it.
    Queued { job_id: &'a JobId },
    /// The job changed.
    Job(&'a Job),
    /// The first restored audio can be heard.
    Playable(&'a PlaybackLink),
    /// The service does not answer.
    Away { since: Duration, reason: &'a str },
    /// It answers again.
    Back { after: Duration },
    /// Bytes of a result arrive.
    Downloading { name: &'a str, progress: Progress },
    /// A result is complete.
    Downloaded { name: &'a str, path: &'a std::path::Path },
    /// Something that did not work and does not matter much.
    Note(&'a str),
    /// Nothing more will come.
    Ended { outcome: &'a str, message: Option<&'a str> },
}

/// Shows the events of all recordings of a command.
pub struct Reporter {
    mode: ProgressMode,
    /// Of the longest label, when several recordings share the screen and each gets one line only.
    label_width: Option<usize>,
    screen: MultiProgress,
}

impl Reporter {
    /// For recordings with these labels.
    pub fn new<'a>(mode: ProgressMode, labels: impl ExactSizeIterator<Item = &'a str>) -> Self {
        let several = labels.len() > 1;
        let width = labels.map(|label| label.chars().count().min(LABEL_WIDTH)).max().filter(|_| several);
        Reporter { mode, label_width: width, screen: MultiProgress::new() }
    }

    /// The events of one recording.
    pub fn track(&self, label: &str) -> Track {
        match self.mode {
            ProgressMode::None => Track::Silent,
            ProgressMode::Json => Track::Json(JsonLines::new(label)),
            ProgressMode::Bars if !self.screen.is_hidden() => {
                Track::Bars(Bars::new(self.screen.clone(), label, self.label_width))
            }
            _ => Track::Plain(PlainLines::new(label)),
        }
    }
}

/// Shows the events of one recording.
pub enum Track {
    Silent,
    Plain(PlainLines),
    Json(JsonLines),
    Bars(Bars),
}

impl Track {
    pub fn report(&mut self, event: &Event<'_>) {
        match self {
            Track::Silent => {}
            Track::Plain(lines) => lines.report(event),
            Track::Json(lines) => lines.report(event),
            Track::Bars(bars) => bars.report(event),
        }
    }
}

/// One line on standard error. Progress is for whoever listens; if nobody does the work goes on.
fn line(text: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{text}").ok();
}
