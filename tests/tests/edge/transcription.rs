//! Transcripts on their way: from a recogniser over real HTTP to a project, and from a project to the worker that restores by
//! them.

use conformance::harness::{
    Api, Edge, EdgeOptions, Keys, PATIENCE, ScriptedTranscriber, ScriptedWorker, TranscriberAnswer, until,
};
use serde_json::{Value, json};

/// An edge with this recogniser, and these variables.
fn edge_with(transcriber: &ScriptedTranscriber, vars: &[(&'static str, &'static str)]) -> Edge {
    let url: &'static str = Box::leak(transcriber.url().into_boxed_str());
    let vars = [&[("TRANSCRIPTION_URL", url)], vars].concat();
    Edge::start_with(EdgeOptions { vars: Box::leak(vars.into_boxed_slice()), ..EdgeOptions::default() })
}

/// A project with its recording.
struct Project {
    api: Api,
    path: String,
}

impl Project {
    fn make(edge: &Edge, content: &[u8]) -> Self {
        let api = edge.api(Keys::ACME);
        let path = api.project("talk.mp3", "audio/mpeg", content);
        Self { api, path }
    }

    fn have_transcribed(&self) {
        let begun = self.api.post(&format!("{}/transcription", self.path), &json!({}));
        assert!(begun.status < 300, "{}", begun.text());
    }

    /// The state of its transcription, once it is one of these.
    fn transcription(&self, states: &[&str]) -> Value {
        until(&format!("the transcription to be one of {states:?}"), PATIENCE, || {
            let transcription = self.api.get(&self.path).expect(200).json()["transcription"].clone();
            states.contains(&transcription["state"].as_str()?).then_some(transcription)
        })
    }

    fn transcript(&self) -> Value {
        self.api.get(&format!("{}/transcript", self.path)).expect(200).json()
    }

