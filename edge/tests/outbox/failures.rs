//! Endpoints that hang, fail, ask for a pause, or are gone.

use super::rig::*;
use edge::outbox::EventKind::*;
use edge::outbox::*;
use shared_protocol::*;

fn id(text: &str) -> EndpointId {
    EndpointId::new(text).unwrap()
}

#[test]
fn one_hung_endpoint_delays_none_of_nine_good_ones() {
    // endatix #956: a slow endpoint caused duplicates for all.
    let names = ["hung", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9"];
    let mut rig = Rig::new(&names);
    for n in 0..200 {
        rig.publish(n, Completed);
        // Good endpoints answer at once; the hung one keeps its connections until the shell cuts them off.
        while let Some(position) = rig.sent.iter().position(|d| d.endpoint.as_str() != "hung") {
            rig.answer_at(position, ok());
        }
        for good in &names[1..] {
            assert_eq!(rig.told(good, n), [Completed], "told at once");
        }
        while let Some(position) = rig.sent.iter().position(|d| d.endpoint.as_str() == "hung")
            && n % 15 == 14
            && rig.told("hung", n).is_empty()
        {
            rig.answer_at(position, DeliveryOutcome::TimedOut);
        }
        rig.pass(DurationMs::from_secs(1));
    }
    assert_eq!(rig.log.iter().filter(|entry| entry.0 != "hung").count(), 9 * 200, "each told once");
}

#[test]
fn many_hung_endpoints_leave_connections_for_good_ones() {
    let names: Vec<String> = (0..20).map(|n| format!("hung{n}")).chain(["good".to_owned()]).collect();
    let mut rig = Rig::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    rig.publish(0, Queued);
    // All are new: whichever come first hang until they time out, and the good one's turn comes.
    for _ in 0..20 {
        match rig.sent.iter().position(|d| d.endpoint.as_str() == "good") {
            Some(position) => rig.answer_at(position, ok()),
            None => rig.answer_at(0, DeliveryOutcome::TimedOut),
        }
    }
    for n in 1..100 {
        rig.publish(n, Completed);
        assert_eq!(rig.told("good", n), [Completed], "told at once");
        rig.answer("good", ok());
        assert!(rig.sent.len() <= 3);
    }
}

#[test]
fn endpoints_take_turns() {
    // Two connections each would be ten; there are six.
    let names = ["a", "b", "c", "d", "e"];
    let mut rig = Rig::new(&names);
    for n in 0..50 {
        rig.publish(n, Queued);
    }
    for _ in 0..60 {
        rig.answer_at(0, ok());
    }
    let told = names.map(|name| rig.log.iter().filter(|entry| entry.0 == name).count());
    assert!(told.iter().all(|n| (12..=15).contains(n)), "{told:?}");
}

#[test]
fn an_attempt_without_outcome_is_cut_off_and_tried_again_after_its_lease() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Completed);
    let first = rig.sent[0].id;
    assert!(rig.sent[0].timeout < DELIVERY_LEASE);
    rig.pass(DELIVERY_LEASE);
    assert_eq!(rig.aborted, [first]);
    rig.next_deadline();
    assert_eq!((rig.sent.len(), rig.sent[0].attempt), (1, 2));
    assert_eq!(rig.rows[&rig.sent[0].row].0.failure, Some(DeliveryFailure::NoOutcome));
}

#[test]
fn retry_after_pauses_the_whole_endpoint_up_to_a_bound() {
    let mut rig = Rig::new(&["a", "b"]);
    rig.publish(1, Completed);
    rig.answer("b", ok());
    let busy = DeliveryOutcome::Response { status: 429, retry_after: Some(DurationMs::from_secs(120)) };
    rig.answer("a", busy);
    rig.publish(2, Completed);
    rig.answer("b", ok());
    rig.pass(DurationMs::from_secs(119));
    assert_eq!(rig.under_way(), [], "also other jobs' events wait");
    rig.pass(DurationMs::from_secs(1));
    assert_eq!(rig.under_way().len(), 2);

    let for_ever = DeliveryOutcome::Response { status: 503, retry_after: Some(DurationMs(u64::MAX)) };
    rig.answer("a", for_ever);
    rig.answer("a", ok());
    rig.pass(MAX_RETRY_AFTER);
    assert_eq!(rig.under_way().len(), 1);
}

#[test]
fn a_redirect_is_a_failure() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Completed);
    rig.answer("a", status(302));
    let row = rig.rows.values().next().unwrap().0.clone();
    assert_eq!((row.attempts, row.failure), (1, Some(DeliveryFailure::Status { status: 302 })));
}

