//! What is deployed is what is tested.

use conformance::harness::{Edge, WorkerdConfig};

#[test]
fn every_environment_has_every_binding() {
    // An environment inherits neither bindings nor vars: one that is forgotten is missed only in production.
    let expected = WorkerdConfig::read().bindings();
    let environments = WorkerdConfig::read_environments();
    assert_eq!(environments.keys().collect::<Vec<_>>(), ["dev", "production"]);
    for (name, environment) in environments {
        assert_eq!(environment.bindings(), expected, "[env.{name}]");
    }
}

#[test]
fn the_edge_comes_up_and_says_where_it_is() {
    let edge = Edge::start();
    let health = edge.api_without_key().get("/v1/health").expect(200).json();
    assert_eq!(health["ok"], true);
    assert_eq!(health["environment"], "default");
    assert!(health["version"].is_string(), "{health}");
}
