//! The object's memory is lost at any moment.

use super::rig::*;
use edge::outbox::EventKind::*;
use edge::outbox::*;

/// A day in the life of three jobs at two endpoints, one of them shaky; the memory is lost after step `evict_after`.
fn story(evict_after: Option<usize>) -> Rig {
    let mut rig = Rig::new(&["good", "shaky"]);
    let happens = [
        (1, Queued),
        (2, Queued),
        (1, Started),
        (1, PhaseChanged),
        (1, Progress),
        (2, Started),
        (1, Progress),
        (1, Playable),
        (2, Failed),
        (3, Queued),
        (1, Progress),
        (1, Completed),
        (3, Cancelled),
        (1, Stems),
        (1, Quality),
    ];
    let mut step = 0;
    let mut stepped = |rig: &mut Rig| {
        if evict_after == Some(step) {
            rig.evict();
        }
        step += 1;
    };
    for (n, (number, kind)) in happens.into_iter().enumerate() {
        rig.publish(number, kind);
        stepped(&mut rig);
        if rig.sent.iter().any(|d| d.endpoint.as_str() == "good") {
            rig.answer("good", ok());
            stepped(&mut rig);
        }
        if n % 3 == 2 && rig.sent.iter().any(|d| d.endpoint.as_str() == "shaky") {
            rig.answer("shaky", if n % 2 == 0 { status(500) } else { ok() });
            stepped(&mut rig);
        }
    }
    rig.drain();
    rig
}

#[test]
fn whatever_must_be_told_is_told_in_order_wherever_the_memory_is_lost() {
    let lasting = |rig: &Rig, endpoint: &str, n| {
        let mut told = rig.told(endpoint, n);
        told.retain(|kind| !kind.is_passing());
        told.dedup();
        told
    };
    let undisturbed = story(None);
    assert_eq!(
        lasting(&undisturbed, "shaky", 1),
        [Queued, Started, Playable, Completed, Stems, Quality],
        "the story tells all"
    );
    for evict_after in 0..40 {
        let disturbed = story(Some(evict_after));
        assert!(disturbed.rows.is_empty(), "everything was delivered");
        for (endpoint, n) in [("good", 1), ("good", 2), ("good", 3), ("shaky", 1), ("shaky", 2), ("shaky", 3)]
        {
            assert_eq!(
                lasting(&disturbed, endpoint, n),
                lasting(&undisturbed, endpoint, n),
                "job {n} at {endpoint}, memory lost after step {evict_after}"
            );
        }
    }
}

#[test]
fn what_was_under_way_is_sent_again_because_nobody_knows_whether_it_arrived() {
    let mut rig = Rig::new(&["a"]);
    let event = rig.publish(1, Completed);
    rig.evict();
    assert_eq!(rig.sent[0].event.as_str(), event);
    assert_eq!(rig.log.len(), 2);
}

#[test]
fn a_pause_before_a_retry_outlives_the_memory() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Completed);
    rig.answer("a", status(500));
    let due = rig.outbox.next_deadline();
    rig.evict();
    assert_eq!(rig.outbox.next_deadline(), due);
    assert!(rig.sent.is_empty());
    rig.next_deadline();
    assert_eq!(rig.sent[0].attempt, 2);
}

#[test]
fn a_row_id_is_never_given_out_twice_while_a_dead_letter_has_it() {
    let mut rig = Rig::with(OutboxConfig { max_waiting_per_endpoint: 1, ..OutboxConfig::default() }, &["a"]);
    rig.publish(1, Queued);
    rig.publish(1, Started);
    rig.publish(1, Playable);
    let dead = rig.dead();
    rig.drain();
    rig.evict();
    rig.publish(2, Queued);
    assert_eq!(rig.dead(), dead);
}
