//! What every command needs: the client, and where its answer goes.

use std::io::{IsTerminal, Write};

use minifleet_client::config::Profile;
use minifleet_client::{Client, config};
use serde::Serialize;

use super::args::{GlobalArgs, ProgressMode};
use super::exit::Failure;

/// The surroundings of one command.
pub struct Context {
    pub client: Client,
    pub json: bool,
    pub quiet: bool,
    /// Never `Auto`.
    pub progress: ProgressMode,
}

impl Context {
    pub fn new(args: GlobalArgs) -> Result<Self, Failure> {
        let profile = config::find(args.url.clone())?;
        Self::of(&profile, args)
    }

    /// The surroundings of a command that has found its key itself.
    pub fn of(profile: &Profile, args: GlobalArgs) -> Result<Self, Failure> {
        let client = Client::new(profile)?;
        let progress = match args.progress {
            ProgressMode::Auto if args.quiet => ProgressMode::None,
            ProgressMode::Auto if std::io::stderr().is_terminal() => ProgressMode::Bars,
            ProgressMode::Auto => ProgressMode::Plain,
            chosen => chosen,
        };
        Ok(Context { client, json: args.json, quiet: args.quiet, progress })
    }

    /// Prints a command's answer: the document with `--json`, else one of the two texts.
    pub fn answer(
        &self,
        document: &impl Serialize,
        text: impl FnOnce() -> String,
        quiet_text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let output = if self.json {
            let document = serde_json::to_string_pretty(document)
                .expect("answers have string keys and no failing serializers");
            format!("{document}\n")
        } else if self.quiet {
            quiet_text()
        } else {
            text()
        };
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(output.as_bytes()).and_then(|()| stdout.flush()) {
            // The reader has seen enough: `minifleet jobs | head`.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|error| Failure::local("write to standard output", &error)),
        }
    }
}
