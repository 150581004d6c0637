//! The order in which windows are restored.

/// How many windows that came later go before one, until it goes first. With 16, a long job beside an endless row of short
/// ones still gets one window in 18: nearly twice real time on a machine that restores 34 times real time.
pub const MAX_PASSED_OVER: u32 = 16;

/// Windows that wait, at most one for each session.
///
/// First come those of the best environment (0 is production); among equals the session with the least work left, so
/// that a short recording need not wait for a long one; then first come, first served. A window that was passed over
/// by [`MAX_PASSED_OVER`] later ones goes before all that, the earliest first, so that nothing starves.
#[derive(Debug, Default)]
pub struct Queue {
    entries: Vec<Entry>,
    arrivals: u64,
}

#[derive(Debug)]
struct Entry {
    session: u64,
    environment_rank: u8,
    remaining_seconds: f64,
    arrival: u64,
    passed_over: u32,
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the window of a session. `remaining_seconds` is the work that the session is expected to need in all,
    /// infinite when its length is unknown. A window that the session had waiting is replaced.
    pub fn push(&mut self, session: u64, environment_rank: u8, remaining_seconds: f64) {
        self.cancel(session);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.entries.push(Entry { session, environment_rank, remaining_seconds, arrival, passed_over: 0 });
    }

    /// Takes the session whose window is next.
    pub fn pop(&mut self) -> Option<u64> {
        let first = (0..self.entries.len()).min_by(|&a, &b| self.entries[a].order(&self.entries[b]))?;
        let chosen = self.entries.swap_remove(first);
        for entry in self.entries.iter_mut().filter(|entry| entry.arrival < chosen.arrival) {
            entry.passed_over += 1;
        }
        Some(chosen.session)
    }

    /// Removes a session's window. Whether there was one.
    pub fn cancel(&mut self, session: u64) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.session != session);
        self.entries.len() < before
    }

    /// How many windows wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Entry {
    fn is_aged(&self) -> bool {
        self.passed_over >= MAX_PASSED_OVER
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.is_aged().cmp(&self.is_aged()).then_with(|| {
            let arrival = self.arrival.cmp(&other.arrival);
            if self.is_aged() {
                return arrival;
            }
            (self.environment_rank.cmp(&other.environment_rank))
                .then(self.remaining_seconds.total_cmp(&other.remaining_seconds))
                .then(arrival)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn drain(queue: &mut Queue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn production_goes_first_then_the_shortest_then_the_earliest() {
        let mut queue = Queue::new();
        queue.push(1, 2, 0.1);
        queue.push(2, 0, 90.0);
        queue.push(3, 0, f64::INFINITY);
        queue.push(4, 0, 3.0);
        queue.push(5, 1, 1.0);
        queue.push(6, 0, 3.0);
        assert_eq!(drain(&mut queue), [4, 6, 2, 3, 5, 1]);
    }

    #[test]
    fn a_long_development_job_beside_an_endless_row_of_short_ones_still_gets_its_share() {
        let mut queue = Queue::new();
        queue.push(0, 2, 3600.0);
        queue.push(1, 0, 1.0);
        let order: Vec<_> = (2..=180)
            .map(|next| {
                let session = queue.pop().unwrap();
                let (again, rank, seconds) = if session == 0 { (0, 2, 3600.0) } else { (next, 0, 1.0) };
                queue.push(again, rank, seconds);
                session
            })
            .collect();
        let turns: Vec<_> = (0..order.len()).filter(|&at| order[at] == 0).collect();
        // The short one that was there before it, and those that came later.
        let between = MAX_PASSED_OVER as usize + 1;
        assert_eq!(turns.len(), 10);
        assert!(turns.windows(2).all(|pair| pair[1] - pair[0] - 1 == between), "{turns:?}");
    }

    #[test]
    fn a_cancelled_window_never_comes_up() {
        let mut queue = Queue::new();
        queue.push(1, 0, 1.0);
        queue.push(2, 0, 2.0);
        assert!(queue.cancel(1) && !queue.cancel(1));
        assert_eq!((queue.len(), drain(&mut queue)), (1, vec![2]));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(u64, u8, f64),
        Pop,
        Cancel(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..12u64, 0..3u8, prop_oneof![0.0..100.0f64, Just(f64::INFINITY), Just(f64::NAN)])
                .prop_map(|(session, rank, seconds)| Step::Push(session, rank, seconds)),
            4 => Just(Step::Pop),
            1 => (0..12u64).prop_map(Step::Cancel),
        ];
        proptest::collection::vec(step, 0..400)
    }

    proptest! {
        #[test]
        fn everything_pushed_comes_out_once_or_is_cancelled_and_nothing_waits_beyond_the_bound(steps in steps()) {
            let mut queue = Queue::new();
            // Session -> how many later windows were taken before its own.
            let mut waiting: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
            let mut arrivals = 0;
            for step in steps {
                match step {
                    Step::Push(session, rank, seconds) => {
                        queue.push(session, rank, seconds);
                        waiting.insert(session, (arrivals, 0));
                        arrivals += 1;
                    }
                    Step::Cancel(session) => {
                        prop_assert_eq!(queue.cancel(session), waiting.remove(&session).is_some());
                    }
                    Step::Pop => {
                        let popped = queue.pop();
                        prop_assert_eq!(popped.is_some(), !waiting.is_empty());
                        if let Some(session) = popped {
                            let taken = waiting.remove(&session).expect("only what waits may come up");
                            for (arrival, passed) in waiting.values_mut() {
                                *passed += u32::from(*arrival < taken.0);
                                prop_assert!(*passed <= MAX_PASSED_OVER, "an aged window was passed over by a later one");
                            }
                        }
                    }
                }
                prop_assert_eq!(queue.len(), waiting.len());
            }
        }

        #[test]
        fn without_aging_the_order_is_rank_then_work_left_then_arrival(
            entries in proptest::collection::vec((0..3u8, 0..4u8), 0..(MAX_PASSED_OVER as usize)),
        ) {
            let mut queue = Queue::new();
            for (session, (rank, seconds)) in entries.iter().enumerate() {
                queue.push(session as u64, *rank, f64::from(*seconds));
            }
            let mut expected: Vec<_> = (0..entries.len()).collect();
            expected.sort_by_key(|&session| (entries[session], session));
            prop_assert_eq!(drain(&mut queue), expected.into_iter().map(|s| s as u64).collect::<Vec<_>>());
        }
    }
}
