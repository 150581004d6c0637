//! `docs/protocol.md` keeps up with the types.

use conformance::protocol_schema::kinds;
use shared_protocol::limits;

use crate::root;

#[test]
fn the_document_names_every_message_type_and_the_schema() {
    let text = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    for kind in kinds("WorkerMessage").iter().chain(&kinds("SchedulerMessage")) {
        assert!(text.contains(&format!("| `{kind}` |")), "docs/protocol.md has no row for {kind}");
    }
    assert!(text.contains("protocol.schema.json"));
}

#[test]
fn the_document_states_the_limits_that_the_code_keeps() {
    let text = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    let seconds = |duration: shared_protocol::DurationMs| format!("{} s", duration.as_secs_f64());
    for (name, value) in [
        ("MAX_FRAME_BYTES", format!("{} KiB", limits::MAX_FRAME_BYTES / 1024)),
        ("MAX_MESSAGES_PER_FRAME", limits::MAX_MESSAGES_PER_FRAME.to_string()),
        ("MAX_ID_LENGTH", limits::MAX_ID_LENGTH.to_string()),
        ("MAX_TEXT_LENGTH", "2,000".to_owned()),
        ("MAX_SEGMENTS_PER_PROGRESS", limits::MAX_SEGMENTS_PER_PROGRESS.to_string()),
        ("MAX_FILES_PER_JOB", limits::MAX_FILES_PER_JOB.to_string()),
        ("MAX_SLOTS", limits::MAX_SLOTS.to_string()),
        ("PING_INTERVAL", seconds(limits::PING_INTERVAL)),
        ("LIVENESS_TIMEOUT", seconds(limits::LIVENESS_TIMEOUT)),
        ("OFFER_TIMEOUT", seconds(limits::OFFER_TIMEOUT)),
        ("RECONNECT_GRACE", seconds(limits::RECONNECT_GRACE)),
        ("RECONNECT_MAX_BACKOFF", seconds(limits::RECONNECT_MAX_BACKOFF)),
        ("LINK_SILENCE_TIMEOUT", seconds(limits::LINK_SILENCE_TIMEOUT)),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        assert!(row.is_some_and(|row| row.contains(&value)), "{name} is {value}, the document says {row:?}");
    }
}

#[test]
fn the_document_says_of_every_failure_code_whether_it_is_retried() {
    let text = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    let schema = conformance::protocol_schema::document();
    let codes = schema["$defs"]["FailureCode"]["anyOf"].as_array().unwrap();
    for code in codes.iter().filter_map(|code| code["const"].as_str()) {
        let parsed: shared_protocol::FailureCode = serde_json::from_value(code.into()).unwrap();
        let row = format!("| `{code}` | {} |", if parsed.retryable() { "yes" } else { "no" });
        assert!(text.contains(&row), "docs/protocol.md has no row {row:?}");
    }
}

#[test]
fn the_document_names_every_field_of_every_message() {
    let text = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    let schema = conformance::protocol_schema::document();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        for field in definition["properties"].as_object().into_iter().flatten().map(|(field, _)| field) {
            // What is inside follow-ups and scores is left to the schema.
            let left_to_the_schema = ["StemFile", "QualityScores"].contains(&name.as_str());
            assert!(
                left_to_the_schema || text.contains(&format!("`{field}`")),
                "{name}.{field} is not in docs/protocol.md"
            );
        }
    }
}
