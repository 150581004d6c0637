//! Progress for programs: one JSON object a line on standard error.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Event, line};

/// Byte counts are not told more often than this.
const BYTES_INTERVAL: Duration = Duration::from_millis(200);

/// The lines of one recording.
pub struct JsonLines {
    label: String,
    last_bytes: Option<Instant>,
}

impl JsonLines {
    pub fn new(label: &str) -> Self {
        JsonLines { label: label.to_owned(), last_bytes: None }
    }

    pub fn report(&mut self, event: &Event<'_>) {
        if let Event::Uploading(progress) | Event::Downloading { progress, .. } = event {
            let recent = self.last_bytes.is_some_and(|last| last.elapsed() < BYTES_INTERVAL);
            let at_an_end = progress.bytes == 0 || progress.bytes == progress.total;
            if recent && !at_an_end {
                return;
            }
            self.last_bytes = Some(Instant::now());
        }
        let mut object = describe(event);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        object["file"] = json!(self.label);
        object["atMs"] = json!(now.as_millis() as u64);
        line(&object.to_string());
    }
}

fn describe(event: &Event<'_>) -> Value {
    match event {
        Event::Reading => json!({ "event": "reading" }),
        Event::Uploading(progress) => {
            json!({ "event": "uploading", "bytes": progress.bytes, "total": progress.total })
        }
        Event::Uploaded { upload_id, bytes, took } => {
            json!({ "event": "uploaded", "uploadId": upload_id, "bytes": bytes, "seconds": took.as_secs_f64() })
        }
        Event::Queued { job_id } => json!({ "event": "queued", "jobId": job_id }),
        Event::Job(job) => json!({ "event": "job", "job": job }),
        Event::Playable(link) => json!({ "event": "playable", "url": link.url, "page": link.page }),
        Event::Away { since, reason } => {
            json!({ "event": "away", "seconds": since.as_secs_f64(), "reason": reason })
        }
        Event::Back { after } => json!({ "event": "back", "seconds": after.as_secs_f64() }),
        Event::Downloading { name, progress } => {
            json!({ "event": "downloading", "name": name, "bytes": progress.bytes, "total": progress.total })
        }
        Event::Downloaded { name, path } => json!({ "event": "downloaded", "name": name, "path": path }),
        Event::Note(note) => json!({ "event": "note", "message": note }),
        Event::Ended { outcome, message } => {
            json!({ "event": "ended", "outcome": outcome, "message": message })
        }
    }
}
