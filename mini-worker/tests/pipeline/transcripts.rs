//! A job with a transcript: what it changes, and that nothing about it is a reason to lose the job.

use shared_protocol::{Complete, WorkerMessage};

use crate::fleet::{Worker, is_end};
use crate::played_edge::{Fault, PlayedEdge, PlayedLink};
use crate::results::talk;
use crate::studio::{Studio, decoded_24};

/// Three seconds of sound like speech, then three of faint noise.
fn recording(studio: &Studio) -> Vec<u8> {
    let speech = studio.make("speech.wav", &talk(3));
    let joined = format!(
        "-i {} -f lavfi -i anoisesrc=d=3:c=pink:a=0.003:r=44100:seed=1 \
         -filter_complex [0:a][1:a]concat=n=2:v=0:a=1 -ar 48000 -ac 1",
        speech.display()
    );
    std::fs::read(studio.make("talk.wav", &joined)).unwrap()
}

/// Words up to the noise.
const TRANSCRIPT: &str = r#"{"text":"so what","words":[{"word":"so","start":0.0,"end":1.5},{"word":"what","start":1.5,"end":3.0}]}"#;

async fn complete(link: &mut PlayedLink) -> Complete {
    match link.find(is_end).await {
        WorkerMessage::Complete(complete) => complete,
        other => panic!("{other:?}"),
    }
}

/// The restored samples of an attempt.
fn restored(studio: &Studio, edge: &PlayedEdge, attempt: u32) -> Vec<i32> {
    let bytes = edge.object(&format!("/v1/worker/objects/job_1/{attempt}/files/restored.wav"));
    decoded_24(&studio.write("restored.wav", &bytes.expect("the file was stored")))
}

/// The level of a stretch of seconds, in dB.
fn level_db(samples: &[i32], from: f64, to: f64) -> f64 {
    let at = |seconds: f64| (seconds * 48_000.0) as usize;
    let part = &samples[at(from)..at(to)];
    let energy: f64 = part.iter().map(|sample| (f64::from(*sample) / 8_388_608.0).powi(2)).sum();
    10.0 * (energy / part.len() as f64 + 1e-15).log10()
}

#[tokio::test]
async fn where_nobody_speaks_by_the_transcript_it_is_quieter_and_speech_stays_as_it_was() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio), Fault::BusyTranscript).await;
    edge.set_transcript(TRANSCRIPT);
    let _worker = Worker::start(&studio, &edge);
    let (mut link, _) = edge.next_link().await;
    link.send(&edge.offer_of(1, &[shared_protocol::OutputKind::Wav])).await;
    complete(&mut link).await;
    assert_eq!(edge.transcript_requests(), 0, "a job without a transcript asks for none");
    link.send(&edge.offer_with_transcript(2)).await;
    complete(&mut link).await;
    assert_eq!(edge.transcript_requests(), 3, "an edge that is busy is asked again");
    let (without, with) = (restored(&studio, &edge, 1), restored(&studio, &edge, 2));
    assert_eq!(without.len(), with.len());
    let quieter = level_db(&without, 4.0, 5.5) - level_db(&with, 4.0, 5.5);
    assert!(quieter > 10.0, "{quieter} dB");
    let change = level_db(&without, 0.5, 2.5) - level_db(&with, 0.5, 2.5);
    assert!(change.abs() < 0.01, "{change} dB");
}

#[tokio::test]
async fn a_transcript_that_is_missing_or_cannot_be_used_is_no_reason_to_lose_the_job() {
    let studio = Studio::new();
    let mut edge = PlayedEdge::start(recording(&studio), Fault::None).await;
    let _worker = Worker::start(&studio, &edge);
    let (mut link, _) = edge.next_link().await;
    link.send(&edge.offer_of(1, &[shared_protocol::OutputKind::Wav])).await;
    complete(&mut link).await;
    let untouched = restored(&studio, &edge, 1);
    let impossible = r#"{"text":"so","words":[{"word":"so","start":2.0,"end":1.0}]}"#;
    for (attempt, transcript) in
        [(2, None), (3, Some("garbage")), (4, Some(r#"{"text":"so what"}"#)), (5, Some(impossible))]
    {
        if let Some(json) = transcript {
            edge.set_transcript(json);
        }
        link.send(&edge.offer_with_transcript(attempt)).await;
        complete(&mut link).await;
        assert!(restored(&studio, &edge, attempt) == untouched, "{transcript:?}");
    }
    let told = std::fs::read_to_string(studio.path("worker.log")).unwrap();
    assert_eq!(told.matches("restored without its transcript").count(), 4, "{told}");
}
