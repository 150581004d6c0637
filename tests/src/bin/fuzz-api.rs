//! Lets schemathesis compare the real edge with `docs/openapi.json`. `scripts/fuzz-api` installs it and runs this.
//!
//! ```text
//! fuzz-api SCHEMATHESIS [--full] [OPTION...]
//! ```

use conformance::harness::Edge;
use conformance::schemathesis::{Effort, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: fuzz-api SCHEMATHESIS [--full] [OPTION...]");
        return ExitCode::from(2);
    };
    let (full, more): (Vec<String>, Vec<String>) = arguments.partition(|argument| argument == "--full");
    let effort = if full.is_empty() { Effort::Usual } else { Effort::Full };
    let edge = Edge::start();
    let passed = run(&edge, &program, effort, &more);
    if !passed {
        eprintln!("--- what the edge printed:\n{}---", edge.log());
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
