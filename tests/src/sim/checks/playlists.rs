//! A job's playlist only grows: what a listener was told of stays at its place, and was really stored by that attempt.

use std::collections::BTreeMap;

use edge::scheduler::Playlist;
use shared_protocol::{Attempt, DurationMs, JobId};

use super::{Check, Fact, Moment, Verdict};
use crate::sim::worker_life::segment_duration;

/// See the module.
#[derive(Default)]
pub struct Playlists {
    stored: BTreeMap<(usize, JobId, Attempt), u32>,
}

fn entries(playlist: &Playlist) -> Vec<(Attempt, u32, DurationMs)> {
    let run = |run: &edge::scheduler::Run| {
        let (attempt, first) = (run.attempt, run.first);
        run.durations_ms
            .iter()
            .enumerate()
            .map(move |(n, d)| (attempt, first + n as u32, *d))
            .collect::<Vec<_>>()
    };
    playlist.runs.iter().flat_map(run).collect()
}

impl Check for Playlists {
    fn name(&self) -> &'static str {
        "playlists"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Stored { place, segments } => {
                self.stored.insert((place.env, place.job.clone(), place.attempt), *segments);
            }
            Fact::PlaylistSaved { env, job, before, after } => {
                let now = entries(after);
                let earlier = before.map(entries).unwrap_or_default();
                if now.get(..earlier.len()) != Some(&earlier[..]) {
                    return Err(format!("the playlist of {job} lost what it had listed"));
                }
                for (position, (attempt, sequence, duration)) in now.iter().enumerate().skip(earlier.len()) {
                    let stored = self.stored.get(&(*env, (*job).clone(), *attempt)).copied().unwrap_or(0);
                    let right = *sequence as usize == position && *duration == segment_duration(*sequence);
                    if !right || *sequence >= stored {
                        return Err(format!(
                            "the playlist of {job} lists segment {sequence} of attempt {attempt}, which stored {stored}"
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
