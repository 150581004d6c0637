//! What the document says of one operation, and the words in which the tables say it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::api::ApiError;
use crate::api::route::Method;

/// Gives the schema of a type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One method of one path.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its stable name, which generated clients use.
    pub id: &'static str,
    /// How it is asked for. Whatever takes `GET` takes `HEAD` too.
    pub method: Method,
    /// Where, with its parameters in braces.
    pub path: &'static str,
    pub(super) group: Group,
    pub(super) access: Access,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    pub(super) errors: Vec<ApiError>,
}

/// What belongs together for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Service,
    Uploads,
    Jobs,
    Listening,
    Playback,
    Projects,
    Operating,
    Tenants,
    Webhooks,
}

impl Group {
    /// In the order in which they are read.
    pub(super) const ALL: [Self; 9] = [
        Self::Uploads,
        Self::Jobs,
        Self::Listening,
        Self::Playback,
        Self::Projects,
        Self::Service,
        Self::Operating,
        Self::Tenants,
        Self::Webhooks,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Uploads => "Uploads",
            Self::Jobs => "Jobs",
            Self::Listening => "Listening",
            Self::Playback => "Playback links",
            Self::Projects => "Projects",
            Self::Operating => "Operating",
            Self::Tenants => "Tenants",
            Self::Webhooks => "Webhooks",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Service => "Whether the service answers, and how its queue and its workers are.",
            Self::Uploads => {
                "A recording is announced first; its bytes are put with the ticket in the answer."
            }
            Self::Jobs => "A job restores one upload.",
            Self::Listening => {
                "What a job made, with the client's key. It can be heard while its later parts are still being restored."
            }
            Self::Playback => {
                "The same for whoever has a link, until it expires. Any web page may read these."
            }
            Self::Projects => {
                "A project is one recording with its transcripts and its generations; a generation is one restore of it."
            }
            Self::Operating => "Queue, workers and jobs of all tenants, with an operator's key.",
            Self::Tenants => "Keys, limits and usage of each tenant, with an operator's key.",
            Self::Webhooks => {
                "Who is told of events: a tenant's own with a client's key, all of them with an operator's."
            }
        }
    }
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Anybody.
    Nobody,
    /// Whoever has the link: its ticket is in the path.
    Link,
    /// A client's key.
    Client,
    /// An operator's key.
    Operator,
    /// The ticket of an upload.
    UploadTicket,
}

impl Access {
    /// The name of its security scheme.
    pub(super) fn scheme(self) -> Option<&'static str> {
        match self {
            Self::Nobody | Self::Link => None,
            Self::Client => Some("clientKey"),
            Self::Operator => Some("operatorKey"),
            Self::UploadTicket => Some("uploadTicket"),
        }
    }

    /// How one who may not ask is answered.
    fn errors(self) -> Vec<ApiError> {
        let misconfigured = ApiError::Misconfigured { what: String::new() };
        match self {
            Self::Nobody => vec![],
            // A client's key that operators made is looked up.
            Self::Client => {
                let limited = ApiError::RateLimited { what: "", retry_after_seconds: 1 };
                vec![
                    ApiError::KeyMissing,
                    ApiError::KeyInvalid,
                    ApiError::TenantUnavailable,
                    limited,
                    misconfigured,
                ]
            }
            Self::Operator => vec![ApiError::KeyMissing, ApiError::KeyInvalid, misconfigured],
            Self::Link => vec![ApiError::TicketInvalid, ApiError::TicketExpired, misconfigured],
            Self::UploadTicket => {
                vec![ApiError::TicketMissing, ApiError::TicketInvalid, ApiError::TicketExpired, misconfigured]
            }
        }
    }
}

/// A parameter in the query or in a header.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) place: &'static str,
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) description: &'static str,
    pub(super) schema: Value,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Json { schema: SchemaOf, required: bool },
    Bytes,
}

/// One answer that is no error.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) content: Content,
    pub(super) headers: Vec<(&'static str, &'static str)>,
}

/// What an answer's body is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Nothing,
    Json(SchemaOf),
    /// JSON, or the same as server-sent events for whoever accepts only these.
    JsonOrEvents(SchemaOf),
    /// Anything of these media types.
    Bytes(&'static [&'static str]),
}

/// `GET` of a path.
pub(super) fn get(id: &'static str, path: &'static str, group: Group, access: Access) -> Operation {
    operation(id, Method::Get, path, group, access)
}

/// `POST` to a path.
pub(super) fn post(id: &'static str, path: &'static str, group: Group, access: Access) -> Operation {
    operation(id, Method::Post, path, group, access)
}

/// `PUT` to a path.
pub(super) fn put(id: &'static str, path: &'static str, group: Group, access: Access) -> Operation {
    operation(id, Method::Put, path, group, access)
}