    /// What came of an answer of the recogniser's: the failure's code and text.
    fn failure_after(
        &self,
        transcriber: &ScriptedTranscriber,
        answer: TranscriberAnswer,
    ) -> (String, String) {
        transcriber.answer_next([answer]);
        self.have_transcribed();
        let failure = self.transcription(&["failed"])["failure"].clone();
        let text = |name: &str| failure[name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }
}

/// Bytes that repeat nowhere, more than a few chunks of them.
fn content() -> Vec<u8> {
    (0..2_500_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn a_recording_reaches_the_recogniser_byte_by_byte_and_its_words_come_back() {
    let transcriber = ScriptedTranscriber::start();
    transcriber.answer(TranscriberAnswer::words("and so my fellow"));
    let edge = edge_with(&transcriber, &[("TRANSCRIPTION_KEY", "sk-1"), ("TRANSCRIPTION_MODEL", "large")]);
    let project = Project::make(&edge, &content());
    project.have_transcribed();
    project.transcription(&["done"]);

    let received = transcriber.expect_count(1).remove(0);
    assert_eq!(received.path, "/v1/audio/transcriptions");
    assert_eq!(received.header("authorization"), "Bearer sk-1");
    assert!(received.header("user-agent").starts_with("minifleet/"));
    assert_eq!((received.field("model"), received.field("response_format")), ("large", "verbose_json"));
    assert_eq!(received.fields["timestamp_granularities[]"], ["word", "segment"]);
    assert_eq!(
        (received.file.name.as_str(), received.file.content_type.as_str()),
        ("talk.mp3", "audio/mpeg")
    );
    assert!(received.file.bytes == content(), "not a byte is changed");

    let transcript = project.transcript().to_string();
    assert!(transcript.contains("and so my fellow"), "{transcript}");
    assert!(transcript.contains(r#"{"end":0.5,"start":0.0,"word":"and"}"#), "{transcript}");
}

#[test]
fn what_may_pass_is_tried_again_until_there_is_a_transcript() {
    let transcriber = ScriptedTranscriber::start();
    let edge = edge_with(&transcriber, &[("TRANSCRIPTION_TIMEOUT_SECONDS", "4")]);
    for answer in [
        TranscriberAnswer::error(503, "busy").with_header("Retry-After", "1"),
        TranscriberAnswer::Hang,
        TranscriberAnswer::Reset,
        TranscriberAnswer::BreakOff,
    ] {
        let project = Project::make(&edge, &content());
        transcriber.answer_next([answer.clone()]);
        project.have_transcribed();
        let transcription = project.transcription(&["done", "failed"]);
        let (state, failures) = (&transcription["state"], &transcription["failures"]);
        assert_eq!((state, failures), (&json!("done"), &json!(1)), "{answer:?}: {transcription}");
    }
    transcriber.expect_cut_off(1);
}

#[test]
fn what_stays_is_told_once_with_what_to_do() {
    let transcriber = ScriptedTranscriber::start();
    let edge = edge_with(&transcriber, &[("TRANSCRIPTION_MAX_BYTES", "3000000")]);
    let project = Project::make(&edge, &content());
    for (answer, code, words) in [
        (TranscriberAnswer::error(401, "Incorrect API key"), "transcription_refused", "TRANSCRIPTION_KEY"),
        (
            TranscriberAnswer::json(307, &json!({})).with_header("Location", "http://127.0.0.1:9/"),
            "transcription_refused",
            "TRANSCRIPTION_URL",
        ),
        (TranscriberAnswer::error(413, "too large"), "transcription_too_large", "413"),
        (TranscriberAnswer::json(200, &json!({ "result": 1 })), "transcription_unreadable", "text"),
        (TranscriberAnswer::huge(20_000_000), "transcription_unreadable", "8388608"),
    ] {
        let before = transcriber.requests();
        let (found, text) = project.failure_after(&transcriber, answer);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(words), "{text}");
        assert_eq!(transcriber.requests(), before + 1, "{text}");
    }
    let large = Project::make(&edge, &vec![0; 3_000_001]);
    let before = transcriber.requests();
    large.have_transcribed();
    assert_eq!(large.transcription(&["failed"])["failure"]["code"], "transcription_too_large");
    assert_eq!(transcriber.requests(), before, "nothing of it is sent");
}

#[test]
fn a_worker_gets_the_transcript_that_its_job_was_made_with_and_no_other() {
    let edge = Edge::start();
    let project = Project::make(&edge, b"RIFF");
    let words =
        json!([{ "word": "so", "start": 0.5, "end": 0.75 }, { "word": "what", "start": 1.0, "end": 1.5 }]);
    let given = json!({ "text": "so what", "language": "en", "words": words });
    let put = |transcript: &Value| {
        let body = transcript.to_string();
        let headers = [("Content-Type", "application/json")];
        let path = format!("{}/transcript", project.path);
        let answer = project.api.call("PUT", &path, &headers, Some(body.as_bytes()));
        assert!(answer.status < 300, "{}", answer.text());
    };
    put(&given);
    let wanted = json!({ "transcript": "given", "outputs": ["wav"] });
    let made = project.api.post(&format!("{}/generations", project.path), &wanted);
    assert!(made.status < 300, "{}", made.text());
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    assert_eq!(assign.transcript_version, Some(1));
    put(&json!({ "text": "something else" }));
    let fetch = |ticket: &str| {
        let headers = [("Minifleet-Ticket", ticket)];
        edge.api_without_key().call("GET", "/v1/worker/transcript", &headers, None)
    };
    assert_eq!(fetch(&assign.ticket).expect(200).json(), given);
    fetch("nonsense").expect_problem(403, "ticket_invalid");

    edge.api(Keys::ACME).queue_job();
    let mut other = ScriptedWorker::ready(&edge, "mini-2", 1);
    let assign = other.take_job();
    assert_eq!(assign.transcript_version, None);
    fetch(&assign.ticket).expect_problem(404, "transcript_not_found");
}
