//! The `minifleet` command: restore recordings on a fleet of workers. See `docs/command.md`.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    // An error means that a provider is installed already, which serves as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    command::run()
}
