//! A generation is complete exactly when its audio and its transcript are, whichever comes first.

use edge::project::errand::Errand;
use edge::project::*;
use shared_protocol::{DurationMs, Transcript};

use crate::rig::{Rig, id, transcript};

fn version(rig: &Rig) -> Option<u32> {
    match rig.generation(1).transcript {
        TranscriptPart::Ready { version, .. } => Some(version),
        _ => None,
    }
}

fn restoring(mode: TranscriptMode) -> Rig {
    let mut rig = Rig::uploaded();
    rig.generate(1, mode);
    rig.dispatched(1);
    rig
}

fn refused() -> ErrandOutcome {
    let failure =
        Failure { code: "transcription_refused".into(), message: "no".into(), advice: String::new() };
    ErrandOutcome::TranscriptionFailed { failure, retryable: false, after: None }
}

#[test]
fn without_a_transcript_it_is_complete_with_its_audio() {
    let mut rig = restoring(TranscriptMode::None);
    assert_eq!(rig.state(1), "queued");
    rig.job(1, JobNewsState::Completed);
    assert_eq!(rig.state(1), "completed");
    assert_eq!(
        rig.names(),
        [
            "upload.completed",
            "generation.created",
            "generation.queued",
            "generation.audio_ready",
            "generation.completed"
        ]
    );
}

#[test]
fn audio_first() {
    let mut rig = restoring(TranscriptMode::Required);
    rig.job(1, JobNewsState::Completed);
    assert_eq!(rig.state(1), "audio_ready");
    rig.answer(&Errand::Transcribe(1), ErrandOutcome::Transcribed(transcript("so")));
    assert_eq!((rig.state(1), version(&rig)), ("completed", Some(1)));
}

#[test]
fn transcript_first() {
    let mut rig = restoring(TranscriptMode::Required);
    rig.answer(&Errand::Transcribe(1), ErrandOutcome::Transcribed(Transcript::default()));
    assert_eq!(rig.state(1), "queued");
    rig.job(1, JobNewsState::Completed);
    assert_eq!((rig.state(1), version(&rig)), ("completed", Some(1)));
}

#[test]
fn a_failed_transcript_loses_no_audio_and_one_that_comes_later_heals_it() {
    let mut rig = restoring(TranscriptMode::Required);
    rig.answer(&Errand::Transcribe(1), refused());
    assert_eq!(rig.state(1), "queued", "the restore goes on");
    rig.job(1, JobNewsState::Completed);
    assert_eq!(rig.state(1), "failed");
    assert_eq!(rig.generation(1).failure().unwrap().code, "transcription_refused");
    assert!(matches!(rig.generation(1).audio, Audio::Ready(_)));
    assert_eq!(rig.generation(1).usage, UsageState::Owed, "the audio was made and is charged");
    rig.give("so");
    assert_eq!((rig.state(1), version(&rig)), ("completed", Some(1)));
}

#[test]
fn a_recogniser_that_is_away_is_asked_again_and_given_up_at_last() {
    let mut rig = restoring(TranscriptMode::Required);
    let failure =
        Failure { code: "transcription_unavailable".into(), message: "503".into(), advice: String::new() };
    for attempt in 1..=MAX_ATTEMPTS {
        assert_ne!(rig.generation(1).transcript, TranscriptPart::NotNeeded);
        let outcome =
            ErrandOutcome::TranscriptionFailed { failure: failure.clone(), retryable: true, after: None };
        rig.answer(&Errand::Transcribe(1), outcome);
        if attempt < MAX_ATTEMPTS {
            rig.wait(DurationMs::from_secs(64));
        }
    }
    assert_eq!(rig.project.head().transcription.state, TranscriptionState::Failed);
    assert!(matches!(rig.generation(1).transcript, TranscriptPart::Failed { .. }));
    assert!(!rig.under_way.contains(&Errand::Transcribe(1)));
}

#[test]
fn an_edit_during_the_restore_is_the_version_that_is_joined() {
    let mut rig = Rig::uploaded();
    rig.give("so");
    rig.generate(1, TranscriptMode::Given);
    assert_eq!(rig.generation(1).conditioned_on, Some(1));
    rig.dispatched(1);
    rig.give("so what");
    rig.job(1, JobNewsState::Completed);
    assert_eq!((rig.state(1), version(&rig)), ("completed", Some(2)));
    assert_eq!(rig.generation(1).conditioned_on, Some(1), "the restore is not run again for it");
    assert_eq!(rig.times_begun(&Errand::Dispatch(id(1))), 1);
}

#[test]
fn an_edit_afterwards_changes_nothing_of_what_is_complete() {
    let mut rig = Rig::uploaded();
    rig.give("so");
    rig.generate(1, TranscriptMode::Given);
    rig.dispatched(1);
    rig.job(1, JobNewsState::Completed);
    let complete = rig.generation(1).clone();
    rig.give("so what");
    assert_eq!(*rig.generation(1), complete);
    rig.generate(2, TranscriptMode::Given);
    assert_eq!(rig.generation(2).conditioned_on, Some(2));
}

#[test]
fn a_clients_transcript_wins_over_one_that_is_being_made() {
    let mut rig = restoring(TranscriptMode::Required);
    rig.give("so what");
    let late = Errand::Transcribe(1);
    rig.answer(&late, ErrandOutcome::Transcribed(transcript("sew watt")));
    assert_eq!(rig.project.latest_transcript().map(|latest| latest.version), Some(1));
    assert_eq!(rig.transcripts[&1].text, "so what");
    rig.job(1, JobNewsState::Completed);
    assert_eq!((rig.state(1), version(&rig)), ("completed", Some(1)));
}

#[test]
fn a_given_transcript_may_come_after_everything_else() {
    let mut rig = restoring(TranscriptMode::Given);
    assert!(!rig.begun.iter().any(|errand| matches!(errand, Errand::Transcribe(_))), "nobody asked for one");
    rig.job(1, JobNewsState::Completed);
    assert_eq!(rig.state(1), "audio_ready");
    rig.give("so");
    assert_eq!(rig.state(1), "completed");
}

#[test]
fn a_job_that_an_operator_puts_back_completes_its_generation_after_all() {
    let mut rig = restoring(TranscriptMode::None);
    rig.job(1, JobNewsState::Failed);
    assert_eq!(rig.state(1), "failed");
    rig.job(1, JobNewsState::Live);
    assert_eq!(rig.state(1), "queued");
    rig.job(1, JobNewsState::Completed);
    assert_eq!(rig.state(1), "completed");
}

#[test]
fn news_that_arrives_after_later_news_changes_nothing() {
    let mut rig = restoring(TranscriptMode::None);
    rig.job(1, JobNewsState::Failed);
    let earlier = crate::rig::news(1, JobNewsState::Live);
    let sequence = rig.now.0 - 1;
    rig.act(|project, now| project.handle_job(now, &earlier, sequence));
    assert_eq!(rig.state(1), "failed");
}
