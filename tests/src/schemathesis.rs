//! The API against its own description: schemathesis draws requests from `docs/openapi.json` and judges the answers.

use std::fmt::Write;
use std::process::Command;

use crate::fuzz::World;
use crate::harness::{Edge, Keys, repository};

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A minute, always the same requests.
    Usual,
    /// Ten minutes, other requests each time.
    Full,
}

/// What is judged of each answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance";

/// Real ids, names and tickets are drawn so often; the rest is made up.
const REAL: f64 = 0.7;

/// Fills the edge and runs schemathesis on it. Says whether all was as described.
///
/// # Panics
/// The program cannot be run.
pub fn run(edge: &Edge, program: &str, effort: Effort, more: &[String]) -> bool {
    let world = World::fill(edge);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("schemathesis.toml");
    std::fs::write(&config, configuration(&world)).expect("a temporary folder can be written");
    let mut command = Command::new(program);
    command.arg("--config-file").arg(&config).arg("run").arg(repository().join("docs/openapi.json"));
    command.args(["--url", &edge.origin(), "--checks", CHECKS, "--mode", "all", "--workers", "2"]);
    command.args(["--request-timeout", "20", "--warnings", "off", "--continue-on-failure"]);
    match effort {
        Effort::Usual => command.args(["--seed", "1", "--max-examples", "25"]),
        Effort::Full => command.args(["--max-examples", "200", "--max-time", "600"]),
    };
    // Its database of earlier failures would lie in the working folder.
    command.args(more).current_dir(folder.path());
    command.status().expect("schemathesis can be run: scripts/fuzz-api installs it").success()
}

/// Keys for each security scheme, and what paths may name.
fn configuration(world: &World) -> String {
    let own = |index: usize| world.own_tickets[index].as_str();
    let mut config = String::new();
    let mut table = |name: &str, key: &str, value: &str| {
        writeln!(config, "[auth.openapi.{name}]\n{key} = {value:?}\n")
            .expect("a String takes all that is written");
    };
    table("clientKey", "bearer", Keys::ACME.0);
    table("operatorKey", "bearer", Keys::ADMIN.0);
    table("uploadTicket", "api_key", own(1));
    let names = ["restored.wav", "restored.flac", "manifest.json"].map(str::to_owned).to_vec();
    let segments = ["init.mp4", "seg-00000.m4s", "seg-00001.m4s"].map(str::to_owned).to_vec();
    let more = [("ticket", vec![own(0).to_owned()]), ("name", names), ("segment", segments)];
    let known = world.ids.iter().map(|(name, ids)| (*name, ids.clone())).chain(more);
    let mut parameters = String::from("[parameters]\n");
    for (name, values) in known {
        writeln!(config, "[dictionaries.{name}]\nvalues = {values:?}\n")
            .expect("a String takes all that is written");
        let place = if name == "tenant" { "query" } else { "path" };
        writeln!(parameters, "\"{place}.{name}\" = {{ dictionary = \"{name}\", probability = {REAL} }}")
            .expect("a String takes all that is written");
    }
    config + &parameters
}
