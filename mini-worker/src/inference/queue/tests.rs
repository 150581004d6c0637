//! What the order of windows promises.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const NOW: Duration = Duration::ZERO;

fn claim(environment_rank: u8, heard: bool, remaining_seconds: f64) -> Claim {
    Claim { environment_rank, heard, remaining_seconds }
}

fn drain(queue: &mut Queue) -> Vec<u64> {
    std::iter::from_fn(|| queue.pop(NOW)).collect()
}

#[test]
fn production_goes_first_then_what_nobody_hears_yet_then_the_shortest_then_the_earliest() {
    let mut queue = Queue::new(Scheduling::Windows);
    queue.push(1, claim(2, false, 0.1), NOW);
    queue.push(2, claim(0, true, 90.0), NOW);
    queue.push(3, claim(0, true, f64::INFINITY), NOW);
    queue.push(4, claim(0, true, 3.0), NOW);
    queue.push(5, claim(1, false, 1.0), NOW);
    queue.push(6, claim(0, true, 3.0), NOW);
    queue.push(7, claim(0, false, 600.0), NOW);
    assert_eq!(drain(&mut queue), [7, 4, 6, 2, 3, 5, 1]);
}

#[test]
fn a_short_job_starts_within_one_window_of_a_long_one_and_the_long_one_still_gets_its_share() {
    let mut queue = Queue::new(Scheduling::Windows);
    let long = claim(0, true, 3600.0);
    queue.push(0, long, NOW);
    queue.push(1, claim(0, false, 1.0), NOW);
    let order: Vec<_> = (2..=180)
        .map(|next| {
            let session = queue.pop(NOW).unwrap();
            if session == 0 {
                queue.push(0, long, NOW);
            } else {
                queue.push(next, claim(0, false, 1.0), NOW);
            }
            session
        })
        .collect();
    assert_eq!(order[0], 1);
    let turns: Vec<_> = (0..order.len()).filter(|&at| order[at] == 0).collect();
    // The short one that was there before it, and those that came later.
    let between = MAX_PASSED_OVER as usize + 1;
    assert_eq!(turns.len(), 10);
    assert!(turns.windows(2).all(|pair| pair[1] - pair[0] - 1 == between), "{turns:?}");
}

#[test]
fn waiting_makes_first_in_its_environment_and_in_the_end_before_all_others() {
    let mut queue = Queue::new(Scheduling::Windows);
    queue.push(1, claim(0, true, 90.0), NOW);
    queue.push(2, claim(1, true, 90.0), NOW);
    let later = MAX_WAIT - Duration::from_millis(1);
    queue.push(3, claim(0, false, 1.0), later);
    queue.push(4, claim(1, false, 1.0), later);
    assert_eq!(queue.pop(later), Some(3));
    assert_eq!(queue.pop(MAX_WAIT), Some(1));
    queue.push(5, claim(0, false, 1.0), MAX_WAIT);
    assert_eq!(queue.pop(MAX_WAIT), Some(5), "production before what waits elsewhere");
    assert_eq!(queue.pop(MAX_WAIT), Some(2), "it waited: before the short one");
    queue.push(6, claim(0, false, 1.0), MAX_WAIT_BEHIND_OTHERS * 2);
    assert_eq!(queue.pop(MAX_WAIT_BEHIND_OTHERS * 2), Some(4), "a minute is enough");
}

#[test]
fn a_cancelled_window_never_comes_up() {
    let mut queue = Queue::new(Scheduling::Windows);
    queue.push(1, claim(0, true, 1.0), NOW);
    queue.push(2, claim(0, true, 2.0), NOW);
    assert!(queue.cancel(1) && !queue.cancel(1));
    assert_eq!((queue.len(), drain(&mut queue)), (1, vec![2]));
}

#[test]
fn by_whole_recordings_the_model_stays_with_one_until_it_leaves() {
    let mut queue = Queue::new(Scheduling::WholeRecordings);
    queue.push(1, claim(0, false, 600.0), NOW);
    assert_eq!(queue.pop(NOW), Some(1));
    queue.push(2, claim(0, false, 1.0), NOW);
    queue.push(3, claim(0, false, 0.5), NOW);
    assert!(!queue.has_next() && queue.pop(NOW).is_none(), "the next window of the first is waited for");
    queue.push(1, claim(0, true, 598.0), NOW);
    assert!(queue.has_next());
    assert_eq!(queue.pop(NOW), Some(1));
    queue.leave(1);
    assert_eq!(queue.pop(NOW), Some(3), "then the shortest");
    queue.leave(2);
    queue.leave(3);
    assert!(queue.is_empty());
}

