//! A generation that is wanted no more ends in exactly one way, and nothing runs for it that nobody knows of.

use edge::project::errand::Errand;
use edge::project::*;
use shared_protocol::DurationMs;

use crate::rig::{Rig, id, news};

#[test]
fn before_the_upload_is_there_it_ends_at_once_and_nothing_is_ever_dispatched() {
    let mut rig = Rig::new();
    rig.generate(1, TranscriptMode::None);
    rig.act(|project, now| project.cancel(now, &id(1)).unwrap());
    assert_eq!(rig.state(1), "cancelled");
    rig.act(|project, now| project.complete_upload(now, CompletedBy::Client).unwrap());
    assert_eq!(rig.times_begun(&Errand::Dispatch(id(1))), 0);
    assert_eq!(rig.generation(1).usage, UsageState::None);
}

#[test]
fn while_nobody_knows_whether_the_job_was_taken_it_is_withdrawn_until_the_scheduler_answers() {
    let mut rig = Rig::uploaded();
    rig.generate(1, TranscriptMode::None);
    rig.unanswered(&Errand::Dispatch(id(1)));
    rig.act(|project, now| project.cancel(now, &id(1)).unwrap());
    assert_eq!(rig.state(1), "cancelling");
    rig.wait(DurationMs::from_secs(1));
    let (_, _, withdrawn) = rig.project.job_request(&id(1)).unwrap();
    assert!(withdrawn);
    rig.unanswered(&Errand::Dispatch(id(1)));
    rig.wait(DurationMs::from_secs(5));
    rig.answer(&Errand::Dispatch(id(1)), ErrandOutcome::Job(news(1, JobNewsState::Cancelled)));
    assert_eq!(rig.state(1), "cancelled");
}

#[test]
fn a_running_one_ends_as_its_job_does() {
    for (end, state) in [(JobNewsState::Cancelled, "cancelled"), (JobNewsState::Completed, "completed")] {
        let mut rig = Rig::uploaded();
        rig.generate(1, TranscriptMode::None);
        rig.dispatched(1);
        rig.act(|project, now| project.cancel(now, &id(1)).unwrap());
        assert_eq!(rig.state(1), "cancelling");
        rig.answer(&Errand::Cancel(id(1)), ErrandOutcome::Job(news(1, JobNewsState::Live)));
        rig.job(1, end);
        assert_eq!(rig.state(1), state);
        rig.job(1, JobNewsState::Completed);
        assert_eq!(rig.state(1), state, "it ends once");
    }
}

#[test]
fn one_that_waits_for_its_transcript_keeps_the_audio_that_was_charged() {
    let mut rig = Rig::uploaded();
    rig.generate(1, TranscriptMode::Given);
    rig.dispatched(1);
    rig.job(1, JobNewsState::Completed);
    rig.act(|project, now| project.cancel(now, &id(1)).unwrap());
    assert_eq!(rig.state(1), "cancelled");
    assert!(matches!(rig.generation(1).audio, Audio::Ready(_)));
    assert_eq!(rig.generation(1).usage, UsageState::Owed);
}

#[test]
fn what_has_ended_cannot_be_cancelled() {
    let mut rig = Rig::uploaded();
    rig.generate(1, TranscriptMode::None);
    rig.dispatched(1);
    rig.job(1, JobNewsState::Completed);
    let refused = rig.act(|project, now| project.cancel(now, &id(1)));
    assert_eq!(refused, Err(Refusal::GenerationEnded { state: "completed".into() }));
}
