//! Which upload of all jobs goes next. Pure.
//!
//! Playback of any job goes before final files, and those before stems of any job. Inside of a class more important environments
//! go first, and then the object of which its job has stored the fewest like it: the first segment of one job goes before
//! the fifth of another, so that everybody hears something soon and nobody's long recording holds the line.

use std::collections::BTreeMap;

/// Uploads of one job at once. More would not make one job faster on any uplink that was measured, and would take the
/// place of other jobs.
pub const MOST_OF_ONE_JOB: usize = 8;

/// What an object is for, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Somebody may be listening.
    Playback,
    /// The job is not complete without it.
    File,
    /// Follows on a completed job.
    Stem,
}

/// An upload's place in the line. Smaller goes first; a retry keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    class: Class,
    environment_rank: u8,
    /// So many objects of this class its job had before.
    earlier: u64,
    arrival: u64,
    job: u64,
}

impl Place {
    /// What it is for.
    pub fn class(&self) -> Class {
        self.class
    }
}

#[derive(Debug)]
struct JobUploads {
    environment_rank: u8,
    running: usize,
    entered: BTreeMap<Class, u64>,
}

/// Uploads that wait and run, over all jobs.
#[derive(Debug, Default)]
pub struct Queue {
    jobs: BTreeMap<u64, JobUploads>,
    waiting: std::collections::BTreeSet<Place>,
    running: usize,
    arrivals: u64,
}

impl Queue {
    /// A job begins to upload; gives its number.
    pub fn open_job(&mut self, environment_rank: u8) -> u64 {
        self.arrivals += 1;
        let job = JobUploads { environment_rank, running: 0, entered: BTreeMap::new() };
        self.jobs.insert(self.arrivals, job);
        self.arrivals
    }

    /// A job uploads nothing any more.
    pub fn close_job(&mut self, job: u64) {
        self.jobs.remove(&job);
    }

    /// A place for a new object of a job.
    pub fn place(&mut self, job: u64, class: Class) -> Place {
        self.arrivals += 1;
        let (environment_rank, earlier) = self.jobs.get_mut(&job).map_or((u8::MAX, 0), |uploads| {
            let entered = uploads.entered.entry(class).or_default();
            *entered += 1;
            (uploads.environment_rank, *entered - 1)
        });
        Place { class, environment_rank, earlier, arrival: self.arrivals, job }
    }

    /// Waits at a place.
    pub fn wait(&mut self, place: Place) {
        self.waiting.insert(place);
    }

    /// The next upload that may run when so many may run at once. It runs from now.
    pub fn start_next(&mut self, limit: usize) -> Option<Place> {
        if self.running >= limit {
            return None;
        }
        let free = |place: &&Place| self.running_of(place.job) < MOST_OF_ONE_JOB;
        let next = *self.waiting.iter().find(free)?;
        self.waiting.remove(&next);
        self.running += 1;
        if let Some(job) = self.jobs.get_mut(&next.job) {
            job.running += 1;
        }
        Some(next)
    }

    /// An upload runs no more, or waits no more.
    pub fn leave(&mut self, place: Place) {
        if self.waiting.remove(&place) {
            return;
        }
        self.running = self.running.saturating_sub(1);
        if let Some(job) = self.jobs.get_mut(&place.job) {
            job.running = job.running.saturating_sub(1);
        }
    }

    /// Uploads that run.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Uploads that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn running_of(&self, job: u64) -> usize {
        self.jobs.get(&job).map_or(0, |job| job.running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wait(queue: &mut Queue, job: u64, class: Class) -> Place {
        let place = queue.place(job, class);
        queue.wait(place);
        place
    }

    #[test]
    fn playback_of_a_later_job_goes_before_files_and_stems_of_an_earlier_one() {
        let mut queue = Queue::default();
        let (early, late) = (queue.open_job(0), queue.open_job(0));
        let stem = wait(&mut queue, early, Class::Stem);
        let file = wait(&mut queue, early, Class::File);
        let playback = wait(&mut queue, late, Class::Playback);
        let order: Vec<Place> = std::iter::from_fn(|| queue.start_next(16)).collect();
        assert_eq!(order, [playback, file, stem]);
    }

    #[test]
    fn the_first_segment_of_a_job_goes_before_the_fifth_of_another_and_production_before_all_of_dev() {
        let mut queue = Queue::default();
        let (dev, long, short) = (queue.open_job(1), queue.open_job(0), queue.open_job(0));
        let of_dev = wait(&mut queue, dev, Class::Playback);
        let of_long: Vec<Place> = (0..3).map(|_| wait(&mut queue, long, Class::Playback)).collect();
        let of_short = wait(&mut queue, short, Class::Playback);
        let order: Vec<Place> = std::iter::from_fn(|| queue.start_next(16)).collect();
        assert_eq!(order, [of_long[0], of_short, of_long[1], of_long[2], of_dev]);
    }

    #[test]
    fn one_job_has_eight_at_once_and_leaves_the_rest_of_the_limit_to_others() {
        let mut queue = Queue::default();
        let (greedy, other) = (queue.open_job(0), queue.open_job(1));
        let first = wait(&mut queue, greedy, Class::Playback);
        for _ in 0..20 {
            wait(&mut queue, greedy, Class::Playback);
        }
        let late = wait(&mut queue, other, Class::Stem);
        let started: Vec<Place> = std::iter::from_fn(|| queue.start_next(16)).collect();
        assert_eq!((started.len(), started.last()), (MOST_OF_ONE_JOB + 1, Some(&late)));
        queue.leave(first);
        assert!(queue.start_next(16).is_some(), "and its next one when one of its own is done");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_bound_is_broken(
            steps in prop::collection::vec((0_u8..4, 0_usize..4, 0_usize..3, 2_usize..17), 1..300),
        ) {
            let mut queue = Queue::default();
            let jobs: Vec<u64> = (0..4).map(|rank| queue.open_job(rank)).collect();
            let (mut waiting, mut running) = (Vec::<Place>::new(), Vec::<Place>::new());
            for (action, job, class, limit) in steps {
                let class = [Class::Playback, Class::File, Class::Stem][class];
                match action {
                    0 | 1 => waiting.push(wait(&mut queue, jobs[job], class)),
                    2 => while let Some(place) = queue.start_next(limit) {
                        let better = waiting.iter().filter(|other| **other < place);
                        for other in better {
                            let theirs = running.iter().filter(|r| r.job == other.job).count();
                            prop_assert!(theirs >= MOST_OF_ONE_JOB, "{other:?} was passed over for {place:?}");
                        }
                        waiting.retain(|other| *other != place);
                        running.push(place);
                        prop_assert!(running.len() <= limit);
                    },
                    _ => if let Some(place) = running.pop().or_else(|| waiting.pop()) {
                        queue.leave(place);
                    },
                }
                prop_assert_eq!((queue.waiting(), queue.running()), (waiting.len(), running.len()));
                for job in &jobs {
                    let of_job = running.iter().filter(|place| place.job == *job).count();
                    prop_assert!(of_job <= MOST_OF_ONE_JOB);
                }
            }
        }
    }
}
