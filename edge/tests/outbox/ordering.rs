//! What a backend is told of one job, and in which order.

use super::rig::*;
use edge::outbox::EventKind::*;
use edge::outbox::*;
use shared_protocol::*;

#[test]
fn the_events_of_a_job_arrive_one_after_the_other() {
    let mut rig = Rig::new(&["a"]);
    for kind in [Queued, Started, Playable, Completed, Stems, Quality] {
        rig.publish(1, kind);
    }
    for kind in [Queued, Started, Playable, Completed, Stems, Quality] {
        assert_eq!(rig.under_way(), [("a".to_owned(), kind)]);
        rig.answer("a", ok());
    }
    assert!(rig.outbox.is_empty() && rig.rows.is_empty());
    assert_eq!(rig.outbox.next_deadline(), None);
}

#[test]
fn the_next_event_waits_until_a_failed_one_was_delivered() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.publish(1, Playable);
    rig.answer("a", status(500));
    rig.next_deadline();
    rig.answer("a", DeliveryOutcome::TimedOut);
    assert_eq!(rig.under_way(), []);
    rig.next_deadline();
    rig.answer("a", ok());
    assert_eq!(rig.told("a", 1), [Started, Started, Started, Playable]);
}

#[test]
fn a_retry_sends_the_same_bytes_under_the_same_id() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Completed);
    let first = rig.sent[0].clone();
    let body = rig.rows[&first.row].1.clone();
    rig.answer("a", status(503));
    rig.evict();
    rig.next_deadline();
    let second = rig.sent[0].clone();
    assert_eq!((&second.event, second.attempt), (&first.event, 2));
    assert_eq!(rig.rows[&second.row].1, body);
}

#[test]
fn of_progress_that_waits_only_the_latest_is_sent() {
    let mut rig = Rig::new(&["a"]);
    let first = rig.publish(1, Progress);
    rig.publish(1, Progress);
    rig.publish(1, Progress);
    let last = rig.publish(1, Progress);
    assert_eq!(rig.sent[0].event.as_str(), first, "what is being sent is left alone");
    assert_eq!(rig.rows.len(), 2);
    rig.answer("a", ok());
    assert_eq!(rig.sent[0].event.as_str(), last);
    assert!(rig.rows[&rig.sent[0].row].1.contains("\"number\":4"));
    assert_eq!(rig.outbox.status(&EndpointId::new("a").unwrap()).unwrap().counters.coalesced, 2);
}

#[test]
fn news_never_waits_behind_progress_that_waits() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Queued);
    rig.publish(1, Progress);
    rig.publish(1, PhaseChanged);
    rig.publish(1, Progress);
    rig.drain();
    assert_eq!(rig.told("a", 1), [Queued, PhaseChanged, Progress]);
}

#[test]
fn a_completion_waits_neither_for_progress_nor_for_the_answer_to_it() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Progress);
    rig.publish(1, PhaseChanged);
    rig.publish(1, Progress);
    let in_flight = rig.sent[0].id;
    rig.publish(1, Completed);
    assert_eq!(rig.aborted, [in_flight], "the request that is under way is cut off");
    assert_eq!(rig.under_way(), [("a".to_owned(), Completed)]);
    assert_eq!(rig.rows.len(), 1, "nothing overtaken is kept");
    rig.outbox.handle_delivered(rig.now, in_flight, ok());
    rig.settle();
    assert_eq!(rig.under_way(), [("a".to_owned(), Completed)], "its late answer changes nothing");
    rig.answer("a", ok());
    assert!(rig.rows.is_empty());
}

#[test]
fn progress_and_completion_of_one_turn_send_the_completion_only() {
    let mut rig = Rig::new(&["a"]);
    for kind in [Progress, Completed] {
        let event = rig.event(1, kind);
        rig.outbox.publish(rig.now, &event);
    }
    rig.settle();
    assert_eq!(rig.told("a", 1), [Completed]);
    assert_eq!(rig.aborted, []);
}

#[test]
fn a_completion_goes_before_other_jobs_progress() {
    let mut rig = Rig::new(&["a"]);
    for n in 1..=9 {
        rig.publish(n, Progress);
    }
    rig.publish(10, Failed);
    rig.answer("a", ok());
    assert!(rig.under_way().contains(&("a".to_owned(), Failed)));
}

#[test]
fn a_completion_does_not_overtake_that_the_job_has_started() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.publish(1, Completed);
    rig.drain();
    assert_eq!(rig.told("a", 1), [Started, Completed]);
}

#[test]
fn a_dead_endpoint_is_not_called_with_each_new_progress() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Progress);
    let mut calls = 0;
    for _ in 0..3_600 {
        rig.publish(1, Progress);
        while !rig.sent.is_empty() {
            calls += 1;
            rig.answer("a", status(500));
        }
        rig.pass(DurationMs::from_secs(1));
    }
    assert!(calls < 25, "{calls} calls in an hour");
    assert!(rig.rows.len() <= 2);
}

#[test]
fn progress_that_failed_gives_way_to_later_progress_which_takes_over_its_pause() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Progress);
    let later = rig.publish(1, Progress);
    rig.answer("a", status(500));
    assert_eq!((rig.under_way(), rig.rows.len()), (vec![], 1));
    rig.next_deadline();
    assert_eq!((rig.sent[0].event.as_str(), rig.sent[0].attempt), (later.as_str(), 2));
}

#[test]
fn two_jobs_at_one_endpoint_do_not_wait_for_each_other() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.answer("a", status(500));
    rig.publish(2, Started);
    rig.answer("a", ok());
    rig.publish(2, Completed);
    assert_eq!(rig.under_way(), [("a".to_owned(), Completed)]);
}

#[test]
fn an_endpoint_that_is_not_told_of_the_end_is_not_told_of_phases_afterwards() {
    // It was disabled while the job ended, and would have been told of its phases when it was enabled again.
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.publish(1, PhaseChanged);
    rig.set(Endpoint { enabled: false, ..endpoint("a") });
    let tenant = TenantId::new("acme").unwrap();
    rig.outbox.drop_ended(rig.now, &tenant, &job(1), Completed);
    rig.settle();
    rig.set(endpoint("a"));
    rig.drain();
    assert_eq!(rig.told("a", 1), [Started]);
}
