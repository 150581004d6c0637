//! Exit codes of the program. `--help` lists them.

use std::process::ExitCode;

/// Everything went well.
pub const DONE: u8 = 0;
/// Something that was asked for failed; the output says what.
pub const FAILED: u8 = 1;
/// The configuration is wrong.
pub const CONFIGURATION: u8 = 3;
/// The worker cannot start on this machine: the model, ffmpeg or a folder.
pub const NOT_READY: u8 = 4;
/// Interrupted by a signal before it was done.
pub const INTERRUPTED: u8 = 130;

/// For `--help`. 2 is the argument parser's own.
pub const HELP: &str = "Exit codes:
  0    done
  1    something that was asked for failed; the output says what
  2    wrong arguments
  3    wrong configuration
  4    cannot start on this machine: the model, ffmpeg or a folder
  130  interrupted before it was done";

/// Tells a failure on standard error.
pub fn with(code: u8, problem: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("mini-worker: {problem}");
    ExitCode::from(code)
}
