//! The client's own word about its upload comes first; the edge looks for itself only when that word does not come.

use edge::project::errand::Errand;
use edge::project::*;
use shared_protocol::DurationMs;

use crate::rig::Rig;

fn completed_by(rig: &Rig) -> Option<CompletedBy> {
    match rig.project.head().upload.state {
        UploadState::Complete { by, .. } => Some(by),
        _ => None,
    }
}

#[test]
fn the_edges_own_look_waits_30_s_for_the_clients_word() {
    let mut rig = Rig::new();
    rig.act(Project::handle_arrived);
    rig.wait(DurationMs(BACKUP_CHECK_AFTER.0 - 1));
    assert_eq!(rig.times_begun(&Errand::CheckUpload), 0);
    rig.act(|project, now| project.complete_upload(now, CompletedBy::Client).unwrap());
    rig.wait(DurationMs::from_secs(60));
    assert_eq!(rig.times_begun(&Errand::CheckUpload), 0, "it is not looked for any more");
    assert_eq!(completed_by(&rig), Some(CompletedBy::Client));
}

#[test]
fn without_the_clients_word_the_edge_finds_it() {
    let mut rig = Rig::new();
    rig.generate(1, TranscriptMode::None);
    rig.act(Project::handle_arrived);
    rig.crash();
    rig.wait(BACKUP_CHECK_AFTER);
    rig.answer(&Errand::CheckUpload, ErrandOutcome::UploadFound);
    assert_eq!(completed_by(&rig), Some(CompletedBy::Edge));
    assert_eq!(rig.state(1), "dispatching");
    // The client's word comes late, and changes nothing.
    rig.act(|project, now| project.complete_upload(now, CompletedBy::Client).unwrap());
    assert_eq!(completed_by(&rig), Some(CompletedBy::Edge));
}

#[test]
fn an_upload_that_never_comes_is_swept_and_its_generations_say_so() {
    let mut rig = Rig::new();
    rig.generate(1, TranscriptMode::None);
    rig.wait(ABANDONED_AFTER);
    rig.answer(&Errand::CheckUpload, ErrandOutcome::UploadMissing);
    assert_eq!(rig.state(1), "failed");
    assert_eq!(rig.generation(1).failure().unwrap().code, "upload_abandoned");
    rig.answer(&Errand::SweepUpload, ErrandOutcome::Done);
    rig.wait(DurationMs::from_secs(3_600));
    assert!(!rig.under_way.contains(&Errand::SweepUpload));
    let refused = rig.act(|project, now| project.complete_upload(now, CompletedBy::Client));
    assert_eq!(refused, Err(Refusal::UploadAbandoned));
}

#[test]
fn a_transcription_does_not_wait_for_an_upload_that_was_given_up() {
    let mut rig = Rig::new();
    rig.act(|project, now| project.transcribe(now).unwrap());
    rig.wait(ABANDONED_AFTER);
    rig.answer(&Errand::CheckUpload, ErrandOutcome::UploadMissing);
    let transcription = &rig.project.head().transcription;
    assert_eq!(transcription.state, TranscriptionState::Failed);
    assert_eq!(transcription.failure.as_ref().unwrap().code, "upload_abandoned");
    assert!(rig.names().contains(&"transcription.failed"));
    let refused = rig.act(|project, now| project.transcribe(now));
    assert_eq!(refused, Err(Refusal::UploadAbandoned));
}

#[test]
fn parts_that_keep_coming_keep_an_upload_alive() {
    let mut rig = Rig::new();
    let part = StoredPart { etag: "e".into(), size: 5 };
    let refused = rig.act(|project, now| project.part_arrived(now, 1, part));
    assert_eq!(refused, Err(Refusal::UploadNotInParts));
}
