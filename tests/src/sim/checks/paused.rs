//! Paused stays paused, over evictions and deploys, until an operator resumes; and nothing is offered meanwhile.

use std::collections::BTreeSet;

use shared_protocol::TenantId;

use super::{Check, Command, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Paused {
    /// What is paused for sure: told so, and nobody asked for the opposite since.
    surely: BTreeSet<(usize, Option<TenantId>)>,
}

impl Check for Paused {
    fn name(&self) -> &'static str {
        "paused"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Commanding { env, command: Command::Resume(tenant) } => {
                self.surely.remove(&(*env, tenant.clone()));
            }
            Fact::Commanded { env, command: Command::Pause(tenant) } => {
                self.surely.insert((*env, tenant.clone()));
            }
            Fact::Offered { env, job, .. } => {
                if self.surely.contains(&(*env, None)) {
                    return Err(format!("the queue is paused and {} is offered", job.id));
                }
                if self.surely.contains(&(*env, Some(job.tenant.clone()))) {
                    return Err(format!("{} is paused and {} is offered", job.tenant, job.id));
                }
            }
            Fact::MetaSaved { env, after, .. } => {
                let forgotten =
                    self.surely.iter().filter(|(e, _)| e == env).any(|(_, tenant)| match tenant {
                        None => !after.paused,
                        Some(tenant) => !after.paused_tenants.contains(tenant),
                    });
                if forgotten {
                    return Err(format!("a pause was lifted without an operator: {after:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
