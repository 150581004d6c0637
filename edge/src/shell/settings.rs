//! What an operator sets for an environment by its variables, and what holds otherwise.

use std::fmt::Display;
use std::str::FromStr;

use worker::{Env, console_error};

use super::{frontend_worker, webhook_policy};
use crate::outbox::OutboxConfig;
use crate::scheduler::{Config, Policy};

/// Another bound of live jobs.
const MAX_LIVE_JOBS: &str = "MAX_LIVE_JOBS";

/// Another estimate that sends a job to a worker.
const ROUTING_POLICY: &str = "ROUTING_POLICY";

/// `false` where what came of webhooks is not kept.
const WEBHOOK_LOG: &str = "WEBHOOK_LOG";

/// The scheduler's. A variable that cannot be read is reported and changes nothing: a typing error must not stop the queue.
pub fn of_scheduler(env: &Env) -> Config {
    let default = Config::default();
    Config {
        environment: frontend_worker::environment(env),
        max_live_jobs: variable(env, MAX_LIVE_JOBS).unwrap_or(default.max_live_jobs),
        policy: variable::<Policy>(env, ROUTING_POLICY).unwrap_or(default.policy),
    }
}

/// The outbox's.
pub fn of_outbox(env: &Env) -> OutboxConfig {
    let default = OutboxConfig::default();
    OutboxConfig {
        urls: webhook_policy(env),
        keep_log: variable(env, WEBHOOK_LOG).unwrap_or(default.keep_log),
        ..default
    }
}

/// A variable that is set and can be read.
pub fn variable<T: FromStr<Err: Display>>(env: &Env, name: &str) -> Option<T> {
    let text = env.var(name).ok()?.to_string();
    let read = text.parse();
    read.inspect_err(|error| console_error!("the variable {name} is {text:?} and is not heeded: {error}"))
        .ok()
}
