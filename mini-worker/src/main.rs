//! `mini-worker`: the command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mini_worker::bench_command::{self, BenchArgs};
use mini_worker::models_command::{self, ModelsArgs};
use mini_worker::restore_command::{self, RestoreArgs};
use mini_worker::run_command::{self, RunArgs};
use mini_worker::telemetry::{self, LogFormat};
use mini_worker::{config, descriptors, exit};

const EXAMPLES: &str = "Examples:
  mini-worker models fetch
  mini-worker restore talk.mp3 -o cleaned
  mini-worker config example > worker.toml
  MINIFLEET_WORKER_KEY=... mini-worker run --config worker.toml";

/// Restores speech: as a worker of a fleet, or by itself.
#[derive(Debug, Parser)]
#[command(version, after_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
struct Arguments {
    /// How log lines look; what is logged is set by MINIFLEET_LOG, such as `debug`.
    #[arg(long, global = true, value_enum, default_value = "text")]
    log: LogFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Work for the schedulers of the configuration.
    Run(RunArgs),
    /// Restore recordings without any scheduler.
    Restore(RestoreArgs),
    /// Measure how fast this machine restores, with each engine.
    Bench(BenchArgs),
    /// Show, verify or fetch the model.
    Models(ModelsArgs),
    /// The configuration of `run`.
    Config {
        #[command(subcommand)]
        action: ConfigAction,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Print an example that explains every setting.
    Example,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let default_level = match arguments.command {
        Command::Restore(_) | Command::Bench(_) => "warn",
        Command::Run(_) | Command::Models(_) | Command::Config { .. } => "info",
    };
    telemetry::start(arguments.log, default_level);
    descriptors::raise_limit();
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a provider of cryptography was installed already");
    }
    match arguments.command {
        Command::Run(arguments) => {
            // SAFETY: this is the only thread: logging and the provider of cryptography have none.
            match unsafe { run_command::prepare(arguments) } {
                Ok(prepared) => run(run_command::run(prepared)),
                Err(code) => code,
            }
        }
        Command::Restore(arguments) => run(restore_command::run(arguments)),
        Command::Bench(arguments) => run(bench_command::run(arguments)),
        Command::Models(arguments) => models_command::run(&arguments),
        Command::Config { action: ConfigAction::Example } => {
            print!("{}", config::EXAMPLE);
            ExitCode::SUCCESS
        }
    }
}

fn run(command: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => exit::with(exit::NOT_READY, &format_args!("cannot start threads: {error}")),
    }
}
