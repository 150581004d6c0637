//! Whatever order things come in: bounds hold, order holds, nothing is lost.

use std::collections::{BTreeMap, BTreeSet};

use super::rig::*;
use edge::outbox::*;
use proptest::prelude::*;
use shared_protocol::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Debug, Clone)]
enum Step {
    Publish(u32, usize),
    Answer(usize, u8),
    LateAnswer(u64),
    Pass(u64),
    Evict,
    Enable(usize, bool),
    Replay,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..6u32, 0..EventKind::ALL.len()).prop_map(|(job, kind)| Step::Publish(job, kind)),
        12 => (0..6usize, any::<u8>()).prop_map(|(which, how)| Step::Answer(which, how)),
        1 => any::<u64>().prop_map(Step::LateAnswer),
        3 => (0..20_000u64).prop_map(Step::Pass),
        1 => (0..40_000_000u64).prop_map(Step::Pass),
        1 => Just(Step::Evict),
        1 => (0..4usize, any::<bool>()).prop_map(|(which, on)| Step::Enable(which, on)),
        1 => Just(Step::Replay),
    ]
}

fn outcome(how: u8) -> DeliveryOutcome {
    match how % 10 {
        0..=4 => ok(),
        5 => status(500),
        6 => DeliveryOutcome::TimedOut,
        7 => DeliveryOutcome::NotConnected { detail: "refused".into() },
        8 => DeliveryOutcome::Response { status: 429, retry_after: Some(DurationMs::from_secs(how.into())) },
        _ => status(if how > 240 { 410 } else { 301 }),
    }
}

/// What each endpoint must hear of each job: every event published while it was enabled, in order.
type Expected = BTreeMap<(String, String), Vec<(String, EventKind)>>;

/// What may be in flight at any moment.
fn check_flight(rig: &Rig) {
    assert!(rig.sent.len() <= MAX_IN_FLIGHT);
    let mut per_endpoint: BTreeMap<&EndpointId, usize> = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    for delivery in &rig.sent {
        *per_endpoint.entry(&delivery.endpoint).or_default() += 1;
        assert!(
            pairs.insert((&delivery.endpoint, &rig.rows[&delivery.row].0.job_id)),
            "two of one job at once"
        );
    }
    assert!(per_endpoint.values().all(|n| *n <= MAX_IN_FLIGHT_PER_ENDPOINT));
}

/// Each event comes after all that were published before it, and never again after a later one was begun.
fn check_order(rig: &Rig, expected: &Expected, replayed: &BTreeSet<String>) {
    let mut latest: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (endpoint, job, _, event) in rig.log.iter().filter(|entry| !replayed.contains(&entry.3)) {
        let published = &expected[&(endpoint.clone(), job.clone())];
        let place = published.iter().position(|(id, _)| id == event).expect("sends what was published");
        let latest = latest.entry((endpoint, job)).or_insert(place);
        assert!(*latest <= place, "{event} of {job} at {endpoint} came after a later one");
        *latest = place;
    }
}

/// Whatever was not sent is a dead letter or was overtaken by later news of the same job, or is passing news that there was no room for.
fn check_nothing_lost(rig: &Rig, expected: &Expected) {
    let sent: BTreeSet<(&str, &str)> = rig.log.iter().map(|e| (e.0.as_str(), e.3.as_str())).collect();
    for ((endpoint, _), published) in expected {
        let all = expected.iter().filter(|((e, _), _)| e == endpoint).map(|(_, published)| published.len());
        let may_be_full = all.sum::<usize>() > rig.config.max_waiting_per_endpoint;
        for (n, (event, kind)) in published.iter().enumerate() {
            let dead = || {
                rig.rows
                    .values()
                    .any(|(row, _)| row.endpoint.as_str() == endpoint && row.event.as_str() == event)
            };
            let overtaken = || match kind {
                EventKind::Progress => n + 1 < published.len(),
                EventKind::PhaseChanged => published[n + 1..].iter().any(|(_, later)| later.is_terminal()),
                _ => false,
            };
            assert!(
                sent.contains(&(endpoint, event))
                    || dead()
                    || overtaken()
                    || (kind.is_passing() && may_be_full),
                "{event} {kind:?} was lost at {endpoint}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn bounds_and_order_hold_and_nothing_is_lost(steps in prop::collection::vec(step(), 0..250), bound in 2..40usize) {
        let config = OutboxConfig { max_waiting_per_endpoint: bound, ..OutboxConfig::default() };
        let mut rig = Rig::with(config, &NAMES);
        let mut expected = Expected::new();
        let mut replayed = BTreeSet::new();
        for step in steps {
            match step {
                Step::Publish(n, kind) => {
                    let kind = EventKind::ALL[kind];
                    let told: Vec<String> =
                        rig.outbox.endpoints().filter(|e| e.enabled).map(|e| e.id.to_string()).collect();
                    let event = rig.publish(n, kind);
                    for endpoint in told {
                        let line = expected.entry((endpoint, job(n).to_string())).or_default();
                        line.push((event.clone(), kind));
                    }
                }
                Step::Answer(which, how) => {
                    if !rig.sent.is_empty() {
                        rig.answer_at(which % rig.sent.len(), outcome(how));
                    }
                }
                Step::LateAnswer(which) => {
                    if !rig.aborted.is_empty() {
                        let id = rig.aborted[which as usize % rig.aborted.len()];
                        // Ids start anew with the memory: only what this instance has cut off can be answered late.
                        if rig.sent.iter().all(|delivery| delivery.id != id) {
                            rig.outbox.handle_delivered(rig.now, id, ok());
                            rig.settle();
                        }
                    }
                }
                Step::Pass(ms) => rig.pass(DurationMs(ms)),
                Step::Evict => {
                    rig.aborted.clear();
                    rig.evict();
                }
                Step::Enable(which, enabled) => {
                    let stored = rig.endpoints[&EndpointId::new(NAMES[which]).unwrap()].clone();
                    rig.set(Endpoint { enabled, gone_at: None, ..stored });
                }
                Step::Replay => {
                    let dead = rig.dead();
                    replayed.extend(dead.iter().map(|row| row.event.to_string()));
                    rig.replay(dead);
                }
            }
            check_flight(&rig);
        }
        // Healing: everybody is enabled and answers.
        for name in NAMES {
            let stored = rig.endpoints[&EndpointId::new(name).unwrap()].clone();
            rig.set(Endpoint { enabled: true, gone_at: None, ..stored });
        }
        rig.drain();
        prop_assert!(rig.outbox.is_empty());
        prop_assert_eq!(rig.dead().len(), rig.rows.len());
        check_order(&rig, &expected, &replayed);
        check_nothing_lost(&rig, &expected);
    }
}
