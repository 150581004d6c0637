//! Server-sent events (WHATWG HTML, section 9.2): what happened to a project, as frames.

use std::collections::BTreeMap;

use shared_protocol::{DurationMs, GenerationId, TimestampMs};

use super::call::Watched;
use super::view::ProgressView;

/// A reader whose stream ended comes back after this.
const RECONNECT_AFTER: DurationMs = DurationMs(1_000);

/// When nothing happens a comment is sent so often, or something in between takes the connection for dead.
const COMMENT_EVERY: DurationMs = DurationMs::from_secs(15);

/// The last frame of a stream that has lived its time.
pub const END: &str = ": this stream ends here; connect again with Last-Event-ID\n\n";

/// The last frame of a stream whose project does not answer.
pub fn trouble(detail: &str) -> String {
    let line: String = detail.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(": {line}\n\n")
}

/// The frames of one stream.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    sent_at: TimestampMs,
    progress: BTreeMap<GenerationId, ProgressView>,
}

impl Frames {
    /// The first frames: how soon to come back, and what happened before.
    pub fn begin(&mut self, now: TimestampMs, watched: &Watched) -> String {
        let mut text = format!("retry: {}\n\n", RECONNECT_AFTER.0);
        self.add(&mut text, watched);
        self.sent_at = now;
        text
    }

    /// What is new since, or a comment when nothing has been for a while; empty otherwise.
    pub fn render(&mut self, now: TimestampMs, watched: &Watched) -> String {
        let mut text = String::new();
        self.add(&mut text, watched);
        if text.is_empty() && now - self.sent_at >= COMMENT_EVERY {
            text.push_str(": nothing new\n\n");
        }
        if !text.is_empty() {
            self.sent_at = now;
        }
        text
    }

    /// Events have numbers, by which a reader takes up its stream again. Progress has none: it is worth nothing later.
    fn add(&mut self, text: &mut String, watched: &Watched) {
        if watched.gap {
            text.push_str("event: gap\ndata: {}\n\n");
        }
        for event in &watched.events {
            let data =
                serde_json::to_string(event).expect("it has text keys only and no fallible serializers");
            text.push_str(&format!("id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.name.name()));
        }
        self.progress.retain(|id, _| watched.progress.iter().any(|(known, _)| known == id));
        for (id, progress) in &watched.progress {
            if self.progress.get(id) == Some(progress) {
                continue;
            }
            let data = serde_json::json!({ "generationId": id, "progress": progress });
            text.push_str(&format!("event: progress\ndata: {data}\n\n"));
            self.progress.insert(id.clone(), progress.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(fraction: f64) -> Watched {
        let progress = ProgressView { phase: None, fraction, published_seconds: 0.0, audio_seconds: None };
        let id = GenerationId::new("gen_1").unwrap();
        Watched { events: Vec::new(), last: 3, gap: false, progress: vec![(id, progress)] }
    }

    #[test]
    fn the_same_progress_is_not_told_twice_and_a_quiet_stream_is_kept_alive() {
        let mut frames = Frames::default();
        let start = TimestampMs(1_000_000);
        assert!(frames.begin(start, &progress(0.1)).starts_with("retry: 1000\n\nevent: progress\ndata: {"));
        assert_eq!(frames.render(start + DurationMs(1_000), &progress(0.1)), "");
        assert!(frames.render(start + DurationMs(2_000), &progress(0.2)).contains("\"fraction\":0.2"));
        assert_eq!(frames.render(start + DurationMs(16_999), &progress(0.2)), "");
        assert_eq!(frames.render(start + DurationMs(17_000), &progress(0.2)), ": nothing new\n\n");
    }

    #[test]
    fn a_failure_cannot_end_its_comment() {
        assert_eq!(trouble("a\nid: 7\r\n\nb"), ": a id: 7   b\n\n");
    }
}
