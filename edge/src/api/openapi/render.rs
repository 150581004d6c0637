//! The tables of operations as a document.

use std::collections::BTreeMap;
#[cfg(test)]
use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use shared_protocol::{Attempt, GenerationId, JobId, ProjectId, TenantId, UploadId, WorkerId, limits};

use super::operation::{Answer, Body, Content, Group, Operation};
use super::operations;
use crate::api::error::Row;
use crate::api::{ApiError, Problem};
use crate::outbox::EndpointId;
use crate::tenant::KeyId;

/// Where the document keeps its schemas.
const SCHEMAS: &str = "/components/schemas";

/// What is collected on the way. Each direction has a generator: a field with a default may be absent in a request and never is in
/// an answer.
struct Generators {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
    /// Answers with errors by their names, which are those of their codes.
    problems: BTreeMap<String, Value>,
}

/// The whole document.
pub fn document() -> Value {
    let settings =
        || SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = SCHEMAS.into());
    let mut generators = Generators {
        requests: settings().into_generator(),
        answers: settings().for_serialize().into_generator(),
        problems: BTreeMap::new(),
    };
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations() {
        let item = paths.entry(operation.path).or_insert_with(|| path_item(operation.path, &mut generators));
        item.insert(operation.method.name().to_lowercase(), whole(&operation, &mut generators));
    }
    let mut schemas = generators.requests.take_definitions(true);
    for (name, schema) in generators.answers.take_definitions(true) {
        let other = schemas.insert(name.clone(), schema.clone());
        assert!(
            other.is_none_or(|other| other == schema),
            "two schemas are called {name}: rename one of the types"
        );
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "minifleet",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Speech restoration on a fleet of small machines",
            "description": "Bodies are JSON in camelCase unless said otherwise. Times are milliseconds since the Unix epoch (`...AtMs`); \
                durations end in `Ms` or `Seconds`. Unknown fields of clients' requests are ignored, unknown query parameters of most paths too. \
                Every error is `application/problem+json` with a stable `code`. Every body needs a `Content-Length`. Whatever answers `GET` \
                answers `HEAD`; `OPTIONS` tells which methods a path takes.",
            "license": { "name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": "/", "description": "The edge that serves this document." }],
        "tags": Group::ALL.map(|group| json!({ "name": group.name(), "description": group.description() })),
        "paths": paths,
        "components": {
            "headers": { "RequestId": { "description": "For the operator's logs.", "schema": { "type": "string" } } },
            "responses": generators.problems,
            "schemas": schemas,
            "securitySchemes": security_schemes(),
        },
    })
}

fn security_schemes() -> Value {
    json!({
        "clientKey": { "type": "http", "scheme": "bearer", "description": "A client's key. It opens what is its tenant's." },
        "operatorKey": {
            "type": "http", "scheme": "bearer",
            "description": "An operator's key. One that only reads opens what changes nothing.",
        },
        "uploadTicket": {
            "type": "apiKey", "in": "header", "name": "Minifleet-Ticket",
            "description": "Comes with an upload that was announced, and allows to put its bytes for an hour.",
        },
    })
}

fn path_item(path: &str, generators: &mut Generators) -> Map<String, Value> {
    let names = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> = names.map(|name| path_parameter(name, &mut generators.answers)).collect();
    let mut item = Map::new();
    if !parameters.is_empty() {
        item.insert("parameters".into(), parameters.into());
    }
    item
}

/// The one meaning of a name in braces, in all paths.
fn path_parameter(name: &str, generator: &mut SchemaGenerator) -> Value {
    let file = json!({ "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$" });
    let (description, schema) = match name {
        "jobId" => ("The job.", generator.subschema_for::<JobId>().to_value()),
        "uploadId" => ("The upload.", generator.subschema_for::<UploadId>().to_value()),
        "projectId" => ("The project.", generator.subschema_for::<ProjectId>().to_value()),
        "generationId" => ("The generation.", generator.subschema_for::<GenerationId>().to_value()),
        "workerId" => ("The worker's name.", generator.subschema_for::<WorkerId>().to_value()),
        "webhookId" => ("The webhook.", generator.subschema_for::<EndpointId>().to_value()),
        "tenant" => ("The tenant.", generator.subschema_for::<TenantId>().to_value()),
        "keyId" => ("The key's name.", generator.subschema_for::<KeyId>().to_value()),
        "part" => (
            "The part's number, from 1.",
            json!({ "type": "integer", "minimum": 1, "maximum": limits::MAX_PARTS }),
        ),
        "attempt" => ("The attempt that made it.", generator.subschema_for::<Attempt>().to_value()),
        "segment" => (
            "`init.mp4` or a segment.",
            json!({ "type": "string", "pattern": r"^(init\.mp4|seg-[0-9]{5}\.m4s)$" }),
        ),
        "ticket" => ("The ticket in a playback link.", json!({ "type": "string", "minLength": 1 })),
        _ => ("Its name, as the list of files has it.", file),
    };
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema })
}

