//! One request, drawn from everything that the API has and from what it does not have.

use edge::api::openapi;
use serde_json::Value;

use super::credentials::{self, Who};
use super::sample;
use super::world::World;
use crate::sim::random::Random;

/// A request as it goes out.
#[derive(Debug, Clone)]
pub struct Request {
    /// Whose rights it claims.
    pub who: Who,
    /// Its method, which need not be one.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Besides `Host` and the body's length.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What is sent after the head.
    pub body: Option<Vec<u8>>,
    /// How the body's length is told.
    pub framing: Framing,
    /// The operation that it began as.
    operation: String,
}

/// How a body's length is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By `Content-Length`.
    Length,
    /// In chunks.
    Chunked,
}

/// Everything that requests are made of.
#[derive(Debug)]
pub struct Vocabulary {
    document: Value,
    operations: Vec<Known>,
}

/// A method of a path, and what its body is.
#[derive(Debug)]
struct Known {
    method: String,
    path: String,
    body: Value,
}

/// Paths of workers, which the document leaves to `docs/protocol.md`, and of nobody.
const OTHER_PATHS: [(&str, &str); 14] = [
    ("GET", "/v1/worker/connect"),
    ("GET", "/v1/worker/upload"),
    ("PUT", "/v1/worker/objects/{jobId}/{attempt}/hls/{segment}"),
    ("PUT", "/v1/worker/objects/{jobId}/{attempt}/files/{name}"),
    ("PUT", "/v1/worker/objects/{jobId}/{attempt}/stems/{name}"),
    ("POST", "/v1/worker/parts/{jobId}/{attempt}/files/{name}"),
    ("PUT", "/v1/worker/parts/{jobId}/{attempt}/files/{name}/1"),
    ("POST", "/v1/worker/parts/{jobId}/{attempt}/files/{name}/complete"),
    ("POST", "/v1/worker/parts/{jobId}/{attempt}/files/{name}/abort"),
    ("GET", "/v1/"),
    ("GET", "/v1/nothing/{jobId}"),
    // The paths of the objects behind the Worker, which are nobody's to call.
    ("POST", "/call"),
    ("GET", "/v1/call"),
    ("GET", "/connect"),
];

impl Vocabulary {
    /// What the API has, by its own description.
    pub fn new(_world: &World) -> Self {
        let document = openapi::document();
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in
                item.as_object().into_iter().flatten().filter(|(name, _)| *name != "parameters")
            {
                let body = operation["requestBody"]["content"]["application/json"]["schema"].clone();
                operations.push(Known { method: method.to_uppercase(), path: path.clone(), body });
            }
        }
        let others = OTHER_PATHS.iter().map(|(method, path)| Known {
            method: (*method).into(),
            path: (*path).into(),
            body: Value::Null,
        });
        operations.extend(others);
        Self { document, operations }
    }
}

/// Draws a request.
pub fn draw(random: &mut Random, world: &World, vocabulary: &Vocabulary) -> Request {
    let known = &vocabulary.operations[random.index(vocabulary.operations.len())];
    let who = Who::draw(random, known.path.starts_with("/v1/admin"));
    let path = path(random, world, &known.path);
    let target = format!("{}{}", spoiled_path(random, path), query(random, world));
    let method = if random.chance(850) { known.method.clone() } else { a_method(random) };
    let mut headers = headers(random, world);
    headers.extend(who.header(random, world).map(|value| ("Authorization".to_owned(), value)));
    let body = body(random, world, vocabulary, known, &method);
    let framing = if random.chance(30) { Framing::Chunked } else { Framing::Length };
    Request {
        who,
        method,
        target,
        headers,
        body,
        framing,
        operation: format!("{} {}", known.method, known.path),
    }
}

impl Request {
    /// What is counted together.
    pub fn kind(&self) -> String {
        format!("{:<11} {}", format!("{:?}", self.who), self.operation)
    }

    /// All of it, for whoever has to understand what happened.
    pub fn describe(&self) -> String {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let headers: Vec<String> =
            self.headers.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect();
        let body = self.body.as_deref().map(|body| text(&body[..body.len().min(400)]));
        format!("{} {} {headers:?} {:?} {body:?}", self.method, self.target, self.framing)
    }

    /// Whether it gets as far as the API: a target below `/v1`, in the one spelling that the platform leaves alone.
    pub fn is_of_the_api(&self) -> bool {
        self.target.starts_with("/v1/")
            && !self.target.contains("..")
            && !self.target.to_lowercase().contains("%2e")
    }
}

fn path(random: &mut Random, world: &World, template: &str) -> String {
    let segments: Vec<String> = template
        .split('/')
        .map(|segment| match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => parameter(random, world, name),
            None => segment.to_owned(),
        })
        .collect();
    segments.join("/")
}

