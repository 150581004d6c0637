//! The command's parts. HTTP is the library's business; here are arguments, progress, reports and exit codes.

mod admin;
mod args;
mod cancel;
mod context;
mod exit;
mod files;
mod generate;
mod inputs;
mod interrupt;
mod listen;
mod patience;
mod pipeline;
mod progress;
mod projects;
mod report;
mod restore;
mod show;
mod table;
mod text;
mod usage;
mod waiting;
mod webhooks;
mod withdraw;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use context::Context;
use exit::{Exit, Failure};

/// Runs the command that the process's arguments ask for.
pub fn run() -> ExitCode {
    let args = Args::parse();
    let json = args.global.json;
    let exit = match start(args) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print(json);
            failure.exit()
        }
    };
    ExitCode::from(exit.code())
}

fn start(args: Args) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::local("start", &error))?;
    let exit = runtime.block_on(Box::pin(execute(args)));
    // A checksum that is still being computed must not hold the process after Ctrl-C.
    runtime.shutdown_background();
    exit
}

async fn execute(args: Args) -> Result<Exit, Failure> {
    let Args { global, command } = args;
    match command {
        Command::Restore(restore) => {
            // Complaints about the files come before complaints about the service.
            let inputs = inputs::collect(&restore.files, restore.recursive)?;
            restore::run(&Context::new(global)?, &restore, inputs).await
        }
        Command::Generate(generate) => generate::run(&Context::new(global)?, &generate).await,
        Command::Projects(projects) => projects::list(&Context::new(global)?, &projects).await,
        Command::Project(project) => projects::show(&Context::new(global)?, &project).await,
        Command::Status => show::status(&Context::new(global)?).await,
        Command::Job(one) => show::job(&Context::new(global)?, &one.job_id).await,
        Command::Jobs(jobs) => show::jobs(&Context::new(global)?, &jobs).await,
        Command::Cancel(cancel) => cancel::run(&Context::new(global)?, &cancel.job_ids).await,
        Command::Files(files) => files::run(&Context::new(global)?, &files).await,
        Command::Listen(listen) => listen::run(&Context::new(global)?, &listen).await,
        Command::Usage(args) => usage::run(&Context::new(global)?, &args).await,
        Command::Webhooks { command } => {
            let context = Context::new(global)?;
            webhooks::run(&context, &context.client.webhooks(), &command).await
        }
        Command::Admin { command } => admin::run(global, command).await,
    }
}
