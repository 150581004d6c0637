//! The OpenAPI document is what the types and the tables of operations say, and is one that tools can read.

use edge::api::openapi;
use serde_json::Value;

use crate::root;

#[test]
fn the_committed_document_is_that_of_the_edge() {
    let committed = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
    assert!(
        committed == openapi::text(),
        "docs/openapi.json is out of date: run `cargo run -p conformance --bin openapi`"
    );
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_in_the_document_leads_somewhere_and_nothing_is_left_over() {
    let document = openapi::document();
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    for kind in ["schemas", "responses", "headers"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(found.contains(&reference), "{reference} is used by nothing");
        }
    }
}

#[test]
fn every_operation_says_who_may_ask_and_how_it_answers() {
    let document = openapi::document();
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        let operations = item.as_object().unwrap().iter().filter(|(method, _)| *method != "parameters");
        for (method, operation) in operations {
            let what = format!("{method} {path}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with('2')), "{what} never succeeds");
            for requirement in operation["security"].as_array().unwrap() {
                assert!(
                    requirement.as_object().unwrap().keys().all(|name| schemes.contains_key(name)),
                    "{what}"
                );
            }
            let is_open = operation["security"].as_array().unwrap().is_empty();
            assert_eq!(answers.contains_key("401"), !is_open, "{what}");
            assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{what}");
        }
    }
}

#[test]
fn every_schema_in_the_document_is_one() {
    for (name, schema) in openapi::document()["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name} is no JSON Schema");
    }
}