fn whole(operation: &Operation, generators: &mut Generators) -> Value {
    let mut rendered = common(operation);
    rendered.insert("operationId".into(), operation.id.into());
    match &operation.body {
        Some(Body::Json { schema, required }) => {
            let schema = schema(&mut generators.requests);
            rendered.insert(
                "requestBody".into(),
                json!({ "required": required, "content": { "application/json": { "schema": schema } } }),
            );
        }
        Some(Body::Bytes) => {
            let content = json!({ "application/octet-stream": {} });
            rendered.insert("requestBody".into(), json!({ "required": true, "content": content }));
        }
        None => {}
    }
    let mut responses = Map::new();
    for answer in &operation.answers {
        responses.insert(answer.status.to_string(), success(answer, &mut generators.answers));
    }
    for (status, rows) in problems(operation) {
        let name = rows.keys().copied().collect::<Vec<_>>().join("-or-");
        let problem = generators.answers.subschema_for::<Problem<'static>>().to_value();
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
        generators.problems.entry(name).or_insert_with(|| refusal(&problem, &rows));
    }
    rendered.insert("responses".into(), responses.into());
    rendered.into()
}

fn common(operation: &Operation) -> Map<String, Value> {
    let parameters = operation.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.required,
            "description": parameter.description,
            "schema": parameter.schema,
        })
    });
    let parameters: Vec<Value> = parameters.collect();
    let security: Vec<Value> =
        operation.access.scheme().map(|scheme| json!({ scheme: [] })).into_iter().collect();
    let mut rendered = Map::new();
    rendered.insert("tags".into(), json!([operation.group.name()]));
    rendered.insert("summary".into(), operation.summary.into());
    if !operation.description.is_empty() {
        rendered.insert("description".into(), operation.description.into());
    }
    if !parameters.is_empty() {
        rendered.insert("parameters".into(), parameters.into());
    }
    rendered.insert("security".into(), security.into());
    rendered
}

fn success(answer: &Answer, generator: &mut SchemaGenerator) -> Value {
    let mut headers = Map::from_iter([request_id()]);
    for (name, description) in &answer.headers {
        headers.insert((*name).into(), json!({ "description": description, "schema": { "type": "string" } }));
    }
    let mut response = json!({ "description": answer.description, "headers": headers });
    match &answer.content {
        Content::Nothing => {}
        Content::Json(schema) => {
            response["content"] = json!({ "application/json": { "schema": schema(generator) } });
        }
        Content::JsonOrEvents(schema) => {
            response["content"] =
                json!({ "application/json": { "schema": schema(generator) }, "text/event-stream": {} });
        }
        Content::Bytes(types) => {
            let types: Map<String, Value> =
                types.iter().map(|kind| ((*kind).to_owned(), json!({}))).collect();
            response["content"] = types.into();
        }
    }
    response
}

/// The operation's errors by status and code.
fn problems(operation: &Operation) -> BTreeMap<u16, BTreeMap<&'static str, Row>> {
    let mut by_status: BTreeMap<u16, BTreeMap<&str, Row>> = BTreeMap::new();
    for row in operation.errors.iter().map(ApiError::row) {
        by_status.entry(row.status).or_default().insert(row.code, row);
    }
    by_status
}

/// The answer with one of these errors, which many operations share.
fn refusal(problem: &Value, rows: &BTreeMap<&'static str, Row>) -> Value {
    let codes: Vec<&str> = rows.keys().copied().collect();
    let words: Vec<String> = rows.values().map(|row| format!("`{}`: {}.", row.code, row.title)).collect();
    let mut headers = Map::from_iter([request_id()]);
    let mut header = |name: &str, description: &str| {
        headers.insert(name.into(), json!({ "description": description, "schema": { "type": "string" } }));
    };
    if codes.contains(&"key_missing") {
        header("WWW-Authenticate", "`Bearer`");
    }
    if codes.contains(&"range_not_satisfiable") {
        header("Content-Range", "`bytes */` and the size.");
    }
    if rows.values().any(|row| row.retry_after_seconds.is_some()) {
        header("Retry-After", "Seconds, where trying again helps.");
    }
    let schema = json!({ "allOf": [problem, { "properties": { "code": { "enum": codes } } }] });
    json!({
        "description": words.join(" "),
        "headers": headers,
        "content": { "application/problem+json": { "schema": schema } },
    })
}

/// What every answer has.
fn request_id() -> (String, Value) {
    ("X-Request-Id".to_owned(), json!({ "$ref": "#/components/headers/RequestId" }))
}

/// The codes that some operation may answer with.
#[cfg(test)]
pub(super) fn documented_codes() -> BTreeSet<&'static str> {
    operations()
        .into_iter()
        .flat_map(|operation| operation.errors.into_iter().map(|error| error.row().code))
        .collect()
}
