//! What is written of a turn: of several writes of one row the last one, because every row written costs money.

use std::collections::BTreeSet;

use shared_protocol::JobId;

use crate::scheduler::Effect;

/// The rows that a turn may write more than once.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row<'a> {
    Job(&'a JobId),
    Playlist(&'a JobId),
    Meta,
    FollowUp(&'a JobId),
}

/// The effects of a turn that are to be written, in their order. A job that has ended carries its playlist in its own row.
pub fn to_write(effects: &[Effect]) -> Vec<&Effect> {
    let ended: BTreeSet<&JobId> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::SaveJob(job) if job.state.is_ended() => Some(&job.id),
            _ => None,
        })
        .collect();
    let mut seen: BTreeSet<Row<'_>> = BTreeSet::new();
    let mut latest: Vec<&Effect> = effects
        .iter()
        .rev()
        .filter(|effect| match effect {
            Effect::SaveJob(job) => seen.insert(Row::Job(&job.id)),
            Effect::SavePlaylist { job_id, .. } => {
                !ended.contains(job_id) && seen.insert(Row::Playlist(job_id))
            }
            Effect::SaveMeta(_) => seen.insert(Row::Meta),
            Effect::SaveFollowUp(follow_up) => seen.insert(Row::FollowUp(&follow_up.job_id)),
            _ => true,
        })
        .collect();
    latest.reverse();
    latest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::job_row::tests::job;
    use crate::scheduler::{JobState, Meta, Playlist};
    use shared_protocol::TimestampMs;

    #[test]
    fn of_a_job_that_is_queued_offered_and_ended_in_one_turn_only_the_end_is_written() {
        let in_state = |state: JobState| {
            let mut job = job();
            job.state = state;
            Effect::SaveJob(Box::new(job))
        };
        let queued = in_state(JobState::Queued { not_before: TimestampMs(0) });
        let playlist = Effect::SavePlaylist { job_id: job().id, playlist: Playlist::default() };
        let meta = |n| Effect::SaveMeta(Box::new(Meta { last_sequence: n, ..Meta::default() }));
        let effects = [queued.clone(), meta(1), playlist.clone(), queued.clone(), meta(2)];
        assert_eq!(to_write(&effects), [&playlist, &queued, &meta(2)]);
        let completed = in_state(JobState::Completed);
        assert_eq!(to_write(&[queued, completed.clone(), playlist]), [&completed]);
    }
}