fn parameter(random: &mut Random, world: &World, name: &str) -> String {
    if random.chance(30) {
        return encoded(&sample::text(random, world));
    }
    let pick = |random: &mut Random, values: &[&str]| values[random.index(values.len())].to_owned();
    match name {
        "attempt" => {
            pick(random, &["1", "1", "1", "1", "1", "1", "0", "2", "01", "4294967295", "4294967296", "-1"])
        }
        "part" => pick(random, &["1", "1", "2", "0", "01", "10001"]),
        "segment" => {
            pick(random, &["init.mp4", "seg-00000.m4s", "seg-00001.m4s", "seg-99999.m4s", "seg-0.m4s"])
        }
        "ticket" => credentials::ticket(random, world),
        "name" => pick(random, &["restored.wav", "restored.flac", "manifest.json", "x.html", ".hidden", "a"]),
        _ => match world.ids.get(name) {
            Some(known) => known[random.index(known.len())].clone(),
            None => {
                let pools: Vec<&Vec<String>> = world.ids.values().collect();
                let pool = pools[random.index(pools.len())];
                pool[random.index(pool.len())].clone()
            }
        },
    }
}

/// Percent-encodes what may not stand in a target.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            let plain = byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
            if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        })
        .collect()
}

fn spoiled_path(random: &mut Random, path: String) -> String {
    if random.chance(940) {
        return path;
    }
    match random.below(12) {
        0 => format!("{path}/"),
        1 => path.replacen("/v1", "/v1/", 1),
        2 => path.replacen("/v1", "/V1", 1),
        3 => path.replacen("/v1", "/v1/play/x/..", 1),
        4 => path.replacen("/v1/", "/v1/%2e%2e/v1/", 1),
        5 => path.to_uppercase(),
        6 => format!("{path}%00"),
        7 => format!("{path};a=b"),
        8 => format!("{path}/{}", "x".repeat(random.skewed(10, 12_000) as usize)),
        9 => path.replacen("jobs", "%6aobs", 1),
        10 => format!("{path}%zz%"),
        _ => format!("/{path}"),
    }
}

fn query(random: &mut Random, world: &World) -> String {
    const NAMES: [&str; 10] = [
        "limit",
        "cursor",
        "state",
        "tenant",
        "worker",
        "targetSeconds",
        "uploadId",
        "project",
        "after",
        "x",
    ];
    const VALUES: [&str; 10] =
        ["1", "200", "0", "201", "live", "ended", "queued", "other", "9999999999999999999", "-1"];
    if random.chance(650) {
        return String::new();
    }
    let pairs: Vec<String> = (0..1 + random.below(3))
        .map(|_| {
            let value = if random.chance(800) {
                VALUES[random.index(VALUES.len())].to_owned()
            } else {
                encoded(&sample::text(random, world))
            };
            format!("{}={value}", NAMES[random.index(NAMES.len())])
        })
        .collect();
    format!("?{}", pairs.join("&"))
}

fn a_method(random: &mut Random) -> String {
    const METHODS: [&str; 10] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get"];
    METHODS[random.index(METHODS.len())].to_owned()
}

fn headers(random: &mut Random, world: &World) -> Vec<(String, Vec<u8>)> {
    let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, value: Vec<u8>| headers.push((name.to_owned(), value));
    if random.chance(350) {
        add("Minifleet-Ticket", credentials::ticket(random, world).into_bytes());
    }
    if random.chance(120) {
        const RANGES: [&str; 8] = [
            "bytes=0-0",
            "bytes=5-2",
            "bytes=-1",
            "bytes=99999999999999999999-",
            "bytes=0-1,3-4",
            "bytes=",
            "lines=1-2",
            "bytes=1-",
        ];
        add("Range", RANGES[random.index(RANGES.len())].into());
    }
    // What the Worker tells its objects, and what proxies tell it, must mean nothing from outside.
    const OTHERS: [(&str, &[u8]); 14] = [
        ("If-None-Match", b"*"),
        ("If-Range", b"\"x\""),
        ("Idempotency-Key", b"Kepler"),
        ("Idempotency-Key", b"\xc3\xa4"),
        ("Minifleet-Worker-Key", b"fleet-1"),
        ("Minifleet-Tenant", b"other"),
        ("X-Forwarded-For", b"127.0.0.1"),
        ("X-Original-URL", b"/v1/admin/queue"),
        ("X-HTTP-Method-Override", b"DELETE"),
        ("Upgrade", b"websocket"),
        ("Accept", b"text/html"),
        ("Accept-Encoding", b"gzip, br, zstd"),
        ("Origin", b"https://evil.example"),
        ("X-Content-Sha256", b"zz"),
    ];
    for _ in 0..random.below(3) {
        let (name, value) = OTHERS[random.index(OTHERS.len())];
        add(name, value.to_vec());
    }
    const TYPES: [&str; 5] =
        ["application/json", "text/plain", "multipart/form-data; boundary=x", "application/xml", "/"];
    let kind = if random.chance(800) { TYPES[0] } else { TYPES[random.index(TYPES.len())] };
    add("Content-Type", kind.into());
    headers
}

fn body(
    random: &mut Random,
    world: &World,
    vocabulary: &Vocabulary,
    known: &Known,
    method: &str,
) -> Option<Vec<u8>> {
    if matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE") && random.chance(970) {
        return None;
    }
    if random.chance(150) {
        return Some(sample::nonsense(random));
    }
    if known.body.is_null() {
        return random.chance(800).then(|| b"RIFF".to_vec());
    }
    let value = sample::of_schema(random, world, &vocabulary.document, &known.body, 0);
    Some(value.to_string().into_bytes())
}
