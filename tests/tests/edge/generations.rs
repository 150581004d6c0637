//! Every order in which the parts of a generation can come together, each with the edge killed between any two of its steps: the
//! state is right in the end, one job ran, and it was charged once.

use std::time::Duration;

use conformance::harness::{
    Api, Edge, EdgeOptions, Keys, PATIENCE, ScriptedTranscriber, ScriptedWorker, TranscriberAnswer, until,
};
use serde_json::{Value, json};
use shared_protocol::{Assign, WorkerMessage};

/// One step of a story.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// Make the project, put its recording, and say so.
    Upload,
    /// Put the recording; say nothing.
    UploadSilently,
    /// Give a transcript.
    Give(&'static str),
    /// Ask for a generation.
    Generate(&'static str),
    /// The worker takes the job.
    Take,
    /// The worker completes it.
    Complete,
    /// The recogniser answers at last.
    Recognise,
    /// The generation is in this state.
    Expect(&'static str),
    /// Cancel it.
    Cancel,
    /// The worker is told to stop, and does.
    Stop,
    /// The scheduler's answers get lost from now on, or no more.
    SchedulerAnswers(bool),
}

/// How a story has to end.
struct End {
    state: &'static str,
    transcript: Value,
    charged: usize,
    /// Attempts of its job; nothing when the scheduler never had one.
    attempts: Option<u64>,
}

struct Scene {
    edge: Edge,
    transcriber: ScriptedTranscriber,
    worker: Option<ScriptedWorker>,
    assign: Option<Assign>,
    project: String,
    generation: String,
    taken: u32,
}

impl Scene {
    fn new(recogniser: TranscriberAnswer) -> Self {
        let transcriber = ScriptedTranscriber::start();
        transcriber.answer(recogniser);
        let url: &'static str = Box::leak(transcriber.url().into_boxed_str());
        let vars: &'static [(&str, &str)] = Box::leak(Box::new([("TRANSCRIPTION_URL", url)]));
        let edge = Edge::start_with(EdgeOptions { vars, ..EdgeOptions::default() });
        Self {
            edge,
            transcriber,
            worker: None,
            assign: None,
            project: String::new(),
            generation: String::new(),
            taken: 0,
        }
    }

    fn api(&self) -> Api {
        self.edge.api(Keys::ACME)
    }

    /// The edge dies and comes back; the worker finds it again, as workers do.
    fn kill(&mut self) {
        self.edge.kill();
        self.worker = None;
        self.edge.boot();
        if let Some(assign) = &self.assign {
            self.worker = Some(ScriptedWorker::reconnect(&self.edge, "mini-1", &[], 0, &[assign]));
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/projects/{}{rest}", self.project)
    }

    fn generation(&self) -> Value {
        self.api().get(&self.path(&format!("/generations/{}", self.generation))).expect(200).json()
    }

    fn step(&mut self, step: Step) {
        let api = self.api();
        match step {
            Step::Upload | Step::UploadSilently => {
                let content = b"RIFF recorded";
                let body = json!({ "name": "talk.wav", "size": content.len(), "contentType": "audio/wav" });
                let created = api.post("/v1/projects", &body).expect(201).json();
                self.project = created["project"]["projectId"].as_str().unwrap().to_owned();
                let ticket = created["put"]["headers"]["Minifleet-Ticket"].as_str().unwrap();
                let headers = [("Minifleet-Ticket", ticket)];
                let url = created["put"]["url"].as_str().unwrap();
                self.edge.api_without_key().call("PUT", url, &headers, Some(content)).expect(200);
                if step == Step::Upload {
                    api.post(&self.path("/upload/complete"), &json!({})).expect(200);
                }
            }
            Step::Give(text) => {
                let words = json!([{ "word": text, "start": 0.1, "end": 0.4 }]);
                let body = serde_json::to_vec(&json!({ "text": text, "words": words })).unwrap();
                let headers = [("Content-Type", "application/json")];
                api.call("PUT", &self.path("/transcript"), &headers, Some(&body)).expect(200);
            }
            Step::Generate(mode) => {
                let body = json!({ "transcript": mode, "outputs": ["wav"] });
                let headers = [("Idempotency-Key", "the-one")];
                let path = self.path("/generations");
                let made = api.post_with(&path, &headers, &body).expect(201).json();
                self.generation = made["generationId"].as_str().unwrap().to_owned();
                // Somebody who is not sure asks again.
                let again = api.post_with(&path, &headers, &body).expect(200).json();
                assert_eq!(again["generationId"], made["generationId"]);
            }
            Step::Take => {
                let mut worker = ScriptedWorker::ready(&self.edge, "mini-1", 1);
                self.assign = Some(worker.take_job());
                self.taken += 1;
                self.worker = Some(worker);
            }
            Step::Complete => {
                let (Some(worker), Some(assign)) = (&mut self.worker, self.assign.take()) else {
                    panic!("nobody has the job");
                };
                let file = worker.put_wav(&assign, b"RIFF restored");
                let complete = ScriptedWorker::completion(&assign, &[], &[file]);
                worker.send(&WorkerMessage::Complete(complete.clone()));
                worker.expect_ack(&complete.message_id);
            }
            Step::Recognise => self.transcriber.release(),
            Step::Expect(state) => {
                until(&format!("the generation to be {state}"), PATIENCE, || {
                    (self.generation()["state"] == state).then_some(())
                });
            }
            Step::Cancel => {
                let path = self.path(&format!("/generations/{}/cancel", self.generation));
                let answer = api.post(&path, &json!({}));
                assert!([200, 202].contains(&answer.status), "{}", answer.text());
            }
            Step::Stop => {
                let (Some(worker), Some(assign)) = (&mut self.worker, self.assign.take()) else {
                    panic!("nobody has the job");
                };
                worker.expect_cancel(&assign);
                worker.send(&WorkerMessage::Cancelled(ScriptedWorker::cancellation(&assign)));
            }
            Step::SchedulerAnswers(does) => self.edge.set_scheduler_answers(does),
        }
    }

    fn check(&mut self, end: &End) {
        let patience = Duration::from_secs(60);
        let generation = until(&format!("the generation to be {}", end.state), patience, || {
            Some(self.generation()).filter(|generation| generation["state"] == end.state)
        });
        assert_eq!(generation["transcript"]["version"], end.transcript, "{generation}");
        let api = self.api();
        let rows = until("the usage to be recorded", patience, || {
            let usage = api.get("/v1/usage").expect(200).json();
            let rows = usage["rows"].as_array().unwrap().clone();
            (rows.len() >= end.charged).then_some(rows)
        });
        assert_eq!(rows.len(), end.charged, "{rows:?}");
        if let [row] = rows.as_slice() {
            assert_eq!(
                (&row["generationId"], &row["jobId"]),
                (&generation["generationId"], &generation["jobId"])
            );
        }
        let jobs = api.get("/v1/jobs").expect(200).json();
        let attempts: Vec<Option<u64>> =
            jobs["jobs"].as_array().unwrap().iter().map(|job| job["attempt"].as_u64()).collect();
        assert_eq!(
            attempts,
            end.attempts.map_or(vec![], |attempts| vec![Some(attempts)]),
            "one job, run once"
        );
        assert!(self.taken <= 1);
        if generation["audio"]["state"] == "ready" {
            let job = generation["jobId"].as_str().unwrap();
            let file = api.get(&format!("/v1/jobs/{job}/files/restored.wav")).expect(200);
            assert_eq!(file.body, b"RIFF restored", "the audio is there whatever became of the transcript");
        }
    }
}

/// Plays a story once undisturbed, and once for each place between two of its steps with the edge killed there.
fn play(recogniser: &TranscriberAnswer, steps: &[Step], end: &End) {
    for killed_before in (0..=steps.len()).rev() {
        let mut scene = Scene::new(recogniser.clone());
        for (at, step) in steps.iter().enumerate() {
            if at > 0 && at == killed_before {
                scene.kill();
            }
            scene.step(*step);
        }
        if killed_before == steps.len() {
            scene.kill();
        }
        scene.check(end);
    }
}

fn held() -> TranscriberAnswer {
    TranscriberAnswer::words("so what").held()
}

#[test]
fn the_audio_comes_first() {
    use Step::{Complete, Expect, Generate, Recognise, Take, Upload};
    let steps = [Upload, Generate("required"), Take, Complete, Expect("audio_ready"), Recognise];
    let end = End { state: "completed", transcript: json!(1), charged: 1, attempts: Some(1) };
    play(&held(), &steps, &end);
}

#[test]
fn the_transcript_comes_first() {
    use Step::{Complete, Expect, Generate, Take, Upload};
    let steps = [Upload, Generate("required"), Take, Expect("restoring"), Complete];
    let end = End { state: "completed", transcript: json!(1), charged: 1, attempts: Some(1) };
    play(&TranscriberAnswer::words("so what"), &steps, &end);
}

#[test]
fn the_transcript_fails_and_no_audio_is_lost() {
    use Step::{Complete, Generate, Take, Upload};
    let steps = [Upload, Generate("required"), Take, Complete];
    let end = End { state: "failed", transcript: Value::Null, charged: 1, attempts: Some(1) };
    play(&TranscriberAnswer::error(401, "Incorrect API key"), &steps, &end);
}

#[test]
fn the_transcript_is_edited_during_the_restore() {
    use Step::{Complete, Generate, Give, Take, Upload};
    let steps = [Upload, Give("so"), Generate("given"), Take, Give("so what"), Complete];
    let end = End { state: "completed", transcript: json!(2), charged: 1, attempts: Some(1) };
    play(&held(), &steps, &end);
}

#[test]
fn the_transcript_is_edited_afterwards() {
    use Step::{Complete, Expect, Generate, Give, Take, Upload};
    let steps = [Upload, Give("so"), Generate("given"), Take, Complete, Expect("completed"), Give("so what")];
    let end = End { state: "completed", transcript: json!(1), charged: 1, attempts: Some(1) };
    play(&held(), &steps, &end);
}

#[test]
fn it_is_cancelled_before_its_job_was_dispatched() {
    use Step::{Cancel, Generate, UploadSilently};
    let steps = [UploadSilently, Generate("none"), Cancel];
    let end = End { state: "cancelled", transcript: Value::Null, charged: 0, attempts: None };
    play(&held(), &steps, &end);
}

#[test]
fn it_is_cancelled_while_a_worker_restores_it() {
    use Step::{Cancel, Expect, Generate, Stop, Take, Upload};
    let steps = [Upload, Generate("none"), Take, Expect("restoring"), Cancel, Stop];
    let end = End { state: "cancelled", transcript: Value::Null, charged: 0, attempts: Some(1) };
    play(&held(), &steps, &end);
}

#[test]
fn nobody_answers_the_dispatch() {
    use Step::{Complete, Generate, SchedulerAnswers, Take, Upload};
    let steps = [Upload, SchedulerAnswers(false), Generate("none"), SchedulerAnswers(true), Take, Complete];
    let end = End { state: "completed", transcript: Value::Null, charged: 1, attempts: Some(1) };
    play(&held(), &steps, &end);
}
