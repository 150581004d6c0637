//! The operator's part of the command line.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use minifleet_client::admin::JobFilter;
use shared_protocol::{JobId, TenantId, WorkerId};

use crate::command::args::OneJobArgs;

/// What an operator can do.
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Show the queue: waiting jobs, pauses, how many workers it would take
    Queue(QueueArgs),
    /// Offer nothing more, of one tenant or at all; what runs goes on
    Pause(PauseArgs),
    /// Offer again
    Resume(PauseArgs),
    /// Show all that is known of the workers
    Workers,
    /// Let workers finish what they have, and offer them nothing new
    Drain(WorkersArgs),
    /// End a drain
    Undrain(WorkersArgs),
    /// Offer workers nothing for a while
    Bench(BenchArgs),
    /// End a bench
    Unbench(WorkersArgs),
    /// List jobs of all tenants, newest first
    Jobs(AdminJobsArgs),
    /// Say why a job waits, or why it went to its worker
    Explain(OneJobArgs),
    /// Show every change of a job's state
    History(OneJobArgs),
    /// Cancel jobs, by their ids or by a filter
    Cancel(SelectionArgs),
    /// Put failed and quarantined jobs back, by their ids or by a filter
    Retry(SelectionArgs),
    /// Give quarantined jobs up
    Discard(DiscardArgs),
    /// Show who did what
    Audit(AuditArgs),
}

#[derive(Debug, ClapArgs)]
pub struct QueueArgs {
    /// Within how many seconds waiting jobs shall start [default: the service's]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=86_400), value_name = "SECONDS")]
    pub target: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct PauseArgs {
    /// Only this tenant
    #[arg(long)]
    pub tenant: Option<TenantId>,
    /// Why; kept with the pause and in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct WorkersArgs {
    /// Names of the workers
    #[arg(required = true, value_name = "WORKER")]
    pub workers: Vec<WorkerId>,
    /// Why; shown with the worker and in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct BenchArgs {
    #[command(flatten)]
    pub workers: WorkersArgs,
    /// For how many minutes, up to a week [default: the service's, an hour]
    #[arg(long = "for", value_parser = clap::value_parser!(u64).range(1..=10_080), value_name = "MINUTES")]
    pub minutes: Option<u64>,
}

/// Which jobs.
#[derive(Debug, Clone, ClapArgs)]
pub struct FilterArgs {
    /// Only this tenant's
    #[arg(long)]
    pub tenant: Option<TenantId>,
    /// Only those in this state
    #[arg(long, value_enum)]
    pub state: Option<StateWord>,
    /// Only those that this worker has, or had last
    #[arg(long)]
    pub worker: Option<WorkerId>,
}

impl FilterArgs {
    pub fn filter(&self) -> JobFilter {
        JobFilter {
            tenant: self.tenant.as_ref().map(ToString::to_string),
            state: self.state.and_then(|state| Some(state.to_possible_value()?.get_name().to_owned())),
            worker: self.worker.as_ref().map(ToString::to_string),
        }
    }
}

/// States that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StateWord {
    Queued,
    Offered,
    Running,
    Completed,
    Failed,
    Cancelled,
    Quarantined,
    /// Queued, offered or running
    Live,
    /// Any other
    Ended,
}

#[derive(Debug, ClapArgs)]
pub struct AdminJobsArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    pub limit: u32,
}

#[derive(Debug, ClapArgs)]
pub struct SelectionArgs {
    /// Ids of the jobs; without any, a filter or --all
    #[arg(value_name = "ID", conflicts_with_all = ["tenant", "state", "worker", "all"])]
    pub job_ids: Vec<JobId>,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Every job that it can be done to
    #[arg(long)]
    pub all: bool,
    /// Only say which
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask before changing what a filter finds
    #[arg(long, short)]
    pub yes: bool,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct DiscardArgs {
    /// Ids of the jobs
    #[arg(required = true, value_name = "ID")]
    pub job_ids: Vec<JobId>,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct AuditArgs {
    /// How many entries at most, newest first
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    pub limit: u32,
}
