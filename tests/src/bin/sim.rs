//! The simulation of a whole fleet.
//!
//! ```text
//! sim run [--seeds N] [--from S] [--jobs J]   runs seeds; fails on the first violations
//! sim replay SEED [--quiet]                   runs one seed and prints what happened
//! sim meta [--seeds N]                        shows that equal seeds give equal bytes
//! sim mutants [--only NAME] [--jobs J]        shows that wrong rules are caught
//! ```

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match conformance::sim::command::run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}