#[test]
fn an_endpoint_that_is_gone_is_called_no_more_until_it_is_enabled_again() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.publish(1, Completed);
    rig.answer("a", status(410));
    let stored = rig.endpoints[&id("a")].clone();
    assert!(!stored.enabled && stored.gone_at == Some(rig.now));
    rig.publish(2, Completed);
    rig.evict();
    rig.pass(DurationMs::from_secs(86_400));
    assert_eq!(rig.log.len(), 1);
    rig.set(Endpoint { enabled: true, gone_at: None, ..stored });
    rig.drain();
    assert_eq!(rig.told("a", 1), [Started, Started, Completed], "what waited was kept");
    assert_eq!(rig.told("a", 2), [], "what happened meanwhile was not");
}

#[test]
fn an_event_that_cannot_be_delivered_is_given_up_and_lets_the_next_one_go() {
    let mut rig = Rig::new(&["a"]);
    let start = rig.now;
    let poison = rig.publish(1, Started);
    rig.publish(1, Completed);
    while rig.row_of(&poison).is_some_and(|row| row.dead.is_none()) {
        if rig.sent.is_empty() {
            rig.next_deadline();
        } else {
            rig.answer("a", status(500));
        }
    }
    let dead = rig.dead();
    assert_eq!(dead[0].dead, Some(DeadLetter { at: rig.now, reason: DeadReason::Undeliverable }));
    assert!(dead[0].attempts <= MAX_ATTEMPTS && rig.now - start <= MAX_AGE);
    assert_eq!(rig.under_way(), [("a".to_owned(), Completed)]);
    assert_eq!(rig.outbox.status(&id("a")).unwrap().counters.undeliverable, 1);

    // Replayed, it is tried for as long again.
    rig.answer("a", ok());
    rig.replay(dead);
    rig.answer("a", status(500));
    let row = rig.row_of(&poison).unwrap();
    assert_eq!((row.attempts, row.dead), (1, None));
}

#[test]
fn dead_letters_are_replayed_under_their_old_id_in_their_old_order() {
    let mut rig = Rig::with(OutboxConfig { max_waiting_per_endpoint: 3, ..OutboxConfig::default() }, &["a"]);
    let events = [Queued, Started, Playable, Completed, Stems].map(|kind| rig.publish(1, kind));
    rig.drain();
    assert_eq!(rig.told("a", 1), [Queued, Completed, Stems]);
    rig.set(Endpoint { enabled: false, ..endpoint("a") });
    rig.evict();
    rig.replay(rig.dead());
    rig.replay(rig.rows.values().map(|(row, _)| row.clone()).collect());
    assert_eq!(rig.outbox.len(), 2, "what is on its way is not taken twice");
    rig.set(endpoint("a"));
    rig.drain();
    assert!(rig.rows.is_empty());
    let told: Vec<&str> = rig.log.iter().skip(3).map(|entry| entry.3.as_str()).collect();
    assert_eq!(told, events[1..3], "each was told once");
}

#[test]
fn a_full_lane_gives_up_its_oldest_event_but_no_end_of_a_job() {
    let mut rig = Rig::with(OutboxConfig { max_waiting_per_endpoint: 10, ..OutboxConfig::default() }, &["a"]);
    for n in 0..8 {
        rig.publish(n, Started);
        rig.publish(n, Completed);
    }
    // Of 16 rows the first is being sent. Six were given up.
    assert_eq!(rig.outbox.len(), 10);
    assert!(rig.dead().iter().all(|row| row.kind == Started));
    assert_eq!(
        rig.dead().iter().map(|row| row.job_id.clone()).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6].map(job)
    );
    assert_eq!(rig.outbox.status(&id("a")).unwrap().counters.overflowed, 6);
    rig.drain();
    for n in 0..8 {
        assert_eq!(rig.told("a", n).last(), Some(&Completed));
    }
}

#[test]
fn a_row_whose_time_came_before_its_deadline_was_handled_waits_once() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.answer("a", status(500));
    // The alarm is late, and the job's end comes first. The rig checks that nothing waits twice.
    rig.now = rig.now + DurationMs::from_secs(3_600);
    rig.publish(1, Completed);
    rig.drain();
    assert_eq!(rig.told("a", 1), [Started, Started, Completed]);
}

#[test]
fn passing_news_is_no_dead_letter() {
    let config = OutboxConfig { max_waiting_per_endpoint: 2, ..OutboxConfig::default() };
    let mut rig = Rig::with(config, &["a"]);
    for n in 0..8 {
        rig.publish(n, PhaseChanged);
    }
    assert!(rig.rows.values().all(|(row, _)| row.dead.is_none()), "nobody wants it sent once more later");
    assert_eq!(rig.rows.len(), 2);
}