#[derive(Debug, Clone)]
enum Step {
    Push(u64, Claim),
    Pop,
    Cancel(u64),
    Leave(u64),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let seconds = prop_oneof![0.0..100.0f64, Just(f64::INFINITY), Just(f64::NAN)];
    let claims =
        (0..3u8, any::<bool>(), seconds).prop_map(|(rank, heard, seconds)| claim(rank, heard, seconds));
    let step = prop_oneof![
        4 => (0..12u64, claims).prop_map(|(session, claim)| Step::Push(session, claim)),
        4 => Just(Step::Pop),
        1 => (0..12u64).prop_map(Step::Cancel),
        1 => (0..12u64).prop_map(Step::Leave),
        2 => (0..4_000u64).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 0..400)
}

#[derive(Debug)]
struct Waiting {
    claim: Claim,
    arrival: u64,
    since: Duration,
    passed: u32,
}

proptest! {
    #[test]
    fn everything_pushed_comes_out_once_or_is_cancelled_and_nothing_waits_beyond_its_bounds(steps in steps()) {
        let mut queue = Queue::new(Scheduling::Windows);
        let mut now = Duration::ZERO;
        let mut waiting: BTreeMap<u64, Waiting> = BTreeMap::new();
        let mut arrivals = 0;
        for step in steps {
            match step {
                Step::Push(session, claim) => {
                    queue.push(session, claim, now);
                    waiting.insert(session, Waiting { claim, arrival: arrivals, since: now, passed: 0 });
                    arrivals += 1;
                }
                Step::Cancel(session) => {
                    prop_assert_eq!(queue.cancel(session), waiting.remove(&session).is_some());
                }
                Step::Leave(session) => {
                    queue.leave(session);
                    waiting.remove(&session);
                }
                Step::Pass(milliseconds) => now += Duration::from_millis(milliseconds),
                Step::Pop => {
                    let popped = queue.pop(now);
                    prop_assert_eq!(popped.is_some(), !waiting.is_empty());
                    let Some(session) = popped else { continue };
                    let taken = waiting.remove(&session).expect("only what waits may come up");
                    for other in waiting.values_mut() {
                        let waited = now - other.since;
                        let later = other.arrival < taken.arrival;
                        prop_assert!(!(later && waited >= MAX_WAIT_BEHIND_OTHERS), "{other:?} waited too long");
                        let ranks = taken.claim.environment_rank.cmp(&other.claim.environment_rank);
                        if ranks.is_eq() {
                            prop_assert!(!(later && waited >= MAX_WAIT), "{other:?} waited too long");
                            other.passed += u32::from(later);
                            prop_assert!(other.passed <= MAX_PASSED_OVER, "{other:?} was passed over too often");
                        }
                        let outwaited = now - taken.since >= MAX_WAIT_BEHIND_OTHERS;
                        prop_assert!(ranks.is_le() || outwaited, "a better environment waits");
                    }
                }
            }
            prop_assert_eq!(queue.len(), waiting.len());
        }
    }

    #[test]
    fn by_whole_recordings_nobody_comes_between_and_everything_comes_out(steps in steps()) {
        let mut queue = Queue::new(Scheduling::WholeRecordings);
        let mut now = Duration::ZERO;
        let mut current = None;
        for step in steps {
            match step {
                Step::Push(session, claim) => queue.push(session, claim, now),
                Step::Cancel(session) => _ = queue.cancel(session),
                Step::Leave(session) => {
                    queue.leave(session);
                    current = current.filter(|other| *other != session);
                }
                Step::Pass(milliseconds) => now += Duration::from_millis(milliseconds),
                Step::Pop => {
                    let ready = queue.has_next();
                    let popped = queue.pop(now);
                    prop_assert_eq!(popped.is_some(), ready);
                    prop_assert!(popped.is_none() || current.is_none() || popped == current);
                    current = popped.or(current);
                }
            }
        }
        while !queue.is_empty() {
            current.into_iter().for_each(|session| queue.leave(session));
            current = queue.pop(now);
        }
    }

    #[test]
    fn without_aging_the_order_is_rank_then_unheard_then_work_left_then_arrival(
        entries in proptest::collection::vec((0..3u8, any::<bool>(), 0..4u8), 0..(MAX_PASSED_OVER as usize)),
    ) {
        let mut queue = Queue::new(Scheduling::Windows);
        for (session, (rank, heard, seconds)) in entries.iter().enumerate() {
            queue.push(session as u64, claim(*rank, *heard, f64::from(*seconds)), NOW);
        }
        let mut expected: Vec<_> = (0..entries.len()).collect();
        expected.sort_by_key(|&session| (entries[session], session));
        prop_assert_eq!(drain(&mut queue), expected.into_iter().map(|s| s as u64).collect::<Vec<_>>());
    }
}
