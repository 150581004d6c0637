//! Writes `docs/openapi.json` from the types of the edge, or prints it with `--print`.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let text = edge::api::openapi::text();
    if std::env::args().any(|argument| argument == "--print") {
        print!("{text}");
        return ExitCode::SUCCESS;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    match std::fs::write(&path, text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
