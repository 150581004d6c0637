//! `minifleet admin …`: what operators ask and order.

pub mod args;
mod audit;
mod bulk;
mod jobs;
mod keys;
mod queue;
mod tenants;
mod workers;

use minifleet_client::admin::{Admin, WorkerAct};
use minifleet_client::config;

use super::args::GlobalArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::webhooks;
use args::AdminCommand;

/// The surroundings of an operator's command.
pub struct Surroundings {
    pub context: Context,
    pub admin: Admin,
}

/// Runs one of the operator's commands.
pub async fn run(global: GlobalArgs, command: AdminCommand) -> Result<Exit, Failure> {
    let profile = config::find_admin(global.url.clone())?;
    let at = Surroundings { admin: Admin::new(&profile)?, context: Context::of(&profile, global)? };
    match command {
        AdminCommand::Queue(args) => queue::show(&at, &args).await,
        AdminCommand::Pause(args) => queue::pause(&at, &args).await,
        AdminCommand::Resume(args) => queue::resume(&at, &args).await,
        AdminCommand::Workers => workers::list(&at).await,
        AdminCommand::Drain(args) => workers::act(&at, &args, WorkerAct::Drain).await,
        AdminCommand::Undrain(args) => workers::act(&at, &args, WorkerAct::Undrain).await,
        AdminCommand::Bench(args) => {
            let seconds = args.minutes.map(|minutes| minutes * 60);
            workers::act(&at, &args.workers, WorkerAct::Bench { seconds }).await
        }
        AdminCommand::Unbench(args) => workers::act(&at, &args, WorkerAct::Unbench).await,
        AdminCommand::Jobs(args) => jobs::list(&at, &args).await,
        AdminCommand::Explain(job) => jobs::explain(&at, &job.job_id).await,
        AdminCommand::History(job) => jobs::history(&at, &job.job_id).await,
        AdminCommand::Cancel(args) => bulk::cancel(&at, &args).await,
        AdminCommand::Retry(args) => bulk::retry(&at, &args).await,
        AdminCommand::Discard(args) => bulk::discard(&at, &args).await,
        AdminCommand::Audit(args) => audit::show(&at, &args).await,
        AdminCommand::Keys { command } => keys::run(&at, &command).await,
        AdminCommand::Tenants(args) => tenants::list(&at, &args).await,
        AdminCommand::Tenant(args) => tenants::tenant(&at, &args).await,
        AdminCommand::Usage(args) => tenants::usage(&at, &args).await,
        AdminCommand::Webhooks { command } => {
            webhooks::run(&at.context, &at.admin.webhooks(), &command).await
        }
    }
}