fn operation(
    id: &'static str,
    method: Method,
    path: &'static str,
    group: Group,
    access: Access,
) -> Operation {
    let mut errors = access.errors();
    errors.push(ApiError::Internal);
    // A client's key may be one that only looks.
    if method != Method::Get && access == Access::Client {
        errors.push(ApiError::KeyReadOnly);
    }
    // An id that cannot be one is in no path.
    if path.contains('{') {
        errors.push(ApiError::RouteNotFound);
    }
    Operation {
        id,
        method,
        path,
        group,
        access,
        summary: "",
        description: "",
        parameters: vec![],
        body: None,
        answers: vec![],
        errors,
    }
}

impl Operation {
    /// What it does, in some words and in some sentences.
    pub(super) fn says(mut self, summary: &'static str, description: &'static str) -> Self {
        (self.summary, self.description) = (summary, description);
        self
    }

    /// The scheduler is asked, which may not answer.
    pub(super) fn asks_scheduler(self) -> Self {
        self.fails([ApiError::SchedulerUnavailable])
    }

    /// It changes something: an operator's key that only reads is refused.
    pub(super) fn acts(self) -> Self {
        self.asks_scheduler().fails([ApiError::KeyReadOnly])
    }

    pub(super) fn fails(mut self, errors: impl IntoIterator<Item = ApiError>) -> Self {
        self.errors.extend(errors);
        self
    }

    pub(super) fn query(self, name: &'static str, description: &'static str, schema: Value) -> Self {
        self.parameter(Parameter { place: "query", name, required: false, description, schema })
            .fails([invalid()])
    }

    pub(super) fn header(self, name: &'static str, description: &'static str, schema: Value) -> Self {
        self.parameter(Parameter { place: "header", name, required: false, description, schema })
    }

    fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// A page of a list.
    pub(super) fn pages(self) -> Self {
        self.query(
            "limit",
            "How many at most.",
            json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 }),
        )
        .query(
            "cursor",
            "The `nextCursor` of the page before.",
            json!({ "type": "string", "pattern": "^[0-9]{1,18}$" }),
        )
    }

    /// A request that can be repeated.
    pub(super) fn takes_idempotency_key(self) -> Self {
        self.header(
            "Idempotency-Key",
            "Names this request among all of its tenant's.",
            json!({ "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$" }),
        )
        .fails([invalid()])
    }

    /// The latest answer has a validator.
    pub(super) fn has_etag(self) -> Self {
        self.with("ETag", "Names this state.")
            .header("If-None-Match", "An `ETag` that the client has.", json!({ "type": "string" }))
            .answers(304, "The client has it already.", Content::Nothing)
            .with("ETag", "Names this state.")
    }

    /// JSON that has to be sent.
    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.json::<T>(true)
    }

    /// JSON that may be left out.
    pub(super) fn may_take<T: JsonSchema>(self) -> Self {
        self.json::<T>(false)
    }

    fn json<T: JsonSchema>(mut self, required: bool) -> Self {
        self.body = Some(Body::Json { schema: |generator| generator.subschema_for::<T>(), required });
        self.fails([invalid(), ApiError::LengthRequired, ApiError::RequestTooLarge { limit: 0 }])
    }

    /// Bytes that have to be sent.
    pub(super) fn takes_bytes(mut self) -> Self {
        self.body = Some(Body::Bytes);
        self.fails([ApiError::LengthRequired])
    }

    pub(super) fn gives<T: JsonSchema>(self, status: u16, description: &'static str) -> Self {
        self.answers(status, description, Content::Json(|generator| generator.subschema_for::<T>()))
    }

    pub(super) fn answers(mut self, status: u16, description: &'static str, content: Content) -> Self {
        self.answers.push(Answer { status, description, content, headers: vec![] });
        self
    }

    /// A header of the latest answer.
    pub(super) fn with(mut self, header: &'static str, description: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((header, description));
        }
        self
    }

    /// Bytes that never change under their URL, with ranges and validators.
    pub(super) fn gives_bytes(self, types: &'static [&'static str]) -> Self {
        self.header("Range", "One part of the bytes, such as `bytes=0-1023`.", json!({ "type": "string" }))
            .header("If-None-Match", "An `ETag` that the client has.", json!({ "type": "string" }))
            .header(
                "If-Range",
                "The `ETag` for which the range is meant; everything is sent when it is another.",
                json!({ "type": "string" }),
            )
            .answers(200, "All of the bytes.", Content::Bytes(types))
            .with("ETag", "Names these bytes.")
            .with("Accept-Ranges", "`bytes`")
            .answers(206, "The range.", Content::Bytes(types))
            .with("ETag", "Names these bytes.")
            .with("Content-Range", "Which bytes these are, of how many.")
            .answers(304, "The client has them already.", Content::Nothing)
            .with("ETag", "Names these bytes.")
            .fails([ApiError::RangeNotSatisfiable { size: 0 }])
    }
}

pub(super) fn invalid() -> ApiError {
    ApiError::InvalidRequest { field: None, detail: String::new() }
}
