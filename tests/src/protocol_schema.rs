//! The JSON Schema of the worker protocol, made from the Rust types. `docs/protocol.schema.json` is its committed copy.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use shared_protocol::{SchedulerMessage, WorkerMessage, limits::MAX_ID_LENGTH};

/// The definitions that are identifiers: texts of one safe alphabet. Serde reads them through their checking constructor, which
/// the schema cannot see.
const IDS: [&str; 5] = ["BootId", "JobId", "MessageId", "UploadId", "WorkerId"];

/// The same alphabet as the check of `shared_protocol`'s ids.
const ID_PATTERN: &str = "^[A-Za-z0-9_][A-Za-z0-9_.-]*$";

/// The value that stands for all those of newer releases.
const OPEN_END: &str = "unknown";

/// Everything that can stand in a frame, from either side.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[serde(untagged)]
enum AnyMessage {
    /// What a worker says.
    Worker(WorkerMessage),
    /// What a scheduler says.
    Scheduler(SchedulerMessage),
}

/// The schema of every message, as one document (draft 2020-12). Its `$defs` hold `WorkerMessage` and `SchedulerMessage`.
///
/// It describes what a peer of this release accepts: unknown fields are allowed everywhere.
pub fn document() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<AnyMessage>();
    let mut document = schema.to_value();
    for id in IDS {
        let definition = &mut document["$defs"][id];
        definition["minLength"] = json!(1);
        definition["maxLength"] = json!(MAX_ID_LENGTH);
        definition["pattern"] = json!(ID_PATTERN);
    }
    if let Some(definitions) = document["$defs"].as_object_mut() {
        definitions.values_mut().for_each(open_enum);
    }
    if let Some(root) = document.as_object_mut() {
        root.insert("title".into(), json!("minifleet worker protocol"));
        root.insert("description".into(), json!("One message between a worker and a scheduler. A frame is one message, or an array of messages."));
    }
    document
}

/// A list of values with an open end takes any text: a newer peer's value is read as "unknown", not refused.
fn open_enum(definition: &mut Value) {
    let Some(values) = definition["oneOf"].as_array() else { return };
    if !values.iter().any(|value| value["const"] == OPEN_END) {
        return;
    }
    let mut values: Vec<Value> = values.iter().filter(|value| value["const"] != OPEN_END).cloned().collect();
    values.push(json!({ "type": "string", "description": "A value of a newer release." }));
    if let Some(definition) = definition.as_object_mut() {
        definition.remove("oneOf");
        definition.insert("anyOf".into(), Value::Array(values));
    }
}

/// The document as it is committed: indented, with a final line break.
///
/// # Panics
/// Never: the document is plain JSON.
pub fn text() -> String {
    format!("{:#}\n", document())
}

/// A schema that one side's messages have to fulfil: the definition `name` with the document's `$defs`.
pub fn of_side(name: &str) -> Value {
    let document = document();
    let mut schema = Map::new();
    schema.insert("$ref".into(), json!(format!("#/$defs/{name}")));
    schema.insert("$defs".into(), document["$defs"].clone());
    Value::Object(schema)
}

/// The wire names of all message types of one side (`WorkerMessage` or `SchedulerMessage`), read off the types themselves,
/// so that a new variant cannot be forgotten.
pub fn kinds(side: &str) -> Vec<String> {
    let document = document();
    document["$defs"][side]["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|variant| variant["properties"]["type"]["const"].as_str())
        .map(str::to_owned)
        .collect()
}
