//! History explains every state: it only grows, its last entry is the state, every transition is one of the drawn machine, times and
//! attempts never go back, and nothing starts before its time.

use edge::scheduler::{Job, JobState, MAX_HISTORY};

use super::{Check, Fact, Moment, Verdict};

/// From, to. A job begins with `queued`.
const LEGAL: [(&str, &str); 20] = [
    ("queued", "offered"),
    ("queued", "running"),
    ("queued", "completed"),
    ("queued", "failed"),
    ("queued", "cancelled"),
    ("offered", "running"),
    ("offered", "queued"),
    ("offered", "completed"),
    ("offered", "failed"),
    ("offered", "cancelled"),
    ("offered", "quarantined"),
    ("running", "queued"),
    ("running", "completed"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "quarantined"),
    ("failed", "queued"),
    ("quarantined", "queued"),
    ("quarantined", "failed"),
    ("", "queued"),
];

/// See the module.
#[derive(Default)]
pub struct History;

impl Check for History {
    fn name(&self) -> &'static str {
        "history"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        let Fact::Saved { before, after, .. } = fact else { return Ok(()) };
        let id = &after.id;
        let Some(last) = after.history.last() else { return Err(format!("{id} has no history")) };
        if last.to != after.state.name() || last.attempt != after.attempt {
            return Err(format!(
                "{id} is {} at attempt {}, its history ends with {last:?}",
                after.state.name(),
                after.attempt
            ));
        }
        if let Some(holder) = after.state.worker()
            && last.worker.as_ref() != Some(holder)
        {
            return Err(format!("{id} is with {holder}, its history says {:?}", last.worker));
        }
        let Some(before) = before else { return fresh(after) };
        let kept = before.history.len();
        if after.history.len() < MAX_HISTORY && after.history.get(..kept) != Some(&before.history[..]) {
            return Err(format!("the history of {id} was changed"));
        }
        if after.history.len() >= MAX_HISTORY {
            return Ok(());
        }
        if before.state != after.state && after.history.len() == kept {
            return Err(format!("{id} went from {:?} to {:?} without a word", before.state, after.state));
        }
        for pair in after.history[kept.saturating_sub(1)..].windows(2) {
            let [from, to] = pair else { continue };
            if !LEGAL.contains(&(from.to.as_str(), to.to.as_str())) {
                return Err(format!("{id} went from {} to {}", from.to, to.to));
            }
            let next = if to.to == "offered" { from.attempt.next() } else { from.attempt };
            if to.attempt != next || to.at < from.at || to.at > moment.now {
                return Err(format!("{id} went from {from:?} to {to:?}"));
            }
        }
        too_early(before, after)
    }
}

fn fresh(job: &Job) -> Verdict {
    // Within one turn a new job may have been offered already.
    match job.history.first() {
        Some(first) if first.to == "queued" => Ok(()),
        other => Err(format!("the history of {} begins with {other:?}", job.id)),
    }
}

fn too_early(before: &Job, after: &Job) -> Verdict {
    if let (JobState::Queued { not_before }, JobState::Offered { offered_at, .. }) =
        (&before.state, &after.state)
        && offered_at < not_before
    {
        return Err(format!("{} was offered {} ms before its time", after.id, (*not_before - *offered_at).0));
    }
    Ok(())
}
