//! Who is told of what.

use super::rig::*;
use edge::outbox::EventKind::*;
use edge::outbox::*;
use shared_protocol::*;

fn told(rig: &Rig) -> Vec<&str> {
    rig.log.iter().map(|entry| entry.0.as_str()).collect()
}

#[test]
fn a_tenant_is_never_told_of_anothers_jobs() {
    let mut rig = Rig::new(&["all"]);
    for (name, tenant) in [("mine", "acme"), ("theirs", "umbrella")] {
        rig.set(Endpoint { tenant: Some(TenantId::new(tenant).unwrap()), ..endpoint(name) });
    }
    rig.publish(1, Completed);
    assert_eq!(told(&rig), ["all", "mine"]);
    let moved = Endpoint { tenant: Some(TenantId::new("umbrella").unwrap()), ..endpoint("mine") };
    assert_eq!(rig.outbox.set_endpoint(rig.now, moved), Err(EndpointError::OtherTenant));
}

#[test]
fn an_endpoint_is_told_only_what_it_wants() {
    let mut rig = Rig::new(&[]);
    rig.set(Endpoint { kinds: Some([Completed, Failed].into()), ..endpoint("a") });
    for kind in EventKind::ALL {
        rig.publish(1, kind);
    }
    rig.drain();
    assert_eq!(rig.told("a", 1), [Completed, Failed]);
}

#[test]
fn what_an_operator_gets_wrong_is_refused_and_changes_nothing() {
    let mut rig = Rig::new(&["a"]);
    let wrong = [
        Endpoint { url: "https://169.254.169.254/".into(), ..endpoint("a") },
        Endpoint { secrets: vec![], ..endpoint("a") },
        Endpoint { kinds: Some([].into()), ..endpoint("a") },
    ];
    for endpoint in wrong {
        assert!(rig.outbox.set_endpoint(rig.now, endpoint).is_err());
        rig.settle();
    }
    assert_eq!(rig.outbox.endpoints().cloned().collect::<Vec<_>>(), [endpoint("a")]);
}

#[test]
fn an_endpoint_that_a_stricter_policy_forbids_is_not_called_after_a_restart() {
    let lax = UrlPolicy { allow_http: true, allow_private: true };
    let mut rig = Rig::with(OutboxConfig { urls: lax, ..OutboxConfig::default() }, &[]);
    rig.set(Endpoint { url: "http://10.0.0.5/".into(), ..endpoint("a") });
    rig.publish(1, Completed);
    rig.config = OutboxConfig::default();
    rig.log.clear();
    rig.evict();
    rig.pass(DurationMs::from_secs(3_600));
    assert_eq!(rig.log, []);
    assert_eq!(rig.rows.len(), 1, "it is kept until somebody sets the endpoint right");
    rig.set(endpoint("a"));
    assert_eq!(rig.sent[0].url, "https://a.example.com/hook");
}

#[test]
fn a_removed_endpoint_leaves_nothing_behind() {
    let mut rig = Rig::new(&["a", "b"]);
    rig.publish(1, Started);
    rig.publish(1, Completed);
    rig.publish(2, Started);
    rig.answer("a", status(500));
    let to_a: Vec<DeliveryId> =
        rig.sent.iter().filter(|d| d.endpoint.as_str() == "a").map(|d| d.id).collect();
    assert!(rig.outbox.remove_endpoint(rig.now, &EndpointId::new("a").unwrap()));
    rig.settle();
    assert_eq!(rig.aborted, to_a);
    assert!(rig.rows.values().all(|(row, _)| row.endpoint.as_str() == "b"));
    rig.drain();
    assert_eq!(rig.told("b", 1), [Started, Completed]);
    assert_eq!(rig.outbox.next_deadline(), None);
}

#[test]
fn ten_thousand_waiting_events_leave_an_input_as_cheap_as_before() {
    // 10,000 jobs of one dead endpoint, then as many inputs for another: quadratic work would take minutes.
    let mut rig = Rig::new(&[]);
    let mut outbox = Outbox::new(OutboxConfig::default());
    outbox.set_endpoint(rig.now, endpoint("dead")).unwrap();
    for n in 0..10_000 {
        let event = rig.event(n, Completed);
        outbox.publish(rig.now, &event);
    }
    outbox.set_endpoint(rig.now, endpoint("good")).unwrap();
    let mut delivered = 0;
    for n in 10_000..20_000 {
        let event = rig.event(n, Completed);
        outbox.publish(rig.now, &event);
        while let Some(effect) = outbox.poll_effect() {
            if let Effect::Deliver(delivery) = effect
                && delivery.endpoint.as_str() == "good"
            {
                outbox.handle_delivered(rig.now, delivery.id, ok());
                delivered += 1;
            }
        }
    }
    assert_eq!(delivered, 10_000);
    outbox.check_invariants().unwrap();
}
