//! Requests that nobody should send, against the real edge.
//!
//! ```text
//! fuzz [--tries N] [--from I] [--seed S] [--connections C] [--verbose]
//! ```
//!
//! Prints how many tries of each kind had which answer, and fails on the first one that broke a rule. One try alone is made again
//! by `--from I --tries 1 --verbose` with the same seed.

use conformance::fuzz::{Options, run};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: fuzz [--tries N] [--from I] [--seed S] [--connections C] [--verbose]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match read(&arguments) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    let begun = Instant::now();
    let summary = run(options);
    println!(
        "{summary}\n{} tries in {:.0} s, seed {}",
        summary.tries,
        begun.elapsed().as_secs_f64(),
        options.seed
    );
    if summary.violation.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn read(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { from: 0, tries: 100_000, seed: 1, connections: 4, verbose: false };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let mut number = || {
            rest.next()
                .and_then(|text| text.parse::<u64>().ok())
                .ok_or(format!("{name} needs a number\n{USAGE}"))
        };
        match name.as_str() {
            "--tries" => options.tries = number()?,
            "--from" => options.from = number()?,
            "--seed" => options.seed = number()?,
            "--connections" => options.connections = usize::try_from(number()?).unwrap_or(4),
            "--verbose" => options.verbose = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}
