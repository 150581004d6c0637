//! A restart between any two steps: nothing is lost, nothing runs twice, nothing is charged twice.

use edge::project::errand::{Errand, LEASE};
use edge::project::*;
use proptest::prelude::*;
use shared_protocol::DurationMs;

use crate::rig::{Rig, id, news, transcript};

#[test]
fn usage_is_owed_until_the_ledger_has_it() {
    let mut rig = Rig::uploaded();
    rig.generate(1, TranscriptMode::None);
    rig.dispatched(1);
    rig.job(1, JobNewsState::Completed);
    rig.crash();
    assert!(rig.under_way.contains(&Errand::RecordUsage(id(1))));
    rig.unanswered(&Errand::RecordUsage(id(1)));
    rig.wait(DurationMs::from_secs(1));
    rig.answer(&Errand::RecordUsage(id(1)), ErrandOutcome::Done);
    assert_eq!(rig.generation(1).usage, UsageState::Recorded);
    rig.crash();
    assert!(!rig.under_way.contains(&Errand::RecordUsage(id(1))));
}

#[test]
fn events_are_told_in_their_order_one_after_the_other() {
    let mut rig = Rig::uploaded();
    rig.generate(1, TranscriptMode::None);
    rig.dispatched(1);
    rig.job(1, JobNewsState::Completed);
    let ready = rig.events.iter().find(|event| event.name == EventName::AudioReady).unwrap().sequence;
    let told = |rig: &Rig| {
        let announcing = |errand: &Errand| match errand {
            Errand::Announce(sequence) => Some(*sequence),
            _ => None,
        };
        rig.under_way.iter().filter_map(announcing).collect::<Vec<_>>()
    };
    assert_eq!(told(&rig), [ready]);
    rig.crash();
    assert_eq!(told(&rig), [ready]);
    rig.answer(&Errand::Announce(ready), ErrandOutcome::Done);
    assert_eq!(told(&rig), [ready + 1]);
}

#[test]
fn a_job_of_which_nothing_is_heard_is_asked_for() {
    let mut rig = Rig::uploaded();
    rig.generate(1, TranscriptMode::None);
    rig.dispatched(1);
    rig.wait(RECONCILE_AFTER);
    rig.answer(&Errand::Reconcile(id(1)), ErrandOutcome::Job(news(1, JobNewsState::Completed)));
    assert_eq!(rig.state(1), "completed");
}

#[test]
fn a_transcript_that_is_put_once_more_because_its_answer_was_lost_is_no_new_version() {
    let mut rig = Rig::uploaded();
    assert_eq!(rig.give("so"), 1);
    rig.crash();
    assert_eq!(rig.give("so"), 1);
    assert_eq!(rig.give("so what"), 2);
    assert_eq!(rig.give("so"), 3, "an edit may go back to earlier words");
    let updates = rig.events.iter().filter(|event| event.name == EventName::TranscriptUpdated).count();
    assert_eq!(updates, 3);
}

#[test]
fn a_transcript_that_is_put_once_more_still_takes_the_place_of_a_recognisers() {
    let mut rig = Rig::uploaded();
    rig.give("so");
    rig.act(|project, now| project.transcribe(now).unwrap());
    assert_eq!(rig.give("so"), 1);
    rig.crash();
    assert!(!rig.under_way.contains(&Errand::Transcribe(1)), "its words are not wanted any more");
    assert_eq!(rig.project.head().transcription.state, TranscriptionState::Superseded);
}

#[test]
fn a_transcription_that_is_asked_for_once_more_because_its_answer_was_lost_runs_once() {
    let mut rig = Rig::uploaded();
    rig.act(|project, now| project.transcribe(now).unwrap());
    rig.act(|project, now| project.transcribe(now).unwrap());
    assert_eq!(rig.times_begun(&Errand::Transcribe(1)), 1);
    assert_eq!(rig.project.head().transcription.operation, 1);
}

/// The truth about the one job, as a scheduler would have it.
#[derive(Debug, Default)]
struct World {
    submissions: u32,
    job: Option<JobNewsState>,
    charged: u32,
}

