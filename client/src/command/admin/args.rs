//! The operator's part of the command line.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use minifleet_client::admin::JobFilter;
use shared_protocol::{JobId, TenantId, WorkerId};

use crate::command::args::OneJobArgs;
use crate::command::webhooks::WebhooksCommand;

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
    /// Webhooks of all tenants
    Webhooks {
        #[command(subcommand)]
        command: WebhooksCommand,
    },
    /// Make, list, rotate and revoke tenants' keys
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// List the tenants that were set up
    Tenants(TenantsArgs),
    /// Show a tenant's limits, or change them
    Tenant(Box<TenantArgs>),
    /// Show what a tenant used in a month
    Usage(TenantUsageArgs),
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key; its secret is shown once
    Create(CreateKeyArgs),
    /// List a tenant's keys, newest first
    List(OneTenantArgs),
    /// Give a key another secret; the older one stays valid for a while
    Rotate(RotateKeyArgs),
    /// End a key, everywhere within 10 seconds
    Revoke(KeyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct OneTenantArgs {
    /// The tenant
    #[arg(value_name = "TENANT")]
    pub tenant: TenantId,
}

#[derive(Debug, ClapArgs)]
pub struct CreateKeyArgs {
    /// Whose key it is
    #[arg(value_name = "TENANT")]
    pub tenant: TenantId,
    /// What it is for
    #[arg(long, default_value = "", hide_default_value = true)]
    pub label: String,
    /// It only looks and listens
    #[arg(long)]
    pub read_only: bool,
    /// For how many days it is valid [default: for ever]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_650), value_name = "DAYS")]
    pub days: Option<u64>,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct KeyArgs {
    /// Whose key it is
    #[arg(value_name = "TENANT")]
    pub tenant: TenantId,
    /// The key's id: key_...
    #[arg(value_name = "KEY")]
    pub key_id: String,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct RotateKeyArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// For how many hours the older secret stays valid, up to 720; 0 ends it [default: the service's, a day]
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=720), value_name = "HOURS")]
    pub grace_hours: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct TenantsArgs {
    /// How many at most, by name
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    pub limit: u32,
}

/// A limit, or the word `default`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<u64>);

fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "default" => Ok(Limit(None)),
        number => {
            number.parse().map(|number| Limit(Some(number))).map_err(|_| "a number, or default".to_owned())
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct TenantArgs {
    /// The tenant
    #[arg(value_name = "TENANT")]
    pub tenant: TenantId,
    /// Bytes of one upload, or default
    #[arg(long, value_parser = limit, value_name = "BYTES")]
    pub max_upload_bytes: Option<Limit>,
    /// Beginnings of the media types that uploads may have, such as audio/,video/mp4; default for any
    #[arg(long, value_delimiter = ',', value_name = "TYPES")]
    pub media_types: Vec<String>,
    /// Seconds of audio in a calendar month (UTC), or default for as many as it likes
    #[arg(long, value_parser = limit, value_name = "SECONDS")]
    pub monthly_audio_seconds: Option<Limit>,
    /// Requests of one key within a minute, or default
    #[arg(long, value_parser = limit, value_name = "N")]
    pub requests_per_minute: Option<Limit>,
    /// Generations under way at a time, or default for as many as it likes
    #[arg(long, value_parser = limit, value_name = "N")]
    pub max_live_jobs: Option<Limit>,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct TenantUsageArgs {
    /// The tenant
    #[arg(value_name = "TENANT")]
    pub tenant: TenantId,
    #[command(flatten)]
    pub usage: crate::command::args::UsageArgs,
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
