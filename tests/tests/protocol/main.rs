//! The worker protocol as it is promised: golden messages, their schema, and the document that tells the conversation.

#![allow(clippy::unwrap_used, reason = "whatever fails in here ends the test, which is right")]

mod dashboard;
mod document;
mod golden;
mod openapi;
mod peers;
mod schema;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A golden file below `tests/golden`, without its ending.
fn golden_json(name: &str) -> serde_json::Value {
    let path = root().join("tests/golden").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all golden files in a folder of `tests/golden`, as [`golden_json`] takes them, sorted.
fn golden_names(folder: &str) -> Vec<String> {
    let directory = root().join("tests/golden").join(folder);
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".json").map(|name| format!("{folder}/{name}")))
        .collect();
    names.sort();
    names
}
