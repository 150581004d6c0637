//! The JSON Schema is what the types say, and what the golden messages fulfil.

use conformance::protocol_schema;
use serde_json::{Value, json};

use crate::{golden_json, golden_names, root};

fn validator(side: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&protocol_schema::of_side(side)).unwrap()
}

fn side_of(name: &str) -> &'static str {
    if name.starts_with("worker/") || name.contains("-worker.") {
        "WorkerMessage"
    } else {
        "SchedulerMessage"
    }
}

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let committed = std::fs::read_to_string(root().join("docs/protocol.schema.json")).unwrap();
    assert!(
        committed == protocol_schema::text(),
        "docs/protocol.schema.json is out of date: run `cargo run -p conformance --bin protocol-schema`"
    );
}

#[test]
fn every_golden_message_fulfils_the_schema_of_its_side() {
    let (worker, scheduler) = (validator("WorkerMessage"), validator("SchedulerMessage"));
    let whole = jsonschema::validator_for(&protocol_schema::document()).unwrap();
    for name in ["worker", "scheduler", "peers"].into_iter().flat_map(golden_names) {
        let json = golden_json(&name);
        let side = if side_of(&name) == "WorkerMessage" { &worker } else { &scheduler };
        if let Err(error) = side.validate(&json) {
            panic!("{name}: {error}");
        }
        assert!(whole.is_valid(&json), "{name}");
    }
}

#[test]
fn the_schema_refuses_what_the_types_refuse() {
    let worker = validator("WorkerMessage");
    let mut without_a_required_field = golden_json("worker/job.complete");
    without_a_required_field.as_object_mut().unwrap().remove("messageId");
    let mut with_a_path_for_an_id = golden_json("worker/job.accept");
    with_a_path_for_an_id["jobId"] = json!("../etc");
    let mut with_a_long_id = golden_json("worker/job.accept");
    with_a_long_id["jobId"] = json!("x".repeat(65));
    let mut of_the_other_side = golden_json("scheduler/welcome");
    of_the_other_side["more"] = json!(1);
    let mut with_a_negative_attempt = golden_json("worker/job.accept");
    with_a_negative_attempt["attempt"] = json!(-1);
    for bad in [
        without_a_required_field,
        with_a_path_for_an_id,
        with_a_long_id,
        of_the_other_side,
        with_a_negative_attempt,
        json!({ "type": "job.dance" }),
        Value::Null,
    ] {
        assert!(!worker.is_valid(&bad), "{bad}");
        assert!(serde_json::from_value::<shared_protocol::WorkerMessage>(bad.clone()).is_err(), "{bad}");
    }
}
