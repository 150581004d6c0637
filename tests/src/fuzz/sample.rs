//! Bodies that look like what an operation takes, drawn from its schema, and some that do not.

use serde_json::{Map, Value, json};

use super::world::World;
use crate::sim::random::Random;

/// Deeper schemas are cut off.
const MAX_DEPTH: u32 = 6;

/// A value that the schema may allow: each part of it is right most of the time.
pub fn of_schema(random: &mut Random, world: &World, document: &Value, schema: &Value, depth: u32) -> Value {
    if depth > MAX_DEPTH || random.chance(40) {
        return anything(random, world);
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        if let Some(id) = an_id(random, world, name) {
            return id.into();
        }
        return of_schema(random, world, document, &document["components"]["schemas"][name], depth + 1);
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(options) = schema[choice].as_array().filter(|options| !options.is_empty()) {
            let option = &options[random.index(options.len())];
            return of_schema(random, world, document, option, depth + 1);
        }
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
        return values[random.index(values.len())].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) if !kinds.is_empty() => {
            kinds[random.index(kinds.len())].as_str().unwrap_or_default()
        }
        kind => kind.as_str().unwrap_or_default(),
    };
    match kind {
        "object" => object(random, world, document, schema, depth),
        "array" => {
            let length = random.below(4);
            (0..length).map(|_| of_schema(random, world, document, &schema["items"], depth + 1)).collect()
        }
        "integer" | "number" => number(random, schema),
        "boolean" => random.chance(500).into(),
        "null" => Value::Null,
        _ => text(random, world).into(),
    }
}

fn object(random: &mut Random, world: &World, document: &Value, schema: &Value, depth: u32) -> Value {
    let mut object = Map::new();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let likely = if required.contains(&name.as_str()) { 950 } else { 350 };
        if random.chance(likely) {
            let value = match an_id(random, world, name) {
                Some(id) if random.chance(800) => id.into(),
                _ => of_schema(random, world, document, property, depth + 1),
            };
            object.insert(name.clone(), value);
        }
    }
    if random.chance(50) {
        object.insert(text(random, world), anything(random, world));
    }
    object.into()
}

/// An id for a field or a type of this name: `uploadId`, `UploadId`, `tenant`, `TenantId`, ...
fn an_id(random: &mut Random, world: &World, name: &str) -> Option<String> {
    let mut letters = name.chars();
    let camel: String = letters.next()?.to_lowercase().chain(letters).collect();
    let camel = if camel == "tenantId" { "tenant".to_owned() } else { camel };
    let known = world.ids.get(camel.as_str())?;
    Some(known[random.index(known.len())].clone())
}

fn number(random: &mut Random, schema: &Value) -> Value {
    let least = schema["minimum"].as_u64().unwrap_or(0);
    match random.below(8) {
        0 => json!(-1),
        1 => json!(u64::MAX),
        2 => json!(1e308),
        3 => json!(0.5),
        4 => schema["maximum"].clone(),
        _ => json!(least + random.below(20)),
    }
}

/// A text that programs stumble over.
pub fn text(random: &mut Random, world: &World) -> String {
    const TEXTS: [&str; 22] = [
        "",
        "a",
        "talk.wav",
        "../../etc/passwd",
        "..\\..\\x",
        "\0",
        "a\nb",
        "\u{202e}evil",
        "%00",
        "%2e%2e%2f",
        "null",
        "true",
        "0",
        "-1",
        "18446744073709551616",
        "' OR 1=1 --",
        "{{7*7}}",
        "<script>",
        "\u{1F600}",
        "job.completed",
        "live",
        "https://example.com/hook",
    ];
    match random.below(12) {
        0 => "x".repeat(random.skewed(1, 2_000) as usize),
        1 | 2 => {
            let pools: Vec<&Vec<String>> = world.ids.values().collect();
            let pool = pools[random.index(pools.len())];
            pool[random.index(pool.len())].clone()
        }
        _ => TEXTS[random.index(TEXTS.len())].to_owned(),
    }
}

fn anything(random: &mut Random, world: &World) -> Value {
    match random.below(6) {
        0 => Value::Null,
        1 => random.chance(500).into(),
        2 => number(random, &Value::Null),
        3 => json!([]),
        4 => json!({ "a": [{}] }),
        _ => text(random, world).into(),
    }
}

/// A body that fits nothing.
pub fn nonsense(random: &mut Random) -> Vec<u8> {
    match random.below(9) {
        0 => Vec::new(),
        1 => b"{".to_vec(),
        2 => b"\xff\xfe\x00".to_vec(),
        3 => b"null".to_vec(),
        4 => [b"[".repeat(50_000), b"]".repeat(10)].concat(),
        5 => br#"{"a":"#.repeat(5_000),
        6 => br#"{"uploadId":"x","uploadId":"y"}"#.to_vec(),
        7 => vec![b'x'; random.skewed(1, 200_000) as usize],
        _ => (0..random.below(64)).map(|_| random.below(256) as u8).collect(),
    }
}