impl World {
    /// Answers an errand, or does what it asks for and has the answer lost.
    fn serve(&mut self, rig: &mut Rig, errand: &Errand, lost: bool) {
        let outcome = match errand {
            Errand::Dispatch(generation) => {
                let (_, _, withdrawn) = rig.project.job_request(generation).unwrap();
                let new = self.job.is_none();
                self.submissions += u32::from(new);
                let job = self.job.get_or_insert(JobNewsState::Live);
                if withdrawn && *job == JobNewsState::Live {
                    *job = JobNewsState::Cancelled;
                }
                ErrandOutcome::Job(news(1, *job))
            }
            Errand::Cancel(_) => {
                let job = self.job.as_mut().unwrap();
                if *job == JobNewsState::Live {
                    *job = JobNewsState::Cancelled;
                }
                ErrandOutcome::Job(news(1, *job))
            }
            Errand::Reconcile(_) => {
                self.job.map_or(ErrandOutcome::JobMissing, |job| ErrandOutcome::Job(news(1, job)))
            }
            Errand::RecordUsage(_) => {
                self.charged = 1;
                ErrandOutcome::Done
            }
            Errand::Transcribe(_) => ErrandOutcome::Transcribed(transcript("so")),
            Errand::CheckUpload => ErrandOutcome::UploadFound,
            Errand::Register | Errand::SweepUpload | Errand::Announce(_) => ErrandOutcome::Done,
        };
        if lost {
            rig.unanswered(errand);
        } else {
            rig.answer(errand, outcome);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_in_between_it_ends_once_runs_once_and_is_charged_once(
        steps in prop::collection::vec(0_u8..9, 1..40),
        mode in prop::sample::select(vec![TranscriptMode::None, TranscriptMode::Given, TranscriptMode::Required]),
    ) {
        let mut rig = Rig::new();
        let mut world = World::default();
        rig.generate(1, mode);
        let mut was_final = false;
        for step in steps {
            match step {
                0 => rig.crash(),
                1 => rig.wait(LEASE),
                2 => rig.act(|project, now| project.complete_upload(now, CompletedBy::Client).unwrap()),
                3 => { rig.give("so what"); }
                4 => { let _refused = rig.act(|project, now| project.cancel(now, &id(1))); }
                5 if world.job == Some(JobNewsState::Live) => {
                    world.job = Some(JobNewsState::Completed);
                    rig.job(1, JobNewsState::Completed);
                }
                6 => if let Some(job) = world.job { rig.job(1, job); },
                lost @ (7 | 8) => if let Some(errand) = rig.under_way.first().cloned() {
                    world.serve(&mut rig, &errand, lost == 7);
                },
                _ => {}
            }
            was_final |= rig.generation(1).is_final();
            prop_assert_eq!(was_final, rig.generation(1).is_final(), "what is final stays so");
        }
        // Then all is well, and everything has to end.
        rig.act(|project, now| project.complete_upload(now, CompletedBy::Client).unwrap());
        if mode == TranscriptMode::Given {
            rig.give("so what");
        }
        for _ in 0..60 {
            while let Some(errand) = rig.under_way.first().cloned() {
                world.serve(&mut rig, &errand, false);
            }
            if world.job == Some(JobNewsState::Live) {
                world.job = Some(JobNewsState::Completed);
                rig.job(1, JobNewsState::Completed);
            }
            rig.wait(DurationMs::from_secs(60));
        }
        let generation = rig.generation(1);
        prop_assert!(generation.is_final(), "{generation:?}");
        prop_assert!(world.submissions <= 1);
        let has_audio = matches!(generation.audio, Audio::Ready(_));
        prop_assert_eq!(world.charged, u32::from(has_audio));
        prop_assert_eq!(world.job == Some(JobNewsState::Completed), has_audio);
        let ended = |name: EventName| rig.events.iter().filter(|event| event.name == name).count();
        prop_assert_eq!(ended(EventName::Completed) + ended(EventName::Cancelled), 1);
    }
}
